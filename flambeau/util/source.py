"""Where a piece of a program was written: source texts and character ranges in them.

A `Source` is a run of whole lines of one file. A `SourceRange` is a half-open range of character offsets into it. Both
are plain values: they compare by content, can be shared between threads and are kept by every tree, node and error.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate

from flambeau.util.cached import cached_property
from flambeau.util.record import dataclass

CONTEXT_LINES = 2
"""Lines shown above and below the underlined ones."""

HERE = " <--- HERE"

LONGEST_LINE = 500
"""Characters of a line that are shown; of a longer one, those around what is underlined."""
CUT = "..."


@dataclass(frozen=True)
class Source:
    """Consecutive lines of a file, or a file of which only the name is known (`text` is None).

    >>> source = Source("def f(x):\\n    return x\\n", "model.py", first_line=10)
    >>> source.range(14, 22).text
    'return x'
    """

    text: str | None
    """The lines, with "\\n" ends. None when only positions by name are known, as after reading printed IR."""
    filename: str
    """Path of the user's file, or a name in angle brackets such as "<string>"."""
    first_line: int = 1
    """1-based number, in the user's file, of the first line of `text`."""
    leading_whitespace: int = 0
    """Characters of indentation that were taken off every line of `text`."""
    is_local: bool = True
    """Whether `filename` may be opened to quote a line. Not so for what comes from an archive, which may name any."""

    @property
    def shown_name(self) -> str:
        """The name for Python's own messages, which quote lines of files but not of what is in angle brackets."""
        return self.filename if self.is_local else f"<{self.filename}>"

    @cached_property
    def line_starts(self) -> tuple[int, ...]:
        """Offset of the first character of each line. Only "\\n" ends a line, as in Python's own tokenizer."""
        *lines, _ = (self.text or "").split("\n")
        return tuple(accumulate((len(line) + 1 for line in lines), initial=0))

    def line_index(self, offset: int) -> int:
        """0-based index of the line that holds `offset`."""
        return bisect_right(self.line_starts, offset) - 1

    def line(self, index: int) -> str:
        """Text of the line with this 0-based index, without its end."""
        starts = self.line_starts
        end = starts[index + 1] - 1 if index + 1 < len(starts) else len(self.text or "")
        return (self.text or "")[starts[index] : end]

    def offset(self, line_index: int, utf8_column: int) -> int:
        """Character offset of a 0-based line and a column counted in UTF-8 bytes, which is how `ast` counts."""
        starts = self.line_starts
        if self._is_ascii and 0 <= line_index < len(starts) - 1:
            return min(starts[line_index] + utf8_column, starts[line_index + 1] - 1)
        line_index = min(max(line_index, 0), len(starts) - 1)
        start = starts[line_index]
        if not self._is_ascii:
            utf8_column = bisect_right(self._utf8_columns(line_index), utf8_column) - 1
        last = starts[line_index + 1] - 1 if line_index + 1 < len(starts) else len(self.text or "")
        return min(start + utf8_column, last)

    def between(self, line_index: int, utf8_column: int, end_line_index: int, end_utf8_column: int) -> SourceRange:
        """The range from one line and column to others, which are counted as for `offset`."""
        return SourceRange(self, self.offset(line_index, utf8_column), self.offset(end_line_index, end_utf8_column))

    @cached_property
    def _is_ascii(self) -> bool:
        return self.text is None or self.text.isascii()

    @cached_property
    def _columns(self) -> dict[int, list[int]]:
        return {}

    def _utf8_columns(self, line_index: int) -> list[int]:
        """The offset in a line's UTF-8 bytes at which each character begins, and the end. Cached: every node asks."""
        known = self._columns.get(line_index)
        if known is None:
            sizes = (len(character.encode("utf-8", "surrogatepass")) for character in self.line(line_index))
            known = self._columns[line_index] = list(accumulate(sizes, initial=0))
        return known

    def range(self, start: int, end: int) -> SourceRange:
        """The range of offsets start to end (exclusive) of this source."""
        return SourceRange(self, start, end)


