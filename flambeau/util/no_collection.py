"""Compiling without the garbage collector.

A graph is a web of references: every collection walks all of it, and finds nothing, since all of it is in use. For a
thousand layers that is half of the time, and it grows faster than the graph does. Memory that reference counts free is
freed meanwhile; cycles wait until the end, or longer: what was made in a block counts as old behind it, since most
stays. After many blocks one collection of everything makes up for that.

>>> import gc
>>> with no_collection():
...     gc.isenabled()
False
>>> gc.isenabled()
True
"""

from __future__ import annotations

import gc
from typing import Final

from flambeau.util.locks import WhileAnyIsInside

MOST_UNSEEN: Final = 1_000_000
"""Objects that may become old without a look at whether they are garbage, before everything is looked through."""

_was_on: bool | None = None
"""Whether it was on before it was switched off; None while nobody is inside."""
_unseen = 0
PYTHONS_OWN: Final = 1_000
"""More objects than Python itself begins with as frozen (375 in 3.12), which may thaw, and less than there are when a
user freezes all (5,000 of Python without any module).
"""
_user_freezes = False
"""Whether the user has frozen objects: to ask takes as long as there are many, so once they have, nobody asks again."""


def _begin() -> None:
    global _was_on
    if _was_on is None:
        _was_on = gc.isenabled()
    gc.disable()


def _end() -> None:
    global _was_on, _unseen, _user_freezes
    if not _was_on:
        _was_on = None
        return
    _user_freezes = _user_freezes or gc.get_freeze_count() > PYTHONS_OWN
    if not _user_freezes:  # what the user has frozen would thaw
        _unseen += gc.get_count()[0]
        if _unseen > MOST_UNSEEN:
            _unseen = 0
            gc.collect()
        else:
            try:
                gc.freeze()
            finally:
                gc.unfreeze()
    gc.enable()
    _was_on = None


no_collection = WhileAnyIsInside(_begin, _end)
"""Within the block, in all threads, no cyclic garbage is looked for. Blocks may be nested and overlap."""
