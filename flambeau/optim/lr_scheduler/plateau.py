"""Rates that sink when something that is measured no longer gets better."""

from __future__ import annotations

import math
from typing import Any, Literal

from flambeau.optim.lr_scheduler.scheduler import LRScheduler, checked_optimizer, set_rate
from flambeau.optim.optimizer import Optimizer


class ReduceLROnPlateau(LRScheduler):
    """Multiplies rates with `factor` when a measure has not become better for more than `patience` epochs.

    Args:
        optimizer: the optimiser.
        mode: "min" if less is better, "max" if more is.
        factor: less than 1.
        patience: how many epochs without getting better are endured.
        threshold: how much better counts.
        threshold_mode: "rel", as a share of the best, or "abs".
        cooldown: epochs after a reduction in which nothing is counted.
        min_lr: no rate becomes less; one for all groups or one for each.
        eps: rates that differ by no more are left.

    Raises ValueError for settings out of range.

    >>> import flambeau
    >>> optimizer = flambeau.optim.SGD([flambeau.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = ReduceLROnPlateau(optimizer, patience=1)
    >>> for loss in (3.0, 2.0, 2.0, 2.0):
    ...     scheduler.step(loss)
    >>> scheduler.get_last_lr()
    [0.1]
    """

    def __init__(
        self, optimizer: Optimizer, mode: Literal["min", "max"] = "min", factor: float = 0.1, patience: int = 10,
        threshold: float = 1e-4, threshold_mode: Literal["rel", "abs"] = "rel", cooldown: int = 0,
        min_lr: list[float] | float = 0, eps: float = 1e-8,
    ) -> None:  # fmt: skip
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        self.factor = factor
        self.optimizer = checked_optimizer(optimizer)
        count = len(optimizer.param_groups)
        if isinstance(min_lr, list | tuple):
            if len(min_lr) != count:
                raise ValueError(f"expected {count} min_lrs, got {len(min_lr)}")
            self.default_min_lr: float | None = None
            self.min_lrs = list(min_lr)
        else:
            self.default_min_lr = min_lr
            self.min_lrs = [min_lr] * count
        self.patience = patience
        self.cooldown = cooldown
        self.eps = eps
        self.last_epoch = 0
        self._last_lr = self._rates()
        if mode not in ("min", "max"):
            raise ValueError(f"mode {mode} is unknown!")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"threshold mode {threshold_mode} is unknown!")
        self.mode_worse = math.inf if mode == "min" else -math.inf
        self.mode = mode
        self.threshold = threshold
        self.threshold_mode = threshold_mode
        self.best = self.mode_worse
        self.cooldown_counter = 0
        self.num_bad_epochs = 0

    @property
    def in_cooldown(self) -> bool:
        """Whether epochs are not counted, because rates were reduced a short time ago."""
        return self.cooldown_counter > 0

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # type: ignore[override]  # it needs a measure
        """Take what was measured in an epoch: a number, or a tensor with one element."""
        current = float(metrics)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self._is_better(current):
            self.best = current
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce()
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
        self._last_lr = self._rates()

    def _reduce(self) -> None:
        for group, least in zip(self.optimizer.param_groups, self.min_lrs, strict=True):
            rate = float(group["lr"])
            reduced = max(rate * self.factor, least)
            if rate - reduced > self.eps:
                set_rate(group, "lr", reduced)

    def _is_better(self, value: float) -> bool:
        sign = 1 if self.mode == "max" else -1
        if self.threshold_mode == "rel":
            bound = self.best * (1 + sign * self.threshold)
        else:
            bound = self.best + sign * self.threshold
        return value > bound if self.mode == "max" else value < bound
