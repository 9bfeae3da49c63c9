"""Squares of numbers in registers: planes of channels turned to vectors with a pixel of several channels, and back; the
sums of rows.
"""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.codegen.convolutions.vectors import VectorFunction, VectorModule
from flambeau.codegen.llvm.emitter import Value


def transposed(f: VectorFunction, rows: Sequence[Value]) -> list[Value]:
    """The columns of a square of rows."""
    lanes, square = len(rows), list(rows)
    distance = lanes // 2
    while distance:
        low = [j if not j & distance else lanes + j - distance for j in range(lanes)]
        high = [j + distance if not j & distance else lanes + j for j in range(lanes)]
        for i in range(lanes):
            if not i & distance:
                a, b = square[i], square[i + distance]
                square[i], square[i + distance] = f.shuffle(a, b, low), f.shuffle(a, b, high)
        distance //= 2
    return square


def sums_of_all(f: VectorFunction, vectors: Sequence[Value]) -> Value:
    """The sums of the lanes of as many vectors as there are lanes, as one vector."""
    lanes, rows = len(vectors), list(vectors)
    while len(rows) > 1:
        distance = len(rows) // 2
        low = [j if not j & distance else lanes + j - distance for j in range(lanes)]
        high = [j + distance if not j & distance else lanes + j for j in range(lanes)]
        pairs = zip(rows[:distance], rows[distance:], strict=True)
        rows = [f.fadd(f.shuffle(a, b, low), f.shuffle(a, b, high)) for a, b in pairs]
    return rows[0]


def build_transpose_in(m: VectorModule) -> None:
    """``turn_in``: `count` numbers of each of `channels` rows, which lie `step` bytes apart, to vectors of a number of
    each row, the n-th of them where the n-th of `offsets` says. Up to a vector's lanes more places are filled, with
    zeros; lanes of channels that there are not hold anything.
    """
    f = m.function(
        "void turn_in", "ptr source", "i64 step", "i64 count", "i64 channels", "ptr target", "ptr places"
    )  # fmt: skip
    source, step, count, channels, target, offsets = f.parameters
    last = f.op("sub", channels, 1)
    rows = [
        f.moved(source, f.op("mul", step, f.least_of(f.typed(r, "i64"), last))) for r in range(m.floats.lanes)
    ]  # fmt: skip

    def some(at: Value, lanes: int, mask: Value | None) -> None:
        square = transposed(f, [f.vector(f.moved(row, at), mask) for row in rows])
        own = f.moved(offsets, at if m.floats.itemsize == 4 else f.op("ashr", at, 1))
        for number, vector in enumerate(square):
            offset = f.read(f.at(own, 4 * number, "i8"), "i32")
            f.put_vector(vector, f.moved(target, f.define(f"sext i32 {offset} to i64", "i64")))

    f.span(count).each(some)
    f.ret()


def build_transpose_out(m: VectorModule) -> None:
    """``turn_out``: `count` vectors of a number of each of `channels` rows, to rows that lie `step` bytes apart."""
    f = m.function("void turn_out", "ptr source", "i64 count", "i64 channels", "ptr target", "i64 step")
    source, count, channels, target, step = f.parameters
    number_of, size = m.floats.lanes, m.floats.itemsize
    rows = [f.moved(target, f.op("mul", step, r)) for r in range(number_of)]
    is_whole = f.compare("sge", channels, number_of)

    def some(at: Value, lanes: int, mask: Value | None) -> None:
        here = f.moved(source, f.op("mul", at, number_of))
        square = transposed(f, [f.vector(f.at(here, p * number_of * size, "i8")) for p in range(number_of)])
        whole, part, done = f.label("whole"), f.label("part"), f.label("turned")
        f.branch_if(is_whole, whole, part)
        f.start(whole)
        for vector, row in zip(square, rows, strict=True):
            f.put_vector(vector, f.moved(row, at), mask)
        f.branch(done)
        f.start(part)
        for number, (vector, row) in enumerate(zip(square, rows, strict=True)):
            with f.when(f.compare("sgt", channels, number)):
                f.put_vector(vector, f.moved(row, at), mask)
        f.start(done)

    f.span(count).each(some)
    f.ret()
