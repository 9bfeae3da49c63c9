"""Tiles of sums in registers: filters times positions, one step for each element of a window.

A step is an entry of a table: how far the vectors of the positions and the weights of the filters lie from their bases,
as two ints of 32 bits. So one loop serves all kernels, dilations, strides and layouts of weights, which are read where
they lie.

Sums are taken in stretches: those of one begin at zero, and what was there is added behind it. So errors grow with the
steps of a stretch and with the number of stretches, not with all steps.
"""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.codegen.convolutions.vectors import Floats, VectorFunction, VectorModule
from flambeau.codegen.convolutions.words import PROBLEM
from flambeau.codegen.llvm.emitter import Value, float_constant
from flambeau.util.record import dataclass

STEP: int = 8
"""Bytes of an entry of a table."""
AHEAD: int = 5
"""Steps ahead of which the vectors of positions are asked for, where tiles are wide; tables go on so far with anything.
"""
WEIGHTS_AHEAD: int = 64
"""Steps ahead of which weights are asked for, where tiles are wide."""
STRETCH: int = 128
"""Steps of a stretch; the last has what would be less than half of one, too."""


@dataclass(frozen=True, slots=True)
class TileShape:
    """Filters, and vectors of positions."""

    filters: int
    vectors: int
    is_last: bool = False
    """Whether there may be fewer positions than its vectors have lanes."""

    @property
    def name(self) -> str:
        """What the function is called."""
        return f"{'last' if self.is_last else 'tile'}_{self.filters}x{self.vectors}"


def shapes(floats: Floats) -> tuple[TileShape, ...]:
    """Of whole tiles, the largest number of filters first; it ends with one. With 16 registers four filters by three
    vectors take fewer loads for each product than six by two, and all widths divide those of blocks of positions.
    """
    if floats.has_many_registers:
        return TileShape(8, 3), TileShape(4, 6), TileShape(2, 8), TileShape(1, 8)
    return TileShape(4, 3), TileShape(2, 6), TileShape(1, 6)


def last_shapes(shape: TileShape) -> tuple[TileShape, ...]:
    """Of what whole tiles leave, the largest first: powers of two, each half of the one before. Sums of a single filter
    would wait for each other if they were a vector at a time.
    """
    counts = [n for n in (4, 2, 1) if n < shape.vectors and n * shape.filters <= 16]
    return tuple([TileShape(shape.filters, n, is_last=True) for n in counts or [1]])


