"""Schedules made of schedules: one after the other, or all at once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from flambeau.optim.lr_scheduler.plateau import ReduceLROnPlateau
from flambeau.optim.lr_scheduler.scheduler import LRScheduler, set_rate
from flambeau.optim.optimizer import Optimizer


class _Combined(LRScheduler):
    """A schedule with others in `_schedulers`."""

    _schedulers: list[LRScheduler]

    def state_dict(self) -> dict[str, Any]:
        """The attributes, and the state dicts of the schedules that it is made of."""
        own = {k: v for k, v in self.__dict__.items() if k not in ("optimizer", "_schedulers")}
        return own | {"_schedulers": [scheduler.state_dict() for scheduler in self._schedulers]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take what `state_dict` gave."""
        rest = dict(state_dict)
        for scheduler, state in zip(self._schedulers, rest.pop("_schedulers"), strict=True):
            scheduler.load_state_dict(state)
        self.__dict__.update(rest)

    def _check(self, optimizer: Optimizer, number: int, scheduler: LRScheduler) -> None:
        name = type(self).__name__
        if not hasattr(scheduler, "optimizer"):
            raise TypeError(f"{name} at index {number} should have `optimizer` as its attribute.")
        if isinstance(scheduler, ReduceLROnPlateau) and name == "SequentialLR":
            raise ValueError(
                "SequentialLR does not support `ReduceLROnPlateau` scheduler as it requires additional kwargs to be "
                f"specified when calling `step`, but got one at index {number} in the given schedulers sequence."
            )
        if scheduler.optimizer is not optimizer:
            raise ValueError(
                f"{name} expects all schedulers to belong to the same optimizer, but got scheduler "
                f"{type(scheduler).__name__} at index {number} has {scheduler.optimizer}, which is different from "
                f"{type(optimizer).__name__}."
            )


class SequentialLR(_Combined):
    """Schedules one after the other: the next one begins at each milestone.

    Raises ValueError if there is not one milestone less than schedules, or they are of different optimisers.

    >>> import flambeau
    >>> optimizer = flambeau.optim.SGD([flambeau.zeros(1, requires_grad=True)], lr=1.0)
    >>> from flambeau.optim.lr_scheduler import ConstantLR, ExponentialLR
    >>> warm_up, decay = ConstantLR(optimizer, factor=0.5, total_iters=2), ExponentialLR(optimizer, gamma=0.5)
    >>> scheduler, rates = SequentialLR(optimizer, [warm_up, decay], milestones=[2]), []
    >>> for epoch in range(4):
    ...     rates += scheduler.get_last_lr()
    ...     optimizer.step()
    ...     scheduler.step()
    >>> rates
    [0.5, 0.5, 1.0, 0.5]
    """

    def __init__(
        self, optimizer: Optimizer, schedulers: list[LRScheduler], milestones: list[int], last_epoch: int = -1
    ) -> None:
        if len(schedulers) < 1:
            raise ValueError("SequentialLR expects at least one scheduler, but got no scheduler.")
        for number, scheduler in enumerate(schedulers):
            self._check(optimizer, number, scheduler)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than the number of "
                f"milestone points, but got number of schedulers {len(schedulers)} and the number of milestones to be "
                f"equal to {len(milestones)}"
            )
        self._schedulers = schedulers
        self._milestones = milestones
        self.last_epoch = last_epoch + 1
        self.optimizer = optimizer
        for group in optimizer.param_groups:
            set_rate(group, "lr", group["initial_lr"])
        for scheduler in schedulers:
            _undo(scheduler)
        schedulers[0]._initial_step()
        self._last_lr = schedulers[0].get_last_lr()

    def step(self) -> None:  # type: ignore[override]  # there is no other order
        """Go on to the next epoch, of the schedule whose turn it is."""
        self.last_epoch += 1
        number = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[number]
        if number > 0 and self._milestones[number - 1] == self.last_epoch:
            scheduler._go_to(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


def _undo(scheduler: LRScheduler) -> None:
    """Take back the step that a schedule made when it was made; one that is made of others counts no steps of its
    own."""
    if isinstance(scheduler, _Combined):
        for inner in scheduler._schedulers:
            _undo(inner)
    else:
        scheduler.last_epoch -= 1


class ChainedScheduler(_Combined):
    """Schedules that all change the rates in each step, one after the other.

    Raises ValueError for none, and for those of different optimisers.

    >>> import flambeau
    >>> optimizer = flambeau.optim.SGD([flambeau.zeros(1, requires_grad=True)], lr=1.0)
    >>> from flambeau.optim.lr_scheduler import ConstantLR, ExponentialLR
    >>> scheduler = ChainedScheduler([ConstantLR(optimizer, factor=0.5), ExponentialLR(optimizer, gamma=0.5)])
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.25]
    """

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None) -> None:
        if len(schedulers) < 1:
            raise ValueError("ChainedScheduler expects at least one scheduler to be chained, but got no scheduler.")
        self.optimizer = optimizer or schedulers[0].optimizer
        for number, scheduler in enumerate(schedulers):
            self._check(self.optimizer, number, scheduler)
        self._schedulers = list(schedulers)
        self._last_lr = self._rates()

    def step(self) -> None:  # type: ignore[override]  # as its schedules do
        """Go on to the next epoch of all schedules."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = self._rates()
