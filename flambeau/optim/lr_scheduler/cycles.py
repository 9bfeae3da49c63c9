"""Cyclical rates, and the one-cycle policy (Smith 2015; Smith and Topin 2017), with momentum going the other way."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final, Literal

from flambeau.optim.lr_scheduler.scheduler import (
    LRScheduler,
    Rates,
    checked_optimizer,
    for_each_group,
    function_states,
    restore_functions,
    set_rate,
)
from flambeau.optim.optimizer import Optimizer

NO_MOMENTUM: Final = "optimizer must support momentum or beta1 with `cycle_momentum` option enabled"
MODES: Final = ("triangular", "triangular2", "exp_range")


def uses_beta(optimizer: Optimizer) -> bool:
    """Whether momentum is the first of `betas`. Raises ValueError for optimisers without momentum."""
    if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
        raise ValueError(NO_MOMENTUM)
    return "betas" in optimizer.defaults


def set_momentum(group: dict[str, Any], value: float, use_beta1: bool) -> None:
    """Set the momentum of a group."""
    if use_beta1:
        group["betas"] = (value, *group["betas"][1:])
    else:
        group["momentum"] = value


class CyclicLR(LRScheduler):
    """Rates that go up and down between two bounds, step by step: call it after each batch.

    Args:
        optimizer: the optimiser.
        base_lr: the lower bound, or one for each group.
        max_lr: the upper bound, or one for each group.
        step_size_up: steps on the way up.
        step_size_down: steps on the way down; as many by default.
        mode: "triangular"; "triangular2", each cycle half as high; "exp_range", each step `gamma` times as high.
        gamma: for "exp_range".
        scale_fn: the height as a function, in the place of a mode.
        scale_mode: whether that is a function of "cycle" or "iterations".
        cycle_momentum: let momentum go the other way.
        base_momentum: its lower bound, or one for each group.
        max_momentum: its upper bound, or one for each group.
        last_epoch: the step that a run which goes on has come to.

    Raises ValueError for a mode that is not known, and for momentum where there is none.

    >>> import flambeau
    >>> optimizer = flambeau.optim.SGD([flambeau.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler, rates = CyclicLR(optimizer, 0.0, 1.0, step_size_up=2, cycle_momentum=False), []
    >>> for step in range(5):
    ...     rates += scheduler.get_last_lr()
    ...     optimizer.step()
    ...     scheduler.step()
    >>> rates
    [0.0, 0.5, 1.0, 0.5, 0.0]
    """

    def __init__(
        self, optimizer: Optimizer, base_lr: float | list[float], max_lr: float | list[float],
        step_size_up: int = 2000, step_size_down: int | None = None,
        mode: Literal["triangular", "triangular2", "exp_range"] = "triangular", gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None, scale_mode: Literal["cycle", "iterations"] = "cycle",
        cycle_momentum: bool = True, base_momentum: float | list[float] = 0.8,
        max_momentum: float | list[float] = 0.9, last_epoch: int = -1,
    ) -> None:  # fmt: skip
        checked_optimizer(optimizer)
        base_lrs = for_each_group(optimizer, "base_lr", base_lr)
        if last_epoch == -1:
            for rate, group in zip(base_lrs, optimizer.param_groups, strict=True):
                set_rate(group, "lr", rate)
        self.max_lrs = for_each_group(optimizer, "max_lr", max_lr)
        up = float(step_size_up)
        self.total_size = up + (up if step_size_down is None else float(step_size_down))
        self.step_ratio = up / self.total_size
        if mode not in MODES and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode if scale_fn is not None or mode != "exp_range" else "iterations"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1 = uses_beta(optimizer)
            self.base_momentums = for_each_group(optimizer, "base_momentum", base_momentum)
            self.max_momentums = for_each_group(optimizer, "max_momentum", max_momentum)
            if last_epoch == -1:
                for high, low, group in zip(
                    self.max_momentums, self.base_momentums, optimizer.param_groups, strict=True
                ):
                    set_momentum(group, high, self.use_beta1)
                    group["max_momentum"], group["base_momentum"] = high, low
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def scale_fn(self, x: float) -> float:
        """How high the cycle is, or the step, as `scale_mode` says."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "triangular":
            return 1.0
        return float(1 / 2.0 ** (x - 1) if self.mode == "triangular2" else self.gamma**x)

    def get_lr(self) -> Rates:
        """The rates of this step; sets momentum too."""
        self._warn_outside_step()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        part_of_cycle = 1.0 + self.last_epoch / self.total_size - cycle
        up = part_of_cycle <= self.step_ratio
        height = part_of_cycle / self.step_ratio if up else (part_of_cycle - 1) / (self.step_ratio - 1)
        height *= self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            for low, high, group in zip(
                self.base_momentums, self.max_momentums, self.optimizer.param_groups, strict=True
            ):
                set_momentum(group, high - (high - low) * height, self.use_beta1)
        return [low + (high - low) * height for low, high in zip(self.base_lrs, self.max_lrs, strict=True)]

    def state_dict(self) -> dict[str, Any]:
        """As the base class has it; of `scale_fn` the attributes of an object, a function as None."""
        custom = self._scale_fn_custom
        return super().state_dict() | {"_scale_fn_custom": None if custom is None else function_states([custom])[0]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take what `state_dict` gave; a function stays."""
        rest = dict(state_dict)
        custom = rest.pop("_scale_fn_custom", None)
        super().load_state_dict(rest)
        if custom is not None:
            restore_functions([self._scale_fn_custom], [custom])


class OneCycleLR(LRScheduler):
    """One cycle: rates up to `max_lr`, then down to far below where they began: call it after each batch.

    Args:
        optimizer: the optimiser.
        max_lr: the highest rate, or one for each group.
        total_steps: the steps of the cycle; else `epochs` times `steps_per_epoch`.
        epochs, steps_per_epoch: see `total_steps`.
        pct_start: the share of steps on the way up.
        anneal_strategy: "cos" or "linear".
        cycle_momentum: let momentum go the other way.
        base_momentum: its lower bound, or one for each group.
        max_momentum: its upper bound, or one for each group.
        div_factor: the first rate is `max_lr` divided by this.
        final_div_factor: the last rate is the first one divided by this.
        three_phase: go down as fast as up, then further down in a third phase.
        last_epoch: the step that a run which goes on has come to.

    Raises ValueError for settings out of range, and in `step` beyond the last one.

    >>> import flambeau
    >>> optimizer = flambeau.optim.SGD([flambeau.zeros(1, requires_grad=True)], momentum=0.9)
    >>> scheduler, rates = OneCycleLR(optimizer, 1.0, total_steps=5, pct_start=0.4, anneal_strategy="linear"), []
    >>> for step in range(4):
    ...     rates += scheduler.get_last_lr()
    ...     optimizer.step()
    ...     scheduler.step()
    >>> [round(rate, 4) for rate in rates]
    [0.04, 1.0, 0.6667, 0.3333]
    """

    def __init__(
        self, optimizer: Optimizer, max_lr: float | list[float], total_steps: int | None = None,
        epochs: int | None = None, steps_per_epoch: int | None = None, pct_start: float = 0.3,
        anneal_strategy: Literal["cos", "linear"] = "cos", cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85, max_momentum: float | list[float] = 0.95, div_factor: float = 25.0,
        final_div_factor: float = 1e4, three_phase: bool = False, last_epoch: int = -1,
    ) -> None:  # fmt: skip
        checked_optimizer(optimizer)
        self.total_steps = _total(total_steps, epochs, steps_per_epoch)
        if not 0 <= pct_start <= 1 or not isinstance(pct_start, float):
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._schedule_phases = _phases(float(pct_start * self.total_steps), self.total_steps, three_phase)
        self._anneal_func_type = anneal_strategy
        groups = optimizer.param_groups
        if last_epoch == -1:
            for group, highest in zip(groups, for_each_group(optimizer, "max_lr", max_lr), strict=True):
                group["initial_lr"] = highest / div_factor
                group["max_lr"] = highest
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1 = uses_beta(optimizer)
            if last_epoch == -1:
                lows = for_each_group(optimizer, "base_momentum", base_momentum)
                highs = for_each_group(optimizer, "max_momentum", max_momentum)
                for low, high, group in zip(lows, highs, groups, strict=True):
                    set_momentum(group, high, self.use_beta1)
                    group["max_momentum"], group["base_momentum"] = high, low
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Rates:
        """The rates of this step; sets momentum too."""
        self._warn_outside_step()
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(f"Tried to step {step} times. The specified number of total steps is {self.total_steps}")
        start = 0.0
        for phase in self._schedule_phases:
            end = phase["end_step"]
            if step <= end or phase is self._schedule_phases[-1]:
                break
            start = end
        share = (step - start) / (end - start)
        if self.cycle_momentum:
            for group in self.optimizer.param_groups:
                low, high = group[phase["start_momentum"]], group[phase["end_momentum"]]
                set_momentum(group, self._between(low, high, share), self.use_beta1)
        return [
            self._between(group[phase["start_lr"]], group[phase["end_lr"]], share)
            for group in self.optimizer.param_groups
        ]

    def _between(self, start: float, end: float, share: float) -> float:
        if self._anneal_func_type == "cos":
            return end + (start - end) / 2.0 * (math.cos(math.pi * share) + 1)
        return (end - start) * share + start


def _total(total_steps: int | None, epochs: int | None, steps_per_epoch: int | None) -> int:
    """How many steps there are. Raises ValueError."""
    if total_steps is not None:
        return _positive("total_steps", total_steps)
    if epochs is None or steps_per_epoch is None:
        raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
    return _positive("epochs", epochs) * _positive("steps_per_epoch", steps_per_epoch)


def _positive(name: str, value: int) -> int:
    if value <= 0 or not isinstance(value, int):
        raise ValueError(f"Expected positive integer {name}, but got {value}")
    return value


def _phases(up: float, total: int, three_phase: bool) -> list[dict[str, Any]]:
    """The phases of a cycle: where each ends, and which settings of a group it goes between."""
    rise = {
        "end_step": up - 1, "start_lr": "initial_lr", "end_lr": "max_lr",
        "start_momentum": "max_momentum", "end_momentum": "base_momentum",
    }  # fmt: skip
    fall = {
        "end_step": total - 1, "start_lr": "max_lr", "end_lr": "min_lr",
        "start_momentum": "base_momentum", "end_momentum": "max_momentum",
    }  # fmt: skip
    if not three_phase:
        return [rise, fall]
    back = fall | {"end_step": 2 * up - 2, "end_lr": "initial_lr"}
    rest = fall | {"start_lr": "initial_lr", "start_momentum": "max_momentum"}
    return [rise, back, rest]
