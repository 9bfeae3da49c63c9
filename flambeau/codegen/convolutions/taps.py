"""Sums, averages and largest numbers of a few elements along each of three axes, for every place of a result.

Pooling, interpolation and padding are all of this kind: which elements a place takes, and by what they count, is told
by a table for each axis. A row of a result is made in two steps; the first runs by vectors along the input's row:

    for each plane, depth and row of the result
        the depths and rows that it takes, together, are one row of the input's width
        each place takes some elements of that

The first step is left out where there is one depth and one row, which are taken as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from functools import partial
from typing import Final

from flambeau.codegen.convolutions.vectors import Floats, VectorFunction, VectorModule
from flambeau.codegen.convolutions.words import PLACE, TAP, TAPS, TAPS_AT
from flambeau.codegen.layouts import WORD
from flambeau.codegen.llvm.checked_emitter import word
from flambeau.codegen.llvm.emitter import Value, float_constant


class Kind(Enum):
    """What is made of the elements that a place takes."""

    SUM = "taps_summed"
    """Their sum, each times its weight."""
    MEAN = "taps_averaged"
    """Their sum, divided by what the places along each axis say."""
    LARGEST = "taps_compared"
    """The largest; nan if there is one."""


PLACE_BYTES: Final = PLACE.words * WORD
TAP_BYTES: Final = TAP.words * WORD


def taps_text(floats: Floats) -> str:
    """The module with the kernels of launches, one of each kind, by the symbols that kinds are named by."""
    m = VectorModule(floats)
    for kind in Kind:
        _build_row(m, kind)
        _build_places(m, kind)
        _build_planes(m, kind)
    return m.builder.text()


_FIRST: Final = {Kind.LARGEST: -float("inf"), Kind.SUM: -0.0, Kind.MEAN: 0.0}
"""What is known before the first element. A sum of -0.0 alone is that; means begin at 0, as PyTorch's do."""


def _first_of(f: VectorFunction, kind: Kind, lanes: int) -> Value:
    return float_constant(_FIRST[kind], f.floats.type, lanes)


def _taken(f: VectorFunction, kind: Kind, so_far: Value, value: Value, weight: Value | None) -> Value:
    """What is known after one more element."""
    if kind is Kind.LARGEST:
        is_new = f.op("or", f.fcmp("ogt", value, so_far), f.fcmp("uno", value, value))
        return f.select(is_new, value, so_far)
    if weight is None:
        return f.fadd(so_far, value)
    return f.multiply_add(weight, value, so_far)


def _weight(f: VectorFunction, tap: Value) -> Value:
    return f.read(f.field(tap, TAP, "weight"), f.floats.type)


def _build_row(m: VectorModule, kind: Kind) -> None:
    """``row_...``: the depths and rows of a place together, as a row of the input's width."""
    f = m.function(
        f"void row_{kind.value}", "ptr words", "ptr x", "ptr depth", "ptr row", "ptr target"
    )  # fmt: skip
    words, x, depth, row, target = f.parameters
    t, size = m.floats.type, m.floats.itemsize
    width, step = f.get(words, TAPS, "width"), f.get(words, TAPS, "x_column")
    rows, row_taps = f.get(row, PLACE, "count"), f.get(row, PLACE, "taps")
    span = f.span(width)
    with f.loop(f.get(depth, PLACE, "count")) as d:
        tap = f.at(f.get(depth, PLACE, "taps"), f.op("mul", d, TAP_BYTES), "i8")
        plane = f.moved(x, f.get(tap, TAP, "offset"))
        factor = _weight(f, tap)
        is_first = f.compare("eq", d, 0)

        def together(
            from_target: Value, from_row: Value, lanes: int, mask: Value | None, plane: Value = plane,
            factor: Value = factor, is_first: Value = is_first,
        ) -> None:  # fmt: skip
            to = f.moved(target, from_target)
            before = f.read(to, t, lanes, align=size) if lanes > 1 else f.read(to, t)
            start = f.select(is_first, _first_of(f, kind, lanes), before)

            def one(k: Value, state: Sequence[Value]) -> list[Value]:
                tap = f.at(row_taps, f.op("mul", k, TAP_BYTES), "i8")
                here = f.moved(plane, f.get(tap, TAP, "offset"), from_row)
                value = f.vector(here, mask) if lanes > 1 else f.read(here, t)
                weight = None
                if kind is Kind.SUM:
                    weight = f.fmul(factor, _weight(f, tap))
                    weight = f.splat(weight, lanes) if lanes > 1 else weight
                return [_taken(f, kind, state[0], value, weight)]

            (total,) = f.fold(rows, [start], one)
            f.write(total, to, align=size)

        scattered, plain, done = f.label("scattered"), f.label("plain"), f.label("together")
        f.branch_if(f.compare("eq", step, size), plain, scattered)
        f.start(plain)
        span.each(partial(_in_place, together))
        f.branch(done)
        f.start(scattered)
        with f.loop(width) as k:
            together(f.bytes_of(k), f.op("mul", k, step), 1, None)
        f.start(done)
    f.ret()


