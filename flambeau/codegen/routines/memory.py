"""The memory that a launch's words point to: made at once for a call, or described in a recording of one."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.lib.stride_tricks import as_strided

from flambeau.codegen.layouts import WORD, Layout
from flambeau.codegen.llvm.recorded_launches import Op
from flambeau.codegen.routines.numbers import Number, Recording
from flambeau.util.record import dataclass

ALIGNED: Final = 8
SHORT: Final = 4
"""Bytes of the shorter ints of tables."""


@dataclass(frozen=True, slots=True)
class Filling:
    """Numbers of a table, evenly apart in two loops: `outer` times `inner` of them."""

    at: Any
    """Which number of the table is the first."""
    first: Any
    """A number, or an address; or as many numbers as `inner` says."""
    inner: Any = 1
    inner_step: Any = 0
    inner_apart: Any = 1
    """How much more, and how many numbers further, the next one is."""
    outer: Any = 1
    outer_step: Any = 0
    outer_apart: Any = 0


FEW: Final = 4
"""Numbers that are quicker written one by one."""


def _fill(table: np.ndarray[Any, Any], f: Filling) -> None:
    """Write numbers into a table."""
    if type(f.first) is tuple:
        size, count = table.itemsize, len(f.first)
        view = as_strided(table[f.at :], (f.outer, count), (f.outer_apart * size, f.inner_apart * size))
        view[...] = np.array(f.first) + np.arange(f.outer)[:, None] * f.outer_step
        return
    if f.outer * f.inner <= FEW:
        for k in range(f.outer):
            for n in range(f.inner):
                table[f.at + k * f.outer_apart + n * f.inner_apart] = f.first + k * f.outer_step + n * f.inner_step
        return
    if f.inner == 1:
        f = Filling(f.at, f.first, f.outer, f.outer_step, f.outer_apart)
    size = table.itemsize
    inner = f.first + np.arange(f.inner) * f.inner_step if f.inner_step else f.first
    if f.outer == 1:
        table[f.at : f.at + (f.inner - 1) * f.inner_apart + 1 : f.inner_apart] = inner
        return
    view = as_strided(table[f.at :], (f.outer, f.inner), (f.outer_apart * size, f.inner_apart * size))
    view[...] = inner + np.arange(f.outer)[:, None] * f.outer_step if f.outer_step else inner


class Memory:
    """Memory of a launch that is made at once: addresses are numbers, and `kept` has what they are of.

    >>> memory = Memory()
    >>> at = memory.table(np.int32, 5, [Filling(1, 10, inner=2, inner_step=3)])
    >>> memory.kept[0].tolist(), at == memory.kept[0].__array_interface__["data"][0]
    ([0, 10, 13, 0, 0], True)
    """

    def __init__(self) -> None:
        self.kept: list[Any] = []
        """What addresses in it are of; it has to live as long as they are used."""

    def words(self, values: Sequence[Any]) -> Any:
        """The address of words."""
        words = array("q", values) if values else array("q", [0])
        self.kept.append(words)
        return words.buffer_info()[0]

    def struct(self, layout: Layout, **values: Any) -> Any:
        """The address of a struct; fields that are not given are 0."""
        words, indices = [0] * layout.words, layout.indices
        for name, value in values.items():
            words[indices[name]] = value
        return self.words(words)

    def table(self, dtype: type[np.integer[Any]], count: Any, fillings: Sequence[Filling]) -> Any:
        """The address of so many ints, which fillings say; others may be anything."""
        table = np.zeros(max(1, count), dtype)
        for f in fillings:
            if f.outer > 0 and f.inner > 0:
                _fill(table, f)
        self.kept.append(table)
        address: int = table.__array_interface__["data"][0]
        return address

    def constant(self, array: np.ndarray[Any, Any]) -> int:
        """The address of an array that does not follow from sizes of a call."""
        self.kept.append(array)
        address: int = array.__array_interface__["data"][0]
        return address

    def keep(self, value: Any) -> None:
        """Have something live as long: code whose address is in words."""
        self.kept.append(value)


@dataclass(frozen=True, slots=True, eq=False)
class MemoryAddress:
    """Somewhere in the memory of a recorded launch."""

    area: int
    """0: what has its size from the start; 1: tables whose sizes follow from those of a call."""
    offset: Any

    def __add__(self, count: Any) -> MemoryAddress:
        return MemoryAddress(self.area, self.offset + count)


class RecordedMemory(Memory):
    """Memory of a launch that is recorded: an image of words, and instructions that fill in what sizes decide."""

    def __init__(self, recording: Recording) -> None:
        super().__init__()
        self.image: list[int] = []
        """What is there before anything is stored."""
        self.stores: list[tuple[int, Any]] = []
        """Words of the image that are numbers or addresses."""
        self.fillings: list[tuple[MemoryAddress, int, Filling]] = []
        """Where, of how many bytes each number is, and what."""
        self.size: Any = 0
        """Bytes of the second area."""
        self._recording = recording

    def words(self, values: Sequence[Any]) -> Any:
        start = len(self.image)
        for value in values or [0]:
            self.image.append(0)
            self.put(len(self.image) - 1, value)
        return MemoryAddress(0, start * WORD)

    def table(self, dtype: type[np.integer[Any]], count: Any, fillings: Sequence[Filling]) -> Any:
        size = np.dtype(dtype).itemsize
        address = MemoryAddress(1, self.size)
        self.size = self.size + (count * size + ALIGNED - 1) // ALIGNED * ALIGNED
        self.fillings.extend((address, size, filling) for filling in fillings)
        return address

    def put(self, at: int, value: Any) -> None:
        """Say what a word of the image is."""
        if isinstance(value, Number | MemoryAddress):
            self.stores.append((at, value))
        else:
            self.image[at] = int(value)

    def finish(self) -> None:
        """Put the instructions that make the memory behind all others."""
        recording = self._recording
        recording.done(Op.ALLOCATE, self.size)
        for at, value in self.stores:
            recording.done(Op.STORE, self._place(MemoryAddress(0, at * WORD)), self._place(value))
        for address, size, f in self.fillings:
            for k, first in enumerate(f.first if type(f.first) is tuple else (f.first,)):
                one = f if first is f.first else Filling(
                    f.at + k * f.inner_apart, first, f.outer, f.outer_step, f.outer_apart
                )  # fmt: skip
                self._fill(address + one.at * size, size, one)
        recording.done(Op.END)

    def _place(self, value: Any) -> Any:
        """An address as a number."""
        if not isinstance(value, MemoryAddress):
            return value
        area = Number(self._recording, value.area, 0)
        return area + value.offset

    def _fill(self, address: MemoryAddress, size: int, f: Filling) -> None:
        recording = self._recording
        first = self._place(f.first)
        numbers = f.outer, f.inner, first, f.outer_step, f.inner_step, f.outer_apart * size, f.inner_apart * size
        to = recording.register(self._place(address))
        start, zero = recording.copied(numbers), recording.register(0)
        op = Op.FILL_SHORT if size == SHORT else Op.FILL_LONG
        recording.instructions.append((op, 0, to, start, zero))
