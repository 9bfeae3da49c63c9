"""A product to one LLVM function: loops over stacks, columns and rows around tiles that stay in registers.

for the first axes
  for columns, a tile's at a time         (copied together first where that pays)
    for rows, a tile's at a time
      for k: tile += a[rows, k] * b[k, columns]
      the epilogue on each vector of the tile, from registers
"""

from __future__ import annotations

from flambeau.codegen.kernel.nest import Kernel
from flambeau.codegen.llvm.emitter import Target, Value
from flambeau.codegen.llvm.memory import ALLOCATE, FREE
from flambeau.codegen.llvm.nest import ATTRIBUTES, NativeText, Scope
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
    """LLVM text for a product (specialised) under a tiling."""
    return _Loops(ProductEmitter(kernel, tiling, target)).emit(symbol)


class _Loops:
    """The loops around the tiles."""

    def __init__(self, p: ProductEmitter) -> None:
        self.p, self.e, self.tiling, self.product = p, p.e, p.tiling, p.product
        self.width = p.tiling.vectors * p.lanes

    def emit(self, symbol: str) -> NativeText:
        """The text of the module."""
        p, scope = self.p, self.p.prologue()
        p.constants()
        raw = None
        self.panel: Value | None = None
        if self.tiling.packed:
            raw, self.panel = self.memory()
        self.outer(list(self.product.outer), scope)
        allocates = raw is not None or self.tiling.form == "blas"
        if raw is not None:
            self.e.declare(f"declare void @{FREE}(ptr)")
            self.e.raw(f"call void @{FREE}(ptr {raw})")
        text = "\n".join(self.e.declarations) + "\n" + p.function(symbol) + ATTRIBUTES
        return NativeText(symbol, text, tuple(self.e.libm), allocates, True)

    def memory(self) -> tuple[Value | None, Value]:
        """(what to free, room for the columns of a tile)."""
        e, t = self.e, self.p.type
        count = self.p.size(self.product.inner) * self.width
        if count * t.itemsize <= MOST_ON_STACK:
            return None, e.slot(f"[{count} x {t.llvm}]")
        e.declare(f"declare ptr @{ALLOCATE}(i64)")
        raw = e.define(f"call ptr @{ALLOCATE}(i64 {count * t.itemsize + 64})", "ptr", 1)
        address = e.define(f"ptrtoint ptr {raw} to i64", "i64", 1)
        pad = e.binary("and", e.binary("sub", word(0), address), word(63))
        return raw, e.define(f"getelementptr i8, ptr {raw}, i64 {pad}", "ptr", 1)

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
        whole = n // self.width
        low, high = word(0), word(whole * self.width)
        is_shared = self.tiling.shared == "columns"
        if is_shared:
            low = e.binary("mul nsw", p.low, word(self.width))
            high = e.intrinsic("smin", e.binary("mul nsw", p.high, word(self.width)), high)
        if whole:
            full = TileShape(self.tiling.rows, self.tiling.vectors, p.lanes)
            p.counted(p.loop_over(column), low, high, self.width, scope, lambda child: self.rows(full, child))
        left = n - whole * self.width
        if not left:
            return
        vectors = -(-left // p.lanes)
        rest = TileShape(self.tiling.rows, vectors, left - (vectors - 1) * p.lanes)

        def last() -> None:
            child = scope.child()
            p.enter(p.loop_over(column), word(whole * self.width), child)
            self.rows(rest, child)

        if is_shared:
            p.only_if(e.icmp("sgt", p.high, word(whole)), last)
        else:
            last()

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
        low, high = word(0), p.sizes[row]
        middle = e.binary("sub", high, word(self.tiling.rest))
        if self.tiling.shared == "rows":
            # Pieces begin at whole tiles, so that what is left over is at the very end.
            low, high = p.low, p.high
            over = e.binary("urem", e.binary("sub", high, low), word(shape.rows))
            middle = e.binary("sub", high, over)
        p.counted(p.loop_over(row), low, middle, shape.rows, scope, self.tile(shape, right).emit)
        if not self.tiling.rest:
            return

        def last() -> None:
            child = scope.child()
            p.enter(p.loop_over(row), middle, child)
            self.tile(TileShape(self.tiling.rest, shape.vectors, shape.last), right).emit(child)

        if self.tiling.shared == "rows":
            p.only_if(e.icmp("slt", middle, high), last)
        else:
            last()
