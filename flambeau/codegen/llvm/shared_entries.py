"""The code that every process needs, in one entry of the cache: who loads a model opens one file for all of it.

What a process had to look for one by one it adds when it ends, for the next ones.
"""

from __future__ import annotations

import atexit
import json
from collections.abc import Sequence
from typing import NamedTuple

from flambeau.codegen.llvm.arranged import arranged_of, written
from flambeau.codegen.llvm.loader import Prelinked
from flambeau.codegen.llvm.object_cache import ObjectCache
from flambeau.util.locks import Lock


class SharedEntry(NamedTuple):
    """One piece of the code that every process needs."""

    names: tuple[str, ...]
    """The names of what it imports."""
    arranged: Prelinked
    """As it lies in memory."""


class SharedEntries:
    """Those of one processor and one version of this package."""

    def __init__(self, cache: ObjectCache, key: str, processor: str) -> None:
        """`key`: where in the cache they lie."""
        self._cache, self._key, self._processor = cache, key, processor
        self._known = read(cache.load(key, processor) or b"")
        self._new: dict[str, SharedEntry] = {}
        self._lock = Lock()

    def find(self, note: str) -> SharedEntry | None:
        """The code whose note lies under a key; None for what is not among them."""
        return self._known.get(note)

    def add(self, note: str, names: Sequence[str], arranged: Prelinked) -> None:
        """Have the next processes find some code here."""
        with self._lock:
            if not self._new:
                atexit.register(self._keep)
            self._new[note] = SharedEntry(tuple(names), arranged)

    def _keep(self) -> None:
        known = read(self._cache.load(self._key, self._processor) or b"")  # others may have added some meanwhile
        self._cache.store(self._key, record(known | self._new), self._processor)


def record(entries: dict[str, SharedEntry]) -> bytes:
    """The bytes of some code by the key of its note: a line that says what follows, and all of it.

    >>> code = SharedEntry(("f",), Prelinked(b"code".ljust(64, b"-"), (), (), (), ({},)))
    >>> read(record({"note": code})) == {"note": code}
    True
    """
    contents = [written(entry.arranged) for entry in entries.values()]
    head = [[note, entry.names, len(c)] for (note, entry), c in zip(entries.items(), contents, strict=True)]
    return b"\n".join((json.dumps(head).encode(), b"".join(contents)))


def read(content: bytes) -> dict[str, SharedEntry]:
    """What `record` was given; nothing for bytes that are something else.

    >>> read(b"something else")
    {}
    """
    entries: dict[str, SharedEntry] = {}
    head, _, whole = content.partition(b"\n")
    start = 0
    try:
        for note, names, length in json.loads(head or b"[]"):
            arranged = arranged_of(whole[start : start + length])
            start += length
            if arranged is not None:
                entries[note] = SharedEntry(tuple(names), arranged)
    except (ValueError, TypeError):
        return {}
    return entries
