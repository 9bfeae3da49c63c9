"""Rows of a table added up by bags, as LLVM functions of a module of routines: one for each dtype of both.

    for each bag
        for some vectors of columns: sums in registers over the rows of the bag, those to come asked for
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Final

from flambeau.codegen.convolutions.vectors import Floats, VectorFunction
from flambeau.codegen.llvm.builder import ModuleBuilder
from flambeau.codegen.llvm.checked_emitter import FALSE, TRUE, word
from flambeau.codegen.llvm.emitter import Target, Value, float_constant

SUM_TYPE: Final = "i1 (ptr, i64, i64, i64, i64, ptr, i64, i64, ptr, i64, i64, i64, ptr)"
"""``(table, its strides, its sizes, rows, their stride and count, starts, their stride, the bytes of one and how many
there are, sums)``: the bags, side by side, whose starts are in order, from 0 on, and within the rows; false where a row
is none of the table.
"""
FLOATS: Final = ("float", "double")
INTEGERS: Final = ("i32", "i64")
WIDTHS: Final = (4, 2, 1)
"""Vectors of columns that are added up together, the most first."""
AHEAD: Final = 8
"""Rows ahead of which one is asked for: they lie anywhere."""


def sum_of_bags(number: str, index: str) -> str:
    """The symbol of the function for a dtype of tables, and one of rows."""
    return f"flambeau_sum_of_bags_{number}_{index}"


SYMBOLS: Final = tuple([sum_of_bags(*pair) for pair in product(FLOATS, INTEGERS)])


def add_sums_of_bags(m: ModuleBuilder, target: Target) -> None:
    """Add all of `SYMBOLS`."""
    for number, index in product(FLOATS, INTEGERS):
        f = m.special(
            VectorFunction, f"i1 {sum_of_bags(number, index)}", "ptr table", "i64 row_step", "i64 column_step",
            "i64 height", "i64 width", "ptr rows", "i64 rows_step", "i64 count", "ptr starts", "i64 starts_step",
            "i64 start_bytes", "i64 bags", "ptr sums", exported=True, attributes="nounwind",
        )  # fmt: skip
        f.floats = Floats(number, target)
        _Sums(f, index).emit()


class _Sums:
    def __init__(self, f: VectorFunction, index: str) -> None:
        self._f, self._index = f, index
        self._table, self._row_step, self._column_step, self._height, self._width = f.parameters[:5]
        self._rows, self._rows_step, self._count, self._starts, self._starts_step = f.parameters[5:10]
        self._start_bytes, self._bags, self._sums = f.parameters[10:]

    def emit(self) -> None:
        """Look at all rows, then add them up."""
        f, size = self._f, self._f.floats.itemsize
        with f.loop(self._count) as k:
            f.return_unless(f.compare("ult", self._row(k), self._height), FALSE)
        is_plain = f.compare("eq", self._column_step, size)
        with f.loop(self._bags) as bag:
            start, end = self._start(bag), self._end(bag)
            count = f.op("sub", end, start)
            to = f.moved(self._sums, f.op("mul", f.bytes_of(self._width), bag))
            with f.when(is_plain):
                self._add_vectors(start, count, to)
            with f.when(f.negated(is_plain)), f.loop(self._width) as column:
                from_column = f.moved(self._table, f.op("mul", column, self._column_step))

                self._add_column(start, count, from_column, f.moved(to, f.bytes_of(column)))
        f.ret(TRUE)

    def _row(self, k: Value) -> Value:
        """The number of a row."""
        f = self._f
        value = f.read(f.moved(self._rows, f.op("mul", k, self._rows_step)), self._index)
        return value if self._index == "i64" else f.convert("sext", value, "i64")

    def _start(self, bag: Value) -> Value:
        f = self._f
        address = f.moved(self._starts, f.op("mul", bag, self._starts_step))
        return f.choose(
            f.compare("eq", self._start_bytes, 8),
            lambda: f.load(address),
            lambda: f.convert("sext", f.load(address, "i32"), "i64"),
        )

    def _end(self, bag: Value) -> Value:
        """Where the next bag starts; the last one ends with the rows."""
        f = self._f
        following = f.op("add", bag, 1)
        is_last = f.compare("eq", following, self._bags)
        return f.choose(is_last, lambda: self._count, lambda: self._start(following))

    def _add_vectors(self, start: Value, count: Value, to: Value) -> None:
        """A bag of rows whose numbers lie side by side."""
        f, lanes = self._f, self._f.floats.lanes
        vectors, done = f.op("udiv", self._width, lanes), word(0)
        for width in WIDTHS:
            several = f.op("udiv", f.op("sub", vectors, done), width)
            with f.loop(several) as k:
                self._add(start, count, to, f.op("add", done, f.op("mul", k, width)), width)
            done = f.op("add", done, f.op("mul", several, width))
        left = f.op("sub", self._width, f.op("mul", vectors, lanes))
        with f.when(f.compare("sgt", left, 0)):
            if f.floats.has_masks:
                self._add(start, count, to, vectors, 1, f.mask_below(left))
            else:
                self._add_rest(start, count, to, f.op("mul", vectors, lanes), left)

    def _add(self, start: Value, count: Value, to: Value, first: Value, width: int, mask: Value | None = None) -> None:
        """Some vectors of columns from one on."""
        f, vector_bytes = self._f, self._f.floats.lanes * self._f.floats.itemsize
        f.declare("declare void @llvm.prefetch.p0(ptr, i32, i32, i32)")
        column, last = f.op("mul", first, vector_bytes), f.op("sub", self._count, 1)

        def add(k: Value, state: Sequence[Value]) -> list[Value]:
            number = f.op("add", start, k)
            here, later = (
                f.moved(self._table, f.op("mul", self._row(n), self._row_step), column)
                for n in (number, f.least_of(f.op("add", number, AHEAD), last))
            )
            for v in range(0, width * vector_bytes, 64):
                f.raw(f"call void @llvm.prefetch.p0(ptr {f.at(later, v, 'i8')}, i32 0, i32 3, i32 1)")
            read = [f.vector(f.at(here, v * vector_bytes, "i8"), mask) for v in range(width)]
            return [f.fadd(a, b) for a, b in zip(state, read, strict=True)]

        for v, total in enumerate(f.fold(count, [f.zero] * width, add)):
            f.put_vector(total, f.moved(to, column, v * vector_bytes), mask)

    def _add_rest(self, start: Value, count: Value, to: Value, first: Value, left: Value) -> None:
        """Columns behind whole vectors, one by one."""
        f = self._f
        with f.loop(left) as k:
            column = f.bytes_of(f.op("add", first, k))
            self._add_column(start, count, f.moved(self._table, column), f.moved(to, column))

    def _add_column(self, start: Value, count: Value, column: Value, to: Value) -> None:
        """A single column."""
        f, t = self._f, self._f.floats.type

        def add(k: Value, state: Sequence[Value]) -> list[Value]:
            here = f.moved(column, f.op("mul", self._row(f.op("add", start, k)), self._row_step))
            return [f.fadd(state[0], f.read(here, t))]

        (total,) = f.fold(count, [float_constant(0.0, t, 1)], add)
        f.write(total, to)
