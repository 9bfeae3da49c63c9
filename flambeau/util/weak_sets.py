"""Weak sets that several threads use: their members at one moment."""

from __future__ import annotations

from typing import Any, TypeVar
from weakref import WeakSet

T = TypeVar("T")


def members(weak: WeakSet[T]) -> list[T]:
    """The members of a weak set, which another thread may change meanwhile.

    `list(weak)` runs Python between two members, so that a member that comes in there is a RuntimeError; here the
    references are copied in one step.

    >>> class Member:
    ...     pass
    >>> member = Member()
    >>> members(WeakSet([member])) == [member]
    True
    """
    references: set[Any] = weak.data  # type: ignore[attr-defined]  # which typeshed does not declare
    return [member for reference in references.copy() if (member := reference()) is not None]
