"""Convolutions with windows of 3x3 without steps, by Winograd's products (`winograd_transforms`): 4/9 of the work.

    the weights, transformed
    for each unit: some rows of tiles of an image, or of several images
        for each channel: its pixels with zeros around, transformed
        for each of the sixteen products
            for some tiles, whose numbers stay in the first cache
                for some filters: sums over channels, in registers (`tile`)
        for each filter: sums to results

Errors are those of sums over channels, made some times larger by the sums before and behind: of few channels a little
larger than those of sums over windows, of many smaller. A result that is no number, or infinite, tells nothing of its
neighbours, which are made of the same sums: where there is one, the whole is computed again, directly.
"""

from __future__ import annotations

from typing import Final

from flambeau.codegen.convolutions.launch_functions import function_of_call
from flambeau.codegen.convolutions.scales import build_scales
from flambeau.codegen.convolutions.tile import TileShape, build_tile, last_shapes, shapes
from flambeau.codegen.convolutions.vectors import Floats, VectorFunction, VectorModule
from flambeau.codegen.convolutions.winograd_transforms import (
    PRODUCTS,
    STEP,
    build_input,
    build_results,
    build_weights,
)
from flambeau.codegen.convolutions.words import BLOCK_WORDS, CALL, CALL_AT, WINOGRAD
from flambeau.codegen.layouts import WORD
from flambeau.codegen.llvm.checked_emitter import NULL, word
from flambeau.codegen.llvm.emitter import Value

SYMBOL: Final = "winograd_of_launch"
SLACK: Final = 256
"""Bytes that may be read and written behind the last number of each kind."""


def filters_together(floats: Floats) -> int:
    """Filters of a tile: rows of transformed weights are a multiple."""
    return shapes(floats)[0].filters


def winograd_text(floats: Floats) -> str:
    """The module with the kernel of launches, `SYMBOL`."""
    m = VectorModule(floats)
    shape = shapes(floats)[0]
    build_scales(m)
    for tile in (shape, *last_shapes(shape)):
        build_tile(m, tile)
    build_weights(m)
    build_input(m)
    build_results(m, "results", has_residual=False)
    build_results(m, "results_added", has_residual=True)
    _build_products(m, shape)
    _build_finish(m)
    _build_unit(m)
    _build_kernel(m)
    return m.builder.text()


