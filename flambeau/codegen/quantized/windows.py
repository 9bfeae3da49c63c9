"""Windows over images of bytes, channel by channel: exact sums of products as float32, scaled, and the nearest levels.

Channels are neighbours in memory. Of what a window has outside of the image nothing is added: there are zero points.
Channels are taken a vector at a time; where the last ones are no whole vector, those before them are computed twice.
"""

from __future__ import annotations

from typing import Final

from flambeau.codegen.llvm.builder import ModuleBuilder
from flambeau.codegen.llvm.checked_emitter import word
from flambeau.codegen.llvm.emitter import Target, Value
from flambeau.codegen.recurrent.panels import PanelBuilder, panel_function

WINDOWS: Final = (
    "images", "rows", "columns",  # of the result
    "channels",  # a vector of them at least
    "height", "width",  # of an image
    "window_rows", "window_columns", "row_stride", "column_stride", "row_dilation", "column_dilation",
    "above", "left",  # rows and columns of padding
    "inside", "blocks",  # the first column whose window has all its columns, and whole blocks of such from there on
    "source", "source_image", "source_row", "source_column",  # bytes without a sign, and bytes between neighbours
    "weights",  # float32: [vector of channels][row][column][lane]
    "offset", "scales",  # float32 of each channel
    "parameters",  # float32: the zero points of the image and of the result, the least and the highest level
    "result", "result_image", "result_row",  # bytes, whose columns lie one behind the other
)  # fmt: skip
"""The words of `windows`: result = level((sums + offset) * scales)."""
BLOCK: Final = 4
"""Columns that are computed side by side."""
_ADDRESSES: Final = ("source", "weights", "offset", "scales", "parameters", "result")


def add_windows(m: ModuleBuilder, name: str, target: Target, in_bytes: bool) -> None:
    """``windows(block)``, under a name: the words are `WINDOWS`."""
    _Windows(panel_function(m, name, "float32", target)).emit()


