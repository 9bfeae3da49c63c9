"""What goes into Winograd's products and comes out of them, for windows of 3x3 without steps, in tiles of 2x2 results.

    four numbers of the input      d0 - d2,  d1 + d2,  d2 - d1,  d1 - d3
    three weights                  g0,  (g0 + g1 + g2) / 2,  (g0 - g1 + g2) / 2,  g2
    the four products to two       m0 + m1 + m2,  m1 - m2 - m3

Down and across, so that the sixteen numbers of 4x4 pixels times the sixteen of 3x3 weights, summed over channels, are
the sixteen that 2x2 results are made of: 4 products for each result where there are 9 (Winograd 1980; Lavin and Gray
2015, F(2x2, 3x3)). All factors are powers of two.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from flambeau.codegen.convolutions.tile import clamped
from flambeau.codegen.convolutions.vectors import VectorFunction, VectorModule
from flambeau.codegen.convolutions.words import WINOGRAD
from flambeau.codegen.llvm.checked_emitter import word
from flambeau.codegen.llvm.emitter import Value, float_constant

PRODUCTS: Final = 16
"""Of a tile."""
SIDE: Final = 4
"""Pixels that a tile takes, down and across."""
STEP: Final = 2
"""Results of a tile, down and across."""
KERNEL: Final = 3


def _input(f: VectorFunction, d: Sequence[Value]) -> list[Value]:
    return [f.fsub(d[0], d[2]), f.fadd(d[1], d[2]), f.fsub(d[2], d[1]), f.fsub(d[1], d[3])]


def _weight(f: VectorFunction, g: Sequence[Value]) -> list[Value]:
    half = float_constant(0.5, f.floats.type, f.floats.lanes)
    ends, middle = f.fmul(f.fadd(g[0], g[2]), half), f.fmul(g[1], half)
    return [g[0], f.fadd(ends, middle), f.fsub(ends, middle), g[2]]


def _output(f: VectorFunction, m: Sequence[Value]) -> list[Value]:
    return [f.fadd(f.fadd(m[0], m[1]), m[2]), f.fsub(f.fsub(m[1], m[2]), m[3])]


def build_weights(m: VectorModule) -> None:
    """``turn_weights``: all weights, transformed; channels side by side, a vector more may be written behind them."""
    f = m.function("void turn_weights", "ptr words", "ptr w", "ptr turned")
    words, w, turned = f.parameters
    get = f.fields(words, WINOGRAD)
    lanes = m.floats.lanes
    last = f.op("sub", get["channels"], 1)
    with f.loop(get["filters"]) as k, f.loop(f.divided_up(get["channels"], lanes)) as b:
        first = f.op("mul", b, lanes)
        near = f.moved(w, f.op("mul", k, get["w_filter"]), get["w_first"])
        channels = [f.least_of(f.op("add", first, lane), last) for lane in range(lanes)]
        bases = [f.moved(near, f.op("mul", c, get["w_channel"])) for c in channels]
        taps = [
            f.gathered([f.read(f.moved(base, f.op("mul", get["w_step"], tap)), m.floats.type) for base in bases])
            for tap in range(KERNEL * KERNEL)
        ]
        across = [_weight(f, taps[KERNEL * i : KERNEL * (i + 1)]) for i in range(KERNEL)]
        target = f.moved(turned, f.op("mul", k, get["weight_row"]), f.bytes_of(first))
        for j in range(SIDE):
            for i, value in enumerate(_weight(f, [row[j] for row in across])):
                f.put_vector(value, f.moved(target, f.op("mul", get["weight_bytes"], SIDE * i + j)))
    f.ret()


def build_input(m: VectorModule) -> None:
    """``turn_input``: all channels of some rows of tiles of an image, transformed. `plane` holds zeros around what is
    copied there; a vector more may be written behind each row of tiles.
    """
    f = m.function(
        "void turn_input", "ptr words", "ptr x", "ptr plane", "ptr turned", "i64 tile_row", "i64 tile_rows"
    )
    words, x, plane, turned, tile_row, tile_rows = f.parameters
    get = f.fields(words, WINOGRAD)
    lanes = m.floats.lanes
    start = f.op("sub", f.op("mul", tile_row, STEP), get["before_rows"])
    low = f.most_of(f.op("sub", word(0), start), 0)
    there = f.op("add", f.op("mul", tile_rows, STEP), SIDE - STEP)
    high = f.most_of(f.least_of(there, f.op("sub", get["height"], start)), low)
    rows, span = f.op("sub", high, low), f.span(get["width"])
    target = f.moved(plane, f.op("mul", low, get["plane_row"]), f.bytes_of(get["before_columns"]))
    with f.loop(get["channels"]) as c:
        source = f.moved(x, f.op("mul", c, get["x_channel"]), f.op("mul", f.op("add", start, low), get["x_row"]))
        with f.loop(rows) as r:
            here, to = f.moved(source, f.op("mul", r, get["x_row"])), f.moved(target, f.op("mul", r, get["plane_row"]))
            span.each(lambda at, _, mask: f.put_vector(f.vector(f.moved(here, at), mask), f.moved(to, at), mask))
        row_of_channel = f.moved(turned, f.op("mul", c, get["input_row"]))
        with f.loop(tile_rows) as t, f.loop(f.divided_up(get["tile_columns"], lanes)) as b:
            first = f.op("mul", b, lanes)
            above = f.op("mul", f.op("mul", t, STEP), get["plane_row"])
            corner = f.moved(plane, above, f.bytes_of(f.op("mul", first, STEP)))
            across = [_input(f, _pixels(f, f.moved(corner, f.op("mul", get["plane_row"], i)))) for i in range(SIDE)]
            to = f.moved(row_of_channel, f.bytes_of(f.op("add", f.op("mul", t, get["tile_columns"]), first)))
            for j in range(SIDE):
                for i, value in enumerate(_input(f, [row[j] for row in across])):
                    f.put_vector(value, f.moved(to, f.op("mul", get["input_bytes"], SIDE * i + j)))
    f.ret()


def _pixels(f: VectorFunction, row: Value) -> list[Value]:
    """The four numbers of each tile of a row, tiles in lanes."""
    lanes, size = f.floats.lanes, f.floats.itemsize
    pixels = []
    for further in (0, STEP):
        near, far = (f.vector(f.at(row, (further + part * lanes) * size, "i8")) for part in (0, 1))
        pixels += [f.shuffle(near, far, range(k, 2 * lanes, STEP)) for k in range(STEP)]
    return pixels


def build_results(m: VectorModule, name: str, *, has_residual: bool) -> None:
    """``name``: results of a filter at some rows of tiles of an image, from sums of products: times a number, plus
    another, clamped; with a residual its numbers added and clamped to the last bounds. `seen` are sums of zeros, which
    become nan where a result is no number.
    """
    f = m.function(
        f"void {name}", "ptr words", "ptr sums", "ptr y", "i64 tile_row", "i64 tile_rows", "ptr scale", "ptr shift",
        "ptr residual", "ptr seen",
    )  # fmt: skip
    words, sums, y, tile_row, tile_rows, scale, shift, residual, seen = f.parameters
    get = f.fields(words, WINOGRAD)
    t, lanes = m.floats.type, m.floats.lanes
    factor, term = (f.splat(f.read(base, t), lanes) for base in (scale, shift))
    own, last = (
        [f.splat(f.read(f.field(words, WINOGRAD, bound), t), lanes) for bound in pair]
        for pair in (("least", "most"), ("last_least", "last_most"))
    )
    interleaved = [half + lanes * which for half in range(lanes) for which in range(STEP)]
    with f.loop(tile_rows) as down, f.loop(f.divided_up(get["tile_columns"], lanes)) as b:
        first = f.op("mul", b, lanes)
        mask = f.mask_below(f.op("sub", get["tile_columns"], first))
        here = f.moved(sums, f.bytes_of(f.op("add", f.op("mul", down, get["tile_columns"]), first)))
        products = [f.vector(f.moved(here, f.op("mul", get["sum_bytes"], p)), mask) for p in range(PRODUCTS)]
        columns = [_output(f, products[j::SIDE]) for j in range(SIDE)]
        row = f.op("mul", f.op("add", tile_row, down), STEP)
        left = f.op("sub", get["columns"], f.op("mul", first, STEP))
        total = f.vector(seen)
        for i in range(STEP):
            even, odd = _output(f, [column[i] for column in columns])
            at = f.op("add", row, i)
            count = f.pick(f.compare("slt", at, get["rows"]), left, 0)
            for part in range(STEP):
                value = f.shuffle(even, odd, interleaved[part * lanes : (part + 1) * lanes])
                value = f.multiply_add(value, factor, term)
                total = f.multiply_add(value, f.zero, total)
                value = clamped(f, value, *own)
                beside = f.bytes_of(f.op("add", f.op("mul", first, STEP), part * lanes))
                kept = f.mask_below(f.op("sub", count, part * lanes))
                if has_residual:
                    near = f.moved(residual, f.op("mul", at, get["residual_row"]), beside)
                    value = clamped(f, f.fadd(value, f.vector(near, kept)), *last)
                f.put_vector(value, f.moved(y, f.op("mul", at, get["y_row"]), beside), kept)
        f.put_vector(total, seen)
    f.ret()
