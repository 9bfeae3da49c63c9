"""Convolutions, forward and transposed: for each band of images its copy, then tiles of sums, then the results' rows.

    for each unit: group, columns, band, images
        copy the band with zeros around, where windows cannot be read in place
        for each part of the results
            for some filters
                for tiles of positions: sums over all steps of the part's table
                for each filter, image and row: sums to results

Positions are numbered through rows and images of the copy, those between the end of a row of results and the start of
the next included: what is summed there is not used. So a vector never ends early, whatever the width.
"""

from __future__ import annotations

from flambeau.codegen.convolutions.copies import build_copies, build_finish, zero_of
from flambeau.codegen.convolutions.rests import build_collect, build_rest, most_left, places_together
from flambeau.codegen.convolutions.scales import build_scales
from flambeau.codegen.convolutions.tile import TileShape, build_tile, last_shapes, shapes
from flambeau.codegen.convolutions.vectors import Floats, VectorFunction, VectorModule
from flambeau.codegen.convolutions.words import CALL, CALL_AT, PART, PROBLEM, SLICE
from flambeau.codegen.layouts import WORD
from flambeau.codegen.llvm.checked_emitter import NULL, word
from flambeau.codegen.llvm.emitter import Value
from flambeau.util.record import dataclass

ACTIVATION = "void (ptr, i64)"
"""An activation's function, of numbers side by side."""
SYMBOL, OF_OBJECTS, OF_LAUNCH = "convolution_sums", "convolution_of_objects", "convolution_of_launch"


def sums_text(floats: Floats) -> str:
    """The module whose function `SYMBOL(words, low, high)` computes the units of a range, and `OF_OBJECTS(words, x, w,
    bias, y)` all of them for array objects, on words that it copies; `OF_LAUNCH` is the kernel of launches.
    """
    m = VectorModule(floats)
    build_copies(m)
    build_finish(m, "finish", has_residual=False)
    build_finish(m, "finish_added", has_residual=True)
    build_scales(m)
    wide = shapes(floats)
    for shape in wide:
        for tile in (shape, *last_shapes(shape)):
            build_tile(m, tile)
    build_collect(m)
    for shape in wide:
        if m.floats.has_masks:
            build_rest(m, shape)
        _build_filters(m, shape)
    _build_part(m, wide)
    _build_units(m)
    _build_of_objects(m)
    _build_launch(m)
    return m.builder.text()


def _build_filters(m: VectorModule, shape: TileShape) -> None:
    """``filters_N``: all positions of some filters, of one part; whole tiles go where `whole_tiles` says."""
    f = m.function(
        f"void filters_{shape.filters}", "ptr words", "ptr x", "ptr w", "ptr bias", "ptr sums", "ptr part",
        "i64 positions", "ptr whole_tiles", "i64 whole_pitch", "ptr scale", "ptr shift", "ptr columns",
    )  # fmt: skip
    words, x, w, bias, sums, part, positions, whole_tiles, whole_pitch, scale, shift, columns = f.parameters
    size, lanes = m.floats.itemsize, m.floats.lanes
    offsets = f.slot(f"[{shape.filters} x {m.floats.type}]")
    for r in range(shape.filters):
        f.write(zero_of(m), f.at(offsets, r * size, "i8"))
    with f.when(f.negated(f.is_null(bias))):
        for r in range(shape.filters):
            f.write(f.read(f.at(bias, r * size, "i8"), m.floats.type), f.at(offsets, r * size, "i8"))
    row, pitch = f.get(words, PROBLEM, "w_filter"), f.get(words, PROBLEM, "sums_bytes")
    table, steps = f.get(part, PART, "table"), f.get(part, PART, "steps")

    def tiles(count: Value, start: Value, tile: TileShape, to: Value, pitch: Value) -> None:
        with f.loop(count) as k:
            first = f.op("add", start, f.op("mul", k, tile.vectors * lanes))
            at = f.bytes_of(first)
            left = f.op("sub", positions, first)
            f.call(
                tile.name, f.moved(x, at), w, row, table, steps, f.moved(to, at), pitch, offsets, left, scale, shift,
                words,
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
                    f"rest_{shape.filters}", words, own, w, row, steps, f.op("sub", left, first), f.moved(sums, to),
                    pitch, offsets, scale, shift,
                )  # fmt: skip
    f.ret()


