"""Places left over behind whole vectors: products of filters and of columns, each folded across lanes at the end.

49 places are three vectors of 16 and one place, for which a fourth vector would be mostly empty. Its column, the
input's numbers for all steps of the table, is collected once; then the weights of a filter, which lie side by side, go
through vectors together with it:

    for some filters and places
        sums over vectors of steps; the lanes of all sums together are vectors of results
"""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.codegen.convolutions.squares import sums_of_all
from flambeau.codegen.convolutions.tile import STEP, TileShape, clamped
from flambeau.codegen.convolutions.vectors import Floats, VectorFunction, VectorModule
from flambeau.codegen.convolutions.words import PROBLEM
from flambeau.codegen.llvm.checked_emitter import word
from flambeau.codegen.llvm.emitter import Value

FEWEST_FILTERS = 16
"""Filters from which collecting columns pays."""
FEWEST_VECTORS = 4
"""Vectors of steps from which folding lanes pays."""
MOST_PLACES = 4
"""Of a tile."""


def most_left(lanes: int) -> int:
    """How many places may be left over, so that this pays; more nearly fill a vector."""
    return lanes // 2


def places_together(floats: Floats, filters: int) -> int:
    """How many places go with so many filters: as many sums as a vector has lanes, if that is possible."""
    return min(MOST_PLACES, max(1, floats.lanes // (1 << (filters - 1).bit_length())))


def build_collect(m: VectorModule) -> None:
    """``collect``: columns of so many places from `x` on, a column each `rest_bytes`."""
    f = m.function("void collect", "ptr words", "ptr x", "ptr table", "i64 steps", "i64 count", "ptr columns")
    words, x, table, steps, count, columns = f.parameters
    apart, t, size = f.get(words, PROBLEM, "rest_bytes"), m.floats.type, m.floats.itemsize
    with f.loop(steps) as k:
        from_x = f.read(f.at(table, f.op("mul", k, STEP), "i8"), "i32")
        here = f.moved(x, f.define(f"sext i32 {from_x} to i64", "i64"))
        to = f.moved(columns, f.op("mul", k, size))
        with f.loop(count) as c:
            f.write(f.read(f.moved(here, f.op("mul", c, size)), t), f.moved(to, f.op("mul", c, apart)))
    f.ret()


def build_rest(m: VectorModule, shape: TileShape) -> None:
    """``rest_N``: the sums of N filters at `left` places, or as many as go together, scaled and bounded as a tile's."""
    f = m.function(
        f"void rest_{shape.filters}", "ptr words", "ptr columns", "ptr w", "i64 row", "i64 steps", "i64 left",
        "ptr sums", "i64 pitch", "ptr bias", "ptr scale", "ptr shift", "i64 is_later",
    )  # fmt: skip
    words, columns, w, row, steps, left, sums, pitch, bias, scale, shift, is_later = f.parameters
    is_first = f.compare("eq", is_later, 0)
    apart, lanes, size = f.get(words, PROBLEM, "rest_bytes"), m.floats.lanes, m.floats.itemsize
    across = places_together(m.floats, shape.filters)
    last = f.op("sub", left, 1)
    from_x = [f.moved(columns, f.op("mul", f.least_of(last, c), apart)) for c in range(across)]
    from_w = [f.moved(w, f.op("mul", row, r)) for r in range(shape.filters)]

    def step(at: Value, state: Sequence[Value], mask: Value | None = None) -> list[Value]:
        numbers = [f.vector(f.moved(base, at), mask) for base in from_x]
        new = []
        for r, base in enumerate(from_w):
            weights = f.vector(f.moved(base, at), mask)
            own = state[r * across : (r + 1) * across]
            new += [f.multiply_add(weights, x, s) for x, s in zip(numbers, own, strict=True)]
        return new

    whole = f.op("sdiv", steps, lanes)
    start = [f.zero] * (shape.filters * across)
    state = f.fold(whole, start, lambda k, s: step(f.op("mul", k, lanes * size), s))
    done = f.op("mul", whole, lanes)
    state = step(f.bytes_of(done), state, f.mask_below(f.op("sub", steps, done)))
    state += [f.zero] * (-len(state) % lanes)
    totals = [sums_of_all(f, state[k : k + lanes]) for k in range(0, len(state), lanes)]
    for c in range(across):
        with f.when(f.compare("slt", word(c), left)):
            for r in range(shape.filters):
                number = r * across + c
                total = totals[number // lanes]
                lane = f.define(f"extractelement {total.full_type} {total}, i64 {number % lanes}", total.type)
                to = f.moved(sums, f.op("mul", pitch, r), word(c * size))
                own, *behind = [f.at(base, r * size, "i8") for base in (bias, scale, shift)]
                before = f.read(f.pick(is_first, own, to, "ptr"), total.type)
                _put(f, f.fadd(lane, before), to, (*behind, words), f.is_null(scale))
    f.ret()


def _put(f: VectorFunction, value: Value, to: Value, own: tuple[Value, ...], is_plain: Value) -> None:
    """A sum to its place: as it is; or, scaled and shifted, within the bounds that words say."""
    t = f.floats.type
    scale, shift, words = own
    plain, scaled, done = f.label("plain"), f.label("scaled"), f.label("put")
    f.branch_if(is_plain, plain, scaled)
    f.start(plain, falls_through=False)
    f.write(value, to)
    f.branch(done)
    f.start(scaled, falls_through=False)
    bounds = [f.read(f.field(words, PROBLEM, name), t) for name in ("least", "most")]
    value = f.multiply_add(value, f.read(scale, t), f.read(shift, t))
    f.write(clamped(f, value, *bounds), to)
    f.branch(done)
    f.start(done, falls_through=False)
