"""How many threads one call may use: one setting for the process, as the number of processors is one.

>>> before = get()
>>> put(3); get()
3
>>> put(before)
"""

from __future__ import annotations

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


def put(count: int) -> None:
    """Set it. Raises ValueError for less than one thread."""
    if count < 1:
        raise ValueError(f"set_num_threads expects a positive number, got {count}")
    _setting[:] = [count]
    for listener in _listeners:
        listener(count)


def when_put(listener: Callable[[int], None]) -> Callable[[int], None]:
    """Have a function told of each new number. A decorator."""
    _listeners.append(listener)
    return listener
