"""Which steps of a loop a profile records."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Final

NO_STEPS: Final = (
    "a schedule has no negative counts and records at least one step: got wait={wait}, warmup={warmup}, "
    "active={active}, repeat={repeat}, skip_first={skip_first}"
)


class ProfilerAction(Enum):
    """What is done in a step.

    >>> is_recorded(ProfilerAction.WARMUP), is_recorded(ProfilerAction.RECORD)
    (False, True)
    """

    NONE = 0
    """Nothing is recorded."""
    WARMUP = 1
    """What is recorded is thrown away."""
    RECORD = 2
    RECORD_AND_SAVE = 3
    """It is recorded, and the trace is complete."""


def is_recorded(action: ProfilerAction) -> bool:
    """Whether what happens in such a step is part of a trace."""
    return action in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


def ends_trace(action: ProfilerAction) -> bool:
    """Whether a trace is complete at the end of such a step."""
    return action is ProfilerAction.RECORD_AND_SAVE


class ScheduleError(ValueError, AssertionError):
    """Raised for a schedule that records nothing."""


def always(step: int) -> ProfilerAction:
    """All steps are of one trace."""
    return ProfilerAction.RECORD


def never(step: int) -> ProfilerAction:
    """No step is recorded."""
    return ProfilerAction.NONE


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Callable[[int], ProfilerAction]:
    """What a profile does in each step: it waits, records without keeping what it sees, then keeps it, and so on.

    Args:
        wait: steps of a cycle in which nothing is recorded.
        warmup: steps after them whose records are thrown away.
        active: steps after those which make a trace.
        repeat: how many cycles there are; 0 for as many as steps.
        skip_first: steps before the first cycle.
        skip_first_wait: if not 0, the first cycle begins with its warm-up.

    Raises ValueError for counts that are negative or record nothing.

    >>> plan = schedule(wait=1, warmup=1, active=2, repeat=1)
    >>> [plan(step).name for step in range(5)]
    ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE', 'NONE']
    """
    if min(wait, warmup, repeat, skip_first) < 0 or active < 1:
        settings = {"wait": wait, "warmup": warmup, "active": active, "repeat": repeat, "skip_first": skip_first}
        raise ScheduleError(NO_STEPS.format(**settings))
    cycle = wait + warmup + active

    def action(step: int) -> ProfilerAction:
        position = step - skip_first
        if position < 0:
            return ProfilerAction.NONE
        position += wait if skip_first_wait else 0
        if repeat > 0 and position >= cycle * repeat:
            return ProfilerAction.NONE
        within = position % cycle
        if within < wait:
            return ProfilerAction.NONE
        if within < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if within < cycle - 1 else ProfilerAction.RECORD_AND_SAVE

    return action
