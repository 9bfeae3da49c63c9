"""Products of rows of integers of 16 bits with packed panels of such: exact sums of 32 bits, as float32, scaled.

A panel holds some vectors of columns, for each pair of numbers of the folded axis one after the other:
`[pair][vector][lane][2]`. Factors are what integers of 8 bits are above their zero points, so that nothing else is to be
taken off, and sums of up to `MOST_NUMBERS` of their products stay within 32 bits.
"""

from __future__ import annotations

from typing import Final

from flambeau.codegen.llvm.builder import ModuleBuilder
from flambeau.codegen.llvm.emitter import Target, Value, float_constant, int_constant
from flambeau.codegen.recurrent.panels import PanelBuilder

MULTIPLY: Final = (
    "rows", "pairs", "columns", "left", "left_step", "panels",
    "scales", "bias",  # of each column, or 0
    "result", "result_step",
)  # fmt: skip
"""The words of `multiply`: result = float32(left @ panels) * scales + bias."""
QUANTISE: Final = ("rows", "numbers", "source", "source_step", "parameters", "result", "result_step")
"""The words of `quantise`. At `parameters` lie what numbers are multiplied by, the zero point, and the highest level."""
MOST_NUMBERS: Final = (2**31 - 1) // 255**2
ROWS_AT_ONCE: Final = 96
"""Rows that go past all panels before the next ones: they stay in the second cache."""
PAIRED: Final = {16: "avx512.pmaddw.d.512", 8: "avx2.pmadd.wd", 4: "sse2.pmadd.wd"}
"""Of x86, by lanes: products of neighbours of 16 bits, two of which are added."""


class _Integers(PanelBuilder):
    """A function over vectors of float32, or of integers of as many bits."""

    def zeros(self) -> Value:
        """A vector of integers."""
        return int_constant(0, "i32", self.lanes)

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


def _function(m: ModuleBuilder, name: str, words: tuple[str, ...], target: Target) -> tuple[_Integers, dict[str, Value]]:
    f = m.special(_Integers, f"void {name}", "ptr block", exported=True, attributes="#0")
    f.of("float32", target)
    return f, {word: f.word_of(f.parameters[0], k) for k, word in enumerate(words)}


def add_multiply(m: ModuleBuilder, target: Target) -> None:
    """``multiply(block)``: the words are `MULTIPLY`."""
    f, words = _function(m, "multiply", MULTIPLY, target)
    at = {name: f.word_of(f.parameters[0], MULTIPLY.index(name), "ptr")
          for name in ("left", "panels", "scales", "bias", "result")}  # fmt: skip
    vector_bytes = f.lanes * f.size
    with f.even_pieces(words["rows"], ROWS_AT_ONCE) as (first, rows):

        def panel(weights: Value, vector: Value, width: int) -> None:
            masks = [f.mask(words["columns"], f.op("add", vector, k)) for k in range(width)]
            column = f.mul(vector, vector_bytes)

            def tile(row: Value, count: int) -> None:
                number = f.op("add", first, row)
                left = f.offset(at["left"], f.mul(number, words["left_step"]))
                for r, sums in enumerate(_sums(f, left, words, weights, count, width)):
                    target_row = f.mul(f.op("add", number, r), words["result_step"])
                    result = f.offset(at["result"], f.op("add", target_row, column))
                    for v, value in enumerate(sums):
                        here = f.op("add", column, v * vector_bytes)
                        f.masked_write(
                            _scaled(f, value, at, here, masks[v]), f.offset(result, v * vector_bytes), masks[v]
                        )

            f.by_rows(rows, tile)

        f.by_panels(words["columns"], words["pairs"], at["panels"], panel)
    f.ret()


def _sums(
    f: _Integers, left: Value, words: dict[str, Value], weights: Value, count: int, width: int
) -> list[list[Value]]:  # fmt: skip
    """The sums of a tile, by row and vector."""
    rows = [f.mul(words["left_step"], r) for r in range(count)]
    loop = f.loop(words["pairs"], left, weights, *[f.zeros()] * (count * width))
    with loop:
        here, panel, *sums = loop.values
        vectors = [f.read(f.offset(panel, v * f.lanes * 4), "i32", f.lanes, align=4) for v in range(width)]
        for r, row in enumerate(rows):
            pair = f.splat(f.read(f.offset(here, row), "i32", align=2), f.lanes)
            for v, vector in enumerate(vectors):
                sums[r * width + v] = f.add_pairs(sums[r * width + v], pair, vector)
        loop.carry(f.offset(here, 4), f.offset(panel, width * f.lanes * 4), *sums)
    sums = loop.values[2:]
    return [sums[r * width : (r + 1) * width] for r in range(count)]


def _scaled(f: _Integers, sums: Value, at: dict[str, Value], here: Value, mask: Value) -> Value:
    """Sums as float32, times the scales of their columns, with the bias, each rounded by itself."""
    value = f.convert("sitofp", sums, "float")
    for name, op in (("scales", "fmul"), ("bias", "fadd")):
        before, there, done = f.block, f.label(name), f.label("after")
        f.branch_if(f.is_null(at[name]), done, there)
        f.start(there)
        changed = f.binary(op, value, f.masked_read(f.offset(at[name], here), mask))
        end = f.block
        f.branch(done)
        f.start(done)
        value = f.joined_value([(value, before), (changed, end)])
    return value


def add_quantise(m: ModuleBuilder, target: Target) -> None:
    """``quantise(block)``: the words are `QUANTISE`. Levels above the zero point, of which a row has whole vectors; those
    behind its numbers are 0. nan is the highest level.
    """
    f, words = _function(m, "quantise", QUANTISE, target)
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
            above = f.convert("trunc", f.convert("fptosi", f.binary("fsub", level, zero_point), "i32"), "i16")
            kept = f.select(mask, above, int_constant(0, "i16", f.lanes))
            f.write(kept, f.offset(to_row, f.mul(vector, 2 * f.lanes)), align=2)
    f.ret()
