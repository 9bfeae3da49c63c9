"""`LRScheduler`: what all schedules of learning rates have, and those that users write derive from."""

from __future__ import annotations

import types
import warnings
from collections.abc import Callable
from typing import Any, Final

from flambeau.ops.families.composite import F
from flambeau.optim.optimizer import Optimizer
from flambeau.tensor.tensor import Tensor

ORDER: Final = (
    "Detected call of `lr_scheduler.step()` before `optimizer.step()`: call them in the opposite order, "
    "`optimizer.step()` before `lr_scheduler.step()`, or the first value of the learning rate schedule is skipped"
)
EPOCH: Final = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please use "
    "`scheduler.step()` to step the scheduler"
)
LAST_RATE: Final = "To get the last learning rate computed by the scheduler, please use `get_last_lr()`."
NO_RATES: Final = (
    "{name} does not say what the learning rates are: define `get_lr(self)`, which returns one for each group at "
    "`self.last_epoch`"
)
NOT_RESUMED: Final = (
    "param 'initial_lr' is not specified in param_groups[{number}] when resuming scheduler with last_epoch >= 0: load "
    "the optimizer's state before, or leave last_epoch out of a fresh training run"
)
Rates = list[Any]


class LRScheduler:
    """Changes the learning rates of an optimiser's groups each time `step` is called, usually once an epoch.

    A class says with `get_lr` what the rates of all groups are at `last_epoch`.

    Args:
        optimizer: the optimiser.
        last_epoch: the epoch that a run which goes on has come to; -1 for a new run.

    Raises TypeError for what is no optimiser, KeyError if a run goes on with groups that do not know their first rate.

    >>> import flambeau
    >>> class Halving(LRScheduler):
    ...     def get_lr(self):
    ...         return [base / (1 + self.last_epoch) for base in self.base_lrs]
    >>> optimizer = flambeau.optim.SGD([flambeau.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = Halving(optimizer)
    >>> optimizer.step(), scheduler.step(), scheduler.get_last_lr()
    (None, None, [0.5])
    """

    base_lrs: Rates
    """The rates of all groups before the schedule began."""
    last_epoch: int
    """How often `step` was called, from 0."""

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        self.optimizer = checked_optimizer(optimizer)
        for number, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", copied(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(NOT_RESUMED.format(number=number))
        self.base_lrs = [copied(group["initial_lr"]) for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._step_count = 0
        self._is_initial = False
        self._get_lr_called_within_step = False
        self._last_lr: Rates = []
        self._initial_step()

    def _initial_step(self) -> None:
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self) -> dict[str, Any]:
        """All attributes but the optimiser, in PyTorch's form. Functions are not among them, objects that are called
        are by their attributes.
        """
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take what `state_dict` gave."""
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> Rates:
        """The rates that the last step set."""
        return self._last_lr

    def get_lr(self) -> Rates:
        """The rates at `last_epoch`. Called by `step` alone: it may start from the rates as they are.

        Raises NotImplementedError in classes that define none.
        """
        raise NotImplementedError(NO_RATES.format(name=type(self).__name__))

    def step(self, epoch: int | None = None) -> None:
        """Go on to the next epoch, or to a given one (deprecated)."""
        if self._step_count == 1 and not self.optimizer._steps_begun and not self._is_initial:
            warnings.warn(ORDER, UserWarning, stacklevel=2)
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH, UserWarning, stacklevel=2)
        self._go_to(epoch)

    def _go_to(self, epoch: int | None) -> None:
        self._get_lr_called_within_step = True
        try:
            if epoch is None:
                self.last_epoch += 1
                rates = self.get_lr()
            else:
                self.last_epoch = epoch
                closed_form: Callable[[], Rates] = getattr(self, "_get_closed_form_lr", self.get_lr)
                rates = closed_form()
        finally:
            self._get_lr_called_within_step = False
        for group, rate in zip(self.optimizer.param_groups, rates, strict=False):
            set_rate(group, "lr", rate)
        self._last_lr = self._rates()

    def _rates(self) -> Rates:
        """The rates as they are now."""
        return [copied(group["lr"]) for group in self.optimizer.param_groups]

    def _warn_outside_step(self) -> None:
        if not self._get_lr_called_within_step:
            warnings.warn(LAST_RATE, UserWarning, stacklevel=3)


def checked_optimizer(optimizer: Any) -> Optimizer:
    """An optimiser. Raises TypeError for anything else."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
    return optimizer


def set_rate(group: dict[str, Any], name: str, value: Any) -> None:
    """Set a setting of a group; a tensor is filled."""
    if isinstance(group[name], Tensor):
        F.fill_(group[name], float(value))
    else:
        group[name] = value


def copied(rate: Any) -> Any:
    """A rate that later changes of a group do not change."""
    return rate.clone() if isinstance(rate, Tensor) else rate


def for_each_group(optimizer: Optimizer, name: str, values: Any) -> list[Any]:
    """A setting for each group. Raises ValueError for another number of them."""
    count = len(optimizer.param_groups)
    if not isinstance(values, list | tuple):
        return [values] * count
    if len(values) != count:
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. {name} has {len(values)} values, "
            f"param_groups has {count}."
        )
    return list(values)


def function_states(functions: list[Any]) -> list[dict[str, Any] | None]:
    """Of what a schedule calls, the attributes of objects; None for functions, which are not saved."""
    return [None if isinstance(f, types.FunctionType) else dict(vars(f)) for f in functions]


def restore_functions(functions: list[Any], states: list[dict[str, Any] | None]) -> None:
    """Give objects that a schedule calls their attributes back."""
    for function, state in zip(functions, states, strict=True):
        if state is not None:
            vars(function).update(state)
