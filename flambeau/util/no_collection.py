"""Compiling without the garbage collector.

A graph is a web of references: every collection walks all of it, and finds nothing, since all of it is in use. For a
thousand layers that is half of the time, and it grows faster than the graph does. Memory that reference counts free is
freed meanwhile; cycles wait until the end.

>>> import gc
>>> with no_collection():
...     gc.isenabled()
False
>>> gc.isenabled()
True
"""

from __future__ import annotations

import gc

from flambeau.util.locks import WhileAnyIsInside

_was_on = False


def _begin() -> None:
    global _was_on
    _was_on = gc.isenabled()
    gc.disable()


def _end() -> None:
    if _was_on:
        gc.enable()


no_collection = WhileAnyIsInside(_begin, _end)
"""Within the block, in all threads, no cyclic garbage is looked for. Blocks may be nested and overlap."""
