"""The gradient of a convolution's weight: results' gradients times the input's windows, summed over all positions.

    for each unit of work, which is some filters of a group
        for each image's bands
            copy the band of the input, and the gradients with zeros between the ends of rows and the next starts
            for tiles of filters and of steps of the table: sums of vectors over the positions, whose lanes are folded
                into the weight's gradient

Positions are numbered as for the sums (`sums`). What lies between rows is multiplied by zero.
"""

from __future__ import annotations

from flambeau.codegen.convolutions.copies import RowCopier, build_copies
from flambeau.codegen.convolutions.slope_launch import build_launch
from flambeau.codegen.convolutions.sums import unit_of
from flambeau.codegen.convolutions.tile import STEP, TileShape
from flambeau.codegen.convolutions.vectors import Floats, VectorFunction, VectorModule
from flambeau.codegen.convolutions.words import PART, PROBLEM
from flambeau.codegen.llvm.checked_emitter import TRUE, word
from flambeau.codegen.llvm.emitter import Value

SYMBOL, OF_LAUNCH = "convolution_slopes", "slopes_of_launch"


def tiles(floats: Floats) -> tuple[TileShape, ...]:
    """Filters and steps of whole tiles, the largest number of filters first; it ends with one."""
    if floats.has_many_registers:
        return TileShape(4, 6), TileShape(1, 9)
    return TileShape(3, 3), TileShape(1, 9)


def slopes_text(floats: Floats) -> str:
    """The module whose function `SYMBOL(words, low, high)` adds to the gradient of the filters of a range.

    A number of the range stands for a group and `filters_each` of its filters; `w` is what is added to, `y` has the
    results' gradients. `OF_LAUNCH` is the kernel of launches.
    """
    m = VectorModule(floats)
    build_copies(m)
    _build_copy_slopes(m)
    for shape in tiles(floats):
        _build_tile(m, shape)
        _build_steps(m, shape)
    _build_band(m)
    _build_filters(m)
    build_launch(m, OF_LAUNCH, SYMBOL)
    return m.builder.text()


def _build_copy_slopes(m: VectorModule) -> None:
    """``copy_slopes``: the gradients of so many filters, images and rows, in rows of `pitch` numbers."""
    f = m.function(
        "void copy_slopes", "ptr words", "ptr source", "ptr target", "i64 filters", "i64 images", "i64 rows",
        "i64 columns",
    )  # fmt: skip
    words, source, target, filters, images, rows, columns = f.parameters
    get = f.fields(words, PROBLEM)
    image_bytes, row_bytes = f.bytes_of(get["image_size"]), f.bytes_of(get["pitch"])
    copier = RowCopier(f, get["y_column"], word(0), columns, get["pitch"])
    rest = f.op("sub", get["copy_rows"], rows)
    with f.loop(filters) as j:
        to_filter = f.moved(target, f.op("mul", j, get["slopes_bytes"]))
        with f.loop(images) as image:
            to = f.moved(to_filter, f.op("mul", image, image_bytes))
            near = f.moved(source, f.op("mul", j, get["y_filter"]), f.op("mul", image, get["y_image"]))
            with f.loop(rows) as r:
                copier.copy(f.moved(to, f.op("mul", r, row_bytes)), f.moved(near, f.op("mul", r, get["y_row"])), TRUE)
            behind = f.moved(to, f.op("mul", rows, row_bytes))
            with f.loop(f.divided_up(f.op("mul", rest, row_bytes), m.floats.lanes * m.floats.itemsize)) as k:
                f.put_vector(f.zero, f.moved(behind, f.op("mul", k, m.floats.lanes * m.floats.itemsize)))
        # The last vector of positions may go beyond them, where an earlier band left its gradients.
        before = f.op("mul", f.op("sub", images, 1), image_bytes)
        f.put_vector(f.zero, f.moved(to_filter, before, f.op("mul", rows, row_bytes)))
    f.ret()


def _build_tile(m: VectorModule, shape: TileShape) -> None:
    """``dots_N``: sums over `count` vectors of positions of some filters' gradients times those of some steps.

    Of the steps, `valid` are in the table; the last stands for the others, whose sums are not kept.
    """
    f = m.function(
        f"void dots_{shape.filters}", "ptr x", "ptr slopes", "i64 pitch", "ptr table", "i64 valid", "i64 count",
        "ptr w", "i64 row",
    )  # fmt: skip
    x, slopes, pitch, table, valid, count, w, row = f.parameters
    lanes, size, t = m.floats.lanes, m.floats.itemsize, m.floats.type
    last = f.op("sub", valid, 1)
    entries = [f.at(table, f.op("mul", f.least_of(word(k), last), STEP), "i8") for k in range(shape.vectors)]
    starts = [f.moved(x, _offset(f, e, 0)) for e in entries]
    rows = [f.moved(slopes, f.op("mul", pitch, r)) for r in range(shape.filters)]

    def step(k: Value, state: list[Value]) -> list[Value]:
        at = f.op("mul", k, lanes * size)
        vectors = [f.vector(f.moved(start, at)) for start in starts]
        new = []
        for r, one in enumerate(rows):
            slope = f.vector(f.moved(one, at))
            new += [
                f.multiply_add(slope, v, state[r * shape.vectors + k]) for k, v in enumerate(vectors)
            ]  # fmt: skip
        return new

    done = f.fold(count, [f.zero] * (shape.filters * shape.vectors), lambda k, s: step(k, list(s)))
    for k in range(shape.vectors):
        with f.when(f.compare("sgt", valid, k)):
            to_step = f.moved(w, _offset(f, entries[k], 4))
            for r in range(shape.filters):
                to = f.moved(to_step, f.op("mul", row, r))
                total = f.sum_of_lanes(done[r * shape.vectors + k])
                f.write(f.binary("fadd", f.read(to, t), total), to)
    f.ret()


