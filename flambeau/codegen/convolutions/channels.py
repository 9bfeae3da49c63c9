"""Convolutions of each channel by itself (depthwise): channels in the lanes of vectors, whatever the sizes.

    for each unit: image, as many channels as a vector has lanes, band
        weights and band turned to vectors of a number of each channel, with zeros around
        for some rows of the results
            for tiles of pixels: sums over all elements of a window
            the rows turned back

So small images fill vectors as large ones do, strides cost nothing, and every vector lies as memory is best read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from flambeau.codegen.convolutions.launch_functions import function_of_call
from flambeau.codegen.convolutions.scales import build_scales
from flambeau.codegen.convolutions.squares import build_transpose_in, build_transpose_out
from flambeau.codegen.convolutions.tile import clamped
from flambeau.codegen.convolutions.vectors import Floats, VectorFunction, VectorModule
from flambeau.codegen.convolutions.words import CALL, CHANNELS
from flambeau.codegen.llvm.checked_emitter import NULL, word
from flambeau.codegen.llvm.emitter import Value

SYMBOL: Final = "channels_of_launch"
ANY: Final = 0
"""The step of tiles that are told it when they run."""
STEPS: Final = (1, 2, ANY)
"""Of windows along a row, for which there are tiles."""


def pixels(floats: Floats, step: int) -> tuple[int, ...]:
    """How many pixels tiles have, the largest first."""
    if step == ANY:
        return 4, 1
    return (14, 7, 4, 1) if floats.has_many_registers else (7, 4, 1)


def channels_text(floats: Floats) -> str:
    """The module with the kernel of launches, `SYMBOL`."""
    m = VectorModule(floats)
    build_scales(m)
    build_transpose_in(m)
    build_transpose_out(m)
    for step in STEPS:
        for count in pixels(floats, step):
            _build_tile(m, step, count)
        _build_row(m, step)
    _build_band(m)
    _build_kernel(m)
    return m.builder.text()


def _build_tile(m: VectorModule, step: int, count: int) -> None:
    """``pixels_STEP_COUNT``: the results of some pixels of a row, to vectors of `sums`."""
    f = m.function(
        f"void pixels_{step}_{count}", "ptr words", "ptr x", "ptr w", "ptr sums", "ptr start", "ptr scale", "ptr shift"
    )  # fmt: skip
    words, x, w, sums, start, scale, shift = f.parameters
    t, lanes, width = m.floats.type, m.floats.lanes, m.floats.lanes * m.floats.itemsize
    taps, apart = f.get(words, CHANNELS, "taps"), f.get(words, CHANNELS, "column_step")
    steps = [f.op("mul", apart, k) if step == ANY else f.typed(k * step * width, "i64") for k in range(count)]

    def one(k: Value, state: Sequence[Value]) -> list[Value]:
        entry = f.read(f.at(taps, f.op("shl", k, 2), "i8"), "i32")
        here = f.moved(x, f.define(f"sext i32 {entry} to i64", "i64"))
        factor = f.vector(f.moved(w, f.op("mul", k, width)))
        return [f.multiply_add(factor, f.vector(f.moved(here, s)), a) for s, a in zip(steps, state, strict=True)]

    first = f.vector(start)
    done = f.fold(f.get(words, CHANNELS, "tap_count"), [first] * count, one)
    addresses = [f.at(sums, k * width, "i8") for k in range(count)]
    with f.when(f.is_null(scale)):
        for value, address in zip(done, addresses, strict=True):
            f.put_vector(value, address)
        f.ret()
    factor, term = f.vector(scale), f.vector(shift)
    bounds = [f.splat(f.read(f.field(words, CHANNELS, name), t), lanes) for name in ("least", "most")]
    for value, address in zip(done, addresses, strict=True):
        f.put_vector(clamped(f, f.multiply_add(value, factor, term), *bounds), address)
    f.ret()


def _build_row(m: VectorModule, step: int) -> None:
    """``row_STEP``: all pixels of a row."""
    f = m.function(
        f"void row_{step}", "ptr words", "ptr x", "ptr w", "ptr sums", "ptr start", "ptr scale", "ptr shift"
    )  # fmt: skip
    words, x, w, sums, *others = f.parameters
    width = m.floats.lanes * m.floats.itemsize
    columns, apart = f.get(words, CHANNELS, "columns"), f.get(words, CHANNELS, "column_step")
    first = word(0)
    for count in pixels(m.floats, step):
        tiles = f.op("sdiv", f.op("sub", columns, first), count)
        with f.loop(tiles) as k:
            pixel = f.op("add", first, f.op("mul", k, count))
            here, to = f.moved(x, f.op("mul", pixel, apart)), f.moved(sums, f.op("mul", pixel, width))
            f.call(f"pixels_{step}_{count}", words, here, w, to, *others)
        first = f.op("add", first, f.op("mul", tiles, count))
    f.ret()


def _build_band(m: VectorModule) -> None:
    """``copy_band``: the rows of images that a band's windows reach, from row `first` on, with zeros around."""
    f = m.function("void copy_band", "ptr words", "ptr x", "i64 first", "i64 channels", "ptr target")
    words, x, first, channels, target = f.parameters
    get = f.fields(words, CHANNELS)
    low = f.least_of(f.most_of(f.op("sub", word(0), first), 0), get["copy_rows"])
    high = f.most_of(f.least_of(get["copy_rows"], f.op("sub", get["height"], first)), low)
    width = m.floats.lanes * m.floats.itemsize

    def clear(start: Value, end: Value) -> None:
        vectors = f.op("sdiv", f.op("mul", f.op("sub", end, start), get["pitch"]), width)
        to = f.moved(target, f.op("mul", start, get["pitch"]))
        with f.loop(vectors) as k:
            f.put_vector(f.zero, f.moved(to, f.op("mul", k, width)))

    source = f.moved(x, f.op("mul", f.op("add", first, low), get["x_row"]))
    table = f.moved(get["places"], f.op("mul", f.op("mul", low, get["width"]), 4))
    rows, is_dense = f.op("sub", high, low), f.compare("ne", get["is_dense"], 0)
    length = f.pick(is_dense, f.op("mul", rows, get["width"]), get["width"])
    with f.loop(f.pick(is_dense, 1, rows)) as k:
        own = f.moved(table, f.op("mul", f.op("mul", k, get["width"]), 4))
        f.call(
            "turn_in", f.moved(source, f.op("mul", k, get["x_row"])), get["x_channel"], length, channels, target, own
        )  # fmt: skip
    clear(word(0), low)
    clear(high, get["copy_rows"])
    f.ret()


