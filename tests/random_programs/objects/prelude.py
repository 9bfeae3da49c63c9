"""The classes that generated programs use, as source."""

PRELUDE = '''\
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple


class Shade(Enum):
    LIGHT = 1
    DARK = 5
    DEEP = 9


class Place(NamedTuple):
    row: int
    column: int = 2


class Counter:
    """Mutable, with a list of its own that others may get to know."""

    def __init__(self, start: int):
        self.count = start
        self.log = [start]
        self.weight = 0.5

    def add(self, by: int, times: int = 1) -> int:
        for _ in range(times):
            self.count = (self.count + by) % 1009
            self.log.append(self.count)
            if len(self.log) > 6:
                self.log.pop(0)
        return self.count

    @property
    def last(self) -> int:
        return self.log[-1]

    @staticmethod
    def clip(value: int) -> int:
        if value > 50:
            return 50
        return value

    def child(self) -> "Counter":
        made = Counter(self.count + 1)
        made.weight = self.weight * 0.5
        return made

    def renew(self, log: list[int]) -> None:
        self.log = log

    def __len__(self) -> int:
        return len(self.log)

    def __getitem__(self, i: int) -> int:
        return self.log[i]

    def __setitem__(self, i: int, value: int) -> None:
        self.log[i] = value

    def __contains__(self, value: int) -> bool:
        return value in self.log

    def __eq__(self, other: "Counter") -> bool:
        return self.count == other.count

    def __lt__(self, other: "Counter") -> bool:
        return self.count < other.count

    def __add__(self, other: "Counter") -> "Counter":
        made = Counter(self.count + other.count)
        made.renew(self.log + other.log)
        return made


class Pair:
    """Two counters, maybe one twice."""

    def __init__(self, first: Counter, second: Counter):
        self.first = first
        self.second = second
        self.spare: Optional[Counter] = None

    def swap(self) -> None:
        self.first, self.second = self.second, self.first

    def keep(self, it: Counter) -> bool:
        if self.spare is not None:
            return False
        self.spare = it
        return True

    def total(self) -> int:
        found = self.first.count * 3 + self.second.last
        spare = self.spare
        if spare is not None:
            found += spare.count
        return found


@dataclass
class Box:
    width: int
    height: int = 3
    label: str = "box"

    def area(self) -> int:
        return self.width * self.height % 211


class Square:
    def __init__(self, side: int):
        self.side = side

    def area(self) -> int:
        return self.side * self.side % 211


@flambeau.interface
class Area:
    def area(self) -> int:
        pass


class Guard:
    """Says in a list when it is entered and left."""

    def __init__(self, log: list[int], mark: int):
        self.log = log
        self.mark = mark

    def __enter__(self) -> int:
        self.log.append(self.mark)
        return len(self.log)

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        self.log.append(-self.mark)


def measure(it: Area, twice: bool = False) -> int:
    if twice:
        return it.area() * 2
    return it.area()


def bump(it: Counter, by: int) -> Counter:
    if by % 5 == 0:
        return it
    it.add(by)
    return it


def shade_of(n: int) -> Shade:
    if n % 3 == 0:
        return Shade.LIGHT
    if n % 3 == 1:
        return Shade.DARK
    return Shade.DEEP


'''
"""Python's and ours: every method means the same in both."""