def _offset(f: VectorFunction, entry: Value, at: int) -> Value:
    return f.define(f"sext i32 {f.read(f.at(entry, at, 'i8'), 'i32')} to i64", "i64")


def _build_steps(m: VectorModule, shape: TileShape) -> None:
    """``steps_N``: all steps of a table for some filters."""
    f = m.function(
        f"void steps_{shape.filters}", "ptr x", "ptr slopes", "i64 pitch", "ptr table", "i64 steps", "i64 count",
        "ptr w", "i64 row",
    )  # fmt: skip
    x, slopes, pitch, table, steps, count, w, row = f.parameters
    with f.loop(f.divided_up(steps, shape.vectors)) as k:
        first = f.op("mul", k, shape.vectors)
        own = f.at(table, f.op("mul", first, STEP), "i8")
        f.call(f"dots_{shape.filters}", x, slopes, pitch, own, f.op("sub", steps, first), count, w, row)
    f.ret()


def _build_band(m: VectorModule) -> None:
    """``add_band``: what one band of some images adds to the gradient of some filters."""
    f = m.function(
        "void add_band", "ptr words", "ptr x", "ptr slopes", "ptr w", "i64 filters", "i64 images", "i64 rows"
    )
    words, x, slopes, w, filters, images, rows = f.parameters
    get = f.fields(words, PROBLEM)
    positions = f.op("mul", f.op("sub", images, 1), get["image_size"])
    positions = f.op("add", positions, f.op("mul", rows, get["pitch"]))
    count = f.divided_up(positions, m.floats.lanes)
    table, steps = (f.get(get["parts"], PART, name) for name in ("table", "steps"))
    first = word(0)
    for shape in tiles(m.floats):
        several = f.op("sdiv", f.op("sub", filters, first), shape.filters)
        with f.loop(several) as k:
            number = f.op("add", first, f.op("mul", k, shape.filters))
            own = f.moved(slopes, f.op("mul", number, get["slopes_bytes"]))
            to = f.moved(w, f.op("mul", number, get["w_filter"]))
            f.call(
                f"steps_{shape.filters}", x, own, get["slopes_bytes"], table, steps, count, to, get["w_filter"]
            )  # fmt: skip
        first = f.op("add", first, f.op("mul", several, shape.filters))
    f.ret()


def _build_filters(m: VectorModule) -> None:
    f = m.function(f"void {SYMBOL}", "ptr words", "i64 low", "i64 high", exported=True)
    words, low, high = f.parameters
    get = f.fields(words, PROBLEM)
    room = f.op("add", get["copy_bytes"], f.op("mul", get["slopes_bytes"], get["filters_each"]))
    raw, copy = f.aligned_memory(f.op("add", room, 4096), get["error"])
    slopes = f.moved(copy, get["copy_bytes"])
    f.declare("declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)")
    f.raw(f"call void @llvm.memset.p0.i64(ptr {copy}, i8 0, i64 {f.op('add', room, 4096)}, i1 false)")
    blocks = f.divided_up(get["filters"], get["filters_each"])
    bands = f.op("mul", f.divided_up(get["images"], get["images_each"]), f.op("mul", get["bands"], get["chunks"]))
    with f.loop(f.op("sub", high, low)) as k:
        number = f.op("add", low, k)
        group, block = f.op("udiv", number, blocks), f.op("urem", number, blocks)
        first = f.op("mul", block, get["filters_each"])
        filters = f.least_of(get["filters_each"], f.op("sub", get["filters"], first))
        w = f.moved(get["w"], f.op("mul", group, get["w_group"]), f.op("mul", first, get["w_filter"]))
        filter_number = f.op("add", f.op("mul", group, get["filters"]), first)
        with f.loop(bands) as band:
            unit = unit_of(f, get, f.op("add", f.op("mul", band, get["groups"]), group))
            x = f.moved(get["x"], f.op("mul", unit.first, get["x_image"]), f.op("mul", group, get["x_group"]))
            f.call("copy_band", words, x, copy, unit.images, unit.row, unit.column, 0, get["plane_count"])
            rows = f.least_of(get["band_rows"], f.op("sub", f.get(get["parts"], PART, "rows"), unit.row))
            columns = f.op("sub", f.get(get["parts"], PART, "columns"), unit.column)
            columns = f.least_of(get["chunk_columns"], columns)
            steps = [
                f.op("mul", a, get[b])
                for a, b in (
                    (unit.first, "y_image"), (filter_number, "y_filter"), (unit.row, "y_row"),
                    (unit.column, "y_column"),
                )
            ]  # fmt: skip
            y = f.moved(get["y"], *steps)
            f.call("copy_slopes", words, y, slopes, filters, unit.images, rows, columns)
            f.call("add_band", words, copy, slopes, w, filters, unit.images, rows)
    f.call("free", raw)
    f.ret()
