"""One tile of a product: rows times columns of sums in registers, one factor's vectors against the other's numbers."""

from __future__ import annotations

from flambeau.codegen.llvm.emitter import Value, float_constant, vector_type
from flambeau.codegen.llvm.nest import Scope
from flambeau.codegen.products.base import ProductEmitter, word
from flambeau.util.record import dataclass

UNROLLED = 4
"""Steps along the folded axis in a turn of the loop."""
ENOUGH = 8
"""Independent sums that keep the multipliers busy; smaller tiles keep several sums for each element."""


@dataclass(frozen=True, slots=True)
class TileShape:
    """Rows, vectors of columns, and how many columns of the last vector count."""

    rows: int
    vectors: int
    last: int


@dataclass(frozen=True, slots=True)
class Right:
    """The columns of a tile: where they start, bytes from one step to the next, whether whole vectors may be read."""

    base: Value
    step: int
    is_padded: bool


class Tile:
    """Emits the sums of one tile."""

    def __init__(self, p: ProductEmitter, shape: TileShape, right: Right) -> None:
        self.p, self.e, self.shape, self.right = p, p.e, shape, right
        self.depth = p.size(p.product.inner)
        self.a_row = p.stride(p.product.a.name, p.product.row)
        self.a_step = p.stride(p.product.a.name, p.product.inner)
        self.chains = max(1, min(UNROLLED, ENOUGH // (shape.rows * shape.vectors), self.depth))

    def emit(self, scope: Scope) -> None:
        """The tile at this place, finished and stored."""
        self.p.epilogue(self.sums(scope.pointers[self.p.product.a.name]), self.shape.last, scope)

    def sums(self, a: Value) -> list[list[Value]]:
        """The sums by row and vector, `a` being the first row's first number."""
        zero = float_constant(0.0, self.p.type.llvm, self.p.lanes)
        state = [zero] * (self.chains * self.shape.rows * self.shape.vectors)
        b = self.right.base
        turns = self.depth // UNROLLED
        if turns > 1:
            state, a, b = self.loop(turns, state, a, b)
        done = turns * UNROLLED if turns > 1 else 0
        for k in range(self.depth - done):
            state = self.step(k, state, a, b)
        count = self.shape.rows * self.shape.vectors
        chains = [state[c * count : (c + 1) * count] for c in range(self.chains)]
        while len(chains) > 1:
            half = (len(chains) + 1) // 2
            upper = chains[half:]
            chains = [
                [self.e.fadd(x, y) for x, y in zip(chain, upper[c], strict=True)] if c < len(upper) else chain
                for c, chain in enumerate(chains[:half])
            ]
        vectors = self.shape.vectors
        return [chains[0][r * vectors : (r + 1) * vectors] for r in range(self.shape.rows)]

    def loop(self, turns: int, state: list[Value], a: Value, b: Value) -> tuple[list[Value], Value, Value]:
        """All whole turns; the state and both addresses after them."""
        e, before, head, after = self.e, self.e.block, self.e.label("fold"), self.e.label("folded")
        e.branch(head)
        e.start(head)
        mark = len(e.lines)
        k, pa, pb = Value(e.name("k"), "i64", 1), Value(e.name("a"), "ptr", 1), Value(e.name("b"), "ptr", 1)
        sums = [Value(e.name("s"), v.type, v.lanes) for v in state]
        new = sums
        for u in range(UNROLLED):
            new = self.step(u, new, pa, pb)
        next_a, next_b = self.p.at(pa, UNROLLED * self.a_step), self.p.at(pb, UNROLLED * self.right.step)
        next_k = e.binary("add nuw nsw", k, word(1))
        e.branch_if(e.icmp("ult", next_k, word(turns)), head, after)
        pairs = zip([k, pa, pb, *sums], [word(0), a, b, *state], [next_k, next_a, next_b, *new], strict=True)
        e.lines[mark:mark] = [
            f"  {v} = phi {v.full_type} [{start}, %{before}], [{end}, %{head}]" for v, start, end in pairs
        ]
        e.start(after)
        return new, next_a, next_b

    def step(self, k: int, state: list[Value], a: Value, b: Value) -> list[Value]:
        """One step along the folded axis, `k` steps from the addresses."""
        rows, vectors = self.shape.rows, self.shape.vectors
        columns = [self.column(self.p.at(b, k * self.right.step), v) for v in range(vectors)]
        new = list(state)
        first = k % self.chains * rows * vectors
        for r in range(rows):
            place = self.p.at(a, r * self.a_row + k * self.a_step)
            number = self.e.define(f"load {self.p.type.llvm}, ptr {place}", self.p.type.llvm, 1)
            number = self.e.splat(number, self.p.lanes)
            for v in range(vectors):
                at = first + r * vectors + v
                new[at] = multiply_add(self.p, number, columns[v], new[at])
        return new

    def column(self, b: Value, number: int) -> Value:
        """A vector of the right factor."""
        is_whole = self.right.is_padded or number < self.shape.vectors - 1 or self.shape.last == self.p.lanes
        place = self.p.at(b, number * self.p.lanes * self.p.type.itemsize)
        return load_columns(self.p, place, self.p.lanes if is_whole else self.shape.last)


def multiply_add(p: ProductEmitter, x: Value, y: Value, z: Value) -> Value:
    """x * y + z, in one rounding where the processor does that."""
    product = p.e.binary("fmul contract", x, y)
    return p.e.binary("fadd contract", product, z)


def load_columns(p: ProductEmitter, place: Value, count: int) -> Value:
    """A vector whose first `count` elements are in memory; the others are 0."""
    t, lanes = p.type, p.lanes
    vt = vector_type(t.llvm, lanes)
    if count == lanes:
        return p.e.define(f"load {vt}, ptr {place}, align {t.itemsize}", t.llvm, lanes)
    mask = "<" + ", ".join(f"i1 {int(k < count)}" for k in range(lanes)) + ">"
    suffix = f"v{lanes}f{t.bits}"
    p.e.declare(f"declare {vt} @llvm.masked.load.{suffix}.p0(ptr, i32, <{lanes} x i1>, {vt})")
    text = f"call {vt} @llvm.masked.load.{suffix}.p0(ptr {place}, i32 {t.itemsize}, <{lanes} x i1> {mask}, "
    return p.e.define(f"{text}{vt} zeroinitializer)", t.llvm, lanes)
