"""A product to one LLVM function: loops over stacks, columns and rows around tiles that stay in registers.

for the first axes
  for columns, a tile's at a time         (copied together first where that pays)
    for rows, a tile's at a time
      for k: tile += a[rows, k] * b[k, columns]
      the epilogue on each vector of the tile, from registers
"""

from __future__ import annotations

from flambeau.codegen.kernel.nest import Kernel
from flambeau.codegen.llvm import memory
from flambeau.codegen.llvm.definitions import Scope
from flambeau.codegen.llvm.emitter import Target, Value
from flambeau.codegen.llvm.memory import FREE
from flambeau.codegen.llvm.native_text import ATTRIBUTES, NativeText
from flambeau.codegen.products.base import ProductEmitter, word
from flambeau.codegen.products.dots import Dots
from flambeau.codegen.products.large import Large
from flambeau.codegen.products.pack import pack
from flambeau.codegen.products.stream import Stream
from flambeau.codegen.products.tile import Right, Tile, TileShape
from flambeau.codegen.products.tiling import Tiling

MOST_ON_STACK = 1 << 17
"""Bytes of copied columns that the stack holds; more is allocated."""


def emit_product(kernel: Kernel, tiling: Tiling, target: Target, symbol: str) -> NativeText:
    """LLVM text for a product (specialised) under a tiling.

    >>> from flambeau.codegen.lower import lower_graph
    >>> from flambeau.codegen.specialize import specialize
    >>> from flambeau.ir.parser import parse_ir
    >>> text = "graph(%x : Float(*, *), %w : Float(*, *)):\\n  %y : Float(*, *) = aten::mm(%x, %w)\\n  return (%y)"
    >>> kernel = lower_graph(parse_ir(text)).kernel
    >>> n = 64  # of rows, columns and steps; the strides are those of rows side by side
    >>> strides = {(b.name, axis): 4 * n ** (1 - k) for b in kernel.buffers for k, axis in enumerate(b.axes)}
    >>> special = specialize(kernel, {axis: n for axis in kernel.axes}, strides, kernel.axes)
    >>> from flambeau.codegen.products.tiling import choose_tiling
    >>> tiling = choose_tiling(special, special, special, Target(vector_bits=256), 1, ("tiles", 4, 2))
    >>> "<8 x float>" in emit_product(special.kernel, tiling, Target(vector_bits=256), "product").text
    True
    """
    return _Loops(ProductEmitter(kernel, tiling, target)).emit(symbol)


class _Loops:
    """The loops around the tiles."""

    def __init__(self, p: ProductEmitter) -> None:
        self.p, self.e, self.tiling, self.product = p, p.e, p.tiling, p.product
        self.width = p.tiling.vectors * p.lanes

    def emit(self, symbol: str) -> NativeText:
        """The text of the module."""
        p, scope = self.p, self.p.prologue()
        raw = None
        self.panel: Value | None = None
        if self.tiling.packed:
            raw, self.panel = self.memory()
        self.outer(list(self.product.outer), scope)
        allocates = raw is not None or self.tiling.form == "blas"
        if raw is not None:
            self.e.call_function("void", FREE, raw)
        text = "\n".join(self.e.declarations) + "\n" + p.function(symbol) + ATTRIBUTES
        return NativeText(symbol, text, tuple(self.e.libm), allocates, True)

    def memory(self) -> tuple[Value, Value]:
        """(what to free, room for the columns of a tile), on the stack if that is enough."""
        p, e, t = self.p, self.e, self.p.type
        row = self.width * t.itemsize
        here = e.slot(f"[{MOST_ON_STACK} x i8]")
        bytes_ = e.binary("mul nsw", p.size(self.product.inner), word(row))
        much, after, before = e.label("much"), e.label("after"), e.block
        e.branch_if(e.icmp("sgt", bytes_, word(MOST_ON_STACK)), much, after)
        e.start(much)
        raw, base = memory.allocate_aligned(e, bytes_)
        memory.leave_without_memory(e, [raw], p.error)
        end = e.block
        e.branch(after)
        e.start(after)
        null = Value("null", "ptr", 1)
        chosen = [Value(e.name("m"), "ptr", 1) for _ in range(2)]
        for name, choices in zip(chosen, ((null, raw), (here, base)), strict=True):
            e.phi(name.text, name, [(choices[0], before), (choices[1], end)])
        return chosen[0], chosen[1]

    def outer(self, axes: list[str], scope: Scope) -> None:
        """The axes of stacks, then a matrix."""
        p = self.p
        if not axes:
            self.columns(scope)
            return
        low, high = word(0), p.sizes[axes[0]]
        if self.tiling.shared == "outer" and axes[0] == self.product.outer[0]:
            low, high = p.low, p.high
        p.counted(p.loop_over(axes[0]), low, high, 1, scope, lambda child: self.outer(axes[1:], child))

    def columns(self, scope: Scope) -> None:
        """Whole tiles of columns, then those left over."""
        p, e, column = self.p, self.e, self.product.column
        if self.tiling.form == "stream":
            Stream(p).emit(scope)
            return
        if self.tiling.form == "blas":
            Large(p).emit(scope)
            return
        n = p.size(column)
        _, left = p.whole_iterations(n, self.width)
        middle = e.binary("sub", n, left)
        low, high, end = word(0), middle, n
        if self.tiling.shared == "columns":
            low = e.binary("mul nsw", p.low, word(self.width))
            end = e.intrinsic("smin", e.binary("mul nsw", p.high, word(self.width)), n)
            high = e.intrinsic("smin", end, middle)
        full = TileShape(self.tiling.rows, self.tiling.vectors, p.lanes)
        p.counted(p.loop_over(column), low, high, self.width, scope, lambda child: self.rows(full, child))
        start = e.intrinsic("smax", high, low)

        def one(child: Scope) -> None:
            self.rows(TileShape(self.tiling.rows, 1, e.binary("sub", end, child.index[column])), child)

        p.counted(p.loop_over(column), start, end, p.lanes, scope, one)

    def tile(self, shape: TileShape, right: Right) -> Tile | Dots:
        """What computes a tile."""
        return Dots(self.p, shape) if self.tiling.form == "dots" else Tile(self.p, shape, right)

    def rows(self, shape: TileShape, scope: Scope) -> None:
        """All rows of one tile of columns, which are copied together if that pays."""
        p, e, row = self.p, self.e, self.product.row
        name = self.product.b.name
        if self.panel is not None:
            pack(p, shape, scope.pointers[name], self.panel)
            right = Right(self.panel, shape.vectors * p.lanes * p.type.itemsize, True)
        else:
            right = Right(scope.pointers[name], p.stride(name, self.product.inner), False)
        if row is None:
            self.tile(shape, right).emit(scope)
            return
        low, high = (p.low, p.high) if self.tiling.shared == "rows" else (word(0), p.sizes[row])
        # Pieces begin at whole tiles, so that what is left over is at the very end.
        start, count = low, shape.rows
        while count:
            here = shape if count == shape.rows else TileShape(count, shape.vectors, shape.last)
            over = e.binary("urem", e.binary("sub", high, start), word(count))
            end = e.binary("sub", high, over)
            p.counted(p.loop_over(row), start, end, count, scope, self.tile(here, right).emit)
            start, count = end, self.fewer(count)

    def fewer(self, count: int) -> int:
        """Rows of the next smaller tile, for what is left over; 0 where nothing can be."""
        if count == self.tiling.rows and not self.tiling.has_rest:
            return 0
        return (1 << (count - 1).bit_length()) // 2 if count > 1 else 0
