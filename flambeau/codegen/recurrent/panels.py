"""Products of rows with packed panels: sums of a few rows and a few vectors of columns, in registers.

A panel holds some vectors of columns, for each number of the folded axis one after the other:
`[number][vector][lane]`. Lanes behind the last column hold 0, and nothing is stored from them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from flambeau.codegen.kernel.dtypes import element_type
from flambeau.codegen.llvm import first_lanes
from flambeau.codegen.llvm.builder import FunctionBuilder, ModuleBuilder
from flambeau.codegen.llvm.checked_emitter import word
from flambeau.codegen.llvm.emitter import Target, Value, float_constant
from flambeau.codegen.llvm.memory import iota, suffix
from flambeau.util.record import dataclass

UNROLLED = 4
"""Numbers of the folded axis in an iteration."""
STRETCH = 128
"""Numbers of the folded axis that are added up one after another; the last such stretch has what would be less than
half of one, too. What they come to is added to what came before.
"""
ENOUGH = 8
"""Independent sums that keep the multipliers busy; smaller tiles keep several for each element."""
WIDTH = 4
"""Vectors of a panel."""
Sums = list[list[Value]]
"""By row, then by vector."""


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of the folded axis."""

    rows: Value
    """The address of its first number in the first row."""
    step: Value
    """Bytes from row to row."""
    count: Value
    """How many numbers it has."""
    sums: tuple[int, ...]
    """To which sum each vector of the panel is added."""
    number_step: Value | None = None
    """Bytes from number to number; None where they are neighbours."""


@dataclass(frozen=True, slots=True)
class Lanes:
    """The lanes of neighbouring vectors that are columns."""

    masks: tuple[Value, ...]
    """By vector."""
    are_whole: Value
    """Whether these are all lanes: then nothing is masked, which many processors take long over."""