def _collected(m: VectorModule, f: VectorFunction, of: tuple[Value, ...], positions: Value, columns: Value) -> Value:
    """The columns of places left over behind whole vectors, collected; null where they are none, or too many."""
    words, x, part = of
    left = f.op("srem", positions, m.floats.lanes)
    is_some = f.all_of(f.compare("sgt", left, 0), f.compare("sle", left, most_left(m.floats.lanes)))
    is_taken = f.all_of(is_some, f.compare("ne", f.get(words, PROBLEM, "rest_bytes"), 0))
    with f.when(is_taken):
        here = f.moved(x, f.bytes_of(f.op("sub", positions, left)))
        f.call("collect", words, here, f.get(part, PART, "table"), f.get(part, PART, "steps"), left, columns)
    return f.pick(is_taken, columns, NULL, "ptr")


def _build_part(m: VectorModule, wide: tuple[TileShape, ...]) -> None:
    """``run_part``: all filters of a unit, of one part of the results."""
    f = m.function(
        "void run_part", "ptr words", "ptr x", "ptr w", "ptr bias", "ptr y", "ptr sums", "ptr part", "i64 images",
        "i64 rows", "i64 columns", "ptr scale", "ptr shift", "ptr residual", "ptr room",
    )  # fmt: skip
    words, x, w, bias, y, sums, part, images, rows, columns, scale, shift, residual, room = f.parameters
    get = {name: f.get(words, PROBLEM, name) for name in PROBLEM.fields}
    before = f.op("add", f.op("mul", f.op("sub", images, 1), get["image_size"]), columns)
    positions = f.op("add", f.op("mul", f.op("sub", rows, 1), get["pitch"]), before)
    # Rows of results that lie as those of the sums are one long row.
    is_alone = f.is_null(residual)
    is_one = f.all_of(
        f.compare("eq", columns, get["pitch"]), f.compare("eq", images, 1), is_alone,
        f.compare("eq", f.op("mul", columns, get["y_column"]), get["y_row"]),
    )  # fmt: skip
    is_direct = f.all_of(is_one, f.compare("eq", get["y_column"], m.floats.itemsize))
    row_count = f.pick(is_one, 1, rows)
    length = f.pick(is_one, f.op("mul", rows, columns), columns)
    image_bytes, row_bytes = f.bytes_of(get["image_size"]), f.bytes_of(get["pitch"])
    left_over = _collected(m, f, (words, x, part), positions, room)
    to = _Results(y, sums, residual, words, images, positions, row_count, length, row_bytes, image_bytes, is_alone)
    first = word(0)
    for shape in wide:
        count = f.op("sdiv", f.op("sub", get["filters"], first), shape.filters)
        with f.loop(count) as k:
            number = f.op("add", first, f.op("mul", k, shape.filters))
            weights = f.moved(w, f.op("mul", number, get["w_filter"]))
            own, own_scale, own_shift = (
                f.pick(f.is_null(base), NULL, f.moved(base, f.bytes_of(number)), "ptr")
                for base in (bias, scale, shift)
            )
            direct = f.moved(y, f.op("mul", number, get["y_filter"]))
            to_tiles = f.pick(is_direct, direct, sums, "ptr")
            tile_pitch = f.pick(is_direct, get["y_filter"], get["sums_bytes"])
            f.call(
                f"filters_{shape.filters}", words, x, weights, own, sums, part, positions, to_tiles, tile_pitch,
                own_scale, own_shift, left_over,
            )  # fmt: skip
            width = shape.vectors * m.floats.lanes
            there = f.op("mul", f.op("sdiv", positions, width), f.pick(is_direct, width, 0))
            _finish_filters(f, get, to, shape.filters, number, direct, there)
        first = f.op("add", first, f.op("mul", count, shape.filters))
    f.ret()


@dataclass(frozen=True, slots=True)
class _Results:
    """Where the sums of a part go, and how many there are."""

    y: Value
    sums: Value
    residual: Value
    words: Value
    images: Value
    positions: Value
    row_count: Value
    length: Value
    row_bytes: Value
    image_bytes: Value
    is_alone: Value
    """Whether nothing is added to them."""