def build_tile(m: VectorModule, shape: TileShape) -> None:
    """The function of a tile, whose sums are added to the biases, or to what earlier planes came to. One of the last
    reads `left` positions alone, and zeros for the others.
    """
    f = m.function(
        f"void {shape.name}", "ptr x", "ptr w", "i64 row", "ptr table", "i64 steps", "ptr sums", "i64 pitch",
        "ptr bias", "i64 left", "ptr scale", "ptr shift", "ptr words", "i64 is_later",
    )  # fmt: skip
    x, w, row, table, steps, sums, pitch, bias, left, scale, shift, words, is_later = f.parameters
    lanes, size = m.floats.lanes, m.floats.itemsize
    masks = [
        f.mask_below(f.op("sub", left, v * lanes)) if shape.is_last and m.floats.has_masks else None
        for v in range(shape.vectors)
    ]
    addresses = [
        f.at(f.moved(sums, f.op("mul", pitch, r)), v * lanes * size, "i8")
        for r in range(shape.filters) for v in range(shape.vectors)
    ]  # fmt: skip
    thrice = f.op("mul", row, 3)
    stretches = f.most_of(f.op("udiv", f.op("add", steps, STRETCH // 2), STRETCH), 1)
    with f.loop(stretches) as number:
        before = f.op("mul", number, STRETCH)
        is_end = f.compare("eq", f.op("add", number, 1), stretches)
        left_steps = f.op("sub", steps, before)
        last = f.op("sub", left_steps, WEIGHTS_AHEAD)
        ends = last, f.op("sub", f.op("mul", row, shape.filters), f.op("mul", last, size))
        own = f.at(table, f.op("mul", before, STEP), "i8")

        def step(k: Value, state: Sequence[Value], own: Value = own, ends: tuple[Value, Value] = ends) -> list[Value]:
            entry = f.at(own, f.op("mul", k, STEP), "i8")
            if m.floats.has_many_registers:
                _ask_ahead(f, shape, f.at(entry, AHEAD * STEP, "i8"), x)
            from_w = f.define(f"sext i32 {f.read(f.at(entry, 4, 'i8'), 'i32')} to i64", "i64")
            here = f.moved(w, from_w)
            if not shape.is_last:
                _ask_for_weight(f, shape, here, row, k, ends)
            return _step(f, shape, (_moved_by(f, x, entry), here), (row, thrice), masks, state)

        is_first = f.compare("eq", f.op("or", is_later, number), 0)
        starts = _starts(f, shape, bias, is_first)
        done = _added(f, f.fold(f.pick(is_end, left_steps, STRETCH), starts, step), addresses, is_first)
        with f.when(f.all_of(is_end, f.negated(f.is_null(scale)))):
            _put_scaled(f, shape, list(zip(done, addresses, strict=True)), scale, shift, words)
            f.ret()
        for value, address in zip(done, addresses, strict=True):
            f.put_vector(value, address)
    f.ret()


def _starts(f: VectorFunction, shape: TileShape, bias: Value, is_first: Value) -> list[Value]:
    """What sums begin with: the bias of their filter, or zero where it is in what is there."""
    t, zero = f.floats.type, float_constant(0.0, f.floats.type, 1)
    biases = [f.read(f.at(bias, r * f.floats.itemsize, "i8"), t) for r in range(shape.filters)]
    starts = [f.splat(f.pick(is_first, own, zero, t), f.floats.lanes) for own in biases]
    return [starts[k // shape.vectors] for k in range(shape.filters * shape.vectors)]


def _added(f: VectorFunction, sums: Sequence[Value], addresses: Sequence[Value], is_first: Value) -> list[Value]:
    """Sums, with what is there but for the first."""
    here, later, added = f.block, f.label("later"), f.label("added")
    f.branch_if(is_first, added, later)
    f.start(later)
    totals = [f.fadd(f.vector(address), s) for s, address in zip(sums, addresses, strict=True)]
    there = f.block
    f.branch(added)
    f.start(added)
    return [f.joined_value([(s, here), (total, there)]) for s, total in zip(sums, totals, strict=True)]


def _moved_by(f: VectorFunction, x: Value, entry: Value) -> Value:
    """The input of an entry of a table."""
    return f.moved(x, f.define(f"sext i32 {f.read(entry, 'i32')} to i64", "i64"))


def _step(
    f: VectorFunction, shape: TileShape, at: tuple[Value, Value], rows: tuple[Value, Value],
    masks: Sequence[Value | None], state: Sequence[Value],
) -> list[Value]:  # fmt: skip
    """The sums after one step, whose vectors and weights lie at two addresses; `rows` are a filter's bytes, and three
    times as many.
    """
    lanes, size = f.floats.lanes, f.floats.itemsize
    vectors = [f.vector(f.at(at[0], v * lanes * size, "i8"), mask) for v, mask in enumerate(masks)]
    new = []
    for r in range(shape.filters):
        factor = f.splat(f.read(_filter(f, at[1], *rows, r), f.floats.type), lanes)
        new += [f.multiply_add(factor, vectors[v], state[r * shape.vectors + v]) for v in range(shape.vectors)]
    return new


def _ask_ahead(f: VectorFunction, shape: TileShape, entry: Value, x: Value) -> None:
    """Have the lines of a step's vectors brought to the first cache: planes are in the second, row by row, which the
    processor does not foresee.
    """
    f.declare("declare void @llvm.prefetch.p0(ptr, i32, i32, i32)")
    here = _moved_by(f, x, entry)
    for v in range(shape.vectors + 1):
        address = f.at(here, v * f.floats.lanes * f.floats.itemsize, "i8")
        f.raw(f"call void @llvm.prefetch.p0(ptr {address}, i32 0, i32 3, i32 1)")


def _ask_for_weight(
    f: VectorFunction, shape: TileShape, here: Value, row: Value, k: Value, ends: tuple[Value, Value]
) -> None:
    """Have a line of one filter's weights brought to the first cache, those of the next filters at the last steps:
    weights are read once where images are small, and a tile has too many streams of them for the processor to foresee.
    It takes that weights lie side by side; else nothing is gained. `ends` are the first of the last steps, and how far
    the weights of the next filters' first step lie from there.
    """
    last, beyond = ends
    number = f.op("and", k, shape.filters - 1)
    further = f.pick(f.compare("slt", k, last), WEIGHTS_AHEAD * f.floats.itemsize, beyond)
    address = f.moved(here, f.op("mul", number, row), further)
    f.raw(f"call void @llvm.prefetch.p0(ptr {address}, i32 0, i32 3, i32 1)")


def _put_scaled(
    f: VectorFunction, shape: TileShape, sums: Sequence[tuple[Value, Value]], scale: Value, shift: Value, words: Value
) -> None:
    """Write sums to their places, times a number of each filter, plus another, within the bounds that words say."""
    t, lanes, size = f.floats.type, f.floats.lanes, f.floats.itemsize
    bounds = [f.splat(f.read(f.field(words, PROBLEM, name), t), lanes) for name in ("least", "most")]
    for r in range(shape.filters):
        factor, term = (f.splat(f.read(f.at(base, r * size, "i8"), t), lanes) for base in (scale, shift))
        for value, address in sums[r * shape.vectors : (r + 1) * shape.vectors]:
            f.put_vector(clamped(f, f.multiply_add(value, factor, term), *bounds), address)


def clamped(f: VectorFunction, value: Value, least: Value, most: Value) -> Value:
    """A value within bounds; nan stays nan."""
    value = f.select(f.fcmp("olt", value, least), least, value)
    return f.select(f.fcmp("ogt", value, most), most, value)


def _filter(f: VectorFunction, weights: Value, row: Value, thrice: Value, number: int) -> Value:
    """Where a filter's weight lies: steps that the processor's addresses have."""
    base = f.moved(weights, f.op("shl", row, 2)) if number >= 4 else weights
    within = number % 4
    if within == 0:
        return base
    return f.moved(base, (row, f.op("shl", row, 1), thrice)[within - 1])
