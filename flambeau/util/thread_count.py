"""How many threads one call may use: one setting for the process, as the number of processors is one.

>>> before = get()
>>> put(3); get()
3
>>> put(before)
"""

from __future__ import annotations

import operator
import os
from collections.abc import Callable

VARIABLE = "FLAMBEAU_NUM_THREADS"
MOST = 64
"""Threads that are used where nobody says how many."""
ANY = 0
"""Stands for the number that is set, for whoever has none of its own."""
_setting: list[int] = []
_listeners: list[Callable[[int], None]] = []


def processors() -> int:
    """Processors that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def get() -> int:
    """The number set, that of the environment variable, or that of processors."""
    if not _setting:
        text = os.environ.get(VARIABLE, "")
        _setting.append(max(1, int(text)) if text.isdigit() else min(processors(), MOST))
    return _setting[0]


def checked(setter: str, count: int) -> int:
    """A number of threads that a function was given. Raises TypeError for what is no int, ValueError for less than 1.

    >>> checked("set_num_threads", 2)
    2
    """
    if isinstance(count, bool) or not hasattr(count, "__index__"):
        raise TypeError(f"{setter} expects an int, but got {type(count).__name__}: {count!r}")
    if count < 1:
        raise ValueError(f"{setter} expects a positive number, got {count}")
    return operator.index(count)


def put(count: int) -> None:
    """Set it. Raises TypeError for what is no int, ValueError for less than one thread."""
    count = checked("set_num_threads", count)
    _setting[:] = [count]
    for listener in _listeners:
        listener(count)


def when_put(listener: Callable[[int], None]) -> Callable[[int], None]:
    """Have a function told of each new number. A decorator."""
    _listeners.append(listener)
    return listener
