"""Whether somebody waits for one answer only: then code that would have to be compiled is done without, where that is
quicker.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

MANY: Final = 1 << 20
"""Elements from which on NumPy may take as long for an operator as its code takes to compile, 0.1 s."""


class TakesLongError(BaseException):
    """A loop of a run that was tried has gone round often."""


class _Waiting(threading.local):
    is_on = False
    is_trial = False


_waiting = _Waiting()


@contextmanager
def at_hand_only() -> Iterator[None]:
    """Within the block, kernels of single operators on this thread are those that are at hand.

    >>> with at_hand_only():
    ...     is_hurried()
    True
    >>> is_hurried()
    False
    """
    before, _waiting.is_on = _waiting.is_on, True
    try:
        yield
    finally:
        _waiting.is_on = before


def is_hurried() -> bool:
    """Whether nothing is to be compiled now that can be done without."""
    return _waiting.is_on


def does_without(elements: int) -> bool:
    """Whether an operator on so many elements is not to wait for code that has to be compiled.

    >>> with at_hand_only():
    ...     does_without(100), does_without(1 << 24)
    (True, False)
    >>> does_without(100)
    False
    """
    return _waiting.is_on and elements < MANY


@contextmanager
def trial() -> Iterator[None]:
    """Within the block, a run of a program on this thread is given up when one of its loops has gone round often: by
    TakesLongError, which no program sees.

    >>> with trial():
    ...     is_trial()
    True
    >>> is_trial()
    False
    """
    before, _waiting.is_trial = _waiting.is_trial, True
    try:
        yield
    finally:
        _waiting.is_trial = before


def is_trial() -> bool:
    """Whether what runs now is given up when it takes long."""
    return _waiting.is_trial
