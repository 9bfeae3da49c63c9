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

_before = 0


def _begin() -> None:
    global _before
    _before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(_before, FRAMES))


def _end() -> None:
    try:
        sys.setrecursionlimit(_before)
    except RecursionError:
        # The caller itself stands deeper than the old limit allows: an outer block will restore it.
        return


deep_recursion = WhileAnyIsInside(_begin, _end)
"""Within the block, Python allows at least `FRAMES` frames; the limit comes back when the last such block ends."""
