"""Weights as panels, and products of many rows with them."""

from __future__ import annotations

from functools import partial

from flambeau.codegen.llvm.builder import ModuleBuilder
from flambeau.codegen.llvm.checked_emitter import word
from flambeau.codegen.llvm.emitter import Target, Value
from flambeau.codegen.llvm.memory import iota
from flambeau.codegen.recurrent.panels import WIDTH, PanelBuilder, Part, flattened, in_rows, panel_function
from flambeau.codegen.recurrent.words import OUTER, PACK, PRODUCT

ROWS_AT_ONCE = 96
"""Rows that go past all panels before the next ones: they stay in the second cache. A multiple of the rows of every
tile: pieces are filled up to whole tiles, and copies of them have as much room as this."""
BYTES_AT_ONCE = 768
"""Of a row of the left factor of a product whose factors are copied: those of as many rows stay in the second cache."""
LINE = 64
"""Bytes that come from memory together."""


def add_product(m: ModuleBuilder, dtype: str, target: Target) -> None:
    """``product(block)``: result = start + left @ panels, of (rows, folded) and (folded, columns)."""
    f = panel_function(m, "product", dtype, target)
    words = {name: f.word_of(f.parameters[0], k) for k, name in enumerate(PRODUCT)}
    left, panels, start, result = (
        f.word_of(f.parameters[0], PRODUCT.index(name), "ptr") for name in ("left", "panels", "start", "result")
    )
    with f.even_pieces(words["rows"], ROWS_AT_ONCE) as (first, rows):

        def panel(weights: Value, vector: Value, width: int) -> None:
            lanes = f.lanes_of(words["columns"], vector, width)
            column = f.mul(vector, f.lanes * f.size)

            def at(base: Value, step: Value, row: Value) -> list[Value]:
                of_row = f.offset(base, f.op("add", f.mul(row, step), column))
                return [f.offset(of_row, k * f.lanes * f.size) for k in range(width)]

            def tile(row: Value, count: int) -> None:
                numbers = [f.op("add", f.op("add", first, row), r) for r in range(count)]
                starts = flattened(at(start, words["start_step"], n) for n in numbers)
                sums = in_rows(f.read_vectors(starts, lanes), width)
                own = f.offset(left, f.mul(numbers[0], words["left_step"]))
                part = Part(own, words["left_step"], words["folded"], tuple(range(width)))
                sums = f.add_products(sums, [part], weights)
                f.write_vectors(flattened(sums), flattened(at(result, words["result_step"], n) for n in numbers), lanes)

            f.by_rows(rows, tile)

        f.by_panels(words["columns"], words["folded"], panels, panel)
    f.ret()


def add_outer(m: ModuleBuilder, dtype: str, target: Target) -> None:
    """``outer(block)``: result += left.T @ right, of (rows, left columns) and (rows, columns)."""
    f = panel_function(m, "outer", dtype, target)
    _Outer(f).emit()