def _finish_filters(
    f: VectorFunction, get: dict[str, Value], to: _Results, filters: int, number: Value, direct: Value, there: Value
) -> None:
    """Make results of the sums of some filters, from `number` on: tiles have put the first `there` in place."""
    behind, left = f.bytes_of(there), f.op("sub", to.length, there)
    activation = get["activation"]
    has_activation = f.negated(f.is_null(activation))
    with f.when(f.all_of(has_activation, to.is_alone)), f.loop(word(filters)) as j:
        # Gaps between rows are changed too, which nobody reads.
        own_sums = f.moved(to.sums, f.op("mul", j, get["sums_bytes"]), behind)
        f.call_address(activation, ACTIVATION, f.moved(direct, f.op("mul", j, get["y_filter"])), there)
        f.call_address(activation, ACTIVATION, own_sums, f.op("sub", to.positions, there))
    with f.loop(word(filters)) as j, f.loop(to.images) as image:
        source = f.moved(to.sums, f.op("mul", j, get["sums_bytes"]), f.op("mul", image, to.image_bytes), behind)
        to_filter = f.moved(to.y, f.op("mul", f.op("add", number, j), get["y_filter"]), behind)
        to_image = f.moved(to_filter, f.op("mul", image, get["y_image"]))
        lying = to.row_count, left, to.row_bytes, get["y_row"], get["y_column"], to.words
        with_residual, alone, done = f.label("with_residual"), f.label("alone"), f.label("finished")
        f.branch_if(to.is_alone, alone, with_residual)
        f.start(alone)
        f.call("finish", source, to_image, *lying, NULL, 0, 0)
        f.branch(done)
        f.start(with_residual)
        near = f.moved(to.residual, f.op("mul", f.op("add", number, j), get["residual_filter"]))
        near = f.moved(near, f.op("mul", image, get["residual_image"]))
        f.call("finish_added", source, to_image, *lying, near, get["residual_row"], get["residual_column"])
        with f.when(has_activation), f.loop(to.row_count) as r:
            f.call_address(activation, ACTIVATION, f.moved(to_image, f.op("mul", r, get["y_row"])), left)
        f.start(done)


def _build_of_objects(m: VectorModule) -> None:
    f = m.function(f"i32 {OF_OBJECTS}", "ptr words", "ptr x", "ptr w", "ptr bias", "ptr y", exported=True)
    words, x, w, bias, y = f.parameters
    own, error = f.slot(f"[{PROBLEM.words} x i64]", 16), f.slot("i32", 4)
    f.store(error, 0, "i32")
    f.copy(own, words, PROBLEM.words * WORD, align=8)
    at = f.get(words, PROBLEM, "data_at")
    x, w, y = (f.load(f.moved(one, at), "ptr") for one in (x, w, y))
    bias = f.choose(f.is_null(bias), lambda: NULL, lambda: f.load(f.moved(bias, at), "ptr"))
    f.put(own, PROBLEM, x=x, w=w, bias=bias, y=y, error=error)
    f.call(SYMBOL, own, 0, f.get(words, PROBLEM, "units"))
    f.ret(f.load(error, "i32"))


def _build_launch(m: VectorModule) -> None:
    """``OF_LAUNCH``: units of the only slice from `low` to `high`, or slices from `low` to `high`, for a launch."""
    f = m.function(f"void {OF_LAUNCH}", "ptr block", "i64 low", "i64 high", exported=True)
    block, low, high = f.parameters
    call = f.word_of(block, CALL_AT, "ptr")
    x, w, bias, y, residual = (
        f.word_of(block, f.get(call, CALL, name), "ptr") for name in ("x", "w", "bias", "y", "residual")
    )
    slices = f.get(call, CALL, "slices")
    own = f.slot(f"[{PROBLEM.words} x i64]", 16)
    channel_bytes = f.op("add", f.bytes_of(f.get(call, CALL, "channels")), 64)
    is_scaled, error = f.compare("ne", f.get(call, CALL, "is_scaled"), 0), f.word_of(block, 0, "ptr")
    room = f.choose(is_scaled, lambda: f.call("allocate", f.op("mul", channel_bytes, 2)), lambda: NULL)
    shift = f.pick(is_scaled, f.moved(room, channel_bytes), NULL, "ptr")
    with f.when(is_scaled):
        f.leave_without_memory(room, error)
        f.call("make_scales", block, call, room, shift)

    def run(one: Value, low: Value, high: Value) -> None:
        f.copy(own, f.get(one, SLICE, "problem"), PROBLEM.words * WORD, align=8)
        from_x, from_y, beside = (f.get(one, SLICE, name) for name in ("from_x", "from_y", "from_residual"))
        near = f.pick(f.is_null(residual), NULL, f.moved(residual, beside), "ptr")
        f.put(own, PROBLEM, x=f.moved(x, from_x), w=w, bias=f.pick(is_scaled, NULL, bias, "ptr"), y=f.moved(y, from_y))
        f.put(own, PROBLEM, scale=room, shift=shift, residual=near, error=error)
        f.call(SYMBOL, own, low, high)

    single, several, done = f.label("single"), f.label("several"), f.label("convolved")
    f.branch_if(f.compare("eq", f.get(call, CALL, "slice_count"), 1), single, several)
    f.start(single)
    run(slices, low, high)
    f.branch(done)
    f.start(several)
    with f.loop(f.op("sub", high, low)) as k:
        one = f.at(slices, f.op("mul", f.op("add", low, k), SLICE.words * WORD), "i8")
        run(one, word(0), f.get(one, SLICE, "units"))
    f.start(done)
    f.call("free", room)
    f.ret()


