"""Inputs copied so that they lie element by element along the vector axis, in place of a gather for every vector.

A tile of as many rows as columns is loaded along the axis that is contiguous, turned in registers and stored along the
vector axis. Small inputs that are read again and again are copied at the start; for others, a block of rows at a time
is copied just before these rows are computed.
"""

from __future__ import annotations

from collections.abc import Callable

from flambeau.codegen.kernel.dtypes import ElementType, element_type
from flambeau.codegen.kernel.nest import Kernel
from flambeau.codegen.llvm import memory
from flambeau.codegen.llvm.emitter import Emitter, Value, int_constant, vector_type
from flambeau.codegen.schedule import Pack, Schedule
from flambeau.util.record import dataclass


@dataclass(frozen=True, slots=True)
class Packed:
    """Where a copy goes and what it is copied from."""

    pack: Pack
    element: ElementType
    raw: Value
    """The memory, as it was allocated."""
    base: Value
    """Its first 64-byte boundary."""
    step: Value
    """Bytes from one iteration of the vector axis to the next in the input."""
    row: Value
    """Bytes from one row of the copy to the next."""


def block_size(t: ElementType) -> int:
    """Rows and columns of a tile: a cache line."""
    return memory.CACHE_LINE // t.itemsize


def allocate(
    e: Emitter, kernel: Kernel, schedule: Schedule, sizes: dict[str, Value], strides: dict[tuple[str, str], Value]
) -> dict[str, Packed]:
    """Memory for the copies; from here on `strides` are those of the copies."""
    copies: dict[str, Packed] = {}
    vector = schedule.vector_axis
    for pack in schedule.packs:
        assert vector is not None
        t = element_type(kernel.buffer(pack.buffer).dtype)
        block = block_size(t)
        filled = e.binary("add", sizes[vector], int_constant(block - 1, "i64", 1))
        filled = e.binary("and", filled, int_constant(-block, "i64", 1))
        row = e.binary("mul", filled, int_constant(t.itemsize, "i64", 1))
        # Rows that are a power of two apart would meet in the same places of the first cache.
        row = e.binary("add", row, int_constant(memory.CACHE_LINE, "i64", 1))
        rows = int_constant(block * pack.tiles, "i64", 1)
        if pack.whole:
            rows = e.binary("add", sizes[pack.along], int_constant(block - 1, "i64", 1))
            rows = e.binary("and", rows, int_constant(-block, "i64", 1))
        raw, base = memory.allocate_aligned(e, e.binary("mul", rows, row))
        copies[pack.buffer] = Packed(pack, t, raw, base, strides[pack.buffer, vector], row)
        strides[pack.buffer, pack.along] = row
        strides[pack.buffer, vector] = int_constant(t.itemsize, "i64", 1)
    return copies


def copy_rows(e: Emitter, p: Packed, source: Value, count: Value, target: Value, size: Value) -> None:
    """Copy `count` rows, at most those of the tiles of a block, of `size` iterations of the vector axis each."""
    block = block_size(p.element)

    def column(at: Value) -> None:
        if p.pack.tiles == 1:
            _tile(e, p, source, count, target, at, size)
            return

        def tile(row: Value) -> None:
            from_ = e.define(f"getelementptr {p.element.memory}, ptr {source}, i64 {row}", "ptr", 1)
            to = e.define(f"getelementptr i8, ptr {target}, i64 {e.binary('mul', row, p.row)}", "ptr", 1)
            _tile(e, p, from_, e.binary("sub", count, row), to, at, size)

        _steps(e, count, block, tile)

    _steps(e, size, block, column)