class PanelBuilder(FunctionBuilder):
    """A function over vectors of one floating dtype."""

    element: str
    size: int
    """Bytes of an element."""
    lanes: int

    def of(self, dtype: str, target: Target) -> None:
        """Say which dtype, and for what processor."""
        kind = element_type(dtype)
        self.element, self.size, self.target = kind.llvm, kind.itemsize, target
        self.lanes = target.vector_bits // kind.bits

    @property
    def tile_rows(self) -> int:
        """Rows of which the sums of a panel, with its vectors, fit into the registers."""
        return 6 if self.target.vector_registers >= 32 else 3

    @property
    def zero(self) -> Value:
        """A vector of zeros."""
        return float_constant(0.0, self.element, self.lanes)

    def mul(self, a: Value, b: Value | int) -> Value:
        """A product of sizes."""
        return self.op("mul nsw", a, b)

    def bytes_of(self, count: Value) -> Value:
        """How many bytes so many elements take."""
        return self.mul(count, self.size)

    def vectors_of(self, columns: Value) -> Value:
        """How many vectors so many columns take."""
        return self.op("udiv", self.op("add", columns, self.lanes - 1), self.lanes)

    def mask(self, columns: Value, vector: Value) -> Value:
        """The lanes of a vector that are columns."""
        left = self.op("sub", columns, self.mul(vector, self.lanes))
        return self.icmp("slt", iota(self.lanes), self.splat(left, self.lanes))

    def lanes_of(self, columns: Value, vector: Value, width: int) -> Lanes:
        """Of so many vectors from number `vector` on, the lanes that are columns."""
        behind = self.mul(self.op("add", vector, width), self.lanes)
        masks = [self.mask(columns, self.op("add", vector, k)) for k in range(width)]
        return Lanes(tuple(masks), self.compare("sle", behind, columns))

    def read_vectors(self, addresses: Sequence[Value], lanes: Lanes) -> list[Value]:
        """Vectors from memory, rows of as many as there are masks, 0 in the lanes that are no columns."""
        masked, plain, read = self.label("masked"), self.label("plain"), self.label("read")
        self.branch_if(lanes.are_whole, plain, masked)
        ways = []
        for label, masks in ((masked, lanes.masks), (plain, (None,))):
            self.start(label)
            ways.append([self.masked_read(at, masks[k % len(masks)]) for k, at in enumerate(addresses)])
            self.branch(read)
        self.start(read)
        return [self.joined_value([(a, masked), (b, plain)]) for a, b in zip(*ways, strict=True)]

    def write_vectors(self, values: Sequence[Value], addresses: Sequence[Value], lanes: Lanes) -> None:
        """Write vectors, rows of as many as there are masks."""
        masked, plain, written = self.label("masked"), self.label("plain"), self.label("written")
        self.branch_if(lanes.are_whole, plain, masked)
        for label, masks in ((masked, lanes.masks), (plain, (None,))):
            self.start(label)
            for k, (value, at) in enumerate(zip(values, addresses, strict=True)):
                self.masked_write(value, at, masks[k % len(masks)])
            self.branch(written)
        self.start(written)

    def masked_read(self, address: Value, mask: Value | None) -> Value:
        """A vector from memory, 0 in the other lanes; with None, all of it."""
        if mask is None:
            return self.read(address, self.element, self.lanes, align=self.size)
        kind = self.zero.full_type
        name = f"llvm.masked.load.v{self.lanes}f{8 * self.size}.p0"
        self.declare(f"declare {kind} @{name}(ptr, i32, {mask.full_type}, {kind})")
        text = f"call {kind} @{name}(ptr {address}, i32 {self.size}, {mask.full_type} {mask}, {kind} zeroinitializer)"
        return self.define(text, self.element, self.lanes)

    def masked_write(self, value: Value, address: Value, mask: Value | None) -> None:
        """Write the lanes of a mask, which are the first ones, or with None all."""
        size = value.bits // 8
        if mask is None:
            self.write(value, address, align=size)
            return
        if not self.target.has_masks:
            first_lanes.store(self, value, address, size, first_lanes.of_mask(self, mask))
            return
        kind = value.full_type
        name = f"llvm.masked.store.{suffix(value.type, value.lanes)}.p0"
        self.declare(f"declare void @{name}({kind}, ptr, i32, {mask.full_type})")
        self.raw(f"call void @{name}({kind} {value}, ptr {address}, i32 {size}, {mask.full_type} {mask})")

    def multiply_add(self, x: Value, y: Value, z: Value) -> Value:
        """x * y + z, in one rounding where the processor does that."""
        return self.binary("fadd contract", self.binary("fmul contract", x, y), z)

    def by_rows(self, rows: Value, body: Callable[[Value, int], None]) -> None:
        """Run what `body` emits for tiles of rows: the first row of each, and how many."""
        first, count = word(0), self.tile_rows
        while count:
            left = self.op("sub", rows, first)
            tiles = self.op("udiv", left, count)
            with self.loop(tiles) as tile:
                body(self.op("add", first, self.mul(tile, count)), count)
            first = self.op("add", first, self.mul(tiles, count))
            count = 1 << (count - 1).bit_length() - 1 if count > 1 else 0

    @contextmanager
    def even_pieces(self, count: Value, most: int) -> Iterator[tuple[Value, Value]]:
        """A loop over pieces of at most so many, about as long as each other, that fill tiles of rows: the first number
        of each, and how many it has.
        """
        pieces = self.op("udiv", self.op("add", count, most - 1), most)
        least_one = self.intrinsic("smax", pieces, word(1))
        each = self.op("udiv", self.op("add", count, self.op("sub", least_one, 1)), least_one)
        tiles = self.op("udiv", self.op("add", each, self.tile_rows - 1), self.tile_rows)
        filled = self.mul(tiles, self.tile_rows)
        with self.loop(pieces) as piece:
            first = self.mul(piece, filled)
            left = self.intrinsic("smax", self.op("sub", count, first), word(0))
            yield first, self.intrinsic("smin", left, filled)

    def prefetch(self, address: Value) -> None:
        """Ask for a line that is read, and written, soon; it need not exist."""
        self.declare("declare void @llvm.prefetch.p0(ptr, i32, i32, i32)")
        self.raw(f"call void @llvm.prefetch.p0(ptr {address}, i32 0, i32 3, i32 1)")

    def add_products(self, sums: Sums, parts: Sequence[Part], panel: Value) -> Sums:
        """The sums with the products of a tile's rows and a panel."""
        for part in parts:
            sums, panel = self._add_part(sums, part, panel)
        return sums

    def _add_part(self, sums: Sums, part: Part, panel: Value) -> tuple[Sums, Value]:
        width = len(sums[0])
        rounded = self.op("udiv", self.op("add", part.count, STRETCH // 2), STRETCH)
        stretches = self.intrinsic("smax", rounded, word(1))
        loop = self.loop(stretches, part.rows, panel, *[value for row in sums for value in row])
        with loop as number:
            at, here, *before = loop.values
            is_first = self.compare("eq", number, 0)
            is_last = self.compare("eq", self.op("add", number, 1), stretches)
            left = self.op("sub", part.count, self.mul(number, STRETCH))
            starts, addresses = self._put_away(is_first, before)
            state = self._fold([at, here, *starts], part, self.pick(is_last, left, STRETCH), width)
            loop.carry(*state[:2], *self._with_those_before(is_first, state[2:], addresses))
        _, panel, *flat = loop.values
        return [flat[r * width : (r + 1) * width] for r in range(len(sums))], panel

    def _put_away(self, is_first: Value, sums: list[Value]) -> tuple[list[Value], list[Value]]:
        """What a stretch begins with: with what there is the first, the others with zeros, and what there is goes to
        memory; and where there.
        """
        slot, before = self.slot(f"[{len(sums) * self.lanes} x {self.element}]"), self.block
        addresses = [self.offset(slot, k * self.lanes * self.size) for k in range(len(sums))]
        later, begun = self.label("later"), self.label("begun")
        self.branch_if(is_first, begun, later)
        self.start(later)
        for value, address in zip(sums, addresses, strict=True):
            self.write(value, address)
        self.branch(begun)
        self.start(begun)
        return [self.joined_value([(s, before), (self.zero, later)]) for s in sums], addresses

    def _with_those_before(self, is_first: Value, sums: list[Value], addresses: list[Value]) -> list[Value]:
        """The sums of a stretch with those that were put away."""
        here, later, added = self.block, self.label("more"), self.label("added")
        self.branch_if(is_first, added, later)
        self.start(later)
        read = [self.read(address, self.element, self.lanes) for address in addresses]
        totals = [self.fadd(t, s) for t, s in zip(read, sums, strict=True)]
        self.branch(added)
        self.start(added)
        return [self.joined_value([(s, here), (t, later)]) for s, t in zip(sums, totals, strict=True)]

    def _fold(self, state: list[Value], part: Part, steps: Value, width: int) -> list[Value]:
        """So many numbers of the folded axis: the address of the rows, that of the panel behind them, and the sums."""
        count = len(state) - 2
        chains = max(1, min(UNROLLED, ENOUGH // count))
        offsets = [self.mul(part.step, r) for r in range(count // width)]
        state = [*state, *[self.zero] * (count * (chains - 1))]
        whole = self.op("udiv", steps, UNROLLED)
        for iterations, each in ((whole, UNROLLED), (self.op("urem", steps, UNROLLED), 1)):
            loop = self.loop(iterations, *state)
            with loop:
                loop.carry(*self._step(loop.values, part, offsets, width, each, chains))
            state = loop.values
        at, panel, *flat = state
        while len(flat) > count:
            pairs = zip(flat[:count], flat[count : 2 * count], strict=True)
            flat = [*[self.fadd(a, b) for a, b in pairs], *flat[2 * count :]]
        return [at, panel, *flat]

    def _step(
        self, state: list[Value], part: Part, offsets: list[Value], width: int, each: int, chains: int
    ) -> list[Value]:  # fmt: skip
        at, panel, *flat = state
        row_bytes = self.lanes * self.size
        step = word(self.size) if part.number_step is None else part.number_step
        starts = [at]
        for _ in range(each):
            starts.append(self.offset(starts[-1], step))
        for k in range(each):
            first = k % chains * len(offsets) * width
            for r, to, number, vector in self._factors(starts[k], offsets, panel, k, part.sums):
                index = first + r * width + to
                flat[index] = self.multiply_add(number, vector, flat[index])
        return [starts[each], self.offset(panel, each * len(part.sums) * row_bytes), *flat]

    def _factors(
        self, start: Value, offsets: list[Value], panel: Value, k: int, sums: tuple[int, ...]
    ) -> Iterator[tuple[int, int, Value, Value]]:  # fmt: skip
        """The products of one number of the folded axis: the row, the sum, and both factors. Of the numbers of the rows
        and the vectors of the panel those are held of which there are fewer: with the sums they fill the registers.
        """

        def number(r: int) -> Value:
            return self.splat(self.read(self.offset(start, offsets[r]), self.element, align=self.size), self.lanes)

        def vector(v: int) -> Value:
            address = self.offset(panel, (k * len(sums) + v) * self.lanes * self.size)
            return self.read(address, self.element, self.lanes, align=self.lanes * self.size)

        if len(offsets) < len(sums):
            numbers = [number(r) for r in range(len(offsets))]
            for v, to in enumerate(sums):
                shared = vector(v)
                yield from ((r, to, one, shared) for r, one in enumerate(numbers))
            return
        vectors = [vector(v) for v in range(len(sums))]
        for r in range(len(offsets)):
            shared = number(r)
            yield from ((r, to, shared, one) for to, one in zip(sums, vectors, strict=True))

    def by_row_of_tile(self, sums: Sums, finish: Callable[[Value, list[Value]], None]) -> None:
        """Run what `finish` emits for each row of a tile: its number in the tile, and its sums.

        Sums of several rows go through memory: the arithmetic of gates is long code.
        """
        if len(sums) == 1:
            finish(word(0), sums[0])
            return
        width, row_bytes = len(sums[0]), self.lanes * self.size
        slot = self.slot(f"[{len(sums) * width * self.lanes} x {self.element}]")
        for r, row in enumerate(sums):
            for v, value in enumerate(row):
                self.write(value, self.offset(slot, (r * width + v) * row_bytes), align=row_bytes)
        with self.loop(len(sums)) as number:
            base = self.offset(slot, self.mul(number, width * row_bytes))
            read = [
                self.read(self.offset(base, v * row_bytes), self.element, self.lanes, align=row_bytes)
                for v in range(width)
            ]
            finish(number, read)

    def by_panels(self, columns: Value, folded: Value, panels: Value, body: PanelBody) -> None:
        """Run what `body` emits for each panel of a plain product, wide ones before single vectors: the address of the
        panel, the number of its first vector, and how many it has.
        """
        vectors = self.vectors_of(columns)
        wide = self.op("udiv", vectors, WIDTH)
        vector_bytes = self.mul(folded, self.lanes * self.size)
        for count, width, before in ((wide, WIDTH, word(0)), (self.op("urem", vectors, WIDTH), 1, wide)):
            with self.loop(count) as k:
                first = self.op("add", self.mul(before, WIDTH), self.mul(k, width))
                body(self.offset(panels, self.mul(first, vector_bytes)), first, width)


PanelBody = Callable[[Value, Value, int], None]


def flattened(rows: Iterable[Iterable[Value]]) -> list[Value]:
    """The vectors of all rows, one row behind the other."""
    return [vector for row in rows for vector in row]


def in_rows(vectors: Sequence[Value], width: int) -> Sums:
    """So many vectors a row."""
    return [list(vectors[k : k + width]) for k in range(0, len(vectors), width)]


def panel_function(m: ModuleBuilder, name: str, dtype: str, target: Target) -> PanelBuilder:
    """A function of a module that is called with the address of its words."""
    f = m.special(PanelBuilder, f"void {name}", "ptr block", exported=True, attributes="#0")
    f.of(dtype, target)
    return f
