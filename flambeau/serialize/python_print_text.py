"""Printed code in pieces that know where they came from, so that positions in the code lead back to the user's source.

>>> text = Tagged.of(None, "torch.add(", Tagged.of(None, "x"), ")")
>>> str(text), len(text)
('torch.add(x)', 12)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from flambeau.util.source import SourceRange

INDENT = "  "


class Mark(NamedTuple):
    """From `offset` on, up to the next mark, the text came from `range`."""

    offset: int
    range: SourceRange | None


class Tagged:
    """An immutable run of text with marks."""

    __slots__ = ("marks", "text")

    def __init__(self, text: str, marks: tuple[Mark, ...] = ()) -> None:
        self.text = text
        self.marks = marks

    @staticmethod
    def of(range_: SourceRange | None, *parts: str | Tagged) -> Tagged:
        """Parts in a row: strings and what has no marks came from `range_`, the others keep their own marks."""
        pieces: list[str] = []
        marks: list[Mark] = []
        offset = 0
        for part in parts:
            if isinstance(part, str):
                marks.append(Mark(offset, range_))
                pieces.append(part)
                offset += len(part)
            else:
                marks.extend([Mark(offset + m.offset, m.range) for m in part.marks] or [Mark(offset, range_)])
                pieces.append(part.text)
                offset += len(part.text)
        return Tagged("".join(pieces), tuple(marks))

    def __len__(self) -> int:
        return len(self.text)

    def __str__(self) -> str:
        return self.text


def separated(parts: Iterable[str | Tagged], separator: str = ", ") -> list[str | Tagged]:
    """The parts with a separator between each two."""
    pieces: list[str | Tagged] = []
    for part in parts:
        if pieces:
            pieces.append(separator)
        pieces.append(part)
    return pieces


class Body:
    """Lines of code as they are written, at the present depth of indentation."""

    def __init__(self) -> None:
        self.depth = 0
        self._pieces: list[str] = []
        self._length = 0
        self.marks: list[Mark] = []

    def line(self, range_: SourceRange | None, *parts: str | Tagged) -> None:
        """Write one line."""
        tagged = Tagged.of(range_, INDENT * self.depth, *parts, "\n")
        for mark in tagged.marks:
            if not self.marks or self.marks[-1].range != mark.range:
                self.marks.append(Mark(self._length + mark.offset, mark.range))
        self._pieces.append(tagged.text)
        self._length += len(tagged)

    def __str__(self) -> str:
        return "".join(self._pieces)
