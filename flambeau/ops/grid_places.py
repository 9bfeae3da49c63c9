"""Where among the pixels of images the places of a grid are, as an operator of its own, and how they move with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from flambeau.ops.families.arrays import Array, widened
from flambeau.ops.families.opaque import declare
from flambeau.ops.grids import REFLECTION, ZEROS, padded, unnormalised
from flambeau.schema.dtype import float32, float64
from flambeau.schema.gradient import formulas
from flambeau.schema.opdef import Sample, Sizes
from flambeau.schema.types import TensorType
from flambeau.tensor.array_library import np
from flambeau.tensor.tensor import wrap


def kernel(rows: Array, sizes: Sequence[int], padding: int, align_corners: bool) -> Array:
    """(N, rank, points): rows (N, points, rank) of numbers from -1 to 1, which begin with the last dimension, as
    coordinates of pixels, brought inside as the padding says."""
    wide = widened(rows)
    positions = np.empty((rows.shape[0], len(sizes), rows.shape[1]), wide.dtype)
    for axis, size in enumerate(sizes):
        coordinate = unnormalised(wide[..., len(sizes) - 1 - axis], size, align_corners)
        positions[:, axis] = padded(coordinate, size, padding, align_corners)
    return positions.astype(rows.dtype, copy=False)


def _slope(f: Any, row: Any, size: int, padding: int, align_corners: bool) -> Any:
    """How a coordinate changes with the number in the grid: not at all outside, and backwards where it is reflected."""
    factor = (size - 1) / 2 if align_corners else size / 2
    if padding == ZEROS:
        return factor
    pixel = (row + 1) / 2 * (size - 1) if align_corners else ((row + 1) * size - 1) / 2
    if padding == REFLECTION:
        low, high = (0, 2 * (size - 1)) if align_corners else (-1, 2 * size - 1)
        least, span = low / 2, (high - low) / 2
        if not span:
            return 0.0
        away = f.abs(pixel - least)
        is_back = f.ne(f.fmod(f.floor(away / span), 2), 0)
        is_turned = f.logical_xor(is_back, pixel < least)
        extra = f.fmod(away, span)
        pixel = f.where(is_back, (span + least) - extra, extra + least)
        factor = f.where(is_turned, -factor, factor)
    is_outside = f.logical_or(pixel <= 0, pixel >= size - 1)
    return f.where(is_outside, 0.0, factor)


def _moved(f: Any, grad: Any, rows: Any, sizes: Sequence[int], padding: int, align_corners: bool) -> Any:
    if padding == ZEROS:
        return f.over_arrays(_scaled, _each_moved, grad, rows, sizes, padding, align_corners)
    return _each_moved(f, grad, rows, sizes, padding, align_corners)


def _scaled(grad: Array, rows: Array, sizes: Sequence[int], padding: int, align_corners: bool) -> Array:
    """The same where every coordinate moves as far as its number does, whatever this is."""
    moved = np.empty(rows.shape, grad.dtype)
    for axis, size in enumerate(sizes):
        factor = (size - 1) / 2 if align_corners else size / 2
        np.multiply(grad[:, axis], factor, out=moved[..., len(sizes) - 1 - axis])
    return moved


def _each_moved(f: Any, grad: Any, rows: Any, sizes: Sequence[int], padding: int, align_corners: bool) -> Any:
    rank, still = len(sizes), f.detach(rows)
    parts = [
        f.select(grad, 1, axis) * _slope(f, f.select(still, 2, rank - 1 - axis), size, padding, align_corners)
        for axis, size in enumerate(sizes)
    ]
    return f.stack(parts[::-1], 2)


def _shape(rows: TensorType, sizes: Any) -> Sizes | None:
    return None if rows.sizes is None else (rows.sizes[0], len(sizes), rows.sizes[1])


def _sample(padding: int, align_corners: bool) -> Sample:
    rows = (np.arange(20, dtype=np.float32).reshape(2, 5, 2) * 7 % 11 - 5) / 4
    return Sample(args=(wrap(rows), [4, 5], padding, align_corners))


_ULP: Final = {float32: 8.0, float64: 8.0}
declare(
    "flambeau::grid_places(Tensor rows, SymInt[] sizes, int padding, bool align_corners) -> Tensor",
    kernel=kernel,
    doc="Where among pixels the places of a grid are.",
    dtype=lambda rows: rows.dtype,
    shape=_shape,
    samples=lambda: [_sample(padding, align) for padding in range(3) for align in (False, True)],
    ulp=_ULP,
    is_method=False,
    is_function=False,
)
formulas("flambeau::grid_places", rows=_moved)
