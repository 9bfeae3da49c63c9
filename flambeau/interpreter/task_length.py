"""How long the tasks of one function take, as far as their runs have told, and whether handing one over is worth it.

Handing a task to another thread takes tens of microseconds, and more where both threads need the interpreter. Lengths
are averages, in which a single long run counts for less than a hand-over, so that a thread that the machine held up
once changes nothing, while two long tasks in a row do.

>>> length = TaskLength()
>>> length.is_short
False
>>> for _ in range(4):
...     length.took(1e-6)
>>> length.is_short
True
"""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import partial
from types import CodeType
from typing import Any, Final

from flambeau.util.locks import Lock

SHORT: Final = 1e-4
"""Seconds below which a task is not worth a thread."""
LONGEST: Final = 3 * SHORT
"""Seconds that a run counts for at most, and that tasks are taken to need before any has run."""
WEIGHT: Final = 0.25
"""Of the latest run in the average."""
MOST_KEPT: Final = 256
"""Python functions whose tasks' lengths are remembered."""


class TaskLength:
    """The average of how long tasks took."""

    __slots__ = ("_seconds", "blocks")

    def __init__(self, *, blocks: bool = True) -> None:
        """`blocks` says whether tasks may wait for what is no task: a thread that sleeps is not short for using none of
        the processor."""
        self._seconds = LONGEST
        self.blocks = blocks

    def took(self, seconds: float) -> None:
        """One more run is over."""
        self._seconds += WEIGHT * (min(seconds, LONGEST) - self._seconds)

    def forget(self) -> None:
        """Take tasks to be long, as before the first."""
        self._seconds = LONGEST

    @property
    def is_short(self) -> bool:
        """Whether the next task is taken to need less than it costs to hand it over."""
        return self._seconds < SHORT


_lengths: OrderedDict[Hashable, TaskLength] = OrderedDict()
"""By the code of what was forked, or by the object that was called; the one forked last at the end."""
_lock = Lock()


def length_of(function: Callable[..., Any]) -> TaskLength:
    """What is known of the tasks that call a function or an object of Python; nothing where it cannot be told again."""
    key = _key(function)
    if key is None:
        return TaskLength()
    with _lock:
        length = _lengths.get(key)
        if length is None:
            length = _lengths[key] = TaskLength()
            if len(_lengths) > MOST_KEPT:
                _lengths.popitem(last=False)
        _lengths.move_to_end(key)
    return length


def _key(function: Any) -> Hashable:
    while isinstance(function, partial):
        function = function.func
    of = getattr(function, "__wrapped__", getattr(function, "__func__", function))
    code = getattr(of, "__code__", None)
    if isinstance(code, CodeType):
        return code
    try:
        return weakref.ref(of)
    except TypeError:
        return None
