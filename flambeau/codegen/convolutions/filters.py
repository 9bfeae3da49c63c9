"""All filters of a convolution's unit: tiles of sums over some planes, and the results' rows at the last of them.

Where planes are taken some at a time, so are positions, few enough for the numbers of both to stay in the first cache
while all filters go over them; the sums of all filters are kept meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable

from flambeau.codegen.convolutions.copies import zero_of
from flambeau.codegen.convolutions.rests import most_left, places_together
from flambeau.codegen.convolutions.stages import LINE, PAGE
from flambeau.codegen.convolutions.tile import STEP, TileShape, last_shapes
from flambeau.codegen.convolutions.vectors import VectorFunction, VectorModule
from flambeau.codegen.convolutions.words import PART, PROBLEM
from flambeau.codegen.llvm.checked_emitter import NULL, word
from flambeau.codegen.llvm.emitter import Value
from flambeau.util.record import dataclass

ACTIVATION = "void (ptr, i64)"
"""An activation's function, of numbers side by side."""


def build_filters(m: VectorModule, shape: TileShape) -> None:
    """``filters_N``: positions of some filters, of one part; whole tiles go where `whole_tiles` says."""
    f = m.function(
        f"void filters_{shape.filters}", "ptr words", "ptr x", "ptr w", "ptr bias", "ptr sums", "ptr table",
        "i64 steps", "i64 positions", "ptr whole_tiles", "i64 whole_pitch", "ptr scale", "ptr shift", "ptr columns",
        "ptr rest_weights", "i64 is_later", "i64 lines_ahead",
    )  # fmt: skip
    words, x, w, bias, sums, table, steps, positions, whole_tiles, whole_pitch = f.parameters[:10]
    scale, shift, columns, rest_weights, is_later, lines_ahead = f.parameters[10:]
    size, lanes = m.floats.itemsize, m.floats.lanes
    offsets = f.slot(f"[{shape.filters} x {m.floats.type}]")
    for r in range(shape.filters):
        f.write(zero_of(m), f.at(offsets, r * size, "i8"))
    with f.when(f.negated(f.is_null(bias))):
        for r in range(shape.filters):
            f.write(f.read(f.at(bias, r * size, "i8"), m.floats.type), f.at(offsets, r * size, "i8"))
    row, pitch = f.get(words, PROBLEM, "w_filter"), f.get(words, PROBLEM, "sums_bytes")
    _ask_for_weights(f, f.moved(rest_weights, f.op("mul", row, shape.filters)), row, shape.filters, lines_ahead)

    def tiles(count: Value, start: Value, tile: TileShape, to: Value, pitch: Value) -> None:
        with f.loop(count) as k:
            first = f.op("add", start, f.op("mul", k, tile.vectors * lanes))
            at = f.bytes_of(first)
            left = f.op("sub", positions, first)
            f.call(
                tile.name, f.moved(x, at), w, row, table, steps, f.moved(to, at), pitch, offsets, left, scale, shift,
                words, is_later,
            )  # fmt: skip

    whole = f.op("sdiv", positions, shape.vectors * lanes)
    done = f.op("mul", whole, shape.vectors * lanes)
    tiles(whole, word(0), shape, whole_tiles, whole_pitch)
    left = f.op("sub", positions, done)
    has_columns = f.negated(f.is_null(columns))
    rest = f.pick(has_columns, f.op("sdiv", left, lanes), f.divided_up(left, lanes))
    for last in last_shapes(shape):
        count = f.op("sdiv", rest, last.vectors)
        tiles(count, done, last, sums, pitch)
        taken = f.op("mul", count, last.vectors)
        rest, done = f.op("sub", rest, taken), f.op("add", done, f.op("mul", taken, lanes))
    if m.floats.has_masks:
        with f.when(has_columns):
            across, apart = places_together(m.floats, shape.filters), f.get(words, PROBLEM, "rest_bytes")
            left = f.op("sub", positions, done)
            with f.loop(f.divided_up(left, across)) as k:
                first = f.op("mul", k, across)
                own, to = f.moved(columns, f.op("mul", first, apart)), f.bytes_of(f.op("add", done, first))
                f.call(
                    f"rest_{shape.filters}", words, own, rest_weights, row, steps, f.op("sub", left, first),
                    f.moved(sums, to), pitch, offsets, scale, shift, is_later,
                )  # fmt: skip
    f.ret()