def _build_kernel(m: VectorModule) -> None:
    """The kernel: units from `low` to `high`; bands change first, then blocks of channels and images."""
    f, call, words = function_of_call(m, SYMBOL)
    block, low, high = f.parameters
    get = f.fields(words, CHANNELS)
    arrays = {name: f.word_of(block, f.get(call, CALL, name), "ptr") for name in ("x", "w", "bias", "y")}
    lanes, size = m.floats.lanes, m.floats.itemsize
    vectors = f.op("mul", f.op("add", f.bytes_of(get["channels"]), 128), 3)
    raw, copy = f.aligned_memory(f.op("add", get["room"], vectors), f.word_of(block, 0, "ptr"))
    with f.loop(f.op("sdiv", get["copy_bytes"], lanes * size)) as k:
        f.put_vector(f.zero, f.moved(copy, f.op("mul", k, lanes * size)))
    w, sums = f.moved(copy, get["w_at"]), f.moved(copy, get["sums_at"])
    each = f.op("sdiv", vectors, 3)
    start = f.moved(copy, get["room"])
    scale, shift = f.moved(start, each), f.moved(start, f.op("mul", each, 2))
    is_scaled = f.compare("ne", f.get(call, CALL, "is_scaled"), 0)
    _fill_starts(f, get["channels"], start, f.pick(is_scaled, NULL, arrays["bias"], "ptr"))
    with f.when(is_scaled):
        f.call("make_scales", block, call, scale, shift)
    with f.loop(f.op("sub", high, low)) as k:
        unit = f.op("add", low, k)
        band, rest = f.op("urem", unit, get["bands"]), f.op("udiv", unit, get["bands"])
        channel = f.op("mul", f.op("urem", rest, get["blocks"]), lanes)
        image = f.op("udiv", rest, get["blocks"])
        left = f.least_of(f.op("sub", get["channels"], channel), lanes)
        f.call(
            "turn_in", f.moved(arrays["w"], f.op("mul", channel, get["w_channel"])), get["w_channel"],
            get["tap_count"], left, w, get["w_places"],
        )  # fmt: skip
        row = f.op("mul", band, get["band_rows"])
        x = f.moved(arrays["x"], f.op("mul", image, get["x_image"]), f.op("mul", channel, get["x_channel"]))
        f.call("copy_band", words, x, f.op("sub", f.op("mul", row, get["step_rows"]), get["before_rows"]), left, copy)
        beside = f.bytes_of(channel)
        own = [f.moved(start, beside)]
        own += [f.pick(is_scaled, f.moved(base, beside), NULL, "ptr") for base in (scale, shift)]
        y = f.moved(arrays["y"], f.op("mul", image, get["y_image"]), f.op("mul", channel, get["y_channel"]))
        rows = f.least_of(get["band_rows"], f.op("sub", get["rows"], row))
        with f.loop(f.divided_up(rows, get["rows_each"])) as part:
            first = f.op("mul", part, get["rows_each"])
            some = f.least_of(get["rows_each"], f.op("sub", rows, first))
            _call_rows(f, get, words, (copy, w, sums), own, first, some)
            with f.when(f.negated(f.is_null(get["activation"]))):
                numbers = f.op("mul", f.op("mul", some, get["columns"]), lanes)
                f.call_address(get["activation"], "void (ptr, i64)", sums, numbers)
            to = f.moved(y, f.op("mul", f.op("add", row, first), get["y_row"]))
            f.call("turn_out", sums, f.op("mul", some, get["columns"]), left, to, get["y_channel"])
    f.call("free", raw)
    f.ret()


