"""A row vector times a matrix: the matrix streams by, some of its rows at a time, and the sums stay close at hand,
those of a stretch of rows and, where there are many, those of all stretches before.
"""

from __future__ import annotations

from collections.abc import Callable

from flambeau.codegen.llvm.definitions import Scope
from flambeau.codegen.llvm.emitter import Value, float_constant
from flambeau.codegen.products.base import ProductEmitter, word
from flambeau.codegen.products.tile import TileShape, load_columns, multiply_add
from flambeau.codegen.products.tiling import MOST_STREAMED, STRETCH


class Stream:
    """Emits one such product, or the columns of a piece of it."""

    def __init__(self, p: ProductEmitter) -> None:
        self.p, self.e = p, p.e
        self.n, self.depth = p.size(p.product.column), p.size(p.product.inner)
        self.width = p.tiling.vectors * p.lanes
        self.at_a_time = 8 if p.e.target.vector_registers >= 32 else 4
        self.room = self.totals = self.memory()
        if p.tiling.is_long:
            self.totals = self.memory()
        self.full = TileShape(1, p.tiling.vectors, p.lanes)
        iterations, _ = p.whole_iterations(self.n, self.width)
        self.whole = p.e.binary("mul", iterations, word(self.width))
        self.low, self.high, self.end = word(0), self.whole, self.n
        if p.tiling.shared == "columns":
            self.low = self.e.binary("mul nsw", p.low, word(self.width))
            self.end = self.e.intrinsic("smin", self.e.binary("mul nsw", p.high, word(self.width)), self.n)
            self.high = self.e.intrinsic("smin", self.end, self.whole)

    def emit(self, scope: Scope) -> None:
        """Clear the sums, add up, finish."""
        p = self.p
        self.each(scope, self.clear)
        if p.tiling.is_long:
            loop = p.loop_over(p.product.inner)
            p.counted(loop, word(0), self.depth, STRETCH, scope, self.stretch, enters=False)
        else:
            self.some_rows(word(0), self.depth, scope)
        self.each(scope, self.finish)

    def memory(self) -> Value:
        """Room for sums."""
        t = self.p.type
        return self.e.slot(f"[{MOST_STREAMED // t.itemsize + self.width} x {t.llvm}]")

    def stretch(self, scope: Scope) -> None:
        """The rows of a stretch, whose sums are added to those before, and are none again."""
        start = scope.index[self.p.product.inner]
        end = self.e.intrinsic("smin", self.e.binary("add nsw", start, word(STRETCH)), self.depth)
        self.some_rows(start, end, scope)
        self.each(scope, self.add_up)

    def some_rows(self, start: Value, end: Value, scope: Scope) -> None:
        """Rows of the matrix from one to another."""
        p, loop = self.p, self.p.loop_over(self.p.product.inner)
        _, left = p.whole_iterations(self.e.binary("sub", end, start), self.at_a_time)
        middle = self.e.binary("sub", end, left)
        p.counted(loop, start, middle, self.at_a_time, scope, lambda child: self.rows(self.at_a_time, child))
        p.counted(loop, middle, end, 1, scope, lambda child: self.rows(1, child))

    def each(self, scope: Scope, body: Callable[[TileShape, Scope], None]) -> None:
        """Run a method for all columns of the piece: a tile's width at a time, then a vector."""
        p, loop = self.p, self.p.loop_over(self.p.product.column)
        p.counted(loop, self.low, self.high, self.width, scope, lambda child: body(self.full, child))
        start = self.e.intrinsic("smax", self.high, self.low)

        def one(child: Scope) -> None:
            left = self.e.binary("sub", self.end, child.index[p.product.column])
            body(TileShape(1, 1, left), child)

        p.counted(loop, start, self.end, p.lanes, scope, one)

    def sum_at(self, scope: Scope, vector: int, room: Value | None = None) -> Value:
        """Where the sums of a vector of columns are, those of the stretch or others."""
        index = scope.index[self.p.product.column]
        base = self.e.offset(self.room if room is None else room, index, self.p.type.llvm)
        return self.p.at(base, vector * self.p.lanes * self.p.type.itemsize)

    def load(self, address: Value) -> Value:
        """Sums from memory."""
        return self.e.read(address, self.p.type.llvm, self.p.lanes, align=16)

    def clear(self, shape: TileShape, scope: Scope) -> None:
        """No sums yet."""
        zero = float_constant(0.0, self.p.type.llvm, self.p.lanes)
        for room in dict.fromkeys((self.room, self.totals)):
            for v in range(shape.vectors):
                self.e.write(zero, self.sum_at(scope, v, room), align=16)

    def add_up(self, shape: TileShape, scope: Scope) -> None:
        """The sums of a stretch to those before."""
        zero = float_constant(0.0, self.p.type.llvm, self.p.lanes)
        for v in range(shape.vectors):
            here, before = self.sum_at(scope, v), self.sum_at(scope, v, self.totals)
            self.e.write(self.e.fadd(self.load(before), self.load(here)), before, align=16)
            self.e.write(zero, here, align=16)

    def rows(self, count: int, scope: Scope) -> None:
        """Some rows of the matrix, each times its number."""
        p = self.p
        step, a_step = p.stride(p.product.b.name, p.product.inner), p.stride(p.product.a.name, p.product.inner)
        numbers = []
        for r in range(count):
            address = p.at(scope.pointers[p.product.a.name], p.times(a_step, r))
            numbers.append(p.number(address, p.lanes))

        def add(shape: TileShape, child: Scope) -> None:
            base = child.pointers[p.product.b.name]
            for v in range(shape.vectors):
                address = self.sum_at(child, v)
                value: Value | None = None
                for r in range(count):
                    at = p.at(p.at(base, p.times(step, r)), v * p.lanes * p.kept.itemsize)
                    mask = p.mask_of(shape.last) if v == shape.vectors - 1 else None
                    columns = load_columns(p, at, mask, p.kept)
                    if value is None:
                        value = self.e.binary("fmul contract", numbers[r], columns)
                    else:
                        value = multiply_add(p, numbers[r], columns, value)
                assert value is not None
                # What came before is added last: rows of a block first sum up among themselves, with smaller errors.
                value = self.e.fadd(self.load(address), value)
                self.e.write(value, address, align=16)

        self.each(scope, add)

    def finish(self, shape: TileShape, scope: Scope) -> None:
        """The epilogue of a tile's width of columns."""
        sums = [self.load(self.sum_at(scope, v, self.totals)) for v in range(shape.vectors)]
        self.p.epilogue([sums], shape.last, scope)
