"""Room for recursion over deeply nested programs.

Python's own limit of 1,000 frames allows some 150 nested `elif`s. The stages of the compiler take a few frames of pure
Python a level, which need little C stack, so that the limit may be raised while they work. Programs beyond it are
refused (`TOO_DEEP`).
"""

from __future__ import annotations

import sys
from typing import Final

from flambeau.util.locks import WhileAnyIsInside

FRAMES: Final = 12_000
TOO_DEEP: Final = (
    "the program is nested too deeply to compile. Give names to parts of the longest expression, write a loop, or look "
    "values up in a list"
)

_users_limit: int | None = None
"""What the limit was before it was raised; None while it is not."""
_raised_limit = 0
"""What it was raised to."""


def _begin() -> None:
    global _users_limit, _raised_limit
    _frames_of_end()
    limit = sys.getrecursionlimit()
    if _users_limit is None or limit != _raised_limit:
        raised = max(limit, FRAMES)
        _users_limit, _raised_limit = limit, raised
    sys.setrecursionlimit(_raised_limit)


def _frames_of_end() -> None:
    """Raise RecursionError where `_end` could not set the limit back: that takes a frame more than to read it."""
    sys.getrecursionlimit()


def _end() -> None:
    global _users_limit
    if _users_limit is None:
        return
    if sys.getrecursionlimit() == _raised_limit:  # else the user set another one meanwhile
        try:
            sys.setrecursionlimit(_users_limit)
        except RecursionError:
            # This thread went deeper than the old limit allows before it entered, while another one was inside.
            # The next block that ends restores it.
            return
    _users_limit = None


deep_recursion = WhileAnyIsInside(_begin, _end)
"""Within the block, Python allows at least `FRAMES` frames; the limit comes back when the last such block ends."""
