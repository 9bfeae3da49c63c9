"""What is known of Python classes and functions, kept on them: it lives as long as they do, and keeps none alive.

A weak dictionary would not do: what a class was compiled to refers to the class, so that neither would ever go. Kept on
the class itself, both are one cycle, which the collector finds.

>>> class Point: ...
>>> seen = KeptOn()
>>> seen[Point] = ("about", Point)
>>> seen.get(Point)[0], list(seen) == [Point]
('about', True)
"""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from typing import Any, Generic, TypeVar

from flambeau.util.weak_sets import members

K = TypeVar("K")
V = TypeVar("V")
ATTRIBUTE = "_abc_flambeau"
"""Names that begin so are no part of what a protocol asks for."""


class KeptOn(Generic[K, V]):
    """A mapping from classes, functions or other objects that have attributes, by identity."""

    def __init__(self) -> None:
        self._owners: weakref.WeakSet[Any] = weakref.WeakSet()

    def get(self, owner: K) -> V | None:
        """What is known of `owner`, or None."""
        entry = owner.__dict__.get(ATTRIBUTE)
        return entry.values.get(self) if entry is not None and entry.owner() is owner else None

    def __contains__(self, owner: K) -> bool:
        return self.get(owner) is not None

    def __setitem__(self, owner: K, value: V) -> None:
        entry = owner.__dict__.get(ATTRIBUTE)
        if entry is None or entry.owner() is not owner:  # `functools.wraps` and `dataclass` copy attributes
            entry = _Entry(weakref.ref(owner))
            if isinstance(owner, type):
                type.__setattr__(owner, ATTRIBUTE, entry)
            else:
                owner.__dict__[ATTRIBUTE] = entry
        entry.values[self] = value
        self._owners.add(owner)

    def pop(self, owner: K) -> V | None:
        """Forget `owner`; what was known of it, or None."""
        value = self.get(owner)
        if value is not None:
            del owner.__dict__[ATTRIBUTE].values[self]
            self._owners.discard(owner)
        return value

    def clear(self) -> None:
        """Forget everything."""
        for owner in self:
            self.pop(owner)

    def __iter__(self) -> Iterator[K]:
        return iter(members(self._owners))

    def __len__(self) -> int:
        return len(self._owners)

    def values(self) -> list[V]:
        """What is known of the owners that are alive."""
        return [value for owner in self if (value := self.get(owner)) is not None]


def forget(owner: Any) -> None:
    """Forget what anybody knows of an object: it has become another.

    >>> class Point: ...
    >>> seen, point = KeptOn(), Point()
    >>> seen[point] = 3
    >>> forget(point)
    >>> seen.get(point) is None
    True
    """
    owner.__dict__.pop(ATTRIBUTE, None)


class _Entry:
    """What one owner holds. Copies and pickles of the owner hold nothing."""

    __slots__ = ("owner", "values")

    def __init__(self, owner: Callable[[], Any]) -> None:
        self.owner = owner
        self.values: dict[Any, Any] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return _Entry, (_nobody,)


def _nobody() -> None:
    return None


class Recent(Generic[V]):
    """Values by key: all that somebody uses, and of the others those that were asked for last.

    >>> class Thing: ...
    >>> known = Recent(most=1)
    >>> known["a"] = a = Thing()
    >>> known["b"] = Thing()
    >>> known["c"] = Thing()
    >>> known.get("a") is a, known.get("b")
    (True, None)
    """

    def __init__(self, most: int = 256) -> None:
        self._most = most
        self._all: weakref.WeakValueDictionary[Hashable, Any] = weakref.WeakValueDictionary()
        self._kept: OrderedDict[Hashable, Any] = OrderedDict()

    def get(self, key: Hashable) -> V | None:
        """The value of a key, or None."""
        value: V | None = self._all.get(key)
        if value is not None:
            self[key] = value
        return value

    def __setitem__(self, key: Hashable, value: V) -> None:
        self._all[key] = self._kept[key] = value
        self._kept.move_to_end(key)
        if len(self._kept) > self._most:
            self._kept.popitem(last=False)
