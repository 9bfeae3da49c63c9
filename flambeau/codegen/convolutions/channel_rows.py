"""Convolutions of each channel by itself (depthwise) where rows fill vectors: places in lanes, windows of a few sizes.

    for each unit: image and channel
        for each vector of columns: masks of what windows reach within the image
            for some rows of results: each row of the input, read once, to the sums of all that it is in

Nothing is turned or copied: rows above and below the image are a row of zeros. A row that is read is of use to as many
rows of results as windows have rows, which is why these are written out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from flambeau.codegen.convolutions.launch_functions import function_of_call
from flambeau.codegen.convolutions.scales import build_scales
from flambeau.codegen.convolutions.tile import clamped
from flambeau.codegen.convolutions.vectors import Floats, VectorFunction, VectorModule
from flambeau.codegen.convolutions.words import CALL, CHANNELS
from flambeau.codegen.llvm.checked_emitter import NULL, word
from flambeau.codegen.llvm.emitter import Value, float_constant
from flambeau.codegen.llvm.memory import iota
from flambeau.util.record import dataclass

SYMBOL: Final = "channel_rows_of_launch"
SIZE: Final = 3
"""Rows and columns of windows that there is code for."""
STEPS: Final = (1, 2)
"""From one window to the next, in both directions."""
ROWS: Final = (7, 4, 1)
"""Of results together, the most first."""
AHEAD: Final = 2048
"""Bytes ahead of which lines are asked for, at least: of small images those of the next channels."""


def channel_rows_text(floats: Floats) -> str:
    """The module with the kernel of launches, `SYMBOL`."""
    m = VectorModule(floats)
    build_scales(m)
    for step in STEPS:
        _build_plane(m, step)
    _build_kernel(m)
    return m.builder.text()


@dataclass(frozen=True, slots=True)
class _Plane:
    """A channel of an image, and what its results are made with."""

    get: dict[str, Value]
    x: Value
    y: Value
    zeros: Value
    """As many as a row has."""
    weights: Sequence[Value]
    """Vectors, row by row."""
    start: Value
    scaled: tuple[Value, Value, Value]
    """A number by which sums are scaled and one that is added, as vectors; and whether they are."""
    bounds: tuple[Value, Value]


def _build_plane(m: VectorModule, step: int) -> None:
    """``plane_STEP``: all results of a channel of an image."""
    f = m.function(
        f"void plane_{step}", "ptr words", "ptr x", "ptr w", "ptr y", "ptr zeros", "ptr start", "ptr scale",
        "ptr shift",
    )  # fmt: skip
    words, x, w, y, zeros, start, scale, shift = f.parameters
    get = f.fields(words, CHANNELS)
    lanes = m.floats.lanes

    def number(address: Value) -> Value:
        return f.splat(f.read(address, m.floats.type), lanes)

    is_scaled = f.negated(f.is_null(scale))
    # Where nothing is scaled, any number stands for what is not used.
    factor, term = (number(f.pick(is_scaled, base, start, "ptr")) for base in (scale, shift))
    first = f.moved(w, get["w_first"])
    weights = [number(f.moved(first, f.op("mul", get["w_step"], k))) for k in range(SIZE * SIZE)]
    least, most = (number(f.field(words, CHANNELS, name)) for name in ("least", "most"))
    plane = _Plane(get, x, y, zeros, weights, number(start), (factor, term, is_scaled), (least, most))
    first = word(0)
    for count in ROWS:
        tiles = f.op("udiv", f.op("sub", get["rows"], first), count)
        with f.loop(tiles) as k:
            _Rows(f, plane, step, f.op("add", first, f.op("mul", k, count)), count).emit()
        first = f.op("add", first, f.op("mul", tiles, count))
    f.ret()


class _Rows:
    """Some rows of results, from `first` on, of windows so far apart."""

    def __init__(self, f: VectorFunction, plane: _Plane, step: int, first: Value, count: int) -> None:
        self._f, self._plane, self._step, self._count = f, plane, step, count
        get = plane.get
        above = f.op("sub", f.op("mul", first, self._step), get["before_rows"])
        self._inputs = []
        for r in range((count - 1) * self._step + SIZE):
            at = f.op("add", above, r)
            own = f.moved(plane.x, f.op("mul", at, get["x_row"]))
            self._inputs.append(f.pick(f.compare("ult", at, get["height"]), own, plane.zeros, "ptr"))
        start = f.moved(plane.y, f.op("mul", first, get["y_row"]))
        self._results = [f.moved(start, f.op("mul", get["y_row"], r)) for r in range(count)]

    def emit(self) -> None:
        """Vector after vector of columns."""
        f, get, lanes = self._f, self._plane.get, self._f.floats.lanes
        with f.loop(f.divided_up(get["columns"], lanes)) as v:
            column = f.op("mul", v, lanes)
            self._ask_ahead(column)
            self._write(column, self._sums(column))

    def _ask_ahead(self, column: Value) -> None:
        """Have the lines of the next rows brought to the first cache, those of the results to be written."""
        f, get = self._f, self._plane.get
        f.declare("declare void @llvm.prefetch.p0(ptr, i32, i32, i32)")
        further = f.most_of(f.op("mul", get["x_row"], self._count * self._step), AHEAD)
        at = f.bytes_of(f.op("mul", column, self._step))
        for row in self._inputs[-self._count * self._step :]:
            for k in range(self._step):
                address = f.at(f.moved(row, further, at), k * f.floats.lanes * f.floats.itemsize, "i8")
                f.raw(f"call void @llvm.prefetch.p0(ptr {address}, i32 0, i32 3, i32 1)")
        further = f.most_of(f.op("mul", get["y_row"], self._count), AHEAD)
        for row in self._results:
            address = f.moved(row, further, f.bytes_of(column))
            f.raw(f"call void @llvm.prefetch.p0(ptr {address}, i32 1, i32 3, i32 1)")

    def _sums(self, column: Value) -> list[Value]:
        """Of each row, for a vector of columns of results."""
        f, plane = self._f, self._plane
        # What windows begin with may lie in front of the image.
        start = f.op("sub", f.op("mul", column, self._step), plane.get["before_columns"])
        sums, masks = [plane.start] * self._count, self._masks(start)
        for r, row in enumerate(self._inputs):
            for of_row, numbers in enumerate(self._read(f.moved(row, f.bytes_of(start)), masks)):
                for result in range(self._count):
                    of_window = r - result * self._step
                    if 0 <= of_window < SIZE:
                        weight = plane.weights[of_window * SIZE + of_row]
                        sums[result] = f.multiply_add(weight, numbers, sums[result])
        return sums

    def _masks(self, start: Value) -> list[list[Value]]:
        """What lies within the image, of each vector that is read."""
        f, width = self._f, self._plane.get["width"]
        return [
            [_within(f, f.op("add", start, first + k * f.floats.lanes), width) for k in range(self._step)]
            for first in range(0, SIZE, self._step)
        ]

    def _read(self, row: Value, masks: Sequence[Sequence[Value]]) -> Iterator[Value]:
        """What each column of windows has of a row of the input."""
        f, lanes, step = self._f, self._f.floats.lanes, self._step
        for k, some in enumerate(masks):
            here = f.at(row, k * step * f.floats.itemsize, "i8")
            parts = [f.vector(f.at(here, n * lanes * f.floats.itemsize, "i8"), mask) for n, mask in enumerate(some)]
            if step == 1:
                yield parts[0]
                continue
            for offset in range(min(step, SIZE - k * step)):
                yield f.shuffle(parts[0], parts[1], range(offset, 2 * lanes, 2))

    def _write(self, column: Value, sums: Sequence[Value]) -> None:
        f, plane = self._f, self._plane
        factor, term, is_scaled = plane.scaled
        scaled, plain, done = f.label("scaled"), f.label("plain"), f.label("written")
        written = _within(f, column, plane.get["columns"])
        addresses = [f.moved(row, f.bytes_of(column)) for row in self._results]
        f.branch_if(is_scaled, scaled, plain)
        f.start(scaled)
        for value, address in zip(sums, addresses, strict=True):
            f.put_vector(clamped(f, f.multiply_add(value, factor, term), *plane.bounds), address, written)
        f.branch(done)
        f.start(plain)
        for value, address in zip(sums, addresses, strict=True):
            f.put_vector(value, address, written)
        f.start(done)


def _within(f: VectorFunction, first: Value, width: Value) -> Value:
    """The lanes that lie within rows of so many numbers, of a vector that begins with a column."""
    lanes = f.floats.lanes
    start, end = (f.splat(f.define(f"trunc i64 {n} to i32", "i32"), lanes) for n in (first, width))
    columns = f.binary("add", start, iota(lanes, "i32"))
    return f.define(f"icmp ult <{lanes} x i32> {columns}, {end}", "i1", lanes)


def _build_kernel(m: VectorModule) -> None:
    """The kernel: units from `low` to `high`; channels change first, then images."""
    f, call, words = function_of_call(m, SYMBOL)
    block, low, high = f.parameters
    get = f.fields(words, CHANNELS)
    arrays = {name: f.word_of(block, f.get(call, CALL, name), "ptr") for name in ("x", "w", "bias", "y")}
    each = f.op("add", f.bytes_of(get["channels"]), 128)
    row_bytes = f.op("add", f.bytes_of(get["width"]), 128)
    raw, zeros = f.aligned_memory(f.op("add", row_bytes, f.op("mul", each, 2)), f.word_of(block, 0, "ptr"))
    with f.loop(f.op("udiv", row_bytes, m.floats.lanes * m.floats.itemsize)) as k:
        f.put_vector(f.zero, f.moved(zeros, f.op("mul", k, m.floats.lanes * m.floats.itemsize)))
    scale = f.moved(zeros, row_bytes)
    shift = f.moved(scale, each)
    is_scaled = f.compare("ne", f.get(call, CALL, "is_scaled"), 0)
    with f.when(is_scaled):
        f.call("make_scales", block, call, scale, shift)
    nothing = f.slot(m.floats.type, 16)
    f.write(float_constant(0.0, m.floats.type, 1), nothing)
    has_bias = f.all_of(f.negated(is_scaled), f.negated(f.is_null(arrays["bias"])))
    with f.loop(f.op("sub", high, low)) as k:
        unit = f.op("add", low, k)
        channel, image = f.op("urem", unit, get["channels"]), f.op("udiv", unit, get["channels"])
        beside = f.bytes_of(channel)
        x, y = (
            f.moved(arrays[n], f.op("mul", image, get[f"{n}_image"]), f.op("mul", channel, get[f"{n}_channel"]))
            for n in ("x", "y")
        )
        w = f.moved(arrays["w"], f.op("mul", channel, get["w_channel"]))
        start = f.pick(has_bias, f.moved(arrays["bias"], beside), nothing, "ptr")
        own = [f.pick(is_scaled, f.moved(base, beside), NULL, "ptr") for base in (scale, shift)]
        is_next = f.compare("eq", get["step_columns"], 1)
        with f.when(is_next):
            f.call("plane_1", words, x, w, y, zeros, start, *own)
        with f.when(f.negated(is_next)):
            f.call("plane_2", words, x, w, y, zeros, start, *own)
        with f.when(f.negated(f.is_null(get["activation"]))):
            count = f.op("mul", get["rows"], get["columns"])
            f.call_address(get["activation"], "void (ptr, i64)", y, count)
    f.call("free", raw)
    f.ret()
