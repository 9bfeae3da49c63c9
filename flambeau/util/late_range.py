"""Ranges that are looked up when something asks where they are: of thousands in a program few are ever shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from flambeau.util.source import SourceRange

_FIELDS: Final = ("source", "start", "end")


class LateRange(SourceRange):
    """A range that another range stands for until it is asked for.

    >>> from flambeau.util.source import Source
    >>> written, shown = Source("a = 1\\n", "<code>").range(0, 1), Source("b = 1\\n", "<user>").range(0, 1)
    >>> where = LateRange(written, lambda known: shown)
    >>> str(where.known), str(where), where == shown, shown == where, hash(where) == hash(shown)
    ('<code>:1:0', '<user>:1:0', True, True, True)
    """

    __slots__ = ("_find", "known")

    known: SourceRange
    """What stands for it."""

    def __init__(self, known: SourceRange, find: Callable[[SourceRange], SourceRange]) -> None:
        """`find` gives the range for what is known."""
        object.__setattr__(self, "known", known)
        object.__setattr__(self, "_find", find)

    def __getattr__(self, name: str) -> Any:
        if name not in _FIELDS:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        where = self._find(self.known)
        for field in _FIELDS:
            object.__setattr__(self, field, getattr(where, field))
        return getattr(where, name)

    def settled(self) -> SourceRange:
        """A range that is not late."""
        return SourceRange(self.source, self.start, self.end)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SourceRange) and self.settled() == (
            other.settled() if isinstance(other, LateRange) else other
        )

    def __hash__(self) -> int:
        return hash(self.settled())

    def __reduce__(self) -> tuple[type[SourceRange], tuple[Any, ...]]:
        return SourceRange, (self.source, self.start, self.end)