def _ask_for_weights(f: VectorFunction, w: Value, row: Value, filters: int, lines: Value) -> None:
    """Have so many lines of each of some filters' weights brought to the second cache: steps of some planes alone are
    too short a stretch for the processor to foresee the next.
    """
    f.declare("declare void @llvm.prefetch.p0(ptr, i32, i32, i32)")
    with f.loop(lines) as k:
        for r in range(filters):
            address = f.moved(w, f.op("mul", row, r), f.op("mul", k, LINE))
            f.raw(f"call void @llvm.prefetch.p0(ptr {address}, i32 0, i32 3, i32 1)")


@dataclass(frozen=True, slots=True)
class _Steps:
    """What is summed: the steps of some planes."""

    table: Value
    count: Value
    first: Value
    """How many there are before."""


def _collected(m: VectorModule, f: VectorFunction, of: tuple[Value, ...], positions: Value, steps: _Steps) -> Value:
    """The columns of places left over behind whole vectors, collected; null where they are none, or too many."""
    words, x, columns = of
    left = f.op("srem", positions, m.floats.lanes)
    is_some = f.all_of(f.compare("sgt", left, 0), f.compare("sle", left, most_left(m.floats.lanes)))
    is_taken = f.all_of(is_some, f.compare("ne", f.get(words, PROBLEM, "rest_bytes"), 0))
    with f.when(is_taken):
        here = f.moved(x, f.bytes_of(f.op("sub", positions, left)))
        f.call("collect", words, here, steps.table, steps.count, left, columns)
    return f.pick(is_taken, columns, NULL, "ptr")


def build_part(m: VectorModule, wide: tuple[TileShape, ...]) -> None:
    """``run_part``: all filters of a unit, of one part of the results and of some planes."""
    f = m.function(
        "void run_part", "ptr words", "ptr x", "ptr w", "ptr bias", "ptr y", "ptr sums", "ptr part", "i64 images",
        "i64 rows", "i64 columns", "ptr scale", "ptr shift", "ptr residual", "ptr room", "i64 first_plane",
        "i64 planes",
    )  # fmt: skip
    part = _Part(m, f)
    # The last block has what would be less than half of one, too.
    blocks = f.op("udiv", f.op("add", part.positions, f.op("udiv", part.block, 2)), part.block)
    blocks = f.most_of(blocks, 1)
    with f.loop(blocks) as b:
        start = f.op("mul", b, part.block)
        is_end = f.compare("eq", b, f.op("sub", blocks, 1))
        count = f.pick(is_end, f.op("sub", part.positions, start), part.block)
        ahead = f.pick(f.compare("eq", b, 0), part.lines_ahead, 0)

        def summed(
            shape: TileShape, number: Value, start: Value = start, is_end: Value = is_end, count: Value = count,
            ahead: Value = ahead,
        ) -> None:  # fmt: skip
            part.sum(shape, number, (start, count, is_end), ahead)
            with f.when(part.is_whole):
                part.finish(shape, number)

        part.each(wide, summed)
    with f.when(f.all_of(part.is_last, f.negated(part.is_whole))):
        part.each(wide, part.finish)
    f.ret()


