"""Convolutions of few places, each of all channels: channels in the lanes of vectors, weights read where they lie.

    for each unit: image, some filters
        the image turned, so that channels of a place lie side by side
        for tiles of filters and places, as many sums as a vector has lanes
            sums over vectors of channels; the lanes of all sums together are one vector of results

One place or four fill vectors as many do, and weights are not packed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from flambeau.codegen.convolutions.launch_functions import function_of_call
from flambeau.codegen.convolutions.scales import build_scales
from flambeau.codegen.convolutions.squares import build_transpose_in, sums_of_all
from flambeau.codegen.convolutions.tile import clamped
from flambeau.codegen.convolutions.vectors import Floats, VectorFunction, VectorModule
from flambeau.codegen.convolutions.words import CALL, POINTS
from flambeau.codegen.llvm.checked_emitter import NULL
from flambeau.codegen.llvm.emitter import Value

SYMBOL: Final = "points_of_launch"
ACROSS: Final = (4, 1)
"""Places of a tile, of images with several and with one."""
FILTERS_EACH: Final = 64
"""Filters of a unit: a multiple of those of all tiles."""


def points_text(floats: Floats) -> str:
    """The module with the kernel of launches, `SYMBOL`."""
    m = VectorModule(floats)
    build_scales(m)
    build_transpose_in(m)
    for across in ACROSS:
        _build_tile(m, across)
        _build_filters(m, across)
    _build_kernel(m)
    return m.builder.text()


def _build_tile(m: VectorModule, across: int) -> None:
    """``points_N``: the results of some filters at N places, from a filter and a place on; those beyond the last are
    computed as the last, and left out.
    """
    f = m.function(
        f"void points_{across}", "ptr words", "ptr x", "ptr w", "ptr y", "ptr residual", "i64 filter", "i64 place",
        "ptr scale", "ptr shift",
    )  # fmt: skip
    words, x, w, y, residual, filter_, position, scale, shift = f.parameters
    get = f.fields(words, POINTS)
    t, lanes, size = m.floats.type, m.floats.lanes, m.floats.itemsize
    down = lanes // across
    filters = [f.least_of(f.op("add", filter_, r), f.op("sub", get["filters"], 1)) for r in range(down)]
    positions = [f.least_of(f.op("add", position, c), f.op("sub", get["places"], 1)) for c in range(across)]
    from_w = [f.moved(w, f.op("mul", r, get["w_filter"])) for r in filters]
    from_x = [f.moved(x, f.op("mul", c, get["place_bytes"])) for c in positions]

    def step(at: Value, state: Sequence[Value], mask: Value | None = None) -> list[Value]:
        numbers = [f.vector(f.moved(base, at), mask) for base in from_x]
        weights = [f.vector(f.moved(base, at), mask) for base in from_w]
        pairs = [(a, b) for a in weights for b in numbers]
        return [f.multiply_add(a, b, s) for (a, b), s in zip(pairs, state, strict=True)]

    whole = f.op("sdiv", get["channels"], lanes)
    state = f.fold(whole, [f.zero] * lanes, lambda k, s: step(f.op("mul", k, lanes * size), s))
    left = f.op("sub", get["channels"], f.op("mul", whole, lanes))
    done = sums_of_all(f, step(f.op("mul", whole, lanes * size), state, f.mask_below(left)))
    spread = [lane // across for lane in range(lanes)]
    factor, term = (_spread(f, f.moved(base, f.bytes_of(filter_)), down, spread) for base in (scale, shift))
    bounds = [f.splat(f.read(f.field(words, POINTS, name), t), lanes) for name in ("least", "most")]
    result = clamped(f, f.multiply_add(done, factor, term), *bounds)
    _write_results(f, get, result, across, (y, residual, filter_, position))
    f.ret()


def _write_results(
    f: VectorFunction, get: dict[str, Value], result: Value, across: int, where: tuple[Value, Value, Value, Value]
) -> None:
    """The results that there are, to where they lie: filters one after another, places of each side by side."""
    y, residual, filter_, position = where
    words = f.parameters[0]
    bounds = [f.read(f.field(words, POINTS, name), f.floats.type) for name in ("last_least", "last_most")]
    lanes, size = f.floats.lanes, f.floats.itemsize
    down = lanes // across
    kept = [
        f.least_of(f.op("sub", get[name], start), count)
        for name, start, count in (("filters", filter_, down), ("places", position, across))
    ]
    row = f.bytes_of(get["places"])
    corner = f.moved(y, f.op("mul", row, filter_), f.bytes_of(position))
    is_whole = f.all_of(*[f.compare("eq", a, b) for a, b in zip(kept, (down, across), strict=True)])
    with f.when(f.all_of(is_whole, f.is_null(residual))):
        if across == 1:  # of images with one place: results lie side by side
            f.put_vector(result, corner)
        else:
            for number in range(down):
                some = f.part(result, number * across, across)
                f.write(some, f.moved(corner, f.op("mul", row, number)), align=size)
        f.ret()
    slot = f.slot(f"[{lanes} x {f.floats.type}]")
    f.put_vector(result, slot)
    with f.loop(kept[0]) as r, f.loop(kept[1]) as c:
        value = f.read(f.moved(slot, f.bytes_of(f.op("add", f.op("mul", r, across), c))), f.floats.type)
        to = f.moved(corner, f.op("mul", row, r), f.bytes_of(c))
        added, alone, written = f.label("added"), f.label("alone"), f.label("written")
        f.branch_if(f.is_null(residual), alone, added)
        f.start(added)
        near = f.op("mul", f.op("add", filter_, r), get["residual_filter"])
        near = f.moved(residual, near, f.op("mul", f.op("add", position, c), get["residual_place"]))
        f.write(clamped(f, f.fadd(value, f.read(near, f.floats.type)), *bounds), to)
        f.branch(written)
        f.start(alone)
        f.write(value, to)
        f.start(written)


def _spread(f: VectorFunction, base: Value, count: int, picks: Sequence[int]) -> Value:
    """The first `count` numbers behind an address, in the lanes that `picks` says."""
    if count == len(picks):
        return f.vector(base)
    if count == 1:
        return f.splat(f.read(base, f.floats.type), len(picks))
    some = f.read(base, f.floats.type, count, align=f.floats.itemsize)
    return f.shuffle(some, some, picks)


def _build_filters(m: VectorModule, across: int) -> None:
    """``filters_N``: filters from `first` to `end` at all places, by tiles of N."""
    f = m.function(
        f"void filters_{across}", "ptr words", "ptr x", "ptr w", "ptr y", "ptr residual", "i64 first", "i64 end",
        "ptr scale", "ptr shift",
    )  # fmt: skip
    words, x, w, y, residual, first, end, scale, shift = f.parameters
    down = m.floats.lanes // across
    with (
        f.loop(f.divided_up(f.op("sub", end, first), down)) as r,
        f.loop(f.divided_up(f.get(words, POINTS, "places"), across)) as c,
    ):
        filter_, position = f.op("add", first, f.op("mul", r, down)), f.op("mul", c, across)
        f.call(f"points_{across}", words, x, w, y, residual, filter_, position, scale, shift)
    f.ret()


def _build_kernel(m: VectorModule) -> None:
    """The kernel: units from `low` to `high`; filters change first, then images."""
    f, call, words = function_of_call(m, SYMBOL)
    block, low, high = f.parameters
    get = f.fields(words, POINTS)
    arrays = {name: f.word_of(block, f.get(call, CALL, name), "ptr") for name in ("x", "w", "y", "residual")}
    lanes = m.floats.lanes
    vector_bytes = f.op("add", f.bytes_of(get["filters"]), 128)
    room = f.op("mul", f.op("add", get["places"], 1), get["place_bytes"])  # one more for what is left out
    all_bytes = f.op("add", f.op("add", room, 128), f.op("mul", vector_bytes, 2))
    raw, turned = f.aligned_memory(all_bytes, f.word_of(block, 0, "ptr"))
    scale = f.moved(turned, room, 64)
    shift = f.moved(scale, vector_bytes)
    f.call("make_scales", block, call, scale, shift)
    is_direct = f.compare("ne", get["is_direct"], 0)
    size = m.floats.itemsize
    with f.loop(f.op("sub", high, low)) as k:
        unit = f.op("add", low, k)
        part, image = f.op("urem", unit, get["parts"]), f.op("udiv", unit, get["parts"])
        own = f.moved(arrays["x"], f.op("mul", image, get["x_image"]))
        is_new = f.define(f"or i1 {f.compare('eq', k, 0)}, {f.compare('eq', part, 0)}", "i1")
        with f.when(f.all_of(is_new, f.negated(is_direct))), f.loop(f.divided_up(get["channels"], lanes)) as b:
            channel = f.op("mul", b, lanes)
            here = f.moved(own, f.op("mul", channel, get["x_channel"]))
            left = f.op("sub", get["channels"], channel)
            f.call(
                "turn_in", here, get["x_channel"], get["places"], left,
                f.moved(turned, f.op("mul", b, lanes * size)), get["turned_places"],
            )  # fmt: skip
        x = f.pick(is_direct, own, turned, "ptr")
        first = f.op("mul", part, FILTERS_EACH)
        end = f.least_of(f.op("add", first, FILTERS_EACH), get["filters"])
        y = f.moved(arrays["y"], f.op("mul", image, get["y_image"]))
        near = f.moved(arrays["residual"], f.op("mul", image, get["residual_image"]))
        residual = f.pick(f.is_null(arrays["residual"]), NULL, near, "ptr")
        single, several, done = f.label("single"), f.label("several"), f.label("filters_done")
        f.branch_if(f.compare("eq", get["places"], 1), single, several)
        for label, across in ((single, 1), (several, 4)):
            f.start(label, falls_through=False)
            f.call(f"filters_{across}", words, x, arrays["w"], y, residual, first, end, scale, shift)
            f.branch(done)
        f.start(done)
        with f.when(f.negated(f.is_null(get["activation"]))):
            count = f.op("mul", f.op("sub", end, first), get["places"])
            target = f.moved(y, f.bytes_of(f.op("mul", first, get["places"])))
            f.call_address(get["activation"], "void (ptr, i64)", target, count)
    f.call("free", raw)
    f.ret()
