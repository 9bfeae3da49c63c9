"""What a program being made has in scope: names with their kinds, and the one source of randomness."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

Axes = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Name:
    """A variable."""

    text: str
    kind: str
    """int, float, bool, tensor; ints, floats, bools, rows (lists of lists of ints), tensors; pair (of int and float)."""
    axes: Axes = ()
    """Of a tensor: a symbol for each axis. Axes with one symbol have one size, whatever it is."""
    family: str = ""
    """Of a tensor: float, int or bool; its dtype is drawn with the arguments."""
    is_written: bool = True
    """Of a tensor: whether the program may write to it."""
    below: str = ""
    """Of an int: the symbol of an axis that it is an index for."""
    is_fixed: bool = False
    """Not to be assigned to."""


class Scope:
    """Names in scope, and what is drawn."""

    def __init__(self, draw: random.Random, names: list[Name], *, edges: bool, lists: bool) -> None:
        self.draw = draw
        self.names = names
        self.edges = edges
        """Ints reach the edges of 64 bits and floats are any; else both stay so small that Python's own are the same."""
        self.lists = lists
        """Whether there are lists; programs without them have a simpler native form."""
        self.loops = 0
        """How many loops are around."""
        self._counter = 0

    def chance(self, probability: float) -> bool:
        """Whether something with this probability happens."""
        return self.draw.random() < probability

    def fresh(self, kind: str, **more: object) -> Name:
        """A name not used before; not yet in scope."""
        self._counter += 1
        return replace(Name(f"{kind[0]}{self._counter}", kind), **more)  # type: ignore[arg-type]

    def axis(self) -> str:
        """A new symbol for an axis."""
        self._counter += 1
        return f"axis{self._counter}"

    def add(self, name: Name) -> Name:
        """Put a name in scope."""
        self.names.append(name)
        return name

    def all(self, kind: str) -> list[Name]:
        """Names of a kind."""
        return [n for n in self.names if n.kind == kind]

    def some(self, kind: str) -> Name | None:
        """A name of a kind, if there is one."""
        found = self.all(kind)
        return self.draw.choice(found) if found else None

    def some_tensor(self, *, axes: Axes | None = None, family: str = "", written: bool = False) -> Name | None:
        """A tensor as described, if there is one."""
        found = [
            n
            for n in self.all("tensor")
            if (axes is None or n.axes == axes) and family in ("", n.family) and (n.is_written or not written)
        ]
        return self.draw.choice(found) if found else None

    def changeable(self, kind: str) -> Name | None:
        """A name of a kind that may be assigned to."""
        found = [n for n in self.all(kind) if not n.is_fixed]
        return self.draw.choice(found) if found else None

    @contextmanager
    def inner(self, *names: Name, loop: bool = False) -> Iterator[None]:
        """A body: what is defined in it goes out of scope with it."""
        before = list(self.names)
        self.names = [*before, *names]
        self.loops += loop
        yield
        self.loops -= loop
        self.names = before
