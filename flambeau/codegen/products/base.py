"""What the emitters of products share: sizes and strides, loops and conditions, the epilogue."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flambeau.codegen.costs import NANOSECONDS
from flambeau.codegen.kernel.dtypes import element_type
from flambeau.codegen.kernel.nest import Kernel, Let, Load, Loop, Statement, Store
from flambeau.codegen.kernel.opset import TRAPPING
from flambeau.codegen.llvm.casts import cast
from flambeau.codegen.llvm.definitions import Scope
from flambeau.codegen.llvm.emitter import Target, Value, int_constant
from flambeau.codegen.llvm.first_lanes import First
from flambeau.codegen.llvm.memory import iota
from flambeau.codegen.llvm.nest import NestEmitter
from flambeau.codegen.products.tiling import Tiling

Step = Value | int
"""A number of bytes, which may be known when code is made."""
MOST_UNROLLED = 4
"""Vectors of a tile whose epilogue is unrolled, if it holds a costly function; more of them are computed in a loop."""


def word(number: int) -> Value:
    """A constant of 64 bits."""
    return int_constant(number, "i64", 1)


class ProductEmitter(NestEmitter):
    """Emits for one product."""

    def __init__(self, kernel: Kernel, tiling: Tiling, target: Target) -> None:
        super().__init__(kernel, tiling, target)
        assert tiling.product is not None
        self.tiling, self.product = tiling, tiling.product
        self.type = element_type(self.product.dtype)
        self.kept = element_type(self.product.b.dtype)
        """The type of both factors in memory."""
        self.lanes = tiling.lanes
        self.dtypes[self.product.state] = self.product.fold.carries[0].dtype
        self.low, self.high = Value("%low", "i64", 1), Value("%high", "i64", 1)
        self._steady, self._moving = self._by_row()

    def size(self, axis: str) -> Value:
        """The size of an axis."""
        return self.sizes[axis]

    def stride(self, buffer: str, axis: str | None) -> Step:
        """Bytes from one iteration of an axis to the next: a number if code is made for it, 0 if the buffer stays."""
        if axis is None or (buffer, axis) not in self.strides:
            return 0
        if (buffer, axis) in self.tiling.sides:
            return element_type(self.buffers[buffer].dtype).itemsize
        return self.strides[buffer, axis]

    def times(self, step: Step, count: int) -> Step:
        """Some steps at once."""
        if isinstance(step, int):
            return step * count
        return word(0) if count == 0 else step if count == 1 else self.e.binary("mul nsw", step, word(count))

    def bytes_of(self, step: Step) -> Value:
        """A number of bytes in a register."""
        return word(step) if isinstance(step, int) else step

    def loop_over(self, axis: str) -> Loop:
        """A loop over one axis whose body is the whole product."""
        return Loop((axis,), (), self.product.loop.body)

    def at(self, base: Value, offset: Step) -> Value:
        """An address some bytes on."""
        if offset == 0 or (isinstance(offset, Value) and offset.text == "0"):
            return base
        return self.e.offset(base, offset)

    def repeat(self, iterations: Value, state: list[Value], body: Callable[[list[Value]], list[Value]]) -> list[Value]:
        """A state after `body` was applied to it so many times."""
        e, before = self.e, self.e.block
        head, iteration, after = e.label("fold"), e.label("step"), e.label("folded")
        e.branch(head)
        e.start(head)
        mark = len(e.lines)
        k, inside = Value(e.name("k"), "i64", 1), [Value(e.name("s"), v.type, v.lanes) for v in state]
        e.branch_if(e.icmp("slt", k, iterations), iteration, after)
        e.start(iteration)
        new = body(inside)
        next_k = e.binary("add nuw nsw", k, word(1))
        latch = e.block
        e.branch(head)
        pairs = zip([k, *inside], [word(0), *state], [next_k, *new], strict=True)
        e.lines[mark:mark] = [f"  {v} = phi {v.full_type} [{s}, %{before}], [{n}, %{latch}]" for v, s, n in pairs]
        e.start(after)
        return inside

    def whole_iterations(self, count: Value, each: int) -> tuple[Value, Value]:
        """(how many times a number goes into a size, what is left over)."""
        if each == 1:
            return count, word(0)
        iterations = self.e.binary("udiv", count, word(each))
        return iterations, self.e.binary("sub", count, self.e.binary("mul", iterations, word(each)))

    def number(self, address: Value, lanes: int = 1) -> Value:
        """A number of a factor in the type that is computed in, in each of some lanes."""
        return cast(self.e, self.e.splat(self.e.read(address, self.kept.memory), lanes), self.kept, self.type)

    def mask_of(self, count: Value | int) -> Value | None:
        """The lanes below a count; None for all."""
        if isinstance(count, int) and count >= self.lanes:
            return None
        number = word(count) if isinstance(count, int) else count
        return self.e.icmp("slt", iota(self.lanes), self.e.splat(number, self.lanes))

    # --- the epilogue

    def _by_row(self) -> tuple[tuple[Statement, ...], tuple[Statement, ...]]:
        """What the epilogue computes once for all rows of a tile, and the rest."""
        moving: set[str] = {self.product.state}
        steady: list[Statement] = []
        rest: list[Statement] = []
        for s in self.product.epilogue:
            if isinstance(s, Load):
                varies = self.product.row in self.buffers[s.buffer].axes
            elif isinstance(s, Let):
                varies = s.op in TRAPPING or any(a in moving for a in s.args)
            else:
                varies = isinstance(s, Store)
            if varies and not isinstance(s, Store):
                moving.add(s.name)  # type: ignore[union-attr]
            (rest if varies else steady).append(s)
        return tuple(steady), tuple(rest)

    def is_costly(self) -> bool:
        """Whether the epilogue holds a function that takes many instructions."""
        return any(isinstance(s, Let) and s.op in NANOSECONDS and s.op not in ("div", "sqrt") for s in self._moving)

    def epilogue(self, sums: Sequence[Sequence[Value]], last: Value | int, scope: Scope) -> None:
        """Finish and store a tile, by row and vector; the last vector has `last` columns."""
        if len(sums) > 1 and len(sums) * len(sums[0]) > MOST_UNROLLED and self.is_costly():
            self._in_iterations(sums, last, scope)
            return
        for v in range(len(sums[0])):
            at_vector = self._at_vector(v, last if v == len(sums[0]) - 1 else self.lanes, scope)
            for r, row in enumerate(sums):
                self._finish(row[v], self._at_row(r, at_vector))

    def _in_iterations(self, sums: Sequence[Sequence[Value]], last: Value | int, scope: Scope) -> None:
        """A loop over the rows of a tile that is put in memory first: short code for costly functions."""
        e, row = self.e, self.product.row
        assert row is not None
        width = len(sums[0]) * self.lanes
        slot = e.slot(f"[{len(sums) * width} x {self.type.llvm}]")
        size = self.type.itemsize
        for r, sums_of_row in enumerate(sums):
            for v, value in enumerate(sums_of_row):
                e.write(value, self.at(slot, (r * width + v * self.lanes) * size))

        def one(child: Scope) -> None:
            start = e.binary("mul nsw", child.index[row], word(width * size))
            base = e.offset(slot, start)
            for v, old in enumerate(sums[0]):
                at_vector = self._at_vector(v, last if v == len(sums[0]) - 1 else self.lanes, child)
                address = self.at(base, v * self.lanes * size)
                self._finish(e.read(address, old.type, old.lanes), at_vector)

        self.counted(self.loop_over(row), word(0), word(len(sums)), 1, scope, one)

    def _at_vector(self, number: int, columns: Value | int, scope: Scope) -> Scope:
        """The place of a vector of the tile, with what does not change by row."""
        child = self._moved(scope, self.product.column, number * self.lanes)
        child.in_vector = True
        child.mask = self.mask_of(columns)
        if child.mask is not None:
            child.first = First(word(columns)) if isinstance(columns, int) else First(columns, may_be_all=True)
        self.body(self._steady, child)
        return child

    def _at_row(self, number: int, scope: Scope) -> Scope:
        return self._moved(scope, self.product.row, number)

    def _moved(self, scope: Scope, axis: str | None, iterations: int) -> Scope:
        """The scope a constant number of iterations of an axis on."""
        child = scope.child()
        if axis is not None and iterations:
            used = {s.buffer for s in self.product.epilogue if isinstance(s, Load | Store)}
            for name in used:
                if axis in self.buffers[name].axes:
                    step = self.times(self.stride(name, axis), iterations)
                    child.pointers[name] = self.at(scope.pointers[name], step)
        return child

    def _finish(self, value: Value, scope: Scope) -> None:
        scope.values[self.product.state] = value
        self.body(self._moving, scope)
