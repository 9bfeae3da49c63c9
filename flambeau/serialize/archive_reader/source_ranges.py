"""Where the code of an archive came from: `code/<file>.py.debug_pkl` has a place in the user's own file for each
stretch of text.

```
(FORMAT_WITH_STRING_TABLE, (string, ...), ((offset, (([line, ...], file, first line), start, end), tag), ...))
```
Lines and files are numbers of strings. Older files have the entries alone, with text and file written out in each.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from itertools import accumulate
from typing import Any, Final

from flambeau.ir.graph import Graph
from flambeau.ir.walk import blocks, subgraphs
from flambeau.serialize.archive_format import DEBUG_FORMAT, DEBUG_SUFFIX
from flambeau.serialize.archive_reader.container_reader import Container
from flambeau.serialize.archive_reader.limits import exceeded
from flambeau.serialize.archive_reader.pickle_names import read_plain
from flambeau.util.errors import ArchiveError
from flambeau.util.late_range import LateRange
from flambeau.util.locks import NoForkLock
from flambeau.util.source import Source, SourceRange

_NAMING: Final = {int, str, type(None)}


class SourceRanges:
    """The places that one code record's text came from. It is read when the first of them is asked for."""

    def __init__(self, container: Container, record: str) -> None:
        self._container = container
        self._record = record + DEBUG_SUFFIX
        self._offsets: list[int] | None = None
        self._entries: list[Any] = []
        self._strings: tuple[Any, ...] | None = None
        self._sources: dict[Any, Source] = {}
        self._found: dict[int, Source | None] = {}
        """The same by the identity of what is written in an entry: most of the entries share it."""
        self._counted: tuple[Source | None, list[int]] = None, []
        """The code's source, and where in its UTF-8 bytes each line begins."""
        self._lock = NoForkLock()
        self._length = 0
        """Characters of sources that were put together from lines, which may be named any number of times."""

    def original(self, source_range: SourceRange) -> SourceRange:
        """The place in the user's file that a place in the code came from; the place itself if that is not known, or if
        the table is broken.
        """
        with self._lock:
            try:
                return self._original(source_range)
            except ArchiveError:  # the code itself is as good a place
                return source_range

    def _original(self, source_range: SourceRange) -> SourceRange:
        if self._offsets is None:
            self._read()
        assert self._offsets is not None
        text = source_range.source.text or ""
        start = source_range.start if text.isascii() else self._bytes_before(source_range)
        index = bisect_right(self._offsets, start) - 1
        if index < 0:
            return source_range
        try:
            written, begin, end = self._entries[index][1]
            source = self._found[id(written)] if id(written) in self._found else self._source(written)
            self._found[id(written)] = source
            if source is None:
                return source_range
            return _range(source, begin, end) or source_range
        except (TypeError, ValueError, IndexError, KeyError):
            raise self._container.error("it has an entry that is no source range", self._record) from None

    def _bytes_before(self, source_range: SourceRange) -> int:
        """Where a place begins in the UTF-8 bytes of its text."""
        source = source_range.source
        if source is not self._counted[0]:
            lines = (source.text or "").split("\n")
            sizes = (len(line.encode("utf-8", "surrogatepass")) + 1 for line in lines)
            self._counted = source, list(accumulate(sizes, initial=0))
        line = source.line_index(source_range.start)
        before = source.line(line)[: source_range.start - source.line_starts[line]]
        return self._counted[1][line] + len(before.encode("utf-8", "surrogatepass"))

    def _read(self) -> None:
        self._offsets = []
        if not self._container.has(self._record):
            return
        table = read_plain(self._container, self._record)
        if isinstance(table, tuple) and len(table) == 3 and table[0] == DEBUG_FORMAT:
            _, self._strings, table = table
        if not isinstance(table, tuple | list) or not all(_is_entry(e) for e in table):
            raise self._container.error("it is no table of source ranges", self._record)
        self._entries = sorted(table, key=lambda e: int(e[0]))
        self._offsets = [e[0] for e in self._entries]

    def _source(self, written: Any) -> Source | None:
        text, filename, line = written
        key: tuple[Any, ...] = (tuple(text) if isinstance(text, list) else text, filename, line)
        if key in self._sources:
            return self._sources[key]
        if not {*map(type, key[0] if isinstance(key[0], tuple) else ()), *map(type, key[1:])} <= _NAMING:
            raise TypeError("a source is named by numbers of strings, or by its text")
        if self._strings is not None:
            self._length += sum(len(self._strings[i]) for i in text)
            if self._length > self._container.limits.pickle_bytes:
                raise self._container.error(exceeded(self._container.limits, "pickle_bytes"), self._record)
            text, filename = "".join(self._strings[i] for i in text), self._strings[filename]
        if not text or not isinstance(text, str) or not isinstance(filename, str | None):
            return None
        source = self._sources[key] = Source(text, filename or "<string>", max(int(line), 1), is_local=False)
        return source


def _range(source: Source, begin: int, end: int) -> SourceRange | None:
    """The range between two offsets in bytes; None if the text is shorter."""
    text = source.text or ""
    if not text.isascii():
        data = text.encode("utf-8", "surrogatepass")
        begin, end = (len(data[:at].decode("utf-8", "ignore")) for at in (begin, end))
    return source.range(begin, end) if 0 <= begin <= end <= len(text) else None


def _is_entry(entry: Any) -> bool:
    return isinstance(entry, tuple) and len(entry) in (2, 3) and type(entry[0]) is int and isinstance(entry[1], tuple)


def to_original(graph: Graph, ranges_of: Callable[[Source], SourceRanges | None]) -> None:
    """Let the nodes of a graph that was compiled from an archive's code say where the user wrote them, once something
    asks. `ranges_of` gives what knows that of a source."""
    known: dict[tuple[int, int, int], SourceRange] = {}
    of_sources: dict[int, SourceRanges | None] = {}
    for block in (b for part in subgraphs(graph) for b in blocks(part.body)):
        for node in block:
            where = node.range
            if where is None or type(where) is LateRange:
                continue
            source = where.source
            key = id(source), where.start, where.end
            if key not in known:
                if id(source) not in of_sources:
                    of_sources[id(source)] = ranges_of(source)
                ranges = of_sources[id(source)]
                known[key] = where if ranges is None else LateRange(where, ranges.original)
            node.range = known[key]
