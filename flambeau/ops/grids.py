"""Reading images at the places of a grid: spatial transformers (Jaderberg et al., 2015).

A grid holds coordinates from -1 to 1, the last dimension's first: x, y (and z).
"""

# ruff: noqa: N803  # F is what bodies call the operators
from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import product
from math import prod
from typing import Any, Final

from flambeau.ops.families import ranks
from flambeau.ops.families.arrays import Array, Shaped, dtype_of, is_float, not_implemented, widened
from flambeau.ops.families.composite import composite
from flambeau.ops.families.expansion_tables import expansions
from flambeau.ops.families.opaque import declare
from flambeau.ops.families.rules import input_dtype
from flambeau.ops.reading_between import read_between
from flambeau.ops.resampling_cubic import cubic_weights
from flambeau.ops.weighted_reading import read_weighted
from flambeau.schema.dtype import float32
from flambeau.schema.opdef import ErrorSample, Sample, Sizes
from flambeau.schema.traits import Traits
from flambeau.schema.types import TensorType
from flambeau.tensor.array_library import np
from flambeau.tensor.tensor import Tensor, wrap
from flambeau.util.inversions import GRID_SAMPLING

BILINEAR, NEAREST, BICUBIC = range(3)
ZEROS, BORDER, REFLECTION = range(3)
ULP: Final = {float32: 64.0}


def check(input: Shaped, grid: Shaped, mode: int, dims: int) -> None:
    """Raise RuntimeError for sizes, ranks, dtypes and modes that do not go together."""
    if input.dtype != grid.dtype:
        raise RuntimeError(
            f"grid_sampler(): expected input and grid to have same dtype, but input has {dtype_of(input).name} and "
            f"grid has {dtype_of(grid).name}"
        )
    if input.ndim not in (4, 5) or input.ndim != grid.ndim:
        raise RuntimeError(
            "grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, but got input with "
            f"sizes {list(input.shape)} and grid with sizes {list(grid.shape)}"
        )
    if input.shape[0] != grid.shape[0]:
        raise RuntimeError(
            "grid_sampler(): expected grid and input to have same batch size, but got input with sizes "
            f"{list(input.shape)} and grid with sizes {list(grid.shape)}"
        )
    if grid.shape[-1] != input.ndim - 2:
        raise RuntimeError(
            f"grid_sampler(): expected grid to have size {input.ndim - 2} in last dimension, but got grid with sizes "
            f"{list(grid.shape)}"
        )
    if 0 in input.shape[2:]:
        axis = input.shape.index(0, 2)
        raise RuntimeError(
            "grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes "
            f"{list(input.shape)} with dimension {axis} being empty"
        )
    if mode == BICUBIC and dims == 3:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    if not is_float(input):
        raise not_implemented(f"grid_sampler{dims}d_cpu", dtype_of(input))


def unnormalised(coordinate: Array, size: int, align_corners: bool) -> Array:
    """From -1 .. 1 to coordinates of elements: the ends are the middles of the outer elements, or their outer edges."""
    if align_corners:
        return (coordinate + 1) / 2 * (size - 1)
    return ((coordinate + 1) * size - 1) / 2


def padded(coordinate: Array, size: int, padding: int, align_corners: bool) -> Array:
    """Coordinates outside brought inside, as the padding says."""
    if padding == REFLECTION:
        low, high = (0, 2 * (size - 1)) if align_corners else (-1, 2 * size - 1)
        if low == high:
            coordinate = np.zeros_like(coordinate)
        else:
            least, span = low / 2, (high - low) / 2
            away = np.abs(coordinate - least)
            extra, flips = np.fmod(away, span), np.floor(away / span)
            coordinate = np.where(flips % 2 == 0, extra + least, span - extra + least).astype(coordinate.dtype)
    return coordinate if padding == ZEROS else np.clip(coordinate, 0, size - 1)


def offset(indices: Sequence[Array], sizes: Sequence[int]) -> Array:
    """(N, points): where integral coordinates are among all elements, -1 where one is outside or nan."""
    inside = np.ones(indices[0].shape, bool)
    flat_index = np.zeros(indices[0].shape, np.int64)
    for index, size in zip(indices, sizes, strict=True):
        is_in = (index >= 0) & (index < size)
        inside &= is_in
        flat_index = flat_index * size + np.where(is_in, index, 0).astype(np.int64)
    return np.where(inside, flat_index, -1)


