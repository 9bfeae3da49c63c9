"""Convolutions, forward and transposed: for each band of images its copy, then tiles of sums, then the results' rows.

    for each unit: group, columns, band, images
        for some planes, or all of them
            copy the band with zeros around, where windows cannot be read in place
            for each part of the results
                for some filters
                    for tiles of positions: sums over the steps of these planes in the part's table
                    at the last planes, for each filter, image and row: sums to results

Positions are numbered through rows and images of the copy, those between the end of a row of results and the start of
the next included: what is summed there is not used. So a vector never ends early, whatever the width.
"""

from __future__ import annotations

from flambeau.codegen.convolutions.copies import build_copies, build_finish
from flambeau.codegen.convolutions.filters import build_filters, build_finish_filters, build_part
from flambeau.codegen.convolutions.rests import build_collect, build_rest, most_left
from flambeau.codegen.convolutions.scales import build_scales
from flambeau.codegen.convolutions.tile import build_tile, last_shapes, shapes
from flambeau.codegen.convolutions.vectors import Floats, VectorFunction, VectorModule
from flambeau.codegen.convolutions.words import CALL, CALL_AT, PART, PROBLEM, SLICE
from flambeau.codegen.layouts import WORD
from flambeau.codegen.llvm.checked_emitter import NULL, word
from flambeau.codegen.llvm.emitter import Value
from flambeau.util.record import dataclass

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
        build_filters(m, shape)
    build_finish_filters(m)
    build_part(m, wide)
    _build_units(m)
    _build_of_objects(m)
    _build_launch(m)
    return m.builder.text()


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
    get = f.fields(words, PROBLEM)
    largest = max(shape.filters for shape in shapes(m.floats))
    stages = f.most_of(f.divided_up(get["plane_count"], get["planes_each"]), 1)
    is_whole = f.compare("eq", stages, 1)
    sums_room = f.op("mul", get["sums_bytes"], f.pick(is_whole, largest, get["filters"]))
    columns_room = f.op("mul", get["rest_bytes"], most_left(m.floats.lanes))
    raw, copy = f.aligned_memory(f.op("add", get["copy_bytes"], f.op("add", sums_room, columns_room)), get["error"])
    sums = f.moved(copy, get["copy_bytes"])
    left_over = f.moved(sums, sums_room)
    with f.loop(f.op("sub", high, low)) as k:
        unit = unit_of(f, get, f.op("add", low, k))
        own = f.moved(get["x"], f.op("mul", unit.first, get["x_image"]), f.op("mul", unit.group, get["x_group"]))

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
        with f.loop(stages) as stage:
            first_plane = f.op("mul", stage, get["planes_each"])
            planes = f.least_of(get["planes_each"], f.op("sub", get["plane_count"], first_plane))

            def copied(
                unit: Unit = unit, own: Value = own, first_plane: Value = first_plane, planes: Value = planes
            ) -> Value:
                f.call("copy_band", words, own, copy, unit.images, unit.row, unit.column, first_plane, planes)
                return copy

            def in_place(unit: Unit = unit, own: Value = own) -> Value:
                steps = f.op("mul", unit.row, get["x_row"]), f.op("mul", unit.column, get["x_column"])
                return f.moved(own, *steps)

            x = f.choose(f.compare("ne", get["is_in_place"], 0), in_place, copied)
            with f.loop(get["part_count"]) as p:
                part = f.at(get["parts"], f.op("mul", p, PART.words * WORD), "i8")
                rows = f.least_of(get["band_rows"], f.op("sub", f.get(part, PART, "rows"), unit.row))
                columns = f.least_of(get["chunk_columns"], f.op("sub", f.get(part, PART, "columns"), unit.column))
                is_there = f.all_of(f.compare("sgt", rows, 0), f.compare("sgt", columns, 0))
                with f.when(is_there):
                    to = f.moved(y, f.get(part, PART, "y_from"))
                    f.call(
                        "run_part", words, x, w, bias, to, sums, part, unit.images, rows, columns, scale, shift,
                        residual, left_over, first_plane, planes,
                    )  # fmt: skip
    f.call("free", raw)
    f.ret()
