"""Products of rows of small integers with packed panels of such: exact sums of 32 bits, as float32, scaled.

A panel holds some vectors of columns, for each unit of 32 bits of the folded axis one after the other:
`[unit][vector][lane][numbers of a unit]`. Units are pairs of 16 bits: factors are what integers of 8 bits are above
their zero points, so that nothing else is to be taken off. Where the processor adds up four products of bytes, units
are four levels without a sign on the left and four weights with one, and sums start with what the zero point comes to.
Sums of up to `MOST_NUMBERS` products stay within 32 bits.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from flambeau.codegen.llvm.builder import ModuleBuilder
from flambeau.codegen.llvm.emitter import Target, Value, float_constant, int_constant
from flambeau.codegen.recurrent.panels import Lanes, PanelBuilder

MULTIPLY: Final = (
    "groups", "rows", "parts", "units", "columns",
    "left", "left_group", "left_step", "left_part",  # bytes from group to group, row to row, part to part
    "panels",
    "start",  # of each column an integer, or 0
    "offset", "scales", "bias",  # of each column, or 0
    "levels",  # what results are quantised by, or 0 for float32
    "result", "result_group", "result_step",
)  # fmt: skip
"""The words of `multiply`: result = (float32(start + left @ panels) + offset) * scales + bias. A row of the left factor
has some parts of as many units, as a window over an image has rows. At `levels` lie the zero point, the least and the
highest level, as float32: then the result is the nearest level of 8 bits."""
QUANTISE: Final = ("rows", "numbers", "source", "source_step", "parameters", "result", "result_step")
"""The words of `quantise`. At `parameters` lie what numbers are multiplied by, the zero point, the highest level."""
MOST_NUMBERS: Final = (2**31 - 1) // 255**2
ROWS_AT_ONCE: Final = 96
"""Rows that go past all panels before the next ones: they stay in the second cache."""
PAIRED: Final = {16: "avx512.pmaddw.d.512", 8: "avx2.pmadd.wd", 4: "sse2.pmadd.wd"}
"""Of x86, by lanes: products of neighbours of 16 bits, two of which are added."""


class _Integers(PanelBuilder):
    """A function over vectors of float32, or of integers of as many bits."""

    in_bytes: bool
    """Whether units are bytes."""

    def add_products(self, total: Value, a: Value, b: Value) -> Value:  # type: ignore[override]
        """A total with the products of the units in each lane."""
        return self.add_bytes(total, a, b) if self.in_bytes else self.add_pairs(total, a, b)

    def add_bytes(self, total: Value, a: Value, b: Value) -> Value:
        """A total with the products of bytes without a sign and such with one."""
        name, kind = "@llvm.x86.avx512.vpdpbusd.512", total.full_type
        self.declare(f"declare {kind} {name}({kind}, {kind}, {kind})")
        return self.define(f"call {kind} {name}({kind} {total}, {kind} {a}, {kind} {b})", "i32", self.lanes)

    def add_pairs(self, total: Value, a: Value, b: Value) -> Value:
        """A total with the products of pairs of numbers in each lane."""
        halves = [self.define(f"bitcast {v.full_type} {v} to <{2 * self.lanes} x i16>", "i16", 2 * self.lanes)
                  for v in (a, b)]  # fmt: skip
        if self.target.adds_pairs:
            name, kind, result = f"@llvm.x86.{PAIRED[self.lanes]}", halves[0].full_type, total.full_type
            self.declare(f"declare {result} {name}({kind}, {kind})")
            product = self.define(f"call {result} {name}({kind} {halves[0]}, {kind} {halves[1]})", "i32", self.lanes)
            return self.binary("add", total, product)
        for first in range(2):
            picks = range(first, 2 * self.lanes, 2)
            x, y = (self.convert("sext", self.shuffle(h, h, picks), "i32") for h in halves)
            total = self.binary("add", total, self.binary("mul", x, y))
        return total


def _function(
    m: ModuleBuilder, name: str, words: tuple[str, ...], target: Target, in_bytes: bool
) -> tuple[_Integers, dict[str, Value]]:  # fmt: skip
    f = m.special(_Integers, f"void {name}", "ptr block", exported=True, attributes="#0")
    f.of("float32", target)
    f.in_bytes = in_bytes
    return f, {word: f.word_of(f.parameters[0], k) for k, word in enumerate(words)}


def add_multiply(m: ModuleBuilder, name: str, target: Target, in_bytes: bool) -> None:
    """``multiply(block)``, under a name: the words are `MULTIPLY`."""
    f, words = _function(m, name, MULTIPLY, target, in_bytes)
    _Product(f, words).emit()


class _Product:
    """All groups and rows, by panels and tiles."""

    def __init__(self, f: _Integers, words: dict[str, Value]) -> None:
        self.f, self.words = f, words
        self.at = {name: f.word_of(f.parameters[0], MULTIPLY.index(name), "ptr")
                   for name in ("left", "panels", "start", "offset", "scales", "bias", "levels", "result")}  # fmt: skip
        self.is_plain = f.is_null(self.at["levels"])

    def emit(self) -> None:
        """The whole function."""
        f, words = self.f, self.words
        folded = f.mul(words["parts"], words["units"])
        with f.loop(words["groups"]) as group:
            self.left = f.offset(self.at["left"], f.mul(group, words["left_group"]))
            self.result = f.offset(self.at["result"], f.mul(group, words["result_group"]))
            with f.even_pieces(words["rows"], ROWS_AT_ONCE) as (first, rows):
                f.by_panels(words["columns"], folded, self.at["panels"], partial(self._panel, first, rows))
        f.ret()

    def _panel(self, first: Value, rows: Value, weights: Value, vector: Value, width: int) -> None:
        f = self.f
        lanes = f.lanes_of(self.words["columns"], vector, width)
        f.by_rows(rows, lambda row, count: self._tile(f.op("add", first, row), count, weights, vector, lanes))

    def _tile(self, row: Value, count: int, weights: Value, vector: Value, lanes: Lanes) -> None:
        f, words, width = self.f, self.words, len(lanes.masks)
        starts = self._starts(vector, lanes) * count
        sums = self._sums(f.offset(self.left, f.mul(row, words["left_step"])), weights, starts, width)
        own = self._scaled([f.convert("sitofp", value, "float") for value in sums], vector, lanes)
        base = f.offset(self.result, f.mul(row, words["result_step"]))

        def addresses(size: int) -> list[Value]:
            """Of the vectors of the result, whose numbers have so many bytes."""
            columns = [f.mul(f.op("add", vector, k), f.lanes * size) for k in range(width)]
            return [f.offset(f.offset(base, f.mul(words["result_step"], r)), c) for r in range(count) for c in columns]

        plain, levels, done = f.label("plain"), f.label("levels"), f.label("written")
        f.branch_if(self.is_plain, plain, levels)
        f.start(plain)
        f.write_vectors(own, addresses(f.size), lanes)
        f.branch(done)
        f.start(levels)
        zero_point, least, most = (f.splat(f.read(f.offset(self.at["levels"], 4 * k), "float"), f.lanes)
                                   for k in range(3))  # fmt: skip
        bytes_ = []
        for value in own:
            level = f.binary("fadd", f.intrinsic("rint", value), zero_point)
            level = f.select(f.fcmp("olt", level, least), least, level)
            level = f.select(f.fcmp("olt", level, most), level, most)
            bytes_.append(f.convert("trunc", f.convert("fptosi", level, "i32"), "i8"))
        f.write_vectors(bytes_, addresses(1), lanes)
        f.branch(done)
        f.start(done)

    def _of_columns(self, name: str, vector: Value, lanes: Lanes) -> list[Value]:
        """The numbers that vectors of columns have for their sums."""
        f = self.f
        first = f.offset(self.at[name], f.mul(vector, f.lanes * f.size))
        return f.read_vectors([f.offset(first, k * f.lanes * f.size) for k in range(len(lanes.masks))], lanes)

    def _if_there(self, name: str, values: list[Value], changed: Callable[[], list[Value]]) -> list[Value]:
        """Values as they are changed by numbers of the columns, if there are any."""
        f = self.f
        before, there, done = f.block, f.label(name), f.label("after")
        f.branch_if(f.is_null(self.at[name]), done, there)
        f.start(there)
        others = changed()
        end = f.block
        f.branch(done)
        f.start(done)
        return [f.joined_value([(a, before), (b, end)]) for a, b in zip(values, others, strict=True)]

    def _starts(self, vector: Value, lanes: Lanes) -> list[Value]:
        """What the sums of vectors of columns start with."""
        f, zeros = self.f, [int_constant(0, "i32", self.f.lanes)] * len(lanes.masks)
        return self._if_there(
            "start", zeros, lambda: [f.convert("bitcast", n, "i32") for n in self._of_columns("start", vector, lanes)]
        )  # fmt: skip

    def _sums(self, left: Value, weights: Value, starts: list[Value], width: int) -> list[Value]:
        """The sums of a tile, row by row."""
        f, words = self.f, self.words
        rows = [f.mul(words["left_step"], r) for r in range(len(starts) // width)]
        parts = f.loop(words["parts"], weights, *starts)
        with parts as part:
            panel, *sums = parts.values
            loop = f.loop(words["units"], f.offset(left, f.mul(part, words["left_part"])), panel, *sums)
            with loop:
                here, panel, *sums = loop.values
                vectors = [f.read(f.offset(panel, v * f.lanes * 4), "i32", f.lanes, align=4) for v in range(width)]
                for r, row in enumerate(rows):
                    unit = f.splat(f.read(f.offset(here, row), "i32", align=1), f.lanes)
                    for v, vector in enumerate(vectors):
                        sums[r * width + v] = f.add_products(sums[r * width + v], unit, vector)
                loop.carry(f.offset(here, 4), f.offset(panel, width * f.lanes * 4), *sums)
            parts.carry(*loop.values[1:])
        return parts.values[1:]

    def _scaled(self, sums: list[Value], vector: Value, lanes: Lanes) -> list[Value]:
        """Sums of rows with what each column has for them, each step rounded by itself."""
        for name, op in (("offset", "fadd"), ("scales", "fmul"), ("bias", "fadd")):
            sums = self._if_there(name, sums, partial(self._changed, name, op, sums, vector, lanes))
        return sums

    def _changed(self, name: str, op: str, sums: list[Value], vector: Value, lanes: Lanes) -> list[Value]:
        numbers = self._of_columns(name, vector, lanes)
        return [self.f.binary(op, value, numbers[k % len(numbers)]) for k, value in enumerate(sums)]


def add_quantise(m: ModuleBuilder, name: str, target: Target, in_bytes: bool) -> None:
    """``quantise(block)``, under a name: the words are `QUANTISE`. Levels above the zero point, or levels in bytes, of
    which a row has whole vectors; those behind its numbers are 0. nan is the highest level.
    """
    f, words = _function(m, name, QUANTISE, target, in_bytes)
    kind, size = ("i8", 1) if in_bytes else ("i16", 2)
    source, parameters, result = (
        f.word_of(f.parameters[0], QUANTISE.index(name), "ptr") for name in ("source", "parameters", "result")
    )
    inverse, zero_point, top = (f.splat(f.read(f.offset(parameters, 4 * k), "float"), f.lanes) for k in range(3))
    zero = float_constant(0.0, "float", f.lanes)
    with f.loop(words["rows"]) as row:
        from_row = f.offset(source, f.mul(row, words["source_step"]))
        to_row = f.offset(result, f.mul(row, words["result_step"]))
        with f.loop(f.vectors_of(words["numbers"])) as vector:
            mask = f.mask(words["numbers"], vector)
            x = f.masked_read(f.offset(from_row, f.mul(vector, 4 * f.lanes)), mask)
            level = f.intrinsic("rint", f.binary("fadd", f.binary("fmul", x, inverse), zero_point))
            level = f.select(f.fcmp("olt", level, zero), zero, level)
            level = f.select(f.fcmp("ult", level, top), level, top)
            level = f.select(f.fcmp("uno", x, x), top, level)
            above = level if in_bytes else f.binary("fsub", level, zero_point)
            integers = f.convert("trunc", f.convert("fptosi", above, "i32"), kind)
            kept = f.select(mask, integers, int_constant(0, kind, f.lanes))
            f.write(kept, f.offset(to_row, f.mul(vector, size * f.lanes)), align=size)
    f.ret()
