"""A large product by BLAS, then the epilogue over the rows it left.

The product is written where the first output is to be, if that has its dtype and lies row by row: the epilogue reads
an element before it writes there. Otherwise it gets memory of its own.
"""

from __future__ import annotations

from flambeau.codegen.kernel.nest import Store
from flambeau.codegen.llvm.definitions import Scope
from flambeau.codegen.llvm.emitter import Value, float_literal
from flambeau.codegen.llvm.memory import ALLOCATE, FREE, leave_without_memory
from flambeau.codegen.products.base import ProductEmitter, word
from flambeau.codegen.products.blas import SYMBOL, blas
from flambeau.codegen.products.tile import load_columns

ROW_MAJOR, PLAIN, TRANSPOSED = 101, 111, 112
"""The C interface's numbers."""


class Large:
    """Emits one such product."""

    def __init__(self, p: ProductEmitter) -> None:
        self.p, self.e = p, p.e
        assert p.product.row is not None
        self.row, self.column = p.product.row, p.product.column
        self.n, self.k = p.size(self.column), p.size(p.product.inner)
        self.place = self._place()

    def _place(self) -> str | None:
        """The output that can hold the product."""
        for s in self.p.product.epilogue:
            if isinstance(s, Store):
                b = self.p.buffers[s.buffer]
                fits = b.dtype == self.p.product.b.dtype and self.p.stride(b.name, self.row) != 0
                return b.name if fits and b.name in self.p.schedule.unit else None
        return None

    def emit(self, scope: Scope) -> None:
        """The call, then the epilogue row by row."""
        p, e = self.p, self.e
        m, size = p.sizes[self.row], p.type.itemsize
        raw = None
        if self.place is not None:
            base, step = scope.pointers[self.place], p.bytes_of(p.stride(self.place, self.row))
        else:
            step = e.binary("mul nsw", self.n, word(size))
            base = raw = e.call_function("ptr", ALLOCATE, e.binary("mul nsw", m, step))
            leave_without_memory(e, [raw], p.error)
        self.call(scope, base, e.binary("sdiv", step, word(size)), m)
        if not self.is_done():
            p.counted(p.loop_over(self.row), word(0), m, 1, scope, lambda child: self.finish(child, base, step))
        if raw is not None:
            e.call_function("void", FREE, raw)

    def is_done(self) -> bool:
        """Whether the product alone is asked for, and stands where it is to be."""
        first = self.p.product.epilogue[0]
        alone = len(self.p.product.epilogue) == 1 and isinstance(first, Store) and first.value == self.p.product.state
        return self.place is not None and alone

    def call(self, scope: Scope, target: Value, leading: Value, m: Value) -> None:
        """The call of `gemm`."""
        p, e, library = self.p, self.e, blas()
        assert library is not None
        t, integer = p.type.llvm, f"i{library.bits}"
        name = SYMBOL + ("sgemm" if p.type.bits == 32 else "dgemm")
        arguments = ["i32"] * 3 + [integer] * 3 + [t, "ptr", integer, "ptr", integer, t, "ptr", integer]
        e.declare(f"declare void @{name}({', '.join(arguments)})")

        def fitting(number: Value) -> Value:
            return number if library.bits == 64 else e.convert("trunc", number, integer)

        a, b = p.product.a.name, p.product.b.name
        a_order, a_leading = order(p, a, self.row, p.product.inner)
        b_order, b_leading = order(p, b, p.product.inner, self.column)
        values = [
            ROW_MAJOR, a_order, b_order, fitting(m), fitting(self.n), fitting(self.k), float_literal(1.0, t),
            scope.pointers[a], fitting(a_leading), scope.pointers[b], fitting(b_leading), float_literal(0.0, t),
            target, fitting(leading),
        ]  # fmt: skip
        e.raw(f"call void @{name}({', '.join(f'{kind} {v}' for kind, v in zip(arguments, values, strict=True))})")

    def finish(self, scope: Scope, base: Value, step: Value) -> None:
        """The epilogue of one row."""
        p, e = self.p, self.e
        start = e.offset(base, e.binary("mul nsw", scope.index[self.row], step))
        width = p.tiling.vectors * p.lanes
        _, left = p.whole_iterations(self.n, width)
        middle = e.binary("sub", self.n, left)
        loop = p.loop_over(self.column)

        def some(vectors: int, last: Value | int, child: Scope) -> None:
            at = e.offset(start, child.index[self.column], p.type.llvm)
            masks = [None] * (vectors - 1) + [p.mask_of(last)]
            size = p.lanes * p.type.itemsize
            sums = [load_columns(p, p.at(at, v * size), mask, p.type) for v, mask in enumerate(masks)]
            p.epilogue([sums], last, child)

        def one(child: Scope) -> None:
            some(1, e.binary("sub", self.n, child.index[self.column]), child)

        p.counted(loop, word(0), middle, width, scope, lambda child: some(p.tiling.vectors, p.lanes, child))
        p.counted(loop, middle, self.n, p.lanes, scope, one)


def order(p: ProductEmitter, buffer: str, first: str, second: str) -> tuple[int, Value]:
    """(whether a factor is transposed, elements from one row or column to the next) in the words of BLAS."""
    size = p.type.itemsize
    is_plain = p.stride(buffer, second) == size
    step = p.bytes_of(p.stride(buffer, first if is_plain else second))
    return PLAIN if is_plain else TRANSPOSED, p.e.binary("sdiv", step, word(size))