class _Part:
    """What ``run_part`` works out first, and what it does with some filters."""

    def __init__(self, m: VectorModule, f: VectorFunction) -> None:
        self._m, self._f = m, f
        parameters = f.parameters
        self._words, self._x, self._w, self._bias, self._y, self._sums = parameters[:6]
        part, self._images, rows, columns = parameters[6:10]
        scale, shift, self._residual, room, first_plane, planes = parameters[10:]
        self._get = get = f.fields(self._words, PROBLEM)
        before = f.op("add", f.op("mul", f.op("sub", self._images, 1), get["image_size"]), columns)
        self.positions = f.op("add", f.op("mul", f.op("sub", rows, 1), get["pitch"]), before)
        self.is_whole = f.compare("eq", planes, get["plane_count"])
        self.is_last = f.compare("eq", f.op("add", first_plane, planes), get["plane_count"])
        self._is_later = f.pick(f.compare("eq", first_plane, 0), 0, 1)
        is_one = self._is_one_row(columns)
        self._row_count = f.pick(is_one, 1, rows)
        self._length = f.pick(is_one, f.op("mul", rows, columns), columns)
        # Filters a page apart meet in the same places of caches, which sums that are read and written often notice.
        is_apart = f.compare("ne", f.op("and", get["y_filter"], PAGE - 1), 0)
        is_side_by_side = f.compare("eq", get["y_column"], m.floats.itemsize)
        self._is_direct = f.all_of(is_one, is_side_by_side, f.op("or", self.is_whole, is_apart))
        each = f.op("udiv", f.get(part, PART, "steps"), f.most_of(get["plane_count"], 1))
        first = f.op("mul", each, first_plane)
        table = f.at(f.get(part, PART, "table"), f.op("mul", first, STEP), "i8")
        self._steps = _Steps(table, f.op("mul", each, planes), first)
        self._scale, self._shift = (f.pick(self.is_last, base, NULL, "ptr") for base in (scale, shift))
        self._left_over = _collected(m, f, (self._words, self._x, room), self.positions, self._steps)
        self._sums_step = f.pick(self.is_whole, 0, get["sums_bytes"])
        self.block = f.pick(self.is_whole, self.positions, get["positions_each"])
        lines = f.op("add", f.op("udiv", f.bytes_of(self._steps.count), LINE), 1)
        self.lines_ahead = f.pick(self.is_whole, 0, lines)

    def _is_one_row(self, columns: Value) -> Value:
        """Whether rows of results lie as those of the sums, and are one long row."""
        f, get = self._f, self._get
        return f.all_of(
            f.compare("eq", columns, get["pitch"]), f.compare("eq", self._images, 1), f.is_null(self._residual),
            f.compare("eq", f.op("mul", columns, get["y_column"]), get["y_row"]),
        )  # fmt: skip

    def each(self, wide: tuple[TileShape, ...], body: Callable[[TileShape, Value], None]) -> None:
        """Go over all filters, as many at a time as a tile has: `body(shape, number of the first)`."""
        f, first = self._f, word(0)
        for shape in wide:
            several = f.op("sdiv", f.op("sub", self._get["filters"], first), shape.filters)
            with f.loop(several) as k:
                body(shape, f.op("add", first, f.op("mul", k, shape.filters)))
            first = f.op("add", first, f.op("mul", several, shape.filters))

    def _is_put_directly(self, shape: TileShape) -> Value:
        """Whether whole tiles put results where they go: those of blocks of positions are then those of all."""
        f, width = self._f, shape.vectors * self._m.floats.lanes
        is_even = f.compare("eq", f.op("urem", self._get["positions_each"], width), 0)
        return f.all_of(self._is_direct, f.op("or", self.is_whole, is_even))

    def sum(self, shape: TileShape, number: Value, block: tuple[Value, Value, Value], lines_ahead: Value) -> None:
        """The sums of some filters at a block of positions: its start, how many it has, whether it is the last."""
        f, get, (start, count, is_end) = self._f, self._get, block
        at = f.bytes_of(start)
        weights = f.moved(self._w, f.op("mul", number, get["w_filter"]))
        bias, scale, shift = (
            f.pick(f.is_null(base), NULL, f.moved(base, f.bytes_of(number)), "ptr")
            for base in (self._bias, self._scale, self._shift)
        )
        sums = f.moved(self._sums, f.op("mul", number, self._sums_step), at)
        direct = f.moved(self._y, f.op("mul", number, get["y_filter"]), at)
        is_direct = self._is_put_directly(shape)
        f.call(
            f"filters_{shape.filters}", self._words, f.moved(self._x, at), weights, bias, sums, self._steps.table,
            self._steps.count, count, f.pick(is_direct, direct, sums, "ptr"),
            f.pick(is_direct, get["y_filter"], get["sums_bytes"]), scale, shift,
            f.pick(is_end, self._left_over, NULL, "ptr"), f.moved(weights, f.bytes_of(self._steps.first)),
            self._is_later, lines_ahead,
        )  # fmt: skip

    def finish(self, shape: TileShape, number: Value) -> None:
        """Results of the sums of some filters."""
        f, width = self._f, shape.vectors * self._m.floats.lanes
        there = f.op("mul", f.op("sdiv", self.positions, width), f.pick(self._is_put_directly(shape), width, 0))
        f.call(
            "finish_filters", self._words, self._y, f.moved(self._sums, f.op("mul", number, self._sums_step)),
            self._residual, self._images, self.positions, self._row_count, self._length, shape.filters, number, there,
        )  # fmt: skip


