"""One tile of a product: rows times columns of sums in registers, one factor's vectors against the other's numbers."""

from __future__ import annotations

from collections.abc import Callable

from flambeau.codegen.kernel.dtypes import ElementType
from flambeau.codegen.llvm.casts import cast
from flambeau.codegen.llvm.definitions import Scope
from flambeau.codegen.llvm.emitter import Value, float_constant, vector_type
from flambeau.codegen.llvm.memory import suffix
from flambeau.codegen.products.base import ProductEmitter, Step
from flambeau.codegen.products.stretches import in_stretches
from flambeau.codegen.products.tiling import STRETCH
from flambeau.util.record import dataclass

UNROLLED = 4
"""Steps along the folded axis in an iteration of the loop."""
ENOUGH = 8
"""Independent sums that keep the multipliers busy; smaller tiles keep several sums for each element."""


@dataclass(frozen=True, slots=True)
class TileShape:
    """Rows, vectors of columns, and how many columns of the last vector count."""

    rows: int
    vectors: int
    last: Value | int


@dataclass(frozen=True, slots=True)
class Right:
    """The columns of a tile: where they start, bytes from one step to the next, whether whole vectors may be read."""

    base: Value
    step: Step
    is_padded: bool


class Tile:
    """Emits the sums of one tile."""

    def __init__(self, p: ProductEmitter, shape: TileShape, right: Right) -> None:
        self.p, self.e, self.shape, self.right = p, p.e, shape, right
        self.a_row = p.stride(p.product.a.name, p.product.row)
        self.a_step = p.stride(p.product.a.name, p.product.inner)
        self.chains = max(1, min(UNROLLED, ENOUGH // (shape.rows * shape.vectors)))
        self.mask = p.mask_of(shape.last)

    def emit(self, scope: Scope) -> None:
        """The tile at this place, finished and stored."""
        self.p.epilogue(self.sums(scope.pointers[self.p.product.a.name]), self.shape.last, scope)

    def sums(self, a: Value) -> list[list[Value]]:
        """The sums by row and vector, `a` being the first row's first number."""
        p, count, vectors = self.p, self.shape.rows * self.shape.vectors, self.shape.vectors
        self.rows_at = [p.times(self.a_row, r) for r in range(self.shape.rows)]
        at, steps = [a, self.right.base], p.size(p.product.inner)
        is_long = p.tiling.is_long
        sums = in_stretches(p, STRETCH, steps, at, count, self.fold) if is_long else self.fold(at, steps)[1]
        return [sums[r * vectors : (r + 1) * vectors] for r in range(self.shape.rows)]

    def fold(self, at: list[Value], steps: Value) -> tuple[list[Value], list[Value]]:
        """So many steps from both addresses: the addresses behind them, and the sums."""
        p, count = self.p, self.shape.rows * self.shape.vectors
        zero = float_constant(0.0, p.type.llvm, p.lanes)
        iterations, left = p.whole_iterations(steps, UNROLLED)
        state = p.repeat(iterations, [*at, *[zero] * (self.chains * count)], self.steps(UNROLLED))
        state = p.repeat(left, state, self.steps(1))
        at, state = state[:2], state[2:]
        chains = [state[c * count : (c + 1) * count] for c in range(self.chains)]
        while len(chains) > 1:
            half = (len(chains) + 1) // 2
            upper = chains[half:]
            chains = [
                [self.e.fadd(x, y) for x, y in zip(chain, upper[c], strict=True)] if c < len(upper) else chain
                for c, chain in enumerate(chains[:half])
            ]
        return at, chains[0]

    def steps(self, count: int) -> Callable[[list[Value]], list[Value]]:
        """Some steps along the folded axis: of both addresses and the sums."""

        def go(state: list[Value]) -> list[Value]:
            a, b, new = state[0], state[1], state[2:]
            for k in range(count):
                new = self.step(k, new, a, b)
                a, b = self.p.at(a, self.a_step), self.p.at(b, self.right.step)
            return [a, b, *new]

        return go

    def step(self, k: int, state: list[Value], a: Value, b: Value) -> list[Value]:
        """One step along the folded axis, at the addresses, into the sums of its chain."""
        rows, vectors = self.shape.rows, self.shape.vectors
        columns = [self.column(b, v) for v in range(vectors)]
        new = list(state)
        first = k % self.chains * rows * vectors
        for r in range(rows):
            address = self.p.at(a, self.rows_at[r])
            number = self.p.number(address, self.p.lanes)
            for v in range(vectors):
                at = first + r * vectors + v
                new[at] = multiply_add(self.p, number, columns[v], new[at])
        return new

    def column(self, b: Value, number: int) -> Value:
        """A vector of the right factor."""
        p = self.p
        if self.right.is_padded:  # copied, in the type that is computed in
            return load_columns(p, p.at(b, number * p.lanes * p.type.itemsize), None, p.type)
        mask = None if number < self.shape.vectors - 1 else self.mask
        return load_columns(p, p.at(b, number * p.lanes * p.kept.itemsize), mask, p.kept)


def multiply_add(p: ProductEmitter, x: Value, y: Value, z: Value) -> Value:
    """x * y + z, in one rounding where the processor does that."""
    product = p.e.binary("fmul contract", x, y)
    return p.e.binary("fadd contract", product, z)


def load_columns(p: ProductEmitter, address: Value, mask: Value | None, kept: ElementType) -> Value:
    """A vector whose elements in the lanes of a mask are in memory, as `kept` says; the others are 0."""
    return cast(p.e, _loaded(p, address, mask, kept), kept, p.type)


def _loaded(p: ProductEmitter, address: Value, mask: Value | None, t: ElementType) -> Value:
    lanes = p.lanes
    vt = vector_type(t.llvm, lanes)
    if mask is None:
        return p.e.read(address, t.llvm, lanes, align=t.itemsize)
    if lanes == 1:
        dummy = p.e.slot(t.llvm)
        p.e.write(Value("zeroinitializer", t.llvm, 1), dummy)
        return p.e.read(p.e.select(mask, address, dummy), t.llvm, align=t.itemsize)
    name = f"@llvm.masked.load.{suffix(t.llvm, lanes)}.p0"
    p.e.declare(f"declare {vt} {name}(ptr, i32, <{lanes} x i1>, {vt})")
    text = f"call {vt} {name}(ptr {address}, i32 {t.itemsize}, <{lanes} x i1> {mask}, "
    return p.e.define(f"{text}{vt} zeroinitializer)", t.llvm, lanes)
