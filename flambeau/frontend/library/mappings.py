"""`collections.defaultdict` and `collections.Counter`: objects that keep a dict, for programs in the language itself.

Each is a class of its own for each type of keys and of items, written once here with `Key` and `Item` for these, and
`Factory` for what makes an item that is missing.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from types import FunctionType
from typing import Any, Dict, Final, List, Optional, Tuple  # noqa: UP035

from flambeau.schema.types import Type

MOST: Final = 256
"""Classes that are kept."""
Key = Any
Item = Any
Factory: Any = int
EMPTY = "dictionary is empty"


class defaultdict:  # noqa: N801
    """Python's dict that makes what is missing."""

    def __init__(self, table: Dict[Key, Item]) -> None:  # noqa: UP006
        self.table = table

    def __getitem__(self, key: Key) -> Item:
        if key not in self.table:
            missing: Item = Factory()
            self.table[key] = missing
        return self.table[key]

    def __setitem__(self, key: Key, item: Item) -> None:
        self.table[key] = item

    def __delitem__(self, key: Key) -> None:
        del self.table[key]

    def __contains__(self, key: Key) -> bool:
        return key in self.table

    def __len__(self) -> int:
        return len(self.table)

    def __bool__(self) -> bool:
        return len(self.table) > 0

    def __iter__(self) -> Iterator[Key]:
        for key in self.table:  # noqa: UP028
            yield key

    def keys(self) -> List[Key]:  # noqa: UP006
        """The keys, in the order in which they came."""
        return list(self.table.keys())

    def values(self) -> List[Item]:  # noqa: UP006
        """The items, in the order in which they came."""
        return list(self.table.values())

    def items(self) -> List[Tuple[Key, Item]]:  # noqa: UP006
        """The keys with the items."""
        return list(self.table.items())

    def get(self, key: Key, default: Optional[Item] = None) -> Optional[Item]:  # noqa: UP045
        """The item of a key, or the default where there is none; nothing is made."""
        if key in self.table:
            return self.table[key]
        return default

    def setdefault(self, key: Key, item: Item) -> Item:
        """The item of a key, which is this one where there was none."""
        return self.table.setdefault(key, item)

    def pop(self, key: Key) -> Item:
        """Take a key away. Raises KeyError where it is not there."""
        return self.table.pop(key)

    def clear(self) -> None:
        """Take all away."""
        self.table.clear()

    def __eq__(self, other: defaultdict) -> bool:  # type: ignore[override]
        return self.table == other.table


class Counter(defaultdict):
    """Python's dict of counts, of which what is missing is 0, and is not made."""

    def __getitem__(self, key: Key) -> int:
        count: int = self.table.get(key, 0)
        return count

    def __delitem__(self, key: Key) -> None:
        if key in self.table:
            del self.table[key]

    def update(self, keys: List[Key]) -> None:  # noqa: UP006
        """Count keys."""
        for key in keys:
            self.table[key] = self.table.get(key, 0) + 1

    def subtract(self, keys: List[Key]) -> None:  # noqa: UP006
        """Count keys down."""
        for key in keys:
            self.table[key] = self.table.get(key, 0) - 1

    def most_common(self, n: Optional[int] = None) -> List[Tuple[Key, int]]:  # noqa: UP006, UP045
        """The keys with their counts, the largest first; those that came first before others of as many."""
        pairs = sorted(self.table.items(), key=lambda pair: -pair[1])
        if n is None:
            return pairs
        return pairs[: max(n, 0)]

    def elements(self) -> List[Key]:  # noqa: UP006
        """Each key as often as it was counted."""
        keys: List[Key] = []  # noqa: UP006
        for key, count in self.table.items():
            for _ in range(count):
                keys.append(key)
        return keys

    def __add__(self, other: Counter) -> Counter:
        """The counts of both that are above 0."""
        return self.joined(other, 1)

    def __sub__(self, other: Counter) -> Counter:
        """The counts less those of another, where they are above 0."""
        return self.joined(other, -1)

    def joined(self, other: Counter, sign: int) -> Counter:
        """The counts, and those of another times a sign, where they are above 0."""
        table: Dict[Key, int] = {}  # noqa: UP006
        for key, count in self.table.items():
            total = count + sign * other.table.get(key, 0)
            if total > 0:
                table[key] = total
        for key, count in other.table.items():
            if key not in self.table and sign * count > 0:
                table[key] = sign * count
        return Counter(table)

    def total(self) -> int:
        """The sum of the counts."""
        total = 0
        for count in self.table.values():
            total += count
        return total


@functools.lru_cache(maxsize=MOST)
def mapping_class(kind: str, key: Type, item: Type, factory: Any) -> type:
    """The class of such objects with keys and items of these types, `kind` being its name.

    >>> from flambeau.schema.types import INT
    >>> is_mapping(mapping_class("Counter", INT, INT, int)), is_mapping(dict)
    (True, False)
    """
    members: dict[str, Any] = {}
    scope = {**globals(), "Key": key, "Item": item, "Factory": factory}
    written = {**vars(defaultdict), **(vars(Counter) if kind == "Counter" else {})}
    for name, member in written.items():
        if isinstance(member, FunctionType):
            method = FunctionType(member.__code__, scope, name, member.__defaults__, member.__closure__)
            method.__annotations__ = dict(member.__annotations__)
            method.__qualname__, method.__module__ = member.__qualname__, member.__module__
            members[name] = method
    members.update(__module__=__name__, __qualname__=kind, __doc__=globals()[kind].__doc__)
    return type(kind, (), members)


def is_mapping(cls: Any) -> bool:
    """Whether a class is one of those."""
    return isinstance(cls, type) and cls.__module__ == __name__
