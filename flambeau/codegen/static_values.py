"""The static operands of a group at a call: its launches are for exactly these numbers."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from flambeau.util.record import dataclass

Number = int | float


@dataclass(frozen=True, slots=True)
class StaticValues:
    """The static operands of a group at a call: numbers, and tuples of them for lists."""

    values: tuple[Number | tuple[Number, ...], ...]
    kinds: tuple[object, ...]
    """The types of the numbers, for 1 is equal to 1.0; the bits of floats, for 0.0 is equal to -0.0."""

    def __str__(self) -> str:
        return ", ".join(str(list(v) if isinstance(v, tuple) else v) for v in self.values)

    @property
    def constants(self) -> list[Any]:
        """The values as programs have them."""
        return [list(v) if isinstance(v, tuple) else v for v in self.values]

    @property
    def words(self) -> list[list[int]]:
        """Of each value its numbers, as words."""
        return [[*map(_word, v)] if isinstance(v, tuple) else [_word(v)] for v in self.values]


def static_values(values: Sequence[Any]) -> StaticValues:
    """What comes behind a group's tensors."""
    plain = tuple([tuple(v) if isinstance(v, list | tuple) else v for v in values])
    numbers = [n for v in plain for n in (v if isinstance(v, tuple) else (v,))]
    return StaticValues(plain, tuple([_word(n) if type(n) is float else type(n) for n in numbers]))


def _word(number: Number) -> int:
    if isinstance(number, float):
        return int.from_bytes(struct.pack("<d", number), "little", signed=True)
    return int(number)
