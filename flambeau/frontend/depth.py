"""Room for recursion over deeply nested programs.

Python's own limit of 1,000 frames allows some 150 nested `elif`s. Emission takes a few frames of pure Python a level,
which need no C stack, so that the limit may be raised while a program is being compiled.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

FRAMES: Final = 12_000

_lock = threading.Lock()
_users = 0
_before = 0


@contextmanager
def deep_recursion() -> Iterator[None]:
    """Within the block, Python allows at least `FRAMES` frames; the limit comes back when the last such block ends."""
    global _users, _before
    with _lock:
        if _users == 0:
            _before = sys.getrecursionlimit()
            sys.setrecursionlimit(max(_before, FRAMES))
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                _restore(_before)


def _restore(limit: int) -> None:
    try:
        sys.setrecursionlimit(limit)
    except RecursionError:
        # The caller itself stands deeper than the old limit allows: an outer block will restore it.
        return
