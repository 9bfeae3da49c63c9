"""A tile whose factors both lie step by step: every sum is a product of vectors, folded across lanes at the end.

It serves few rows times columns that lie across, as the weights of `linear`: turning those round would cost more than
the sums. A vector of columns is done some columns at a time; then the lanes of all of them are folded together.
"""

from __future__ import annotations

from functools import partial

from flambeau.codegen.llvm.definitions import Scope
from flambeau.codegen.llvm.emitter import Value, float_constant
from flambeau.codegen.products.base import ProductEmitter, word
from flambeau.codegen.products.pack import halves
from flambeau.codegen.products.stretches import in_stretches
from flambeau.codegen.products.tile import TileShape, load_columns, multiply_add
from flambeau.codegen.products.tiling import STRETCH

AT_A_TIME = 4
"""Columns whose sums are in registers together."""


class Dots:
    """Emits the sums of one tile, one vector of columns wide."""

    def __init__(self, p: ProductEmitter, shape: TileShape) -> None:
        self.p, self.e, self.shape = p, p.e, shape
        self.a_row = p.stride(p.product.a.name, p.product.row)
        self.across = p.stride(p.product.b.name, p.product.column)
        self.chunk = p.lanes * p.kept.itemsize

    def emit(self, scope: Scope) -> None:
        """The tile at this place, finished and stored."""
        p, lanes = self.p, self.p.lanes
        a, b = scope.pointers[p.product.a.name], scope.pointers[p.product.b.name]
        sums_of_rows: list[list[Value]] = [[] for _ in range(self.shape.rows)]
        for first in range(0, lanes, AT_A_TIME):
            count = min(AT_A_TIME, lanes - first)
            for row, sums in zip(sums_of_rows, self.columns(a, b, first, count), strict=True):
                row += sums
        p.epilogue([[fold_across(p, row)] for row in sums_of_rows], self.shape.last, scope)

    def columns(self, a: Value, b: Value, first: int, count: int) -> list[list[Value]]:
        """The sums of some columns, by row; zeros where the tile has none of them."""
        p, e, last = self.p, self.e, self.shape.last
        if isinstance(last, int) or first == 0:
            return self.by_row(self.sums(a, self.starts(b, first, count)), count)
        zero = float_constant(0.0, p.type.llvm, p.lanes)
        some, after, before = e.label("some"), e.label("after"), e.block
        e.branch_if(e.icmp("sgt", last, word(first)), some, after)
        e.start(some)
        sums = self.sums(a, self.starts(b, first, count))
        end = e.block
        e.branch(after)
        e.start(after)
        merged = []
        for value in sums:
            name = e.name("s")
            e.phi(name, value, [(zero, before), (value, end)])
            merged.append(Value(name, value.type, value.lanes))
        return self.by_row(merged, count)

    def by_row(self, sums: list[Value], count: int) -> list[list[Value]]:
        """Sums of rows and columns, row by row."""
        return [sums[r * count : (r + 1) * count] for r in range(self.shape.rows)]

    def starts(self, b: Value, first: int, count: int) -> list[Value]:
        """Where columns begin; those that the tile does not have begin where its last one does."""
        p, e, addresses = self.p, self.e, []
        for c in range(first, first + count):
            if isinstance(self.shape.last, int):
                addresses.append(p.at(b, p.times(self.across, c)))
                continue
            number = e.intrinsic("smin", word(c), e.binary("sub", self.shape.last, word(1)))
            addresses.append(p.at(b, e.binary("mul nsw", number, p.bytes_of(self.across))))
        return addresses

    def sums(self, a: Value, columns: list[Value]) -> list[Value]:
        """The sums of all rows and some columns, by row, their lanes not folded yet."""
        p, count = self.p, self.shape.rows * len(columns)
        chains, steps = 2 if count < 8 else 1, p.size(p.product.inner)
        rows = [p.at(a, p.times(self.a_row, r)) for r in range(self.shape.rows)]
        fold = partial(self.fold, rows, columns, chains)
        if p.tiling.is_long:
            return in_stretches(p, STRETCH * p.lanes * chains, steps, [word(0)], count, fold)
        return fold([word(0)], steps)[1]

    def fold(
        self, rows: list[Value], columns: list[Value], chains: int, at: list[Value], number: Value
    ) -> tuple[list[Value], list[Value]]:
        """So many steps from an offset, a vector of them at a time: the offset behind them, and the sums."""
        p, e, count = self.p, self.e, len(rows) * len(columns)
        zero = float_constant(0.0, p.type.llvm, p.lanes)
        iterations, left = p.whole_iterations(number, chains * p.lanes)

        def go(state: list[Value]) -> list[Value]:
            offset, new = state[0], state[1:]
            for c in range(chains):
                new = self.step(offset, c * count, None, new, rows, columns)
                offset = e.binary("add nuw nsw", offset, word(self.chunk))
            return [offset, *new]

        state = p.repeat(iterations, [*at, *[zero] * (chains * count)], go)
        steps = e.binary("udiv", e.binary("add", left, word(p.lanes - 1)), word(p.lanes))

        def rest(state: list[Value]) -> list[Value]:
            left_here, offset, new = state[0], state[1], state[2:]
            new = self.step(offset, 0, p.mask_of(left_here), new, rows, columns)
            following = e.binary("sub", left_here, word(p.lanes))
            return [following, e.binary("add nuw nsw", offset, word(self.chunk)), *new]

        _, offset, *state = p.repeat(steps, [left, *state], rest)
        if chains == 2:
            state = [e.fadd(x, y) for x, y in zip(state[:count], state[count:], strict=True)]
        return [offset], state

    def step(
        self, offset: Value, first: int, mask: Value | None, state: list[Value], rows: list[Value], columns: list[Value]
    ) -> list[Value]:
        """A vector of steps along the folded axis, so many bytes from the starts, into the sums from `first`."""
        new = list(state)
        right = [load_columns(self.p, self.p.at(column, offset), mask, self.p.kept) for column in columns]
        for r, row in enumerate(rows):
            left = load_columns(self.p, self.p.at(row, offset), mask, self.p.kept)
            for c, vector in enumerate(right):
                at = first + r * len(columns) + c
                new[at] = multiply_add(self.p, left, vector, new[at])
        return new


def fold_across(p: ProductEmitter, vectors: list[Value]) -> Value:
    """The sum of each of as many vectors as they have lanes, one in each lane."""
    vectors_left, lanes = list(vectors), len(vectors)
    distance = lanes // 2
    while distance:
        folded = []
        for a, b in zip(vectors_left[:distance], vectors_left[distance:], strict=True):
            low, high = (p.e.shuffle(a, b, picks) for picks in halves(lanes, distance))
            folded.append(p.e.fadd(low, high))
        vectors_left = folded
        distance //= 2
    return vectors_left[0]
