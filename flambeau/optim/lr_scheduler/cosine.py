"""Cosine annealing, once or with warm restarts (Loshchilov and Hutter 2016)."""

from __future__ import annotations

import math

from flambeau.optim.lr_scheduler.scheduler import LRScheduler, Rates, checked_optimizer, set_rate
from flambeau.optim.optimizer import Optimizer


class CosineAnnealingLR(LRScheduler):
    """Rates that go along half a cosine, from the first ones to `eta_min` in `T_max` epochs, and back again.

    >>> import flambeau
    >>> optimizer = flambeau.optim.SGD([flambeau.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler, rates = CosineAnnealingLR(optimizer, T_max=2), []
    >>> for epoch in range(3):
    ...     rates += scheduler.get_last_lr()
    ...     optimizer.step()
    ...     scheduler.step()
    >>> [round(rate, 4) for rate in rates]
    [1.0, 0.5, 0.0]
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:  # noqa: N803
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Rates:
        """The rates as they are, scaled as the cosine goes on from the epoch before."""
        self._warn_outside_step()
        rates = [group["lr"] for group in self.optimizer.param_groups]
        epoch, least = self.last_epoch, self.eta_min
        if epoch == 0:
            return rates
        if self._step_count == 1 and epoch > 0:
            return self._get_closed_form_lr()
        if (epoch - 1 - self.T_max) % (2 * self.T_max) == 0:  # the cosine was 0, from which no factor leads away
            return [
                rate + (base - least) * (1 - math.cos(math.pi / self.T_max)) / 2
                for base, rate in zip(self.base_lrs, rates, strict=True)
            ]
        factor = (1 + math.cos(math.pi * epoch / self.T_max)) / (1 + math.cos(math.pi * (epoch - 1) / self.T_max))
        return [factor * (rate - least) + least for rate in rates]

    def _get_closed_form_lr(self) -> Rates:
        share = (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2
        return [self.eta_min + (base - self.eta_min) * share for base in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half cosines, one after the other: the first takes `T_0` epochs, each other `T_mult` times as many as before.

    `step` may be called with fractions of epochs. Raises ValueError for lengths that are not positive integers.

    >>> import flambeau
    >>> optimizer = flambeau.optim.SGD([flambeau.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler, rates = CosineAnnealingWarmRestarts(optimizer, T_0=2), []
    >>> for epoch in range(4):
    ...     rates += scheduler.get_last_lr()
    ...     optimizer.step()
    ...     scheduler.step()
    >>> [round(rate, 4) for rate in rates]
    [1.0, 0.5, 1.0, 0.5]
    """

    def __init__(
        self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1  # noqa: N803
    ) -> None:  # fmt: skip
        checked_optimizer(optimizer)
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, float | int):
            raise ValueError(f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}")
        self.T_0 = T_0
        self.T_i = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Rates:
        """The rates at `T_cur` of this cosine's `T_i` epochs."""
        self._warn_outside_step()
        share = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (base - self.eta_min) * share for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:  # parts of epochs too
        """Go on to the next epoch, or to any, in parts of epochs too. Raises ValueError for a negative one."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        else:
            if epoch < 0:
                raise ValueError(f"Expected non-negative epoch, but got {epoch}")
            self.T_cur, self.T_i = self._place(epoch)
        self.last_epoch = math.floor(epoch)
        self._get_lr_called_within_step = True
        try:
            rates = self.get_lr()
        finally:
            self._get_lr_called_within_step = False
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            set_rate(group, "lr", rate)
        self._last_lr = self._rates()

    def _go_to(self, epoch: int | None) -> None:
        self.step(epoch)

    def _place(self, epoch: float) -> tuple[float, int]:
        """How far an epoch is into its cosine, and how long that is."""
        if epoch < self.T_0:
            return epoch, self.T_0
        if self.T_mult == 1:
            return epoch % self.T_0, self.T_0
        number = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
        before = self.T_0 * (self.T_mult**number - 1) / (self.T_mult - 1)
        return epoch - before, self.T_0 * self.T_mult**number
