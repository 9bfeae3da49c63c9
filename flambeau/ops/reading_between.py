"""Images read between their pixels, linearly along both axes, and both adjoints.

`rows` is (batch, channels, height * width); `places` is (batch, 2, points), how far down and how far to the right. A
pixel outside of the image counts for nothing, as does a place that is nan. The gradients of reading are the two others.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import Any

from flambeau.ops.families.arrays import Array, widened
from flambeau.ops.families.element_loops import FLOATS, loop_for
from flambeau.ops.families.opaque import declare
from flambeau.ops.weighted_reading import add_weighted, read_weighted, weigh
from flambeau.schema.dtype import float32, float64
from flambeau.schema.gradient import formulas
from flambeau.schema.opdef import Sample
from flambeau.tensor.array_library import np
from flambeau.tensor.tensor import Tensor, wrap


def _below(coordinate: float) -> int:
    """The greatest whole number that is not above."""
    whole = int(coordinate)
    return whole - 1 if coordinate < whole else whole


def _is_near(y: float, x: float, height: int, width: int) -> bool:
    """Whether a place is between pixels of which at least one is there; not if it is nan."""
    return y > -1 and y < height and x > -1 and x < width


def _has(row: int, column: int, height: int, width: int) -> bool:
    """Whether there is such a pixel."""
    return row >= 0 and column >= 0 and row < height and column < width


def read_loop(
    rows: np.ndarray, coordinates: np.ndarray, result: np.ndarray, batch: int, channels: int, height: int, width: int
) -> None:
    """result[n, c, p] = the four pixels around point p, each weighted by how near it is."""
    points, size = len(coordinates) // (2 * batch), height * width
    for n in range(batch):
        for p in range(points):
            y, x = coordinates[2 * n * points + p], coordinates[(2 * n + 1) * points + p]
            if _is_near(float(y), float(x), height, width):
                top, left = _below(float(y)), _below(float(x))
                down, right = y - top, x - left
                a, b = (1 - down) * (1 - right), (1 - down) * right
                c, d = down * (1 - right), down * right
                image, target = n * channels * size, n * channels * points + p
                if _has(top, left, height, width) and _has(top + 1, left + 1, height, width):
                    first = image + top * width + left
                    for k in range(channels):
                        at = first + k * size
                        above, under = a * rows[at] + b * rows[at + 1], c * rows[at + width] + d * rows[at + width + 1]
                        result[target + k * points] = above + under
                else:
                    for corner in range(4):
                        row, column = top + corner // 2, left + corner % 2
                        weight = (a if corner == 0 else b) if corner < 2 else (c if corner == 2 else d)
                        if _has(row, column, height, width):
                            for k in range(channels):
                                result[target + k * points] += weight * rows[image + k * size + row * width + column]


def spread_loop(
    numbers: np.ndarray, coordinates: np.ndarray, result: np.ndarray, batch: int, channels: int, height: int, width: int
) -> None:
    """Each number, weighted as it would be read, added to the four pixels of `result` around its coordinates."""
    points, size = len(coordinates) // (2 * batch), height * width
    for n in range(batch):
        for p in range(points):
            y, x = coordinates[2 * n * points + p], coordinates[(2 * n + 1) * points + p]
            if _is_near(float(y), float(x), height, width):
                top, left = _below(float(y)), _below(float(x))
                down, right = y - top, x - left
                a, b = (1 - down) * (1 - right), (1 - down) * right
                c, d = down * (1 - right), down * right
                image, source = n * channels * size, n * channels * points + p
                if _has(top, left, height, width) and _has(top + 1, left + 1, height, width):
                    at = image + top * width + left
                    for k in range(channels):
                        pixel, number = at + k * size, numbers[source + k * points]
                        result[pixel] += a * number
                        result[pixel + 1] += b * number
                        result[pixel + width] += c * number
                        result[pixel + width + 1] += d * number
                else:
                    for corner in range(4):
                        row, column = top + corner // 2, left + corner % 2
                        weight = (a if corner == 0 else b) if corner < 2 else (c if corner == 2 else d)
                        if _has(row, column, height, width):
                            for k in range(channels):
                                result[image + k * size + row * width + column] += weight * numbers[source + k * points]


def tilt_loop(
    numbers: np.ndarray,
    rows: np.ndarray,
    coordinates: np.ndarray,
    result: np.ndarray,
    channels: int,
    height: int,
    width: int,
) -> None:
    """result[n, :, p] = the sum over channels of numbers times the slopes of what is read down and to the right."""
    size = height * width
    batch = len(rows) // (channels * size)
    points = len(coordinates) // (2 * batch)
    for n in range(batch):
        for p in range(points):
            y, x = coordinates[2 * n * points + p], coordinates[(2 * n + 1) * points + p]
            if _is_near(float(y), float(x), height, width):
                top, left = _below(float(y)), _below(float(x))
                down, right = y - top, x - left
                image, source = n * channels * size, n * channels * points + p
                if _has(top, left, height, width) and _has(top + 1, left + 1, height, width):
                    first = image + top * width + left
                    a, b, c, d = down * 0, down * 0, down * 0, down * 0
                    for k in range(channels):
                        at, number = first + k * size, numbers[source + k * points]
                        a += number * rows[at]
                        b += number * rows[at + 1]
                        c += number * rows[at + width]
                        d += number * rows[at + width + 1]
                    result[2 * n * points + p] = (c - a) * (1 - right) + (d - b) * right
                    result[(2 * n + 1) * points + p] = (b - a) * (1 - down) + (d - c) * down
                else:
                    for corner in range(4):
                        row, column = top + corner // 2, left + corner % 2
                        if _has(row, column, height, width):
                            total, at = down * 0, image + row * width + column
                            for k in range(channels):
                                total += numbers[source + k * points] * rows[at + k * size]
                            by_y, by_x = (right if corner % 2 else 1 - right), (down if corner > 1 else 1 - down)
                            result[2 * n * points + p] += total * (by_y if corner > 1 else -by_y)
                            result[(2 * n + 1) * points + p] += total * (by_x if corner % 2 else -by_x)


def _flat(*arrays: Array) -> list[Array]:
    return [np.ascontiguousarray(a).reshape(-1) for a in arrays]


def _runs(loop: Any, work: int, operands: tuple[Array, ...], result: Array, *sizes: int) -> bool:
    """Fill a result of zeros by a native loop; whether it was done."""
    dtypes = {one.dtype for one in operands}
    native = loop_for(loop, work) if result.dtype in FLOATS and dtypes == {result.dtype} and min(sizes) else None
    if native is not None:
        native(*_flat(*operands), result.reshape(-1), *sizes)
    return native is not None


def corners(coordinates: Array, height: int, width: int) -> tuple[Array, Array, Array]:
    """(batch, 4, points) each: the pixel of each corner, -1 outside; its weight; the signs of its slopes per axis."""
    offsets, weights, slopes = [], [], []
    with np.errstate(all="ignore"):
        below = np.floor(coordinates)
        for side in product((0, 1), repeat=2):
            index = below + np.array(side).reshape(2, 1)
            parts = np.where(np.array(side).reshape(2, 1) == 1, coordinates - below, below + 1 - coordinates)
            is_in = (index >= 0) & (index < np.array([height, width]).reshape(2, 1))
            whole = np.where(is_in, index, 0).astype(np.int64)
            offsets.append(np.where(is_in.all(axis=1), whole[:, 0] * width + whole[:, 1], -1))
            weights.append(parts[:, 0] * parts[:, 1])
            signs = np.where(np.array(side).reshape(2, 1) == 1, 1, -1).astype(coordinates.dtype)
            slopes.append(signs * parts[:, ::-1])
    return np.stack(offsets, 1), np.stack(weights, 1), np.stack(slopes, 1)


def read_between(rows: Array, places: Array, height: int, width: int) -> Array:
    """What is read at the places."""
    wide, where = widened(rows), widened(places)
    batch, channels, points = rows.shape[0], rows.shape[1], places.shape[2]
    result = np.zeros((batch, channels, points), wide.dtype)
    if not _runs(read_loop, result.size, (wide, where), result, batch, channels, height, width):
        offsets, weights, _ = corners(where, height, width)
        result = read_weighted(wide, offsets, weights)
    return result.astype(rows.dtype, copy=False)


def spread_between(numbers: Array, places: Array, height: int, width: int) -> Array:
    """Numbers of points spread over the pixels around them: images."""
    wide, where = widened(numbers), widened(places)
    batch, channels = numbers.shape[:2]
    result = np.zeros((batch, channels, height * width), wide.dtype)
    if not _runs(spread_loop, numbers.size, (wide, where), result, batch, channels, height, width):
        offsets, weights, _ = corners(where, height, width)
        result = add_weighted(wide, offsets, weights, height * width)
    return result.astype(numbers.dtype, copy=False)


def tilt_between(numbers: Array, rows: Array, places: Array, height: int, width: int) -> Array:
    """How what is read, weighted with numbers, changes with the places."""
    wide, others, where = widened(numbers), widened(rows), widened(places)
    result = np.zeros(places.shape, wide.dtype)
    if not _runs(tilt_loop, numbers.size, (wide, others, where), result, rows.shape[1], height, width):
        offsets, _, slopes = corners(where, height, width)
        per_corner = weigh(wide, others, offsets)
        result = np.where(per_corner[:, :, None] != 0, per_corner[:, :, None] * slopes, 0).sum(axis=1)
    return result.astype(places.dtype, copy=False)


def _numbers(*sizes: int) -> Tensor:
    return wrap(((np.arange(int(np.prod(sizes)), dtype=np.float32) * 37 % 23) / 9 - 1.25).reshape(sizes))


def _samples(*operands: str) -> Iterable[Sample]:
    sizes = {"rows": (2, 3, 12), "numbers": (2, 3, 5), "places": (2, 2, 5)}
    yield Sample(args=(*[_numbers(*sizes[name]) for name in operands], 3, 4))


_ULP = {float32: 64.0, float64: 64.0}
declare(
    "flambeau::read_between(Tensor rows, Tensor places, SymInt height, SymInt width) -> Tensor", kernel=read_between,
    doc="Images read linearly between their pixels.", dtype=lambda rows: rows.dtype,
    shape=lambda rows, places: (
        None if None in (rows.sizes, places.sizes) else (*rows.sizes[:2], places.sizes[2])
    ),
    ulp=_ULP, samples=lambda: _samples("rows", "places"), is_method=False, is_function=False,
)  # fmt: skip
declare(
    "flambeau::spread_between(Tensor numbers, Tensor places, SymInt height, SymInt width) -> Tensor",
    kernel=spread_between, doc="Numbers added to the pixels around their places.",
    dtype=lambda numbers: numbers.dtype,
    shape=lambda numbers: None if numbers.sizes is None else (*numbers.sizes[:2], None),
    ulp=_ULP, samples=lambda: _samples("numbers", "places"), is_method=False, is_function=False,
)  # fmt: skip
declare(
    "flambeau::tilt_between(Tensor numbers, Tensor rows, Tensor places, SymInt height, SymInt width) -> Tensor",
    kernel=tilt_between, doc="How what is read between pixels changes with the places.",
    dtype=lambda places: places.dtype, shape=lambda places: places.sizes,
    ulp=_ULP, samples=lambda: _samples("numbers", "rows", "places"), is_method=False, is_function=False,
)  # fmt: skip
formulas(
    "flambeau::read_between",
    rows=lambda f, grad, places, height, width: f.own("spread_between", grad, places, height, width),
    places=lambda f, grad, rows, places, height, width: f.own("tilt_between", grad, rows, places, height, width),
)
formulas(
    "flambeau::spread_between",
    numbers=lambda f, grad, places, height, width: f.own("read_between", grad, places, height, width),
    places=lambda f, grad, numbers, places, height, width: f.own("tilt_between", numbers, grad, places, height, width),
)
