"""Sums of weighted elements at places, as reading an image at the places of a grid is, and both their adjoints.

`rows` is (batch, channels, elements); `places` and `weights` are (batch, terms, points); a place of -1 counts for
nothing. Each of the three operators is linear in each of its float operands, and the gradients of each are the others.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from flambeau.ops.families.arrays import Array, widened
from flambeau.ops.families.element_loops import FLOATS, loop_for
from flambeau.ops.families.opaque import declare
from flambeau.schema.dtype import float32, float64
from flambeau.schema.gradient import formulas
from flambeau.schema.opdef import Sample
from flambeau.tensor.array_folds import fold_into
from flambeau.tensor.array_library import is_host_array, np
from flambeau.tensor.tensor import Tensor, wrap


def read_loop(
    rows: np.ndarray, pixels: np.ndarray, weights: np.ndarray, result: np.ndarray, batch: int, channels: int, terms: int
) -> None:
    """result[n, c, p] = the sum over k of weights[n, k, p] * rows[n, c, pixels[n, k, p]], all arrays being flat."""
    points, elements = len(pixels) // (batch * terms), len(rows) // (batch * channels)
    for n in range(batch):
        for c in range(channels):
            row, target = (n * channels + c) * elements, (n * channels + c) * points
            for k in range(terms):
                term = (n * terms + k) * points
                for p in range(points):
                    pixel = pixels[term + p]
                    if pixel >= 0:
                        result[target + p] += weights[term + p] * rows[row + pixel]


def add_loop(
    grad: np.ndarray, pixels: np.ndarray, weights: np.ndarray, result: np.ndarray, batch: int, channels: int, terms: int
) -> None:
    """result[n, c, pixels[n, k, p]] += weights[n, k, p] * grad[n, c, p]."""
    points, elements = len(pixels) // (batch * terms), len(result) // (batch * channels)
    for n in range(batch):
        for c in range(channels):
            row, source = (n * channels + c) * elements, (n * channels + c) * points
            for k in range(terms):
                term = (n * terms + k) * points
                for p in range(points):
                    pixel = pixels[term + p]
                    if pixel >= 0:
                        result[row + pixel] += weights[term + p] * grad[source + p]


def weigh_loop(
    grad: np.ndarray, rows: np.ndarray, pixels: np.ndarray, result: np.ndarray, batch: int, channels: int, terms: int
) -> None:
    """result[n, k, p] = the sum over c of grad[n, c, p] * rows[n, c, pixels[n, k, p]]."""
    points, elements = len(pixels) // (batch * terms), len(rows) // (batch * channels)
    for n in range(batch):
        for c in range(channels):
            row, source = (n * channels + c) * elements, (n * channels + c) * points
            for k in range(terms):
                term = (n * terms + k) * points
                for p in range(points):
                    pixel = pixels[term + p]
                    if pixel >= 0:
                        result[term + p] += grad[source + p] * rows[row + pixel]


def _flat(*arrays: Array) -> tuple[Array, ...]:
    return tuple([np.ascontiguousarray(a).reshape(-1) for a in arrays])


def _runs(loop: Any, operands: tuple[Array, ...], result: Array, channels: int, pixels: Array) -> bool:
    """Fill a result of zeros by a native loop; whether it was done."""
    if result.dtype not in FLOATS or not pixels.size or not channels:
        return False
    native = loop_for(loop, channels * pixels.size)
    if native is None:
        return False
    native(*_flat(*operands), result.reshape(-1), pixels.shape[0], channels, pixels.shape[1])
    return True


def _taken(rows: Array, pixels: Array, term: int) -> Array:
    """(batch, channels, points): the elements at the pixels of a term, 0 where there is none."""
    here = pixels[:, None, term]
    if not rows.shape[2]:
        return np.zeros((*rows.shape[:2], here.shape[2]), rows.dtype)
    return np.where(here >= 0, np.take_along_axis(rows, np.maximum(here, 0), axis=2), rows.dtype.type(0))


def read_weighted(rows: Array, places: Array, weights: Array) -> Array:
    """The sums at the points."""
    wide, scale = widened(rows), widened(weights).astype(widened(rows).dtype, copy=False)
    batch, channels, _ = rows.shape
    result = np.zeros((batch, channels, places.shape[2]), wide.dtype)
    if not _runs(read_loop, (wide, places, scale), result, channels, places):
        for k in range(places.shape[1]):
            taken = _taken(wide, places, k)
            result += np.where(places[:, None, k] >= 0, taken * scale[:, None, k], 0)
    return result.astype(rows.dtype, copy=False)


def add_weighted(numbers: Array, places: Array, weights: Array, size: int) -> Array:
    """Numbers of points, weighted, added up at the places that they are of."""
    wide, scale = widened(numbers), widened(weights).astype(widened(numbers).dtype, copy=False)
    batch, channels, _ = numbers.shape
    result = np.zeros((batch, channels, size), wide.dtype)
    if not _runs(add_loop, (wide, places, scale), result, channels, places):
        if not is_host_array(result):
            return _added_together(wide, places, scale, result).astype(numbers.dtype, copy=False)
        for n, k in np.ndindex(*places.shape[:2]):
            is_there = places[n, k] >= 0
            added = wide[n][:, is_there] * scale[n, k][is_there]
            np.add.at(result[n].T, places[n, k][is_there], added.T)
    return result.astype(numbers.dtype, copy=False)


def _added_together(numbers: Array, pixels: Array, weights: Array, result: Array) -> Array:
    """Weighted pixels added up for a whole batch, term after term."""
    batch, channels = np.arange(result.shape[0]), np.arange(result.shape[1])
    for k in range(pixels.shape[1]):
        here = pixels[:, None, k]
        added = np.where(here >= 0, numbers * weights[:, None, k], 0).astype(result.dtype, copy=False)
        if result.size:
            fold_into(np.add, result, (batch[:, None, None], channels[:, None], np.maximum(here, 0)), added)
    return result


def weigh(numbers: Array, rows: Array, places: Array) -> Array:
    """For each term and point the sum over channels of products of its number and the element at its place."""
    wide, others = widened(numbers), widened(rows).astype(widened(numbers).dtype, copy=False)
    result = np.zeros(places.shape, wide.dtype)
    if not _runs(weigh_loop, (wide, others, places), result, numbers.shape[1], places):
        for k in range(places.shape[1]):
            result[:, k] = np.where(places[:, k] >= 0, (wide * _taken(others, places, k)).sum(axis=1), 0)
    return result.astype(numbers.dtype, copy=False)


def _numbers(*sizes: int) -> Tensor:
    return wrap(((np.arange(int(np.prod(sizes)), dtype=np.float32) * 37 % 23) / 9 - 1.25).reshape(sizes))


_PLACES = np.array([[[0, 3, -1], [2, 2, 1]], [[4, -1, -1], [0, 1, 4]]])


def _samples(*operands: str) -> Iterable[Sample]:
    sizes = {"rows": (2, 3, 5), "numbers": (2, 3, 3), "weights": (2, 2, 3)}
    yield Sample(args=tuple(wrap(_PLACES.copy()) if name == "places" else _numbers(*sizes[name]) for name in operands))


def _sizes_of_sums(rows: Any, places: Any) -> Any:
    return None if None in (rows.sizes, places.sizes) else (*rows.sizes[:2], places.sizes[2])


_ULP = {float32: 64.0, float64: 64.0}
declare(
    "flambeau::read_weighted(Tensor rows, Tensor places, Tensor weights) -> Tensor", kernel=read_weighted,
    doc="Sums of weighted elements at places.", dtype=lambda rows: rows.dtype, shape=_sizes_of_sums, ulp=_ULP,
    samples=lambda: _samples("rows", "places", "weights"), is_method=False, is_function=False,
)  # fmt: skip
declare(
    "flambeau::add_weighted(Tensor numbers, Tensor places, Tensor weights, SymInt size) -> Tensor", kernel=add_weighted,
    doc="Weighted numbers added up at places.", dtype=lambda numbers: numbers.dtype, ulp=_ULP,
    shape=lambda numbers: None if numbers.sizes is None else (*numbers.sizes[:2], None),
    samples=lambda: [Sample(args=(*s.args, 5)) for s in _samples("numbers", "places", "weights")], is_method=False,
    is_function=False,
)  # fmt: skip
declare(
    "flambeau::weigh(Tensor numbers, Tensor rows, Tensor places) -> Tensor", kernel=weigh,
    doc="Products of numbers and the elements at their places, added up over channels.",
    dtype=lambda numbers: numbers.dtype, shape=lambda places: places.sizes, ulp=_ULP,
    samples=lambda: _samples("numbers", "rows", "places"), is_method=False, is_function=False,
)  # fmt: skip
formulas(
    "flambeau::read_weighted",
    rows=lambda f, grad, rows_sizes, places, weights: f.own("add_weighted", grad, places, weights, rows_sizes[2]),
    weights=lambda f, grad, rows, places: f.own("weigh", grad, rows, places),
)
formulas(
    "flambeau::add_weighted",
    numbers=lambda f, grad, places, weights: f.own("read_weighted", grad, places, weights),
    weights=lambda f, grad, numbers, places: f.own("weigh", numbers, grad, places),
)
formulas(
    "flambeau::weigh",
    numbers=lambda f, grad, rows, places: f.own("read_weighted", rows, places, grad),
    rows=lambda f, grad, numbers, rows_sizes, places: f.own("add_weighted", numbers, places, grad, rows_sizes[2]),
)