def _in_place(together: Callable[..., None], at: Value, lanes: int, mask: Value | None) -> None:
    """What lies side by side, and goes where it lies."""
    together(at, at, lanes, mask)


def _build_places(m: VectorModule, kind: Kind) -> None:
    """``places_...``: the places of a row, of elements of another; even ones by vectors."""
    f = m.function(
        f"void places_{kind.value}", "ptr words", "ptr source", "ptr target", f"{m.floats.type} divisor"
    )  # fmt: skip
    words, source, target, divisor = f.parameters
    get = {name: f.get(words, TAPS, name) for name in ("columns", "even_from", "even_end", "even_step")}
    start, end = get["even_from"], get["even_end"]
    _places_one_by_one(f, kind, f.parameters, word(0), start)
    # A vector of every other element reads one behind its last: the next place has it.
    whole = f.op("sdiv", f.most_of(f.op("sub", f.op("sub", end, start), 1), 0), m.floats.lanes)
    single, other, done = f.label("single"), f.label("other"), f.label("even_done")
    f.branch_if(f.compare("eq", get["even_step"], 1), single, other)
    for label, step in ((single, 1), (other, 2)):
        f.start(label, falls_through=False)
        with f.loop(whole) as v:
            first = f.op("add", start, f.op("mul", v, m.floats.lanes))
            total = _even_places(f, kind, words, source, first, step, divisor)
            f.put_vector(total, f.moved(target, f.bytes_of(first)))
        f.branch(done)
    f.start(done, falls_through=False)
    _places_one_by_one(f, kind, f.parameters, f.op("add", start, f.op("mul", whole, m.floats.lanes)), get["columns"])
    f.ret()


def _even_places(
    f: VectorFunction, kind: Kind, words: Value, source: Value, first: Value, step: int, divisor: Value
) -> Value:
    """A vector of places, from one on."""
    lanes = f.floats.lanes
    address = f.at(f.get(words, TAPS, "column_places"), f.op("mul", first, PLACE_BYTES), "i8")
    taps = f.get(address, PLACE, "taps")

    def one(k: Value, state: Sequence[Value]) -> list[Value]:
        tap = f.at(taps, f.op("mul", k, TAP_BYTES), "i8")
        here = f.moved(source, f.get(tap, TAP, "offset"))
        value = f.vector(here)
        if step == 2:
            far = f.vector(f.at(here, lanes * f.floats.itemsize, "i8"))
            value = f.shuffle(value, far, range(0, 2 * lanes, 2))
        return [_taken(f, kind, state[0], value, None)]

    (total,) = f.fold(f.get(address, PLACE, "count"), [_first_of(f, kind, lanes)], one)
    if kind is Kind.MEAN:
        own = f.fmul(divisor, f.read(f.field(address, PLACE, "divisor"), f.floats.type))
        total = f.fdiv(total, f.splat(own, lanes))
    return total