@dataclass(frozen=True, slots=True)
class Unit:
    """Where a unit of work is."""

    group: Value
    column: Value
    row: Value
    first: Value
    """Of its images."""
    images: Value


def unit_of(f: VectorFunction, get: dict[str, Value], number: Value) -> Unit:
    """The unit with a number: groups change first, then columns, bands and images."""
    rest, coordinates = number, []
    for name in ("groups", "chunks", "bands"):
        coordinates.append(f.op("urem", rest, get[name]))
        rest = f.op("udiv", rest, get[name])
    first = f.op("mul", rest, get["images_each"])
    images = f.least_of(get["images_each"], f.op("sub", get["images"], first))
    group, chunk, band = coordinates
    return Unit(
        group, f.op("mul", chunk, get["chunk_columns"]), f.op("mul", band, get["band_rows"]), first, images
    )  # fmt: skip


def _build_units(m: VectorModule) -> None:
    f = m.function(f"void {SYMBOL}", "ptr words", "i64 low", "i64 high", exported=True)
    words, low, high = f.parameters
    get = {name: f.get(words, PROBLEM, name) for name in PROBLEM.fields}
    largest = max(shape.filters for shape in shapes(m.floats))
    sums_room = f.op("mul", get["sums_bytes"], largest)
    columns_room = f.op("mul", get["rest_bytes"], most_left(m.floats.lanes))
    raw, copy = f.aligned_memory(f.op("add", get["copy_bytes"], f.op("add", sums_room, columns_room)), get["error"])
    sums = f.moved(copy, get["copy_bytes"])
    left_over = f.moved(sums, sums_room)
    with f.loop(f.op("sub", high, low)) as k:
        unit = unit_of(f, get, f.op("add", low, k))
        own = f.moved(get["x"], f.op("mul", unit.first, get["x_image"]), f.op("mul", unit.group, get["x_group"]))

        def copied(unit: Unit = unit, own: Value = own) -> Value:
            f.call("copy_band", words, own, copy, unit.images, unit.row, unit.column)
            return copy

        def in_place(unit: Unit = unit, own: Value = own) -> Value:
            steps = f.op("mul", unit.row, get["x_row"]), f.op("mul", unit.column, get["x_column"])
            return f.moved(own, *steps)

        x = f.choose(f.compare("ne", get["is_in_place"], 0), in_place, copied)
        w = f.moved(get["w"], f.op("mul", unit.group, get["w_group"]))
        filters = f.op("mul", unit.group, get["filters"])
        bias = f.pick(f.is_null(get["bias"]), NULL, f.moved(get["bias"], f.bytes_of(filters)), "ptr")
        steps = [f.op("mul", a, get[b]) for a, b in ((unit.first, "y_image"), (filters, "y_filter"))]
        y = f.moved(
            get["y"], *steps, f.op("mul", unit.row, get["y_row"]), f.op("mul", unit.column, get["y_column"])
        )  # fmt: skip
        scale, shift = (
            f.pick(f.is_null(get[name]), NULL, f.moved(get[name], f.bytes_of(filters)), "ptr")
            for name in ("scale", "shift")
        )
        beside = [
            f.op("mul", a, get[f"residual_{b}"])
            for a, b in ((unit.first, "image"), (filters, "filter"), (unit.row, "row"), (unit.column, "column"))
        ]
        residual = f.pick(f.is_null(get["residual"]), NULL, f.moved(get["residual"], *beside), "ptr")
        with f.loop(get["part_count"]) as p:
            part = f.at(get["parts"], f.op("mul", p, PART.words * WORD), "i8")
            rows = f.least_of(get["band_rows"], f.op("sub", f.get(part, PART, "rows"), unit.row))
            columns = f.least_of(get["chunk_columns"], f.op("sub", f.get(part, PART, "columns"), unit.column))
            is_there = f.all_of(f.compare("sgt", rows, 0), f.compare("sgt", columns, 0))
            with f.when(is_there):
                to = f.moved(y, f.get(part, PART, "y_from"))
                f.call(
                    "run_part", words, x, w, bias, to, sums, part, unit.images, rows, columns, scale, shift, residual,
                    left_over,
                )  # fmt: skip
    f.call("free", raw)
    f.ret()
