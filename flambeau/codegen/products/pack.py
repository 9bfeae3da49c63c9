"""Copies the columns of a tile together, step after step, so that it reads one stretch of memory."""

from __future__ import annotations

from collections.abc import Callable

from flambeau.codegen.llvm.emitter import Value
from flambeau.codegen.products.base import ProductEmitter, Step, word
from flambeau.codegen.products.tile import TileShape, load_columns


def pack(p: ProductEmitter, shape: TileShape, base: Value, panel: Value) -> None:
    """Fill `panel` with the columns at `base`, columns that do not count with anything."""
    step, across = p.stride(p.product.b.name, p.product.inner), p.stride(p.product.b.name, p.product.column)
    if across == p.kept.itemsize:
        _rows(p, shape, base, panel, step)
    elif step == p.kept.itemsize and p.lanes > 1:
        _transposed(p, shape, base, panel, across)
    else:
        _one_by_one(p, shape, base, panel, step, across)


def _column(p: ProductEmitter, shape: TileShape, number: int) -> Value:
    """A column of a tile; its last one for those that it does not have, which do not count."""
    first = (shape.vectors - 1) * p.lanes
    if isinstance(shape.last, int) or number < first:
        return word(number)
    return p.e.intrinsic("smin", word(number), p.e.binary("add", shape.last, word(first - 1)))


def _loop(p: ProductEmitter, iterations: Value, body: Callable[[Value], None]) -> None:
    """`body` for 0 .. iterations - 1."""

    def iteration(state: list[Value]) -> list[Value]:
        body(state[0])
        return [p.e.binary("add nuw nsw", state[0], word(1))]

    p.repeat(iterations, [word(0)], iteration)


def _along(p: ProductEmitter, base: Value, k: Value, step: Step) -> Value:
    return p.at(base, p.e.binary("mul nsw", k, p.bytes_of(step)))


def _row_bytes(p: ProductEmitter, shape: TileShape) -> int:
    return shape.vectors * p.lanes * p.type.itemsize


def _store(p: ProductEmitter, value: Value, address: Value) -> None:
    p.e.write(value, address, align=p.type.itemsize)


def _rows(p: ProductEmitter, shape: TileShape, base: Value, panel: Value, step: Step) -> None:
    def row(k: Value) -> None:
        source, target = _along(p, base, k, step), _along(p, panel, k, _row_bytes(p, shape))
        for v in range(shape.vectors):
            from_, to = v * p.lanes * p.kept.itemsize, v * p.lanes * p.type.itemsize
            mask = p.mask_of(shape.last) if v == shape.vectors - 1 else None
            _store(p, load_columns(p, p.at(source, from_), mask, p.kept), p.at(target, to))

    _loop(p, p.size(p.product.inner), row)


def _transposed(p: ProductEmitter, shape: TileShape, base: Value, panel: Value, across: Step) -> None:
    """Squares of columns that lie step by step, turned round in registers."""
    lanes, size, depth, row = p.lanes, p.kept.itemsize, p.size(p.product.inner), _row_bytes(p, shape)

    def column(source: Value, number: int, mask: Value | None) -> Value:
        start = p.e.binary("mul nsw", _column(p, shape, number), p.bytes_of(across))
        return load_columns(p, p.at(source, start), mask, p.kept)

    def square(source: Value, target: Value) -> None:
        for v in range(shape.vectors):
            vectors = [column(source, v * lanes + c, None) for c in range(lanes)]
            for k, value in enumerate(transpose(p, vectors)):
                _store(p, value, p.at(target, k * row + v * lanes * p.type.itemsize))

    whole, left = p.whole_iterations(depth, lanes)
    _loop(p, whole, lambda k: square(_along(p, base, k, lanes * size), _along(p, panel, k, lanes * row)))
    start = p.e.binary("sub", depth, left)
    _one_by_one(p, shape, _along(p, base, start, size), _along(p, panel, start, row), size, across, left)


def halves(lanes: int, distance: int) -> tuple[list[int], list[int]]:
    """The lanes of two vectors that trade places at a distance: those of the first result, and of the second."""
    low = [j if not j & distance else lanes + j - distance for j in range(lanes)]
    return low, [j + distance if not j & distance else lanes + j for j in range(lanes)]


def transpose(p: ProductEmitter, vectors: list[Value]) -> list[Value]:
    """The columns of a square of rows."""
    lanes, rows = len(vectors), list(vectors)
    distance = lanes // 2
    while distance:
        for i in range(lanes):
            if not i & distance:
                a, b = rows[i], rows[i + distance]
                rows[i], rows[i + distance] = (p.e.shuffle(a, b, picks) for picks in halves(lanes, distance))
        distance //= 2
    return rows


def _one_by_one(
    p: ProductEmitter, shape: TileShape, base: Value, panel: Value, step: Step, across: Step, depth: Value | None = None
) -> None:
    starts = [p.e.binary("mul nsw", _column(p, shape, c), p.bytes_of(across)) for c in range(shape.vectors * p.lanes)]

    def row(k: Value) -> None:
        source, target = _along(p, base, k, step), _along(p, panel, k, _row_bytes(p, shape))
        for c, start in enumerate(starts):
            _store(p, p.number(p.at(source, start)), p.at(target, c * p.type.itemsize))

    _loop(p, p.size(p.product.inner) if depth is None else depth, row)
