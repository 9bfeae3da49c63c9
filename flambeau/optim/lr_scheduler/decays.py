"""Schedules that multiply rates: by steps, powers, lines, or what a function says."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from flambeau.optim.lr_scheduler.scheduler import LRScheduler, Rates, function_states, restore_functions
from flambeau.optim.optimizer import Optimizer

Factor = Callable[[int], float]


class _Multiplying(LRScheduler, ABC):
    """A schedule whose rates are those of the epoch before, times a factor."""

    @abstractmethod
    def _factor(self) -> float:
        """What the rates are multiplied with on the way to `last_epoch`."""

    @abstractmethod
    def _total_factor(self) -> float:
        """What the first rates are multiplied with at `last_epoch`."""

    def get_lr(self) -> Rates:
        """The rates as they are, times this epoch's factor."""
        self._warn_outside_step()
        factor = self._factor()
        return [group["lr"] if factor == 1.0 else group["lr"] * factor for group in self.optimizer.param_groups]

    def _get_closed_form_lr(self) -> Rates:
        factor = self._total_factor()
        return [base * factor for base in self.base_lrs]


class StepLR(_Multiplying):
    """Multiplies rates with `gamma` every `step_size` epochs.

    >>> import flambeau
    >>> optimizer = flambeau.optim.SGD([flambeau.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler, rates = StepLR(optimizer, step_size=2, gamma=0.5), []
    >>> for epoch in range(5):
    ...     rates += scheduler.get_last_lr()
    ...     optimizer.step()
    ...     scheduler.step()
    >>> rates
    [1.0, 1.0, 0.5, 0.5, 0.25]
    """

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float:
        return 1.0 if self.last_epoch == 0 or self.last_epoch % self.step_size else self.gamma

    def _total_factor(self) -> float:
        return self.gamma ** (self.last_epoch // self.step_size)


class MultiStepLR(_Multiplying):
    """Multiplies rates with `gamma` at each of some epochs.

    >>> import flambeau
    >>> optimizer = flambeau.optim.SGD([flambeau.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler, rates = MultiStepLR(optimizer, milestones=[1, 3], gamma=0.5), []
    >>> for epoch in range(5):
    ...     rates += scheduler.get_last_lr()
    ...     optimizer.step()
    ...     scheduler.step()
    >>> rates
    [1.0, 0.5, 0.5, 0.25, 0.25]
    """

    def __init__(
        self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.milestones = Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float:
        return self.gamma ** self.milestones.get(self.last_epoch, 0)

    def _total_factor(self) -> float:
        return self.gamma ** sum(times for epoch, times in self.milestones.items() if epoch <= self.last_epoch)


class ExponentialLR(_Multiplying):
    """Multiplies rates with `gamma` every epoch.

    >>> import flambeau
    >>> optimizer = flambeau.optim.SGD([flambeau.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = ExponentialLR(optimizer, gamma=0.5)
    >>> for epoch in range(2):
    ...     optimizer.step()
    ...     scheduler.step()
    >>> scheduler.get_last_lr()
    [0.25]
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float:
        return 1.0 if self._is_initial or self.last_epoch == 0 else self.gamma

    def _total_factor(self) -> float:
        return self.gamma**self.last_epoch


class LinearLR(_Multiplying):
    """Multiplies the first rates with a factor that goes along a line, from one to another in `total_iters` epochs.

    Raises ValueError for factors out of range.

    >>> import flambeau
    >>> optimizer = flambeau.optim.SGD([flambeau.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler, rates = LinearLR(optimizer, start_factor=0.5, total_iters=2), []
    >>> for epoch in range(4):
    ...     rates += scheduler.get_last_lr()
    ...     optimizer.step()
    ...     scheduler.step()
    >>> rates
    [0.5, 0.75, 1.0, 1.0]
    """

    def __init__(
        self, optimizer: Optimizer, start_factor: float = 1.0 / 3, end_factor: float = 1.0, total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:  # fmt: skip
        if not 0 < start_factor <= 1.0:
            raise ValueError("Starting multiplicative factor expected to be greater than 0 and less or equal to 1.")
        if not 0 <= end_factor <= 1.0:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float:
        if self.last_epoch == 0:
            return self.start_factor
        if self._is_initial or self.last_epoch > self.total_iters:
            return 1.0
        way = self.end_factor - self.start_factor
        return 1.0 + way / (self.total_iters * self.start_factor + (self.last_epoch - 1) * way)

    def _total_factor(self) -> float:
        way = self.end_factor - self.start_factor
        return self.start_factor + way * min(self.total_iters, self.last_epoch) / self.total_iters


class ConstantLR(_Multiplying):
    """Multiplies rates with `factor` for the first `total_iters` epochs. Raises ValueError for one that is not in
    [0, 1].

    >>> import flambeau
    >>> optimizer = flambeau.optim.SGD([flambeau.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler, rates = ConstantLR(optimizer, factor=0.5, total_iters=2), []
    >>> for epoch in range(3):
    ...     rates += scheduler.get_last_lr()
    ...     optimizer.step()
    ...     scheduler.step()
    >>> rates
    [0.5, 0.5, 1.0]
    """

    def __init__(
        self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1
    ) -> None:
        if not 0 <= factor <= 1.0:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float:
        if self.last_epoch == 0:
            return self.factor
        return 1.0 if self._is_initial or self.last_epoch != self.total_iters else 1.0 / self.factor

    def _total_factor(self) -> float:
        return self.factor + (self.last_epoch >= self.total_iters) * (1 - self.factor)


class PolynomialLR(_Multiplying):
    """Multiplies the first rates with a power of what is left of `total_iters` epochs.

    >>> import flambeau
    >>> optimizer = flambeau.optim.SGD([flambeau.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler, rates = PolynomialLR(optimizer, total_iters=2), []
    >>> for epoch in range(4):
    ...     rates += scheduler.get_last_lr()
    ...     optimizer.step()
    ...     scheduler.step()
    >>> rates
    [1.0, 0.5, 0.0, 0.0]
    """

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float:
        if self._is_initial or self.last_epoch == 0 or self.last_epoch > self.total_iters:
            return 1.0
        left = (1.0 - self.last_epoch / self.total_iters) / (1.0 - (self.last_epoch - 1) / self.total_iters)
        return left**self.power  # type: ignore[no-any-return]

    def _total_factor(self) -> float:
        left = 1.0 - min(self.total_iters, self.last_epoch) / self.total_iters
        return left**self.power  # type: ignore[no-any-return]


class LambdaLR(LRScheduler):
    """Multiplies the first rates with what a function says of the epoch; one function, or one for each group.

    Raises ValueError for another number of functions.

    >>> import flambeau
    >>> optimizer = flambeau.optim.SGD([flambeau.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = LambdaLR(optimizer, lambda epoch: 0.5**epoch)
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def __init__(self, optimizer: Optimizer, lr_lambda: Factor | list[Factor], last_epoch: int = -1) -> None:
        self.lr_lambdas = _functions(optimizer, lr_lambda)
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        """As the base class has it; of `lr_lambdas` the attributes of objects, functions as None."""
        return super().state_dict() | {"lr_lambdas": function_states(self.lr_lambdas)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take what `state_dict` gave; functions stay."""
        rest = dict(state_dict)
        states = rest.pop("lr_lambdas")
        self.__dict__.update(rest)
        restore_functions(self.lr_lambdas, states)

    def get_lr(self) -> Rates:
        """The first rates, times what the functions say."""
        self._warn_outside_step()
        return [base * function(self.last_epoch) for base, function in zip(self.base_lrs, self.lr_lambdas, strict=True)]


class MultiplicativeLR(LambdaLR):
    """Multiplies rates, from epoch to epoch, with what a function says; one function, or one for each group.

    >>> import flambeau
    >>> optimizer = flambeau.optim.SGD([flambeau.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = MultiplicativeLR(optimizer, lambda epoch: 0.5)
    >>> for epoch in range(2):
    ...     optimizer.step()
    ...     scheduler.step()
    >>> scheduler.get_last_lr()
    [0.25]
    """

    def get_lr(self) -> Rates:
        """The rates as they are, times what the functions say; as they are at first."""
        self._warn_outside_step()
        groups = self.optimizer.param_groups
        if self._is_initial or self.last_epoch == 0:
            return [group["lr"] for group in groups]
        return [group["lr"] * f(self.last_epoch) for group, f in zip(groups, self.lr_lambdas, strict=True)]


def _functions(optimizer: Optimizer, functions: Factor | list[Factor]) -> list[Factor]:
    if not isinstance(functions, list | tuple):
        return [functions] * len(optimizer.param_groups)
    if len(functions) != len(optimizer.param_groups):
        raise ValueError(f"Expected {len(optimizer.param_groups)} lr_lambdas, but got {len(functions)}")
    return list(functions)