def grid_sampler_kernel(
    input: Array, grid: Array, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Array:
    """Linear, nearest or cubic reading at every place of the grid."""
    dims = input.ndim - 2
    check(input, grid, interpolation_mode, dims)
    wide, where = widened(input), widened(grid)
    sample = GRID_SAMPLING.implementation
    sampled: Array | None = sample(wide, where, interpolation_mode, padding_mode, bool(align_corners))
    if sampled is not None:
        return sampled.astype(input.dtype, copy=False)
    sizes = input.shape[2:]
    flat = wide.reshape(*input.shape[:2], prod(sizes))
    rows = where.reshape(where.shape[0], prod(where.shape[1:-1]), dims)
    with np.errstate(all="ignore"):
        coordinates = [unnormalised(rows[..., dims - 1 - i], n, align_corners) for i, n in enumerate(sizes)]
        if interpolation_mode == BICUBIC:
            result = _cubic(flat, coordinates, sizes, padding_mode, align_corners)
        else:
            coordinates = [padded(p, n, padding_mode, align_corners) for p, n in zip(coordinates, sizes, strict=True)]
            if interpolation_mode == NEAREST:
                rounded = offset([np.rint(p) for p in coordinates], sizes)[:, None]
                result = read_weighted(flat, rounded, np.ones(rounded.shape, flat.dtype))
            else:
                result = _linear(flat, coordinates, sizes)
    return result.reshape(*input.shape[:2], *grid.shape[1:-1]).astype(input.dtype, copy=False)


def _linear(flat: Array, coordinates: Sequence[Array], sizes: Sequence[int]) -> Array:
    if len(sizes) == 2:
        return read_between(flat, np.stack(list(coordinates), 1), *sizes)
    below = [np.floor(p) for p in coordinates]
    offsets, weights = [], []
    for corner in product((0, 1), repeat=len(sizes)):
        weight = np.ones_like(coordinates[0])
        for coordinate, base, side in zip(coordinates, below, corner, strict=True):
            weight = weight * ((coordinate - base) if side else (base + 1 - coordinate))
        offsets.append(offset([b + side for b, side in zip(below, corner, strict=True)], sizes))
        weights.append(weight)
    return read_weighted(flat, np.stack(offsets, 1), np.stack(weights, 1))


def _cubic(flat: Array, coordinates: Sequence[Array], sizes: Sequence[int], padding: int, align_corners: bool) -> Array:
    below = [np.floor(p) for p in coordinates]
    weights = [cubic_weights(p - b) for p, b in zip(coordinates, below, strict=True)]
    offsets, factors = [], []
    for i, j in product(range(4), repeat=2):
        indices = [
            np.floor(padded(b + (k - 1), n, padding, align_corners))
            for b, k, n in zip(below, (i, j), sizes, strict=True)
        ]
        offsets.append(offset(indices, sizes))
        factors.append(weights[0][i] * weights[1][j])
    return read_weighted(flat, np.stack(offsets, 1), np.stack(factors, 1))


def affine_grid(F: Any, theta: Tensor, size: Sequence[int], align_corners: bool) -> Any:
    """Every place of the target in homogeneous coordinates, times the transposed map."""
    dims = len(size) - 2
    if dims not in (2, 3):
        raise RuntimeError(
            "affine_grid_generator needs 4d (spatial) or 5d (volumetric) inputs: write the size as (N, C, H, W) or "
            f"(N, C, D, H, W), got {list(size)}"
        )
    if tuple(theta.shape) != (size[0], dims, dims + 1):
        raise RuntimeError(
            f"Expected a batch of {dims}D affine matrices of shape Nx{dims}x{dims + 1} for size {list(size)}. Got "
            f"{list(theta.shape)}."
        )
    if min(size[2:]) < 1:
        raise RuntimeError(
            f"Expected non-zero, positive output size. Got {list(size)}: a grid has at least one place along each axis"
        )
    axes = []
    for i, n in enumerate(reversed(size[2:])):
        shrink = 1.0 if align_corners else (n - 1) / n
        line = F.mul(F.linspace(-1.0, 1.0, n, dtype=theta.dtype), shrink if n > 1 else 0.0)
        axes.append(F.expand(F.reshape(line, [n, *[1] * i]), list(size[2:])))
    axes.append(F.expand(F.ones([1], dtype=theta.dtype), list(size[2:])))
    base = F.reshape(F.stack(axes, -1), [1, prod(size[2:]), dims + 1])
    grid = F.matmul(F.expand(base, [size[0], -1, -1]), F.transpose(theta, 1, 2))
    return F.reshape(grid, [size[0], *size[2:], dims])


@expansions("aten::affine_grid_generator")
def _planned_affine_grid(F: Any, theta: Any, size: Any, align_corners: Any) -> Any:
    """The same for a target whose sizes only the run tells."""
    is_known = isinstance(size, list | tuple) and len(size) in (4, 5) and isinstance(align_corners, bool)
    if not is_known or theta.ndim != 3:
        return None
    sizes, dims = list(size[2:]), len(size) - 2
    F.require(theta.shape[0] == size[0], theta.shape[1] == dims, theta.shape[2] == dims + 1)
    F.require(*[n >= 1 for n in sizes])
    axes = []
    for i, n in enumerate(reversed(sizes)):
        shrink = (2 * n - 2) // n if align_corners else (n - 1) / n  # 0 for a single place
        line = F.mul(F.linspace(-1.0, 1.0, n, dtype=theta.dtype), shrink)
        axes.append(F.expand(F.reshape(line, [n, *[1] * i]), sizes))
    axes.append(F.expand(F.ones([1], dtype=theta.dtype), sizes))
    base = F.reshape(F.stack(axes, -1), [1, prod(sizes), dims + 1])
    grid = F.matmul(F.expand(base, [size[0], -1, -1]), F.transpose(theta, 1, 2))
    return F.reshape(grid, [size[0], *sizes, dims])


def sampled_shape(input: TensorType, grid: TensorType) -> Sizes | None:
    """The input's batch and channels, the grid's places."""
    if input.sizes is None or grid.sizes is None:
        return None
    return (*input.sizes[:2], *grid.sizes[1:-1])


def _numbers(*sizes: int) -> Tensor:
    return wrap(((np.arange(prod(sizes), dtype=np.float32) * 37 % 23) / 9 - 1.25).reshape(sizes))


def reference(input: Any, grid: Any, mode: int, padding: int, align_corners: bool) -> Any:
    """Bilinear reading with zeros outside, place by place in float64."""
    count, channels, height, width = input.shape
    result = np.zeros((count, channels, *grid.shape[1:3]))
    for n, i, j in np.ndindex(count, *grid.shape[1:3]):
        x, y = grid[n, i, j].astype(np.float64)
        x = (x + 1) / 2 * (width - 1) if align_corners else ((x + 1) * width - 1) / 2
        y = (y + 1) / 2 * (height - 1) if align_corners else ((y + 1) * height - 1) / 2
        for r in range(height):
            for c in range(width):
                result[n, :, i, j] += max(0, 1 - abs(x - c)) * max(0, 1 - abs(y - r)) * input[n, :, r, c]
    return result


def samples(dims: int) -> list[Sample]:
    """Places inside and outside."""
    image, grid = _numbers(2, 3, *(2, 4, 5)[-dims:]), _numbers(2, *(1, 3, 2)[-dims:], dims)
    return [Sample(args=(image, grid, BILINEAR, ZEROS, corners)) for corners in (False, True)]


def errors() -> list[ErrorSample]:
    """Sizes that do not go together."""
    image = _numbers(2, 3, 4, 5)
    texts = {
        (1, 3, 2, 2): "expected grid and input to have same batch size",
        (2, 3, 2, 3): "expected grid to have size 2 in last dimension",
        (2, 3, 2): "expected 4D or 5D input and grid with same number of dimensions",
    }
    return [
        ErrorSample(args=(image, _numbers(*sizes), BILINEAR, ZEROS, False), error=RuntimeError, message=text)
        for sizes, text in texts.items()
    ]


for _name, _dims in (("grid_sampler", 2), ("grid_sampler_2d", 2), ("grid_sampler_3d", 3)):
    declare(
        f"aten::{_name}(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) "
        "-> Tensor",
        kernel=grid_sampler_kernel,
        doc="The input read at the places of a grid with coordinates from -1 to 1.",
        dtype=input_dtype,
        shape=sampled_shape,
        samples=partial(samples, _dims),
        errors=errors,
        reference=reference if _dims == 2 else None,
        ulp=ULP,
        is_method=False,
        traits=Traits(has_routine=_dims == 2),
    )

composite(
    "aten::affine_grid_generator(Tensor theta, SymInt[] size, bool align_corners) -> Tensor",
    body=affine_grid,
    doc="The grid that an affine map makes of a target's places.",
    dtype=lambda theta: theta.dtype,
    shape=lambda size: ranks.as_long_as(size),
    samples=lambda: [
        Sample(args=(_numbers(2, 2, 3), [2, 3, 4, 5], False)),
        Sample(args=(_numbers(1, 3, 4), [1, 1, 2, 3, 4], True)),
    ],
    errors=lambda: [
        ErrorSample(args=(_numbers(2, 2, 3), [2, 3, 4], False), error=RuntimeError, message="4d (spatial) or 5d"),
        ErrorSample(args=(_numbers(2, 2, 3), [2, 1, 0, 4], False), error=RuntimeError, message="non-zero, positive"),
    ],
)
