"""Attention of few queries, as of a token that is written: each looks at all keys, with keys in the lanes of vectors.

    for each matrix, and each of its queries
        for some keys at a time
            scores: products of vectors of features, folded across lanes to a vector of scores
            powers relative to the largest score so far
            sums: values of all these keys, times their powers

Keys and values are read where they lie, row by row. Queries in lanes, as of many (`kernel`), would leave most lanes
empty.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from flambeau.codegen.attention.kernel import BOOLS, NO_MASK, SYMBOL
from flambeau.codegen.attention.matrices import Matrices
from flambeau.codegen.convolutions.squares import sums_of_all
from flambeau.codegen.convolutions.vectors import Floats, VectorFunction, VectorModule
from flambeau.codegen.kernel.dtypes import element_type
from flambeau.codegen.llvm import vecmath_exp_log as explog
from flambeau.codegen.llvm.checked_emitter import word
from flambeau.codegen.llvm.emitter import Target, Value, float_constant
from flambeau.codegen.llvm.memory import iota

KEYS: Final = 128
"""Taken in together: their scores stay in the first cache."""
TILES: Final = ((8, 1), (4, 2), (1, 4))
"""Vectors of a value whose sums stay in registers, and how many keys are added to sums of their own."""


def few_queries_text(dtype: str, target: Target, mask: str) -> str:
    """The module whose function ``attention(block, low, high)`` goes over a range of matrices."""
    m = VectorModule(Floats(element_type(dtype).llvm, target))
    f = m.function(f"void {SYMBOL}", "ptr block", "i64 low", "i64 high", exported=True)
    _FewQueries(f, mask).emit()
    return m.builder.text()


class _FewQueries:
    def __init__(self, f: VectorFunction, mask: str) -> None:
        self.f, self.mask = f, mask
        self.lanes, self.size = f.floats.lanes, f.floats.itemsize
        self.width = self.lanes * self.size
        self.matrices = Matrices(f, self.size)
        self.get = self.matrices.get
        self.scale = f.splat(self.matrices.scale(f.floats.type), self.lanes)
        self.lowest = float_constant(-math.inf, f.floats.type, self.lanes)
        self.vectors = {name: f.divided_up(self.get[name], self.lanes) for name in ("features", "values")}
        self.query, self.sums = (
            f.array("i8", f.op("mul", self.vectors[name], self.width), align=64) for name in ("features", "values")
        )
        self.scores = f.array("i8", word(KEYS * self.size), align=64)
        self.largest, self.totals = (f.slot(f"[{self.lanes} x {f.floats.type}]") for _ in range(2))

    def emit(self) -> None:
        """All queries of a range of matrices."""
        f, (_, low, high) = self.f, self.f.parameters
        with f.loop(f.op("sub", high, low)) as k:
            self.at = self.matrices.of(f.op("add", low, k))
            with f.loop(self.get["queries"]) as query:
                self._query(query)
        f.ret()

    def _query(self, number: Value) -> None:
        f = self.f
        q = f.moved(self.at["q"], f.op("mul", number, self.get["q_row"]))

        def scaled(at: Value, _: int, mask: Value | None) -> None:
            f.put_vector(f.fmul(f.vector(f.moved(q, at), mask), self.scale), f.moved(self.query, at))

        f.span(self.get["features"]).each(scaled)
        with f.loop(self.vectors["values"]) as k:
            f.put_vector(f.zero, f.moved(self.sums, f.op("mul", k, self.width)))
        f.put_vector(self.lowest, self.largest)
        f.put_vector(f.zero, self.totals)
        seen = f.pick(
            f.compare("ne", self.get["is_causal"], 0), f.least_of(f.op("add", number, 1), self.get["keys"]),
            self.get["keys"],
        )  # fmt: skip
        with f.loop(f.divided_up(seen, KEYS)) as block:
            first = f.op("mul", block, KEYS)
            self._block(number, first, f.least_of(f.op("sub", seen, first), word(KEYS)))
        self._write(number)

    def _block(self, query: Value, first: Value, count: Value) -> None:
        """Take some keys in."""
        f, lanes = self.f, self.lanes
        old = f.vector(self.largest)
        keys = f.moved(self.at["k"], f.op("mul", first, self.get["k_row"]))
        whole = f.op("sdiv", count, lanes)
        with f.loop(whole) as k:
            number = f.op("mul", k, lanes)
            here = f.moved(keys, f.op("mul", number, self.get["k_row"]))
            rows = [f.moved(here, f.op("mul", self.get["k_row"], r)) for r in range(lanes)]
            self._take_scores(query, first, number, self._products(rows), None)
        left = f.op("srem", count, lanes)
        with f.when(f.compare("sgt", left, 0)):
            number, last = f.op("mul", whole, lanes), f.op("sub", count, 1)
            rows = [
                f.moved(keys, f.op("mul", f.least_of(f.op("add", number, r), last), self.get["k_row"]))
                for r in range(lanes)
            ]
            self._take_scores(query, first, number, self._products(rows), f.mask_below(left))
        shrunk = self._powers(f.divided_up(count, lanes), old)
        self._add_values(f.moved(self.at["v"], f.op("mul", first, self.get["v_row"])), count, shrunk)

    def _products(self, rows: Sequence[Value]) -> Value:
        """The products of the query with as many keys as there are lanes."""
        f = self.f

        def step(at: Value, state: Sequence[Value], mask: Value | None) -> list[Value]:
            query = f.vector(f.moved(self.query, at))
            return [
                f.multiply_add(query, f.vector(f.moved(row, at), mask), s) for row, s in zip(rows, state, strict=True)
            ]

        whole = f.op("sdiv", self.get["features"], self.lanes)
        state = f.fold(whole, [f.zero] * self.lanes, lambda k, s: step(f.op("mul", k, self.width), s, None))
        left = f.op("srem", self.get["features"], self.lanes)
        slots = [f.slot(f"[{self.lanes} x {f.floats.type}]") for _ in rows]
        has_more, done = f.label("has_more"), f.label("features_done")
        for value, slot in zip(state, slots, strict=True):
            f.put_vector(value, slot)
        f.branch_if(f.compare("sgt", left, 0), has_more, done)
        f.start(has_more)
        more = step(f.op("mul", whole, self.width), state, f.mask_below(left))
        for value, slot in zip(more, slots, strict=True):
            f.put_vector(value, slot)
        f.start(done)
        return sums_of_all(f, [f.vector(slot) for slot in slots])

    def _take_scores(self, query: Value, first: Value, number: Value, scores: Value, mask: Value | None) -> None:
        """Keep a vector of scores, as the mask shows them, and what is largest."""
        f = self.f
        scores = self._shown(query, f.op("add", first, number), scores, mask)
        if mask is not None:
            scores = f.select(mask, scores, self.lowest)
        f.put_vector(scores, f.moved(self.scores, f.bytes_of(number)))
        before = f.vector(self.largest)
        f.put_vector(f.select(f.fcmp("ogt", scores, before), scores, before), self.largest)

    def _shown(self, query: Value, key: Value, scores: Value, lanes: Value | None) -> Value:
        """Scores with the mask; the lowest where the query may not look at a key."""
        if self.mask == NO_MASK:
            return scores
        f, n = self.f, self.lanes
        base = f.moved(
            self.at["mask"], f.op("mul", query, self.get["mask_row"]), f.op("mul", key, self.get["mask_column"])
        )
        steps = f.binary("mul", iota(n), f.splat(self.get["mask_column"], n))
        pointers = f.define(f"getelementptr i8, ptr {base}, {steps.full_type} {steps}", "ptr", n)
        kind, bits, size = ("i8", "i8", 1) if self.mask == BOOLS else (f.floats.type, f"f{8 * self.size}", self.size)
        chosen = "splat (i1 true)" if lanes is None else str(lanes)
        name, full = f"llvm.masked.gather.v{n}{bits}.v{n}p0", f"<{n} x {kind}>"
        f.declare(f"declare {full} @{name}(<{n} x ptr>, i32, <{n} x i1>, {full})")
        numbers = f.define(
            f"call {full} @{name}(<{n} x ptr> {pointers}, i32 {size}, <{n} x i1> {chosen}, {full} zeroinitializer)",
            kind, n,
        )  # fmt: skip
        if self.mask != BOOLS:
            return f.fadd(scores, numbers)
        return f.select(f.icmp("ne", numbers, f.like(numbers, 0)), scores, self.lowest)

    def _powers(self, vectors: Value, old: Value) -> Value:
        """Scores to powers relative to the largest; by how much the sums before are to be scaled down."""
        f = self.f
        largest = self._largest_of_lanes(f.vector(self.largest))
        f.put_vector(largest, self.largest)
        # Relative to 0 where nothing was seen yet: the lowest less the lowest is nan.
        base = f.select(f.fcmp("oeq", largest, self.lowest), f.zero, largest)
        shrunk = explog.exp(f, f.fsub(old, base))
        f.put_vector(f.fmul(f.vector(self.totals), shrunk), self.totals)
        with f.loop(vectors) as k:
            here = f.moved(self.scores, f.op("mul", k, self.width))
            power = explog.exp(f, f.fsub(f.vector(here), base))
            f.put_vector(power, here)
            f.put_vector(f.fadd(f.vector(self.totals), power), self.totals)
        return shrunk

    def _largest_of_lanes(self, value: Value) -> Value:
        """The largest lane, in all lanes."""
        f, n = self.f, self.lanes
        distance = n // 2
        while distance:
            other = f.shuffle(value, value, [(lane + distance) % n for lane in range(n)])
            value = f.select(f.fcmp("ogt", other, value), other, value)
            distance //= 2
        return value

    def _add_values(self, values: Value, count: Value, shrunk: Value) -> None:
        """Add the values of some keys, times their powers, to the sums, which are scaled down first."""
        f = self.f
        whole, first = f.op("sdiv", self.get["values"], self.lanes), word(0)
        for vectors, chains in TILES:
            tiles = f.op("sdiv", f.op("sub", whole, first), vectors)
            with f.loop(tiles) as k:
                at = f.op("mul", f.op("add", first, f.op("mul", k, vectors)), self.width)
                self._add_tile(f.moved(values, at), f.moved(self.sums, at), count, shrunk, (vectors, chains), None)
            first = f.op("add", first, f.op("mul", tiles, vectors))
        left = f.op("srem", self.get["values"], self.lanes)
        with f.when(f.compare("sgt", left, 0)):
            at = f.op("mul", whole, self.width)
            self._add_tile(f.moved(values, at), f.moved(self.sums, at), count, shrunk, TILES[-1], f.mask_below(left))

    def _add_tile(
        self, values: Value, sums: Value, count: Value, shrunk: Value, tile: tuple[int, int], mask: Value | None
    ) -> None:
        """Add a tile's columns of all keys."""
        f, (vectors, chains) = self.f, tile
        addresses = [f.moved(sums, v * self.width) for v in range(vectors)]
        state = [f.fmul(f.vector(address), shrunk) for address in addresses] + [f.zero] * (vectors * (chains - 1))

        def step(key: Value, state: Sequence[Value], chain: int) -> list[Value]:
            power = f.splat(f.read(f.moved(self.scores, f.bytes_of(key)), f.floats.type), self.lanes)
            here = f.moved(values, f.op("mul", key, self.get["v_row"]))
            new = list(state)
            for v in range(vectors):
                number = chain * vectors + v
                new[number] = f.multiply_add(power, f.vector(f.moved(here, v * self.width), mask), new[number])
            return new

        def several(k: Value, state: Sequence[Value]) -> Sequence[Value]:
            for chain in range(chains):
                state = step(f.op("add", f.op("mul", k, chains), chain), state, chain)
            return state

        rounds = f.op("sdiv", count, chains)
        done = f.op("mul", rounds, chains)
        state = f.fold(rounds, state, several)
        state = f.fold(f.op("sub", count, done), state, lambda k, s: step(f.op("add", done, k), s, 0))
        while len(state) > vectors:
            pairs = zip(state[:vectors], state[vectors : 2 * vectors], strict=True)
            state = [*[f.fadd(a, b) for a, b in pairs], *state[2 * vectors :]]
        for value, address in zip(state, addresses, strict=True):
            f.put_vector(value, address)

    def _write(self, number: Value) -> None:
        """The sums over the sum of all powers; zeros where all keys were hidden."""
        f = self.f
        total = f.splat(f.sum_of_lanes(f.vector(self.totals)), self.lanes)
        empty = f.fcmp("oeq", total, f.zero)
        y = f.moved(self.at["y"], f.op("mul", number, f.bytes_of(self.get["values"])))
        f.span(self.get["values"]).each(
            lambda at, _, mask: f.put_vector(
                f.select(empty, f.zero, f.fdiv(f.vector(f.moved(self.sums, at)), total)), f.moved(y, at), mask
            )
        )
