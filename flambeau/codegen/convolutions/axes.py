"""What each place along an axis takes: elements evenly apart, in stretches of places, or by weights of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Protocol

import numpy as np

from flambeau.codegen.convolutions.words import PLACE, TAP
from flambeau.codegen.kernel.dtypes import KernelError
from flambeau.codegen.layouts import WORD
from flambeau.codegen.routines.memory import Filling, Memory
from flambeau.codegen.routines.numbers import bits_of
from flambeau.util.record import dataclass

Array = np.ndarray[Any, Any]
LARGEST_SIZE: Final = 1 << 24
"""Places of an axis, for which tables are made, at most."""
EVEN_STEPS: Final = (1, 2)
"""How far places may lie apart that go by vectors."""


class Axis(Protocol):
    """The places along an axis."""

    @property
    def places(self) -> Any:
        """How many there are."""

    @property
    def taps(self) -> Any:
        """How many elements they take together."""

    def is_plain(self) -> bool:
        """Whether each place takes one element as it is, or none."""

    def even_places(self) -> tuple[Any, Any, int]:
        """The places that vectors can take, from one to another: the longest stretch that there is, all of as many
        elements, so far from one place to the next.
        """

    def table(self, memory: Memory, step: Any, dtype: np.dtype[Any]) -> Any:
        """The address of the places, whose elements lie `step` bytes apart."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Places that take as many elements, evenly apart."""

    number: Any
    start: Any
    """The first element of the first place."""
    step: Any = 1
    """How far the first element of a place is from that of the one before."""
    count: Any = 1
    """Elements of a place."""
    divisor: Any = 1
    apart: int = 1
    """How far the elements of a place are."""
    times: int = 1
    """How often each place is there."""


@dataclass(frozen=True, slots=True)
class Stretches:
    """An axis of stretches, one behind the other."""

    all: tuple[Stretch, ...]

    @property
    def places(self) -> Any:
        return sum(s.number * s.times for s in self.all)

    @property
    def taps(self) -> Any:
        return sum(s.number * s.count for s in self.all)

    def is_plain(self) -> bool:
        return all(bool(s.count <= 1) for s in self.all)

    def even_places(self) -> tuple[Any, Any, int]:
        best: tuple[Any, Any, int] = (0, 0, 1)
        start: Any = 0
        for s in self.all:
            end = start + s.number * s.times
            is_even = s.times == 1 and type(s.step) is int and s.step in EVEN_STEPS
            if is_even and s.number > 1 and s.count > 0 and s.number > best[1] - best[0]:
                best = start, end, s.step
            start = end
        return best

    def table(self, memory: Memory, step: Any, dtype: np.dtype[Any]) -> Any:
        if self.places > LARGEST_SIZE or self.taps > LARGEST_SIZE:
            raise KernelError("tables that would be too large")
        taps: list[Filling] = []
        at: Any = 0
        one = bits_of(1, dtype.itemsize)
        for s in self.all:
            first, apart = at * TAP.words, TAP.words
            taps.append(Filling(
                first, s.start * step, s.count, s.apart * step, apart, s.number, s.step * step, s.count * apart
            ))  # fmt: skip
            taps.append(Filling(first + 1, one, s.number * s.count, 0, apart))
            at = at + s.number * s.count
        address = memory.table(np.int64, TAP.words * at, taps)
        places: list[Filling] = []
        at = 0
        for s in self.all:
            across = PLACE.words * s.times
            bytes_each = s.count * TAP.words * WORD
            divisor = bits_of(s.divisor, dtype.itemsize)
            values = (address, bytes_each), (s.count, 0), (divisor, 0)
            for word, (value, more) in enumerate(values):
                places.append(
                    Filling(at * PLACE.words + word, value, s.times, 0, PLACE.words, s.number, more, across)
                )
            address = address + s.number * bytes_each
            at = at + s.number * s.times
        return memory.table(np.int64, PLACE.words * at, places)


@dataclass(frozen=True, slots=True)
class Weighted:
    """An axis whose places take as many elements each, at `indexes`, which count by `weights`: those of one place after
    those of another.
    """

    count: int
    indexes: Array
    weights: Array
    divisors: Array | None = None

    @property
    def places(self) -> int:
        return len(self.indexes) // self.count

    @property
    def taps(self) -> int:
        return len(self.indexes)

    def is_plain(self) -> bool:
        return self.count == 1 and bool((self.weights == 1).all())

    def even_places(self) -> tuple[Any, Any, int]:
        return 0, 0, 1

    def table(self, memory: Memory, step: Any, dtype: np.dtype[Any]) -> Any:
        taps = np.zeros((max(1, self.taps), TAP.words), np.int64)
        taps[: self.taps, 0] = self.indexes * int(step)
        per_word = WORD // dtype.itemsize
        taps.view(dtype)[: self.taps, per_word] = self.weights
        places = np.zeros((self.places, PLACE.words), np.int64)
        places[:, 0] = memory.constant(taps) + np.arange(self.places) * (self.count * taps.strides[0])
        places[:, 1] = self.count
        places.view(dtype)[:, 2 * per_word] = 1 if self.divisors is None else self.divisors
        return memory.constant(places)


def weighted(indexes: Sequence[Array], weights: Sequence[Array]) -> Weighted:
    """As many elements for each place, by weights: the first of all places, the second of all, and so on."""
    return Weighted(len(indexes), np.stack(indexes, axis=1).reshape(-1), np.stack(weights, axis=1).reshape(-1))


def identity(size: Any) -> Stretches:
    """Each element as it is."""
    return Stretches((Stretch(size, 0),))


def picked(indexes: Array) -> Axis:
    """An element for each place."""
    return Weighted(1, indexes, np.ones(len(indexes)))
