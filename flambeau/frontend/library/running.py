"""`itertools.accumulate`: what a function makes of the items so far, in the language itself."""

from __future__ import annotations

from typing import Any


def accumulate(iterable: Any, func: Any = None, *, initial: Any = None) -> Any:
    """The first item, or what to begin with, and then what a function gives for the last result and the next item; sums
    without one. The items are taken as they are when the first result is asked for.
    """
    items = list(iterable)
    first = 0
    if initial is None:
        if len(items) == 0:
            return
        total = items[0]
        first = 1
    else:
        total = initial
    yield total
    for k in range(first, len(items)):
        total = total + items[k] if func is None else func(total, items[k])
        yield total
