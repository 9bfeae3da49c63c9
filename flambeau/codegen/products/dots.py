"""A tile whose factors both lie step by step: every sum is a product of vectors, folded across lanes at the end.

It serves few rows times columns that lie across, as the weights of `linear`: turning those round would cost more than
the sums. A vector of columns is done some columns at a time; then the lanes of all of them are folded together.
"""

from __future__ import annotations

from flambeau.codegen.llvm.emitter import Value, float_constant, vector_type
from flambeau.codegen.llvm.nest import Scope
from flambeau.codegen.products.base import ProductEmitter, word
from flambeau.codegen.products.tile import TileShape, load_columns, multiply_add

AT_A_TIME = 4
"""Columns whose sums are in registers together."""


class Dots:
    """Emits the sums of one tile, one vector of columns wide."""

    def __init__(self, p: ProductEmitter, shape: TileShape) -> None:
        self.p, self.e, self.shape = p, p.e, shape
        self.depth = p.size(p.product.inner)
        self.a_row = p.stride(p.product.a.name, p.product.row)
        self.across = p.stride(p.product.b.name, p.product.column)
        self.chunk = p.lanes * p.type.itemsize

    def emit(self, scope: Scope) -> None:
        """The tile at this place, finished and stored."""
        p, lanes = self.p, self.p.lanes
        a, b = scope.pointers[p.product.a.name], scope.pointers[p.product.b.name]
        zero = float_constant(0.0, p.type.llvm, lanes)
        found: list[list[Value]] = [[] for _ in range(self.shape.rows)]
        for first in range(0, self.shape.last, AT_A_TIME):
            count = min(AT_A_TIME, self.shape.last - first)
            sums = self.sums(a, p.at(b, first * self.across), count)
            for r, row in enumerate(found):
                row += sums[r * count : (r + 1) * count]
        folded = [[fold_across(p, row + [zero] * (lanes - len(row)))] for row in found]
        p.epilogue(folded, self.shape.last, scope)

    def sums(self, a: Value, b: Value, columns: int) -> list[Value]:
        """The sums of all rows and some columns, by row, their lanes not folded yet."""
        count = self.shape.rows * columns
        chains = 2 if count < 8 else 1
        state = [float_constant(0.0, self.p.type.llvm, self.p.lanes)] * (chains * count)
        steps, left = divmod(self.depth, self.p.lanes)
        turns = steps // chains
        if turns:
            state, a, b = self.loop(turns, chains, columns, state, a, b)
        for k in range(steps - turns * chains):
            state = self.step(k, 0, columns, self.p.lanes, state, a, b)
        if left:
            state = self.step(steps - turns * chains, 0, columns, left, state, a, b)
        if chains == 2:
            state = [self.e.fadd(x, y) for x, y in zip(state[:count], state[count:], strict=True)]
        return state

    def loop(
        self, turns: int, chains: int, columns: int, state: list[Value], a: Value, b: Value
    ) -> tuple[list[Value], Value, Value]:
        """All whole turns; the state and both addresses after them."""
        e, before, head, after = self.e, self.e.block, self.e.label("fold"), self.e.label("folded")
        e.branch(head)
        e.start(head)
        mark = len(e.lines)
        k, pa, pb = Value(e.name("k"), "i64", 1), Value(e.name("a"), "ptr", 1), Value(e.name("b"), "ptr", 1)
        sums = [Value(e.name("s"), v.type, v.lanes) for v in state]
        new = sums
        for c in range(chains):
            new = self.step(c, c * self.shape.rows * columns, columns, self.p.lanes, new, pa, pb)
        next_a, next_b = self.p.at(pa, chains * self.chunk), self.p.at(pb, chains * self.chunk)
        next_k = e.binary("add nuw nsw", k, word(1))
        e.branch_if(e.icmp("ult", next_k, word(turns)), head, after)
        pairs = zip([k, pa, pb, *sums], [word(0), a, b, *state], [next_k, next_a, next_b, *new], strict=True)
        e.lines[mark:mark] = [f"  {v} = phi {v.full_type} [{s}, %{before}], [{n}, %{head}]" for v, s, n in pairs]
        e.start(after)
        return new, next_a, next_b

    def step(self, k: int, first: int, columns: int, count: int, state: list[Value], a: Value, b: Value) -> list[Value]:
        """`count` steps along the folded axis, `k` vectors from the addresses, into the sums from `first`."""
        new = list(state)
        right = [load_columns(self.p, self.p.at(b, c * self.across + k * self.chunk), count) for c in range(columns)]
        for r in range(self.shape.rows):
            left = load_columns(self.p, self.p.at(a, r * self.a_row + k * self.chunk), count)
            for c, vector in enumerate(right):
                at = first + r * columns + c
                new[at] = multiply_add(self.p, left, vector, new[at])
        return new


def fold_across(p: ProductEmitter, vectors: list[Value]) -> Value:
    """The sum of each of as many vectors as they have lanes, one in each lane."""
    found, lanes = list(vectors), len(vectors)
    vt = vector_type(p.type.llvm, lanes)
    distance = lanes // 2
    while distance:
        low = ", ".join(f"i32 {j if not j & distance else lanes + j - distance}" for j in range(lanes))
        high = ", ".join(f"i32 {j + distance if not j & distance else lanes + j}" for j in range(lanes))
        folded = []
        for a, b in zip(found[:distance], found[distance:], strict=True):
            parts = [
                p.e.define(f"shufflevector {vt} {a}, {vt} {b}, <{lanes} x i32> <{picks}>", a.type, lanes)
                for picks in (low, high)
            ]
            folded.append(p.e.fadd(parts[0], parts[1]))
        found = folded
        distance //= 2
    return found[0]
