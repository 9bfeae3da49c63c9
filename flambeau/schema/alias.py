"""Alias annotations of schemas: `(a)` may share memory, `(a!)` is written, `(a -> *)` goes into a container.

>>> str(AliasInfo(before=("a",), is_write=True))
'(a!)'
"""

from __future__ import annotations

from flambeau.util.record import dataclass

WILDCARD = "*"


@dataclass(frozen=True, slots=True)
class AliasInfo:
    """One annotation. `before` and `after` are the alias sets when the operator starts and when it has run."""

    before: tuple[str, ...] = ()
    after: tuple[str, ...] | None = None
    """None where nothing changes."""
    is_write: bool = False
    """Whether the operator writes to the memory."""
    contained: tuple[AliasInfo | None, ...] = ()
    """The annotations of the type's contents: the `(a)` inside `Tensor(a)[]`."""

    @property
    def sets(self) -> frozenset[str]:
        """Every alias set this value may be in."""
        return self.before_set | self.after_set

    @property
    def before_set(self) -> frozenset[str]:
        """The alias sets when the operator starts."""
        return frozenset(self.before)

    @property
    def after_set(self) -> frozenset[str]:
        """The alias sets when it has run."""
        return frozenset(self.before if self.after is None else self.after)

    @property
    def is_wildcard(self) -> bool:
        """Whether the value may alias anything of its type afterwards."""
        return WILDCARD in self.sets

    def __str__(self) -> str:
        if not self.before and self.after is None:
            return ""
        arrow = "" if self.after is None else " -> " + "|".join(self.after)
        return f"({'|'.join(self.before)}{'!' if self.is_write else ''}{arrow})"
