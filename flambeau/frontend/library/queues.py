"""`collections.deque`: a list of which the items before `head` were taken away.

Items leave at the front in constant time, amortised: what was taken away goes once it is more than half of the list. A
queue is a class of its own for each type of items, written once here with `Item` for that type.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from types import FunctionType
from typing import Any, Final, List  # noqa: UP035

from flambeau.schema.types import Type

MOST: Final = 256
"""Types of items whose classes are kept."""
Item = Any
"""The type of the items: another one in each class that is made of this."""
EMPTY = "pop from an empty deque"
OUTSIDE = "deque index out of range"
NEGATIVE = "maxlen must be non-negative"
FULL = "deque already at its maximum size"
FEW = 32
"""Items taken away that a list keeps, however short it is."""


class deque:  # noqa: N801
    """Python's double-ended queue."""

    def __init__(self, items: List[Item], limit: int, is_limited: bool = False) -> None:  # noqa: UP006
        """``limit``: the most items there are; -1, which nobody may ask for, where there may be any number."""
        if is_limited and limit < 0:
            raise ValueError(NEGATIVE)
        self.items = items
        self.limit = limit
        self.head = 0
        if limit >= 0:
            self.head = max(len(items) - limit, 0)

    def left(self) -> List[Item]:  # noqa: UP006
        """The items, in a list of their own."""
        return self.items[self.head :]

    def copy(self) -> deque:
        """Another queue of the same items."""
        return deque(self.left(), self.limit)

    def __len__(self) -> int:
        return len(self.items) - self.head

    def __bool__(self) -> bool:
        return len(self.items) > self.head

    def append(self, item: Item) -> None:
        """Add an item at the end; where there are as many as may be, the first one goes."""
        self.items.append(item)
        if len(self.items) - self.head > self.limit and self.limit >= 0:
            self.drop_first()

    def appendleft(self, item: Item) -> None:
        """Add an item at the front; where there are as many as may be, the last one goes."""
        if self.limit == 0:
            return
        if len(self.items) - self.head == self.limit:
            self.items.pop()
        if self.head == 0:
            front = [item] * (len(self.items) + FEW)
            self.head = len(front)
            self.items = front + self.items
        self.head -= 1
        self.items[self.head] = item

    def pop(self) -> Item:
        """Take the last item. Raises IndexError for an empty queue."""
        if len(self.items) == self.head:
            raise IndexError(EMPTY)
        return self.items.pop()

    def popleft(self) -> Item:
        """Take the first item. Raises IndexError for an empty queue."""
        if len(self.items) == self.head:
            raise IndexError(EMPTY)
        item = self.items[self.head]
        self.drop_first()
        return item

    def drop_first(self) -> None:
        """Take the first item away."""
        self.head += 1
        if self.head > FEW and 2 * self.head > len(self.items):
            self.items = self.left()
            self.head = 0

    def extend(self, items: List[Item]) -> None:  # noqa: UP006
        """Add items at the end, one after another."""
        for item in items:
            self.append(item)

    def extendleft(self, items: List[Item]) -> None:  # noqa: UP006
        """Add items at the front, one after another."""
        for item in items:
            self.appendleft(item)

    def __iadd__(self, items: List[Item]) -> deque:  # noqa: UP006
        self.extend(items)
        return self

    def insert(self, index: int, item: Item) -> None:
        """Add an item before another. Raises IndexError where there are as many as may be."""
        if len(self.items) - self.head == self.limit:
            raise IndexError(FULL)
        self.items = self.left()
        self.head = 0
        self.items.insert(index, item)

    def remove(self, item: Item) -> None:
        """Take the first item away that is equal to one. Raises ValueError where none is."""
        self.items.pop(self.head + self.index(item))

    def index(self, item: Item) -> int:
        """The number of the first item that is equal to one. Raises ValueError where none is."""
        for k in range(self.head, len(self.items)):
            if self.items[k] == item:
                return k - self.head
        raise ValueError(f"{item!r} is not in deque")

    def clear(self) -> None:
        """Take all items away."""
        self.items.clear()
        self.head = 0

    def rotate(self, n: int = 1) -> None:
        """Move items from the end to the front; from the front to the end for a negative number."""
        count = len(self.items) - self.head
        if count > 1:
            items = self.left()
            first = (count - n % count) % count
            self.items = items[first:] + items[:first]
            self.head = 0

    def reverse(self) -> None:
        """Turn the order around."""
        self.items = self.left()
        self.head = 0
        self.items.reverse()

    def place(self, index: int) -> int:
        """Where an item lies. Raises IndexError where there is none."""
        count = len(self.items) - self.head
        if index < -count or index >= count:
            raise IndexError(OUTSIDE)
        return self.head + index if index >= 0 else len(self.items) + index

    def __getitem__(self, index: int) -> Item:
        return self.items[self.place(index)]

    def __setitem__(self, index: int, item: Item) -> None:
        self.items[self.place(index)] = item

    def __contains__(self, item: Item) -> bool:
        return any(self.items[k] == item for k in range(self.head, len(self.items)))

    def count(self, item: Item) -> int:
        """How many items are equal to one."""
        total = 0
        for k in range(self.head, len(self.items)):
            if self.items[k] == item:
                total += 1
        return total

    def __eq__(self, other: deque) -> bool:  # type: ignore[override]
        return self.left() == other.left()

    def __str__(self) -> str:
        return f"deque({self.left()})" if self.limit < 0 else f"deque({self.left()}, maxlen={self.limit})"

    def __iter__(self) -> Iterator[Item]:
        for k in range(self.head, len(self.items)):
            yield self.items[k]


@functools.lru_cache(maxsize=MOST)
def queue_class(item: Type) -> type:
    """The class of queues of such items.

    >>> from flambeau.schema.types import INT
    >>> item_of(queue_class(INT)) is INT, item_of(list)
    (True, None)
    """
    members: dict[str, Any] = {}
    for name, member in vars(deque).items():
        if isinstance(member, FunctionType):
            scope = {**member.__globals__, "Item": item}
            method = FunctionType(member.__code__, scope, name, member.__defaults__, member.__closure__)
            method.__annotations__ = dict(member.__annotations__)
            method.__qualname__, method.__module__ = member.__qualname__, member.__module__
            members[name] = method
    members.update(__module__=__name__, __qualname__="deque", __doc__=deque.__doc__)
    return type("deque", (), members)


def item_of(cls: type) -> Type | None:
    """The type of the items of a class of queues; None for any other class."""
    method = vars(cls).get("popleft")
    item = method.__globals__.get("Item") if isinstance(method, FunctionType) and cls.__module__ == __name__ else None
    return item if isinstance(item, Type) else None