def _tile(e: Emitter, p: Packed, source: Value, count: Value, target: Value, at: Value, size: Value) -> None:
    """Turn one tile, squares that registers hold one by one: at most `count` rows, from an iteration of the axis on."""
    block = block_size(p.element)
    lanes = min(block, e.target.vector_bits // (8 * p.element.itemsize))
    last = e.binary("sub", size, int_constant(1, "i64", 1))
    rows = range(0, block, lanes)
    masks = [e.icmp("slt", e.binary("add", memory.iota(lanes), int_constant(row, "i64", lanes)), e.splat(count, lanes))
             for row in rows]  # fmt: skip
    for first in range(0, block, lanes):
        pointers = []
        for k in range(first, first + lanes):
            index = e.binary("add", at, int_constant(k, "i64", 1))
            # The last tile reads its last column again instead of what lies behind it.
            index = e.select(e.icmp("slt", index, last), index, last)
            pointers.append(e.define(f"getelementptr i8, ptr {source}, i64 {e.binary('mul', index, p.step)}", "ptr", 1))
        for row, mask in zip(rows, masks, strict=True):
            _square(e, p, pointers, mask, row, e.binary("add", at, int_constant(first, "i64", 1)), target)


def _square(e: Emitter, p: Packed, pointers: list[Value], mask: Value, row: int, at: Value, target: Value) -> None:
    """Turn as many rows, from one of the tile on, as there are columns, which begin at the pointers."""
    t, lanes = p.element, len(pointers)
    full = vector_type(t.memory, lanes)
    name = f"@llvm.masked.load.{memory.suffix(t.memory, lanes)}.p0"
    e.declare(f"declare {full} {name}(ptr, i32, <{lanes} x i1>, {full})")
    how = f"i32 {t.itemsize}, <{lanes} x i1> {mask}, {full} zeroinitializer"
    columns = []
    for pointer in pointers:
        begin = e.define(f"getelementptr i8, ptr {pointer}, i64 {row * t.itemsize}", "ptr", 1)
        columns.append(e.define(f"call {full} {name}(ptr {begin}, {how})", t.memory, lanes))
    start = e.binary("mul", at, int_constant(t.itemsize, "i64", 1))
    for k, values in enumerate(_turned(e, columns)):
        offset = e.binary("add", e.binary("mul", p.row, int_constant(row + k, "i64", 1)), start)
        to = e.define(f"getelementptr i8, ptr {target}, i64 {offset}", "ptr", 1)
        e.raw(f"store {full} {values}, ptr {to}, align {lanes * t.itemsize}")


def _steps(e: Emitter, end: Value, step: int, body: Callable[[Value], None]) -> None:
    """``body`` of 0, ``step``, ... below ``end``."""
    head, iteration, after, before = e.label("tile"), e.label("turned"), e.label("packed"), e.block
    at = Value(e.name("t"), "i64", 1)
    e.branch(head)
    e.start(head)
    mark = len(e.lines)
    e.branch_if(e.icmp("slt", at, end), iteration, after)
    e.start(iteration)
    body(at)
    following = e.binary("add", at, int_constant(step, "i64", 1))
    latch = e.block
    e.branch(head)
    e.lines[mark:mark] = [f"  {at} = phi i64 [0, %{before}], [{following}, %{latch}]"]
    e.start(after)


def copy_whole(e: Emitter, p: Packed, source: Value, rows: Value, size: Value) -> None:
    """Copy all rows of an input."""

    def some(at: Value) -> None:
        from_ = e.define(f"getelementptr {p.element.memory}, ptr {source}, i64 {at}", "ptr", 1)
        to = e.define(f"getelementptr i8, ptr {p.base}, i64 {e.binary('mul', at, p.row)}", "ptr", 1)
        copy_rows(e, p, from_, e.binary("sub", rows, at), to, size)

    _steps(e, rows, block_size(p.element), some)


def _turned(e: Emitter, columns: list[Value]) -> list[Value]:
    """Rows of columns: each round interleaves the first half of the vectors with the second."""
    count = len(columns)
    low = ", ".join(f"i32 {k // 2 + (k % 2) * count}" for k in range(count))
    high = ", ".join(f"i32 {count // 2 + k // 2 + (k % 2) * count}" for k in range(count))
    done = 1
    while done < count:
        following: list[Value] = []
        for a, b in zip(columns[: count // 2], columns[count // 2 :], strict=True):
            for picks in (low, high):
                text = f"shufflevector {a.full_type} {a}, {a.full_type} {b}, <{count} x i32> <{picks}>"
                following.append(e.define(text, a.type, count))
        columns = following
        done *= 2
    return columns