def _build_products(m: VectorModule, shape: TileShape) -> None:
    """``products``: sums over channels of all products of all filters at so many places."""
    f = m.function("void products", "ptr words", "ptr weights", "ptr input", "ptr sums", "i64 places")
    words, weights, turned, sums, places = f.parameters
    get = f.fields(words, WINOGRAD)
    zeros = f.slot(f"[{shape.filters} x {m.floats.type}]")
    f.clear(zeros, shape.filters * m.floats.itemsize // WORD)
    lanes = m.floats.lanes
    width = shape.vectors * lanes
    whole = f.op("udiv", places, width)
    groups = f.divided_up(get["filters"], shape.filters)
    rows = {name: f.op("mul", get[name], shape.filters) for name in ("weight_row", "sum_row")}
    with f.loop(PRODUCTS) as p:
        x, w, to = (
            f.moved(base, f.op("mul", p, get[name]))
            for base, name in ((turned, "input_bytes"), (weights, "weight_bytes"), (sums, "sum_bytes"))
        )

        def tiles(one: TileShape, first: Value, left: Value) -> None:
            near, there = (f.moved(base, f.bytes_of(first)) for base in (x, to))
            with f.loop(groups) as g:
                own, target = (f.moved(b, f.op("mul", g, rows[n])) for b, n in ((w, "weight_row"), (there, "sum_row")))
                f.call(
                    one.name, near, own, get["weight_row"], get["steps"], get["channels"], target, get["sum_row"],
                    zeros, left, NULL, NULL, NULL, 0,
                )  # fmt: skip

        with f.loop(whole) as k:
            tiles(shape, f.op("mul", k, width), word(0))
        first = f.op("mul", whole, width)
        for one in last_shapes(shape):
            left = f.op("sub", places, first)
            taken = f.pick(f.compare("sgt", left, (one.vectors - 1) * lanes), one.vectors * lanes, 0)
            with f.when(f.compare("ne", taken, 0)):
                tiles(one, first, left)
            first = f.op("add", first, taken)
    f.ret()


def _build_finish(m: VectorModule) -> None:
    """``finish``: results of some images, from sums of products, and what is done to them."""
    f = m.function(
        "void finish", "ptr words", "ptr sums", "ptr y", "ptr residual", "i64 images", "i64 tile_row",
        "i64 tile_rows", "ptr scale", "ptr shift", "ptr seen",
    )  # fmt: skip
    words, sums, y, residual, images, tile_row, tile_rows, scale, shift, seen = f.parameters
    get = f.fields(words, WINOGRAD)
    each = f.bytes_of(f.op("mul", tile_rows, get["tile_columns"]))
    row = f.op("mul", tile_row, STEP)
    count = f.least_of(f.op("mul", tile_rows, STEP), f.op("sub", get["rows"], row))
    with f.loop(get["filters"]) as r, f.loop(images) as i:
        here = f.moved(sums, f.op("mul", r, get["sum_row"]), f.op("mul", i, each))
        to = f.moved(y, f.op("mul", i, get["y_image"]), f.op("mul", r, get["y_filter"]))
        factor, term = (f.moved(base, f.bytes_of(r)) for base in (scale, shift))
        added, alone, done = f.label("added"), f.label("alone"), f.label("finished")
        f.branch_if(f.is_null(residual), alone, added)
        f.start(added)
        near = f.moved(residual, f.op("mul", i, get["residual_image"]), f.op("mul", r, get["residual_filter"]))
        f.call("results_added", words, here, to, tile_row, tile_rows, factor, term, near, seen)
        f.branch(done)
        f.start(alone)
        f.call("results", words, here, to, tile_row, tile_rows, factor, term, NULL, seen)
        f.branch(done)
        f.start(done)
        with f.when(f.negated(f.is_null(get["activation"]))):
            target = f.moved(to, f.op("mul", row, get["y_row"]))
            f.call_address(get["activation"], "void (ptr, i64)", target, f.op("mul", count, get["columns"]))
    f.ret()


def _build_unit(m: VectorModule) -> None:
    """``unit``: all filters at some rows of tiles of some images."""
    f = m.function(
        "void unit", "ptr words", "ptr x", "ptr y", "ptr residual", "i64 number", "ptr weights", "ptr input",
        "ptr sums", "ptr plane", "ptr scale", "ptr shift", "ptr seen",
    )  # fmt: skip
    words, x, y, residual, number, weights, turned, sums, plane, scale, shift, seen = f.parameters
    get = f.fields(words, WINOGRAD)
    first = f.op("mul", f.op("udiv", number, get["bands"]), get["images_each"])
    images = f.least_of(get["images_each"], f.op("sub", get["images"], first))
    tile_row = f.op("mul", f.op("urem", number, get["bands"]), get["band_rows"])
    tile_rows = f.least_of(get["band_rows"], f.op("sub", get["tile_rows"], tile_row))
    each = f.op("mul", tile_rows, get["tile_columns"])
    with f.loop(f.op("udiv", get["plane_bytes"], WORD)) as k:
        f.set_word(plane, k, 0)
    with f.loop(images) as i:
        image = f.moved(x, f.op("mul", f.op("add", first, i), get["x_image"]))
        own = f.moved(turned, f.bytes_of(f.op("mul", i, each)))
        f.call("turn_input", words, image, plane, own, tile_row, tile_rows)
    to = f.moved(y, f.op("mul", first, get["y_image"]))
    near = f.pick(f.is_null(residual), NULL, f.moved(residual, f.op("mul", first, get["residual_image"])), "ptr")
    f.call("products", words, weights, turned, sums, f.op("mul", images, each))
    f.call("finish", words, sums, to, near, images, tile_row, tile_rows, scale, shift, seen)
    f.ret()


def _build_kernel(m: VectorModule) -> None:
    """The kernel: units from `low` to `high`; bands change first, then images."""
    f, call, words = function_of_call(m, SYMBOL)
    block, low, high = f.parameters
    get = f.fields(words, WINOGRAD)
    x, w, y, residual = (f.word_of(block, f.get(call, CALL, name), "ptr") for name in ("x", "w", "y", "residual"))
    vector_bytes = f.op("add", f.bytes_of(get["filters"]), SLACK)
    sizes = [f.op("mul", get[name], PRODUCTS) for name in ("weight_bytes", "input_bytes", "sum_bytes")]
    sizes += [get["plane_bytes"], vector_bytes, vector_bytes]
    room = word(0)
    offsets = []
    for size in sizes:
        offsets.append(room)
        room = f.op("and", f.op("add", f.op("add", room, size), SLACK + 63), -64)
    raw, start = f.aligned_memory(room, f.word_of(block, 0, "ptr"))
    weights, turned, sums, plane, scale, shift = (f.moved(start, offset) for offset in offsets)
    seen = f.slot(f"[{m.floats.lanes} x {m.floats.type}]")
    f.put_vector(f.zero, seen)
    f.call("make_scales", block, call, scale, shift)
    f.call("turn_weights", words, w, weights)
    with f.loop(f.op("sub", high, low)) as k:
        f.call(
            "unit", words, x, y, residual, f.op("add", low, k), weights, turned, sums, plane, scale, shift, seen
        )
    f.call("free", raw)
    total = f.vector(seen)
    with f.when(f.any_lane(f.fcmp("uno", total, total))):
        _compute_directly(f, block, get)
    f.ret()


def _compute_directly(f: VectorFunction, block: Value, get: dict[str, Value]) -> None:
    own = f.slot(f"[{BLOCK_WORDS} x i64]", 16)
    f.copy(own, block, BLOCK_WORDS * WORD, align=8)
    f.set_word(own, CALL_AT, get["direct_call"])
    f.call_address(get["direct"], "void (ptr, i64, i64)", own, 0, get["direct_units"])