class _Windows:
    """All images, row by row, a vector of channels at a time."""

    def __init__(self, f: PanelBuilder) -> None:
        self.f = f
        self.words = {name: f.word_of(f.parameters[0], k) for k, name in enumerate(WINDOWS)}
        self.places = {name: f.word_of(f.parameters[0], WINDOWS.index(name), "ptr") for name in _ADDRESSES}
        self.vector_bytes = f.lanes * f.size
        self.zero_point, self.after, self.least, self.most = (
            f.splat(f.read(f.offset(self.places["parameters"], f.size * k), f.element), f.lanes) for k in range(4)
        )  # fmt: skip

    def emit(self) -> None:
        """The whole function."""
        f, words = self.f, self.words
        last = f.op("sub", words["channels"], f.lanes)
        taps = f.mul(words["window_rows"], words["window_columns"])
        with f.loop(words["images"]) as image, f.loop(words["rows"]) as row:
            first = f.op("sub", f.mul(row, words["row_stride"]), words["above"])
            line = f.op("add", f.mul(image, words["source_image"]), f.mul(first, words["source_row"]))
            to = f.op("add", f.mul(image, words["result_image"]), f.mul(row, words["result_row"]))
            self.rows = self._inside(first, "height", "window_rows", "row_dilation")
            with f.loop(f.vectors_of(words["channels"])) as vector:
                self.channel = f.intrinsic("smin", f.mul(vector, f.lanes), last)
                self.line = f.offset(f.offset(self.places["source"], line), self.channel)
                self.to = f.offset(f.offset(self.places["result"], to), self.channel)
                self.weights = f.offset(self.places["weights"], f.mul(f.mul(vector, taps), self.vector_bytes))
                self._columns()
        f.ret()

    def _columns(self) -> None:
        """All columns of a row: blocks of those whose windows are inside, and the others one by one."""
        f, words = self.f, self.words
        with f.loop(words["blocks"]) as block:
            column = f.op("add", words["inside"], f.mul(block, BLOCK))
            self._tile(column, BLOCK, (word(0), words["window_columns"]))
        in_blocks = f.mul(words["blocks"], BLOCK)
        with f.loop(f.op("sub", words["columns"], in_blocks)) as k:
            is_before = f.compare("slt", k, words["inside"])
            column = f.pick(is_before, k, f.op("add", k, in_blocks))
            first = f.op("sub", f.mul(column, words["column_stride"]), words["left"])
            self._tile(column, 1, self._inside(first, "width", "window_columns", "column_dilation"))

    def _inside(self, first: Value, size: str, window: str, dilation: str) -> tuple[Value, Value]:
        """Which rows, or columns, of a window are in the image: the first of them, and how many."""
        f, words = self.f, self.words

        def before(end: Value) -> Value:
            """How many lie before an end."""
            reach = f.intrinsic("smax", f.op("sub", end, first), word(0))
            count = f.op("udiv", f.op("add", reach, f.op("sub", words[dilation], 1)), words[dilation])
            return f.intrinsic("smin", count, words[window])

        start = before(word(0))
        return start, f.op("sub", before(words[size]), start)

    def _tile(self, column: Value, count: int, columns: tuple[Value, Value]) -> None:
        """Some columns of the result, of whose windows some columns are inside."""
        f, words = self.f, self.words
        (row, rows), (first, inner) = self.rows, columns
        row_bytes = f.mul(words["row_dilation"], words["source_row"])
        column_bytes = f.mul(words["column_dilation"], words["source_column"])
        neighbour = f.mul(words["column_stride"], words["source_column"])
        start = f.mul(f.op("sub", f.mul(column, words["column_stride"]), words["left"]), words["source_column"])
        at = f.offset(f.offset(self.line, start), f.op("add", f.mul(row, row_bytes), f.mul(first, column_bytes)))
        tap = f.op("add", f.mul(row, words["window_columns"]), first)
        weights = f.offset(self.weights, f.mul(tap, self.vector_bytes))
        of_rows = f.loop(rows, at, weights, *[f.zero] * count)
        with of_rows:
            at, weights, *sums = of_rows.values
            of_columns = f.loop(inner, at, weights, *sums)
            with of_columns:
                here, weight, *sums = of_columns.values
                factor = f.read(weight, f.element, f.lanes, align=f.size)
                for k, total in enumerate(sums):
                    pixel = f.offset(here, f.mul(neighbour, k))
                    sums[k] = f.multiply_add(self._above(pixel), factor, total)
                of_columns.carry(f.offset(here, column_bytes), f.offset(weight, self.vector_bytes), *sums)
            step = f.mul(words["window_columns"], self.vector_bytes)
            of_rows.carry(f.offset(at, row_bytes), f.offset(weights, step), *of_columns.values[2:])
        target = f.offset(self.to, f.mul(column, words["channels"]))
        offset, scales = (
            f.read(f.offset(self.places[name], f.bytes_of(self.channel)), f.element, f.lanes, align=f.size)
            for name in ("offset", "scales")
        )  # fmt: skip
        for k, total in enumerate(of_rows.values[2:]):
            self._put(f.fmul(f.fadd(total, offset), scales), f.offset(target, f.mul(words["channels"], k)))

    def _above(self, pixel: Value) -> Value:
        """The channels of a pixel above the zero point."""
        f = self.f
        levels = f.convert("zext", f.read(pixel, "i8", f.lanes, align=1), "i32")
        return f.fsub(f.convert("sitofp", levels, f.element), self.zero_point)

    def _put(self, value: Value, target: Value) -> None:
        """Write the nearest levels."""
        f = self.f
        level = f.fadd(f.intrinsic("rint", value), self.after)
        level = f.select(f.fcmp("olt", level, self.least), self.least, level)
        level = f.select(f.fcmp("olt", level, self.most), level, self.most)
        f.write(f.convert("trunc", f.convert("fptosi", level, "i32"), "i8"), target, align=1)