def _places_one_by_one(f: VectorFunction, kind: Kind, parameters: Sequence[Value], start: Value, end: Value) -> None:
    """Places from one to another."""
    words, source, target, divisor = parameters
    t = f.floats.type
    table, column = f.get(words, TAPS, "column_places"), f.get(words, TAPS, "y_column")
    filling = f.read(f.field(words, TAPS, "filling"), t)
    with f.loop(f.op("sub", end, start)) as k:
        j = f.op("add", start, k)
        address = f.at(table, f.op("mul", j, PLACE_BYTES), "i8")
        taps, count = f.get(address, PLACE, "taps"), f.get(address, PLACE, "count")

        def one(k: Value, state: Sequence[Value], taps: Value = taps) -> list[Value]:
            tap = f.at(taps, f.op("mul", k, TAP_BYTES), "i8")
            value = f.read(f.moved(source, f.get(tap, TAP, "offset")), t)
            return [_taken(f, kind, state[0], value, _weight(f, tap) if kind is Kind.SUM else None)]

        (total,) = f.fold(count, [_first_of(f, kind, 1)], one)
        if kind is Kind.MEAN:
            own = f.read(f.field(address, PLACE, "divisor"), t)
            total = f.fdiv(total, f.fmul(divisor, own))
        total = f.select(f.compare("eq", count, 0), filling, total)
        f.write(total, f.moved(target, f.op("mul", j, column)))


def _build_planes(m: VectorModule, kind: Kind) -> None:
    """The kernel: planes from `low` to `high`."""
    f = m.function(f"void {kind.value}", "ptr block", "i64 low", "i64 high", exported=True)
    block, low, high = f.parameters
    x, y, words = (f.word_of(block, k, "ptr") for k in (1, 2, TAPS_AT))
    get = f.fields(words, TAPS)
    t = m.floats.type
    room = f.call("allocate", get["room_bytes"])
    f.leave_without_memory(room, f.word_of(block, 0, "ptr"))
    with f.loop(f.op("sub", high, low)) as k:
        unit = f.op("add", low, k)
        image, channel = f.op("udiv", unit, get["channels"]), f.op("urem", unit, get["channels"])
        plane, to_plane = (
            f.moved(base, f.op("mul", image, get[f"{name}_image"]), f.op("mul", channel, get[f"{name}_channel"]))
            for base, name in ((x, "x"), (y, "y"))
        )
        with f.loop(get["depths"]) as d, f.loop(get["rows"]) as r:
            depth = f.at(get["depth_places"], f.op("mul", d, PLACE_BYTES), "i8")
            row = f.at(get["row_places"], f.op("mul", r, PLACE_BYTES), "i8")
            to = f.moved(to_plane, f.op("mul", d, get["y_depth"]), f.op("mul", r, get["y_row"]))
            counts = [f.get(record, PLACE, "count") for record in (depth, row)]
            is_filled = f.compare("eq", f.op("mul", *counts), 0)
            filled, direct, buffered, done = (f.label(name) for name in ("filled", "direct", "made", "placed"))
            some = f.label("some")
            f.branch_if(is_filled, filled, some)
            f.start(filled)
            filling = f.read(f.field(words, TAPS, "filling"), t)
            with f.loop(get["columns"]) as j:
                f.write(filling, f.moved(to, f.op("mul", j, get["y_column"])))
            f.branch(done)
            f.start(some)
            divisors = [f.read(f.field(record, PLACE, "divisor"), t) for record in (depth, row)]
            divisor = f.fmul(*divisors)
            f.branch_if(f.compare("ne", get["is_direct"], 0), direct, buffered)
            f.start(direct)
            offsets = [f.get(f.get(record, PLACE, "taps"), TAP, "offset") for record in (depth, row)]
            f.call(f"places_{kind.value}", words, f.moved(plane, *offsets), to, divisor)
            f.branch(done)
            f.start(buffered)
            f.call(f"row_{kind.value}", words, plane, depth, row, room)
            f.call(f"places_{kind.value}", words, room, to, divisor)
            f.start(done)
    f.call("free", room)
    f.ret()
