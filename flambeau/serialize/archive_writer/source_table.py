"""Where the text of a code record came from: the positions in the user's own files, as the archive keeps them.

Texts are kept line by line, each line once. Offsets count bytes. A source whose indentation was taken off gets it back,
so that what is read and written again says the same.
"""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.serialize.archive_format import DEBUG_FORMAT, PICKLE_MODULE
from flambeau.serialize.archive_writer.opcodes import PickleStream
from flambeau.serialize.python_print_text import Mark
from flambeau.util.record import dataclass
from flambeau.util.source import Source, SourceRange

_INT_LIST = "build_intlist"
_NOWHERE = ((), 0, 0)
_Text = tuple[tuple[int, ...], int, int]
"""Lines of the text and the file's name, by their places in the table; the number of the first line."""


def source_table(marks: Sequence[Mark]) -> bytes:
    """The record for code with these marks."""
    return _Table().pickled(marks)


@dataclass(frozen=True, slots=True)
class _Whole:
    """A source with its indentation."""

    text: str
    starts: tuple[int, ...]
    """Of each line of the source as it was, how many characters more there are before it now."""

    @staticmethod
    def of(source: Source) -> _Whole:
        shift, added = source.leading_whitespace, 0
        lines, starts = [], []
        for line in (source.text or "").split("\n"):
            if line:
                added += shift
            lines.append(" " * shift + line if line else line)
            starts.append(added)
        return _Whole("\n".join(lines), tuple(starts))

    def offset(self, source: Source, at: int) -> int:
        """Where a character is, in bytes from the beginning."""
        in_text = at + self.starts[source.line_index(at)]
        return in_text if self.text.isascii() else len(self.text[:in_text].encode("utf-8", "surrogatepass"))


def _write_text(stream: PickleStream, text: _Text) -> None:
    """A source, in full where it comes first: most of the entries are of few."""
    if stream.get(text):
        return
    lines, name, first = text
    stream.name(PICKLE_MODULE, _INT_LIST)
    stream.begin_tuple()
    stream.begin_list()
    for line in lines:
        stream.plain(line)
    stream.end_list()
    stream.end_tuple()
    stream.reduce()
    stream.plain(name)
    stream.plain(first)
    stream.close_tuple(3)
    stream.put(text)


class _Table:
    def __init__(self) -> None:
        self._strings: dict[str, int] = {"": 0}
        self._texts: dict[Source, tuple[_Whole, _Text]] = {}
        self._tags: dict[SourceRange | None, int] = {None: 0}

    def pickled(self, marks: Sequence[Mark]) -> bytes:
        entries = [(mark.offset, *self._place(mark.range), self._tag(mark.range)) for mark in marks]
        stream = PickleStream()
        stream.begin_tuple()
        stream.plain(DEBUG_FORMAT)
        stream.begin_tuple()
        for string in self._strings:
            stream.plain(string)
        stream.end_tuple()
        stream.begin_tuple()
        for offset, text, start, end, tag in entries:
            stream.plain(offset)
            _write_text(stream, text)
            stream.plain(start)
            stream.plain(end)
            stream.close_tuple(3)
            stream.plain(tag)
            stream.close_tuple(3)
        stream.end_tuple()
        stream.end_tuple()
        return stream.finish()

    def _tag(self, range_: SourceRange | None) -> int:
        return self._tags.setdefault(range_, len(self._tags))

    def _place(self, range_: SourceRange | None) -> tuple[_Text, int, int]:
        if range_ is None or range_.source.text is None:
            return _NOWHERE, 0, 0
        whole, text = self._text(range_.source)
        return text, whole.offset(range_.source, range_.start), whole.offset(range_.source, range_.end)

    def _text(self, source: Source) -> tuple[_Whole, _Text]:
        text_ = self._texts.get(source)
        if text_ is None:
            whole = _Whole.of(source)
            lines = whole.text.split("\n")
            ids = [self._id(line + "\n") for line in lines[:-1]] + [self._id(lines[-1])]
            text_ = self._texts[source] = whole, (tuple(ids), self._id(source.filename), source.first_line)
        return text_

    def _id(self, text: str) -> int:
        return self._strings.setdefault(text, len(self._strings))
