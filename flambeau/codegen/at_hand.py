"""Whether somebody waits for one answer only: then code that would have to be compiled is done without, where that is
quicker.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class _Waiting(threading.local):
    is_on = False


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
