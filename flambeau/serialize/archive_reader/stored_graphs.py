"""The graphs of an archive's functions in the cache on disk: each with those of all that it calls, in one record.

What calls a hundred functions is read at once: types, texts and places that graphs have in common are there once.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from flambeau.executor.stored import entry_of
from flambeau.ir.graph import Graph
from flambeau.program.function import Function

WHAT = "graphs"


class StoredGraphs:
    """Of one archive. Whoever asks holds the archive's lock."""

    def __init__(self) -> None:
        self._read: dict[str, Graph] = {}
        """By the function's name what came with another function's graph, until its own function asks."""
        self._compiling: list[Function] | None = None
        """What was compiled since the outermost function was begun; None while nothing is compiled."""

    def read(self, function: Function) -> Graph | None:
        """The graph of a function, if an earlier process made it, whose nodes are where they are in the code."""
        known = self._read.pop(function.name, None)
        if known is not None or self._compiling is not None:
            return known
        entry = entry_of(function, WHAT)
        kept = None if entry is None else entry.read()
        if not isinstance(kept, dict) or not all(isinstance(graph, Graph) for graph in kept.values()):
            return None
        self._read = {**kept, **self._read}
        return self._read.pop(function.name, None)

    @contextmanager
    def compiling(self, function: Function) -> Iterator[None]:
        """Within it, what a function calls is compiled; behind it, it is kept with all that was compiled within."""
        if self._compiling is not None:
            self._compiling.append(function)
            yield
            return
        compiled = self._compiling = [function]
        try:
            yield
        finally:
            self._compiling = None
        entry = entry_of(function, WHAT)
        if entry is not None:
            entry.keep({one.name: one.graph for one in compiled}, keeps_known=True)