@dataclass(frozen=True, slots=True)
class SourceRange:
    """Characters `start` to `end` (exclusive) of a source.

    >>> where = Source("x = 1\\ny = x.foo\\n", "<string>").range(10, 15)
    >>> str(where)
    '<string>:2:4'
    >>> print(where.highlight(), end="")
      File "<string>", line 2
    x = 1
    y = x.foo
        ~~~~~ <--- HERE
    """

    source: Source
    start: int
    end: int

    @staticmethod
    def at(filename: str, line: int, column: int) -> SourceRange:
        """A place known by name only: 1-based `line`, 0-based `column`, no text to show."""
        return SourceRange(Source(None, filename, line, column), 0, 0)

    @property
    def text(self) -> str:
        """The characters in the range; empty when the text is not known."""
        return (self.source.text or "")[self.start : self.end]

    def file_line_col(self) -> tuple[str, int, int]:
        """File name, 1-based line and 0-based column (in characters), all in the user's own file."""
        source = self.source
        if source.text is None:
            return source.filename, source.first_line, source.leading_whitespace
        index = source.line_index(self.start)
        column = self.start - source.line_starts[index]
        return source.filename, source.first_line + index, column + source.leading_whitespace

    def __str__(self) -> str:
        filename, line, column = self.file_line_col()
        return f"{filename}:{line}:{column}"

    def union(self, other: SourceRange) -> SourceRange:
        """The smallest range that covers both; `self` when they lie in different sources."""
        if other.source is not self.source and other.source != self.source:
            return self
        return SourceRange(self.source, min(self.start, other.start), max(self.end, other.end))

    def highlight(self, *, context_lines: int = CONTEXT_LINES, function: str | None = None) -> str:
        """File and line, then the lines around the range with the range underlined. Ends with a newline.

        `function` is named after the line number, as a traceback does. Every covered line is underlined and the last
        underline is marked; an empty range gets one mark. Without a text only the first line is given.
        """
        filename, line, _ = self.file_line_col()
        header = f'  File "{filename}", line {line}' + (f", in {function}" if function else "")
        lines = [header, *self._underlined(context_lines)]
        return "\n".join(lines) + "\n"

    def _underlined(self, context_lines: int) -> list[str]:
        source = self.source
        if source.text is None:
            return []
        end = max(self.end, self.start + 1)
        first = source.line_index(self.start)
        last = max(first, source.line_index(end - 1))
        line_count = len(source.line_starts) - (1 if source.text.endswith("\n") else 0)
        lines = [_cut(source.line(index)) for index in range(max(0, first - context_lines), first)]
        for index in range(first, last + 1):
            line, line_start = source.line(index), source.line_starts[index]
            indentation = len(line) - len(line.lstrip())
            begin = self.start - line_start if index == first else indentation
            stop = min(len(line), end - line_start)
            line, begin, stop = _around(line, begin, stop)
            mark = _underline(line, begin, max(stop, begin + 1) if index == last else stop)
            lines.append(line)
            if index == last:
                lines.append(mark + HERE)
            elif mark:
                lines.append(mark)
        lines += [_cut(source.line(index)) for index in range(last + 1, min(line_count, last + 1 + context_lines))]
        return lines


def _cut(line: str) -> str:
    return line if len(line) <= LONGEST_LINE else line[: LONGEST_LINE - len(CUT)] + CUT


def _around(line: str, begin: int, stop: int) -> tuple[str, int, int]:
    """The part of a very long line that is around line[begin:stop], and where in it that is.

    >>> part, begin, stop = _around("x" * 1000 + "y" * 1000, 1000, 1001)
    >>> part[:4], part[begin:stop], part[-4:], len(part)
    ('...x', 'y', 'y...', 500)
    """
    if len(line) <= LONGEST_LINE:
        return line, begin, stop
    start = max(0, begin - LONGEST_LINE // 4)
    head = CUT if start else ""
    shift = len(head) - start
    return _cut(head + line[start:]), begin + shift, min(stop + shift, LONGEST_LINE)


def _underline(line: str, begin: int, stop: int) -> str:
    """Tildes below line[begin:stop]. Tabs before them stay tabs, so that they line up at any tab width."""
    if stop <= begin:
        return ""
    pad = "".join("\t" if character == "\t" else " " for character in line[:begin])
    return pad + " " * (begin - len(pad)) + "~" * (stop - begin)
