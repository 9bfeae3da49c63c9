"""The loop over blocks of keys for some queries: scores, powers and sums, with queries along the lanes of vectors.

Scores are kept the other way round, a row for each key: numbers of keys and values are read where they lie, one after
the other, and multiplied with vectors of queries; what is largest and what powers add up to are vectors too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from flambeau.codegen.attention.matrices import Matrices
from flambeau.codegen.llvm import vecmath_exp_log as explog
from flambeau.codegen.llvm.builder import ModuleBuilder
from flambeau.codegen.llvm.checked_emitter import word
from flambeau.codegen.llvm.emitter import Target, Value, float_constant
from flambeau.codegen.llvm.memory import iota
from flambeau.codegen.llvm.native_text import ATTRIBUTES
from flambeau.codegen.recurrent.panels import PanelBuilder, Part

SYMBOL: Final = "attention"
KEYS: Final = 64
"""In a block: its scores stay in the first cache."""
NO_MASK, BOOLS, NUMBERS = "none", "bools", "numbers"
"""Kinds of masks: what may be looked at, or what is added to scores."""


def attention_text(dtype: str, target: Target, width: int, mask: str) -> str:
    """The module whose function ``attention(block, low, high)`` goes over a range of chunks of queries, each of `width`
    vectors.
    """
    m = ModuleBuilder({})
    f = m.special(
        PanelBuilder, f"void {SYMBOL}", "ptr block", "i64 low", "i64 high", exported=True, attributes="#0"
    )  # fmt: skip
    f.of(dtype, target)
    _Attention(f, width, mask).emit()
    return m.text() + ATTRIBUTES


class _Attention:
    def __init__(self, f: PanelBuilder, width: int, mask: str) -> None:
        self.f, self.width, self.mask = f, width, mask
        self.matrices = Matrices(f, f.size)
        self.get = self.matrices.get
        self.scale = f.splat(self.matrices.scale(f.element), f.lanes)
        self.y_row = f.mul(self.get["values"], f.size)
        self.row_bytes = width * f.lanes * f.size
        """Of a vector for each of the queries."""
        self.queries = f.array("i8", f.mul(self.get["features"], self.row_bytes), align=64)
        self.scores = f.array("i8", KEYS * self.row_bytes, align=64)
        self.sums = f.array("i8", f.mul(self.get["values"], self.row_bytes), align=64)
        self.largest, self.totals = (f.array("i8", self.row_bytes, align=64) for _ in range(2))
        self.lowest = float_constant(-math.inf, f.element, f.lanes)

    def emit(self) -> None:
        """All chunks of a range."""
        f, (_, low, high) = self.f, self.f.parameters
        each = self.width * f.lanes
        chunks = f.op("udiv", f.op("add", self.get["queries"], each - 1), each)
        with f.loop(f.op("sub", high, low)) as k:
            number = f.op("add", low, k)
            self.at = self.matrices.of(f.op("udiv", number, chunks))
            self.first = f.mul(f.op("urem", number, chunks), each)
            self._chunk()
        f.ret()

    def _chunk(self) -> None:
        """Some queries, over all keys that they look at."""
        f = self.f
        left = f.op("sub", self.get["queries"], self.first)
        self.lanes = [f.icmp("slt", iota(f.lanes), f.splat(f.op("sub", left, v * f.lanes), f.lanes)) for v in self._v()]
        self._read_queries()
        with f.loop(self.get["values"]) as row:
            self._put(self.sums, row, [f.zero] * self.width)
        self._put(self.largest, word(0), [self.lowest] * self.width)
        self._put(self.totals, word(0), [f.zero] * self.width)
        behind = f.op("add", self.first, self.width * f.lanes)
        seen = f.intrinsic("smin", behind, self.get["keys"])
        keys = f.pick(f.compare("ne", self.get["is_causal"], 0), seen, self.get["keys"])
        with f.loop(f.op("udiv", f.op("add", keys, KEYS - 1), KEYS)) as block:
            key = f.mul(block, KEYS)
            self._block(key, f.intrinsic("smin", f.op("sub", keys, key), word(KEYS)))
        self._write_results()

    def _v(self) -> range:
        return range(self.width)

    def _vectors(self, base: Value, row: Value) -> list[Value]:
        f = self.f
        address = f.offset(base, f.mul(row, self.row_bytes))
        size = f.lanes * f.size
        return [f.read(f.offset(address, v * size), f.element, f.lanes, align=size) for v in self._v()]

    def _put(self, base: Value, row: Value, values: Sequence[Value]) -> None:
        f = self.f
        address = f.offset(base, f.mul(row, self.row_bytes))
        for v, value in enumerate(values):
            f.write(value, f.offset(address, v * f.lanes * f.size), align=f.lanes * f.size)

    def _pointers(self, base: Value, step: Value, vector: int) -> Value:
        """The addresses of a vector's queries, so many bytes apart."""
        f = self.f
        numbers = f.binary("add", iota(f.lanes), f.splat(f.op("add", self.first, vector * f.lanes), f.lanes))
        distances = f.binary("mul", numbers, f.splat(step, f.lanes))
        return f.define(f"getelementptr i8, ptr {base}, {distances.full_type} {distances}", "ptr", f.lanes)

    def _gather(self, pointers: Value, vector: int, kind: str, bits: str, size: int) -> Value:
        """The numbers of a vector's queries, 0 for lanes without one."""
        f, n, mask = self.f, self.f.lanes, self.lanes[vector]
        name = f"llvm.masked.gather.v{n}{bits}.v{n}p0"
        full = f"<{n} x {kind}>"
        f.declare(f"declare {full} @{name}(<{n} x ptr>, i32, {mask.full_type}, {full})")
        text = f"call {full} @{name}(<{n} x ptr> {pointers}, i32 {size}, "
        text += f"{mask.full_type} {mask}, {full} zeroinitializer)"
        return f.define(text, kind, n)

    def _floats(self, pointers: Value, vector: int) -> Value:
        return self._gather(pointers, vector, self.f.element, f"f{8 * self.f.size}", self.f.size)

    def _read_queries(self) -> None:
        """The queries, scaled, a row of them for each feature."""
        f = self.f
        with f.loop(self.get["features"]) as feature:
            base = f.offset(self.at["q"], f.mul(feature, self.get["q_column"]))
            queries = [self._floats(self._pointers(base, self.get["q_row"], v), v) for v in self._v()]
            self._put(self.queries, feature, [f.fmul(q, self.scale) for q in queries])

    def _block(self, key: Value, count: Value) -> None:
        """Take some keys in."""
        f, vectors = self.f, tuple(self._v())
        keys = f.offset(self.at["k"], f.mul(key, self.get["k_row"]))

        def scores(row: Value, rows: int) -> None:
            part = Part(
                f.offset(keys, f.mul(row, self.get["k_row"])), self.get["k_row"], self.get["features"], vectors
            )  # fmt: skip
            scores_of_part = f.add_products([[f.zero] * self.width for _ in range(rows)], [part], self.queries)
            for r, one in enumerate(scores_of_part):
                self._put(self.scores, f.op("add", row, r), one)

        f.by_rows(count, scores)
        shrunk = self._powers(key, count)
        values = f.offset(self.at["v"], f.mul(key, self.get["v_row"]))

        def sums(row: Value, rows: int) -> None:
            numbers = [f.op("add", row, r) for r in range(rows)]
            before = [[f.fmul(a, b) for a, b in zip(self._vectors(self.sums, n), shrunk, strict=True)] for n in numbers]
            start = f.offset(values, f.mul(row, self.get["v_column"]))
            part = Part(start, self.get["v_column"], count, vectors, self.get["v_row"])
            own = f.add_products([[f.zero] * self.width for _ in range(rows)], [part], self.scores)
            for n, old, new in zip(numbers, before, own, strict=True):
                self._put(self.sums, n, [f.fadd(a, b) for a, b in zip(old, new, strict=True)])

        f.by_rows(self.get["values"], sums)

    def _powers(self, key: Value, count: Value) -> list[Value]:
        """Scores to powers relative to the largest; by how much the sums before are to be scaled down."""
        f = self.f
        old = self._vectors(self.largest, word(0))
        loop = f.loop(count, *old)
        with loop as k:
            number = f.op("add", key, k)
            seen = [self._shown(s, v, number) for v, s in enumerate(self._vectors(self.scores, k))]
            self._put(self.scores, k, seen)
            loop.carry(*[f.select(f.fcmp("ogt", s, m), s, m) for s, m in zip(seen, loop.values, strict=True)])
        largest = loop.values
        self._put(self.largest, word(0), largest)
        # Relative to 0 where nothing was seen yet: the lowest less the lowest is nan.
        base = [f.select(f.fcmp("oeq", m, self.lowest), f.zero, m) for m in largest]
        shrunk = [explog.exp(f, f.fsub(o, b)) for o, b in zip(old, base, strict=True)]
        before = [f.fmul(t, s) for t, s in zip(self._vectors(self.totals, word(0)), shrunk, strict=True)]
        again = f.loop(count, *before)
        with again as k:
            powers = [explog.exp(f, f.fsub(s, b)) for s, b in zip(self._vectors(self.scores, k), base, strict=True)]
            self._put(self.scores, k, powers)
            again.carry(*[f.fadd(t, p) for t, p in zip(again.values, powers, strict=True)])
        self._put(self.totals, word(0), again.values)
        return shrunk

    def _shown(self, score: Value, vector: int, key: Value) -> Value:
        """A score with the mask; the lowest where a query may not look at the key."""
        f = self.f
        last = f.binary("add", iota(f.lanes), f.splat(f.op("add", self.first, vector * f.lanes), f.lanes))
        hidden = f.icmp("slt", last, f.splat(key, f.lanes))
        is_causal = f.splat(f.compare("ne", self.get["is_causal"], 0), f.lanes)
        score = f.select(f.binary("and", hidden, is_causal), self.lowest, score)
        if self.mask == NO_MASK:
            return score
        base = f.offset(self.at["mask"], f.mul(key, self.get["mask_column"]))
        pointers = self._pointers(base, self.get["mask_row"], vector)
        if self.mask == NUMBERS:
            return f.fadd(score, self._floats(pointers, vector))
        allowed = self._gather(pointers, vector, "i8", "i8", 1)
        return f.select(f.icmp("ne", allowed, f.like(allowed, 0)), score, self.lowest)

    def _write_results(self) -> None:
        """What powers and values add up to, over the sum of powers; zeros where all keys were hidden."""
        f, n = self.f, self.f.lanes
        totals = self._vectors(self.totals, word(0))
        empty = [f.fcmp("oeq", t, f.zero) for t in totals]
        name = f"llvm.masked.scatter.v{n}f{8 * f.size}.v{n}p0"
        f.declare(f"declare void @{name}({f.zero.full_type}, <{n} x ptr>, i32, <{n} x i1>)")
        with f.loop(self.get["values"]) as column:
            base = f.offset(self.at["y"], f.mul(column, f.size))
            for v, value in enumerate(self._vectors(self.sums, column)):
                result = f.select(empty[v], f.zero, f.fdiv(value, totals[v]))
                pointers, mask = self._pointers(base, self.y_row, v), self.lanes[v]
                f.raw(
                    f"call void @{name}({result.full_type} {result}, <{n} x ptr> {pointers}, i32 {f.size}, "
                    f"{mask.full_type} {mask})"
                )