def build_finish_filters(m: VectorModule) -> None:
    """``finish_filters``: make results of the sums of some filters, from `number` on, of which tiles have put the first
    `there` in place.
    """
    f = m.function(
        "void finish_filters", "ptr words", "ptr y", "ptr sums", "ptr residual", "i64 images", "i64 positions",
        "i64 row_count", "i64 length", "i64 filters", "i64 number", "i64 there",
    )  # fmt: skip
    words, y, sums, residual, images, positions, row_count, length, filters, number, there = f.parameters
    get = f.fields(words, PROBLEM)
    is_alone = f.is_null(residual)
    row_bytes, image_bytes = f.bytes_of(get["pitch"]), f.bytes_of(get["image_size"])
    behind, left = f.bytes_of(there), f.op("sub", length, there)
    activation = get["activation"]
    has_activation = f.negated(f.is_null(activation))
    direct = f.moved(y, f.op("mul", number, get["y_filter"]))
    with f.when(f.all_of(has_activation, is_alone)), f.loop(filters) as j:
        # Gaps between rows are changed too, which nobody reads.
        own_sums = f.moved(sums, f.op("mul", j, get["sums_bytes"]), behind)
        f.call_address(activation, ACTIVATION, f.moved(direct, f.op("mul", j, get["y_filter"])), there)
        f.call_address(activation, ACTIVATION, own_sums, f.op("sub", positions, there))
    with f.loop(filters) as j, f.loop(images) as image:
        source = f.moved(sums, f.op("mul", j, get["sums_bytes"]), f.op("mul", image, image_bytes), behind)
        to_filter = f.moved(y, f.op("mul", f.op("add", number, j), get["y_filter"]), behind)
        to_image = f.moved(to_filter, f.op("mul", image, get["y_image"]))
        lying = row_count, left, row_bytes, get["y_row"], get["y_column"], words
        with_residual, alone, done = f.label("with_residual"), f.label("alone"), f.label("finished")
        f.branch_if(is_alone, alone, with_residual)
        f.start(alone)
        f.call("finish", source, to_image, *lying, NULL, 0, 0)
        f.branch(done)
        f.start(with_residual)
        near = f.moved(residual, f.op("mul", f.op("add", number, j), get["residual_filter"]))
        near = f.moved(near, f.op("mul", image, get["residual_image"]))
        f.call("finish_added", source, to_image, *lying, near, get["residual_row"], get["residual_column"])
        with f.when(has_activation), f.loop(row_count) as r:
            f.call_address(activation, ACTIVATION, f.moved(to_image, f.op("mul", r, get["y_row"])), left)
        f.start(done)
    f.ret()