class _Outer:
    """A product that is added to its result, for some rows and some left columns at a time.

    Both factors are copied: rows of many columns lie as far apart as a page, and would share few sets of a cache.
    """

    def __init__(self, f: PanelBuilder) -> None:
        self.f = f
        self.words = {name: f.word_of(f.parameters[0], k) for k, name in enumerate(OUTER)}
        self.left, self.right, self.result = (
            f.word_of(f.parameters[0], OUTER.index(name), "ptr") for name in ("left", "right", "result")
        )
        self.panel = f.slot(f"[{ROWS_AT_ONCE * WIDTH * f.lanes} x {f.element}]")
        self.copied = f.slot(f"[{ROWS_AT_ONCE * BYTES_AT_ONCE} x i8]")

    def emit(self) -> None:
        """All of it."""
        f, words = self.f, self.words
        with f.even_pieces(words["rows"], ROWS_AT_ONCE) as (first, rows):
            left = f.offset(self.left, f.mul(first, words["left_step"]))
            right = f.offset(self.right, f.mul(first, words["right_step"]))
            with f.even_pieces(words["left_columns"], BYTES_AT_ONCE // f.size) as (column, count):
                self._copy_left(f.offset(left, f.bytes_of(column)), rows, count)
                result = f.offset(self.result, f.mul(column, words["result_step"]))
                f.by_panels(
                    words["columns"], word(0), self.panel, partial(self._panel, right, rows, result, count)
                )  # fmt: skip
        f.ret()

    def _copy_left(self, left: Value, rows: Value, count: Value) -> None:
        f = self.f
        with f.loop(rows) as row:
            source = f.offset(left, f.mul(row, self.words["left_step"]))
            f.copy(f.offset(self.copied, f.mul(row, word(BYTES_AT_ONCE))), source, f.bytes_of(count))

    def _panel(
        self, right: Value, rows: Value, result: Value, count: Value, _: Value, vector: Value, width: int
    ) -> None:  # fmt: skip
        """What some vectors of columns add to."""
        f, words, vector_bytes = self.f, self.words, self.f.lanes * self.f.size
        lanes = f.lanes_of(words["columns"], vector, width)
        column = f.mul(vector, vector_bytes)
        with f.loop(rows) as row:
            source = f.offset(right, f.op("add", f.mul(row, words["right_step"]), column))
            address = f.offset(self.panel, f.mul(row, width * vector_bytes))
            values = f.read_vectors([f.offset(source, k * vector_bytes) for k in range(width)], lanes)
            for k, value in enumerate(values):
                f.write(value, f.offset(address, k * vector_bytes), align=vector_bytes)

        def tile(row: Value, tile_rows: int) -> None:
            start = f.offset(result, f.op("add", f.mul(row, words["result_step"]), column))
            addresses = [
                f.offset(f.offset(start, f.mul(words["result_step"], r)), k * vector_bytes)
                for r in range(tile_rows) for k in range(width)
            ]  # fmt: skip
            sums = in_rows(f.read_vectors(addresses, lanes), width)
            self._prefetch(start, tile_rows, width)
            numbers = f.offset(self.copied, f.bytes_of(row))
            part = Part(numbers, word(f.size), rows, tuple(range(width)), word(BYTES_AT_ONCE))
            f.write_vectors(flattened(f.add_products(sums, [part], self.panel)), addresses, lanes)

        f.by_rows(count, tile)

    def _prefetch(self, start: Value, tile_rows: int, width: int) -> None:
        """Ask for what the next tile adds to."""
        f = self.f
        for r in range(tile_rows, 2 * tile_rows):
            row = f.offset(start, f.mul(self.words["result_step"], r))
            for at in range(0, width * f.lanes * f.size, LINE):
                f.prefetch(f.offset(row, at))


def add_pack(m: ModuleBuilder, dtype: str, target: Target) -> None:
    """``pack(block)``: weights to panels."""
    f = panel_function(m, "pack", dtype, target)
    words = {name: f.word_of(f.parameters[0], k) for k, name in enumerate(PACK)}
    weights, panels = (f.word_of(f.parameters[0], PACK.index(name), "ptr") for name in ("weights", "panels"))
    vector_bytes = f.lanes * f.size
    vectors = f.vectors_of(words["columns"])
    is_grouped = f.compare("sgt", words["groups"], 1)
    wide = f.mul(f.op("udiv", vectors, WIDTH), WIDTH)
    group_bytes = f.mul(words["columns"], words["column_step"])
    with f.loop(words["groups"]) as group, f.loop(vectors) as vector:
        # Of grouped columns a panel has a vector of each group; of others four neighbours, and single ones at the end.
        is_wide = f.compare("slt", vector, wide)
        plain = f.pick(is_wide, word(WIDTH), word(1))
        width = f.pick(is_grouped, words["groups"], plain)
        panel = f.pick(is_grouped, vector, f.op("sub", vector, f.op("urem", vector, plain)))
        place_in = f.pick(is_grouped, group, f.op("urem", vector, plain))
        inside = f.op("add", f.mul(words["before"], width), place_in)
        offset = f.mul(f.op("add", f.mul(panel, words["panel_step"]), inside), vector_bytes)
        source = f.op("add", f.mul(group, group_bytes), f.mul(f.mul(vector, f.lanes), words["column_step"]))
        _copy_vector(
            f, f.offset(panels, offset), f.mul(width, vector_bytes), f.offset(weights, source), words,
            f.mask(words["columns"], vector),
        )  # fmt: skip
    f.ret()


def _copy_vector(
    f: PanelBuilder, target: Value, target_step: Value, source: Value, words: dict[str, Value], mask: Value
) -> None:  # fmt: skip
    """The numbers of one vector of columns."""
    kind, lanes, bits = f.zero.full_type, f.lanes, 8 * f.size
    name = f"llvm.masked.gather.v{lanes}f{bits}.v{lanes}p0"
    f.declare(f"declare {kind} @{name}(<{lanes} x ptr>, i32, {mask.full_type}, {kind})")
    distances = f.binary("mul", iota(lanes), f.splat(words["column_step"], lanes))
    with f.loop(words["folded"]) as number:
        here = f.offset(source, f.mul(number, words["number_step"]))
        addresses = f.define(f"getelementptr i8, ptr {here}, {distances.full_type} {distances}", "ptr", lanes)
        text = f"call {kind} @{name}(<{lanes} x ptr> {addresses}, i32 {f.size}, {mask.full_type} {mask}, "
        value = f.define(f"{text}{kind} zeroinitializer)", f.element, lanes)
        f.write(value, f.offset(target, f.mul(number, target_step)), align=lanes * f.size)
