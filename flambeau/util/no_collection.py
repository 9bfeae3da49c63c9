"""Compiling without the garbage collector.

A graph is a web of references: every collection walks all of it, and finds nothing, since all of it is in use. For a
thousand layers that is half of the time, and it grows faster than the graph does. Memory that reference counts free is
freed meanwhile; cycles wait until the end.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_resting = 0
_was_on = False


@contextmanager
def no_collection() -> Iterator[None]:
    """Within the block, in all threads, no cyclic garbage is looked for. Blocks may be nested and overlap.

    >>> import gc
    >>> with no_collection():
    ...     gc.isenabled()
    False
    >>> gc.isenabled()
    True
    """
    global _resting, _was_on
    with _lock:
        if not _resting:
            _was_on = gc.isenabled()
            gc.disable()
        _resting += 1
    try:
        yield
    finally:
        with _lock:
            _resting -= 1
            if not _resting and _was_on:
                gc.enable()
