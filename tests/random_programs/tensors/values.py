"""Values of a program of whole tensors: what is known of each while the program is made."""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass, replace

Axes = tuple[str, ...]
ONE = "1"
"""The symbol of an axis of size 1 in every call."""


@dataclass(frozen=True, slots=True)
class Value:
    """A tensor: its text, an axis symbol for each dimension, and which numbers it may hold."""

    text: str
    axes: Axes
    family: str
    """`exact`: floats that are small whole numbers, of which sums are exact in any order; `smooth`: floats whose last bits
    are not prescribed, which nothing decides by; `int`; `index`: ints that are places in the table; `bool`.
    """
    most: float = 8.0
    """A bound for the size of exact floats and ints."""
    is_place: bool = True
    """Whether it may be written to: a variable with memory in which no element lies twice."""


def joined(a: Axes, b: Axes) -> Axes | None:
    """The axes of an elementwise result; None where they do not broadcast."""
    result: list[str] = []
    for back in range(1, max(len(a), len(b)) + 1):
        one, other = (axes[-back] if back <= len(axes) else ONE for axes in (a, b))
        if ONE not in (one, other) and one != other:
            return None
        result.append(other if one == ONE else one)
    return tuple(reversed(result))


class Scope:
    """The tensors that can be named, and the source of randomness."""

    def __init__(self, draw: random.Random, values: list[Value], names: itertools.count[int] | None = None) -> None:
        self.draw = draw
        self.values = list(values)
        self.names = names or itertools.count(1)
        """Numbers for new names, which functions of one program share."""

    def chance(self, probability: float) -> bool:
        """Whether something with this probability happens."""
        return self.draw.random() < probability

    def name(self, letter: str = "t") -> str:
        """A name not used before."""
        return f"{letter}{next(self.names)}"

    def add(self, value: Value) -> Value:
        """Put a value in scope."""
        self.values.append(value)
        return value

    def some(self, *families: str, rank: int = 0, place: bool = False, onto: Axes | None = None) -> Value | None:
        """A tensor of one of these families with at least so many dimensions; `onto`: one that broadcasts to these."""
        found = [
            v
            for v in self.values
            if v.family in families
            and len(v.axes) >= rank
            and (v.is_place or not place)
            and (onto is None or joined(v.axes, onto) == onto)
        ]
        # What was made last is what other statements are about.
        return self.draw.choice(found[-6:] if found and self.chance(0.6) else found) if found else None

    def named(self, text: str, value: Value) -> Value:
        """A new variable for an expression."""
        return self.add(replace(value, text=text))
