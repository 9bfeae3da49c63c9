"""The end of a process without a search for garbage, where nobody could tell.

Where a process ends, Python looks for cycles several times among all objects, of which the package alone has some
hundred thousand: half of the time of a short program. The memory goes back to the system either way. What matters is
what cycles have to do when they go: files with a buffer, objects with `__del__`, generators in the middle of a `try`.
Where one of those is left, the end is as Python has it; else nothing is looked for.
"""

from __future__ import annotations

import atexit
import gc
import sys
from collections.abc import Iterator
from typing import Any


def shorten() -> None:
    """Have the end of this process be short, unless an object is left then that has something to do."""
    atexit.register(_end)


def _end() -> None:
    if not gc.get_debug() and not gc.callbacks and not is_anything_finalised():
        gc.freeze()


def is_anything_finalised() -> bool:
    """Whether there is an object with a finaliser, Python's standard streams aside.

    >>> class Log:
    ...     def __del__(self) -> None:
    ...         print("closed")
    >>> log = Log()
    >>> is_anything_finalised()
    True
    """
    objects = gc.get_objects()
    finalised = {cls for cls in set(map(type, objects)) if any("__del__" in c.__dict__ for c in cls.__mro__)}
    count = sum(map(finalised.__contains__, map(type, objects)))
    return count > sum(type(part) in finalised and gc.is_tracked(part) for part in _standard_streams())


def _standard_streams() -> Iterator[Any]:
    """The streams that Python opened and flushes itself, with their buffers and files."""
    for stream in (sys.__stdin__, sys.__stdout__, sys.__stderr__):
        part: Any = stream
        while part is not None:
            yield part
            try:
                part = getattr(part, "buffer", None) or getattr(part, "raw", None)
            except ValueError:  # it was detached
                part = None
