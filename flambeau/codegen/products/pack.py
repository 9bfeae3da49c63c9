"""Copies the columns of a tile together, step after step, so that it reads one stretch of memory."""

from __future__ import annotations

from collections.abc import Callable

from flambeau.codegen.llvm.emitter import Value, float_constant, vector_type
from flambeau.codegen.products.base import ProductEmitter, word
from flambeau.codegen.products.tile import TileShape, load_columns


def pack(p: ProductEmitter, shape: TileShape, base: Value, panel: Value) -> None:
    """Fill `panel` with the columns at `base`, columns that do not count with zeros."""
    step, across = p.stride(p.product.b.name, p.product.inner), p.stride(p.product.b.name, p.product.column)
    if across == p.type.itemsize:
        _rows(p, shape, base, panel, step)
    elif step == p.type.itemsize and p.lanes > 1:
        _transposed(p, shape, base, panel, across)
    else:
        _one_by_one(p, shape, base, panel, step, across)


def _loop(p: ProductEmitter, turns: int, body: Callable[[Value], None]) -> None:
    """`body` for 0 .. turns - 1."""
    e, before, head, after = p.e, p.e.block, p.e.label("copy"), p.e.label("copied")
    e.branch(head)
    e.start(head)
    mark = len(e.lines)
    k = Value(e.name("k"), "i64", 1)
    body(k)
    following = e.binary("add nuw nsw", k, word(1))
    e.branch_if(e.icmp("ult", following, word(turns)), head, after)
    e.lines.insert(mark, f"  {k} = phi i64 [0, %{before}], [{following}, %{head}]")
    e.start(after)


def _along(p: ProductEmitter, base: Value, k: Value, step: int) -> Value:
    offset = p.e.binary("mul nsw", k, word(step))
    return p.e.define(f"getelementptr i8, ptr {base}, i64 {offset}", "ptr", 1)


def _row_bytes(p: ProductEmitter, shape: TileShape) -> int:
    return shape.vectors * p.lanes * p.type.itemsize


def _store(p: ProductEmitter, value: Value, place: Value) -> None:
    p.e.raw(f"store {value.full_type} {value}, ptr {place}, align {p.type.itemsize}")


def _rows(p: ProductEmitter, shape: TileShape, base: Value, panel: Value, step: int) -> None:
    def row(k: Value) -> None:
        source, target = _along(p, base, k, step), _along(p, panel, k, _row_bytes(p, shape))
        for v in range(shape.vectors):
            offset = v * p.lanes * p.type.itemsize
            count = shape.last if v == shape.vectors - 1 else p.lanes
            _store(p, load_columns(p, p.at(source, offset), count), p.at(target, offset))

    _loop(p, p.size(p.product.inner), row)


def _transposed(p: ProductEmitter, shape: TileShape, base: Value, panel: Value, across: int) -> None:
    """Squares of columns that lie step by step, turned round in registers."""
    lanes, size, depth = p.lanes, p.type.itemsize, p.size(p.product.inner)

    def square(source: Value, target: Value, count: int) -> None:
        for v in range(shape.vectors):
            columns = shape.last if v == shape.vectors - 1 else lanes
            zero = float_constant(0.0, p.type.llvm, lanes)
            vectors = [
                load_columns(p, p.at(source, (v * lanes + c) * across), count) if c < columns else zero
                for c in range(lanes)
            ]
            for k, value in enumerate(transpose(p, vectors)[:count]):
                _store(p, value, p.at(target, k * _row_bytes(p, shape) + v * lanes * size))

    whole, row = depth // lanes, _row_bytes(p, shape)
    if whole:
        _loop(p, whole, lambda k: square(_along(p, base, k, lanes * size), _along(p, panel, k, lanes * row), lanes))
    if depth % lanes:
        square(p.at(base, whole * lanes * size), p.at(panel, whole * lanes * row), depth % lanes)


def transpose(p: ProductEmitter, vectors: list[Value]) -> list[Value]:
    """The columns of a square of rows."""
    lanes, found = len(vectors), list(vectors)
    vt = vector_type(p.type.llvm, lanes)
    distance = lanes // 2
    while distance:
        low = ", ".join(f"i32 {j if not j & distance else lanes + j - distance}" for j in range(lanes))
        high = ", ".join(f"i32 {j + distance if not j & distance else lanes + j}" for j in range(lanes))
        for i in range(lanes):
            if not i & distance:
                a, b = found[i], found[i + distance]
                found[i], found[i + distance] = (
                    p.e.define(f"shufflevector {vt} {a}, {vt} {b}, <{lanes} x i32> <{picks}>", a.type, lanes)
                    for picks in (low, high)
                )
        distance //= 2
    return found


def _one_by_one(p: ProductEmitter, shape: TileShape, base: Value, panel: Value, step: int, across: int) -> None:
    t, columns = p.type, (shape.vectors - 1) * p.lanes + shape.last

    def row(k: Value) -> None:
        source, target = _along(p, base, k, step), _along(p, panel, k, _row_bytes(p, shape))
        for c in range(shape.vectors * p.lanes):
            number = float_constant(0.0, t.llvm, 1)
            if c < columns:
                number = p.e.define(f"load {t.llvm}, ptr {p.at(source, c * across)}", t.llvm, 1)
            _store(p, number, p.at(target, c * t.itemsize))

    _loop(p, p.size(p.product.inner), row)