def _call_rows(
    f: VectorFunction, get: dict[str, Value], words: Value, rooms: tuple[Value, Value, Value], own: list[Value],
    first: Value, count: Value,
) -> None:  # fmt: skip
    """The sums of `count` rows of a band, by tiles for the step that windows have."""
    copy, w, sums = rooms
    row_bytes = f.op("mul", get["columns"], f.floats.lanes * f.floats.itemsize)

    def call(step: int) -> Callable[[], None]:
        def run() -> None:
            with f.loop(count) as r:
                x = f.moved(copy, f.op("mul", f.op("add", first, r), get["row_step"]))
                f.call(f"row_{step}", words, x, w, f.moved(sums, f.op("mul", r, row_bytes)), *own)

        return run

    done = f.label("rows_done")
    labels = {step: f.label(f"step_{step}") for step in STEPS if step != ANY}
    other = f.label("any_step")
    f.switch(get["step_columns"], other, labels)
    for step, label in [*labels.items(), (ANY, other)]:
        f.start(label, falls_through=False)
        call(step)()
        f.branch(done)
    f.start(done)


def _fill_starts(f: VectorFunction, channels: Value, start: Value, bias: Value) -> None:
    """What sums of each channel start with: the bias, or 0."""
    span = f.span(channels)
    span.each(lambda at, lanes, mask: f.put_vector(f.zero, f.moved(start, at)))
    with f.when(f.negated(f.is_null(bias))):
        span.each(lambda at, lanes, mask: f.put_vector(f.vector(f.moved(bias, at), mask), f.moved(start, at)))
