"""Running without compiling: `with flambeau.disabled():` and the environment variable FLAMBEAU_DISABLE=1.

What is called while compilation is disabled runs as the Python it was written as, line by line: breakpoints are hit,
`print` prints, a debugger steps. The operators are the same, and so are the numbers.

>>> import flambeau
>>> with flambeau.disabled():
...     is_disabled()
True
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from flambeau.tensor.observer import thread, watchers

VARIABLE: Final = "FLAMBEAU_DISABLE"
"""Set to 1, this variable makes `script` and `trace` give back what they are given."""

def is_disabled() -> bool:
    """Whether programs run as Python now, in this thread."""
    return thread.is_plain or os.environ.get(VARIABLE) == "1"


@contextmanager
def disabled() -> Iterator[None]:
    """Within the block, in this thread, scripted functions run as the Python they were compiled from.

    `script` itself gives back what it is given.

    >>> import flambeau
    >>> def half(x: float) -> float:
    ...     return x / 2
    >>> with flambeau.disabled():
    ...     same = flambeau.script(half) is half
    >>> same
    True
    """
    before, thread.is_plain = thread.is_plain, True
    try:
        with watchers.one_more():
            yield
    finally:
        thread.is_plain = before
