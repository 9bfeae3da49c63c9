"""Bilinear, bicubic and Lanczos resampling that smooths before it makes an image smaller, as image libraries do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from flambeau.ops.families import ranks
from flambeau.ops.families.arrays import Array, dtype_of, is_float, not_implemented, widened
from flambeau.ops.families.opaque import declare
from flambeau.ops.families.rules import input_dtype, same_dtype
from flambeau.ops.resampling import Ints, check, same_layout, step, target_sizes
from flambeau.ops.small_tensors import mixed
from flambeau.schema.dtype import float32
from flambeau.schema.opdef import ErrorSample, Sample
from flambeau.tensor.array_library import np
from flambeau.util import blas

Filter = Callable[[Array], Array]


def triangle(x: Array) -> Array:
    """1 at 0, 0 from 1 on."""
    return np.asarray(np.maximum(1 - np.abs(x), 0))


def keys(x: Array) -> Array:
    """Keys (1981), with the constant -0.5: 1 at 0, 0 from 2 on."""
    x = np.abs(x)
    near, far = (1.5 * x - 2.5) * x * x + 1, ((-0.5 * x + 2.5) * x - 4) * x + 2
    return np.where(x < 1, near, np.where(x < 2, far, 0))


def lanczos(x: Array) -> Array:
    """A sinc windowed by a wider one: 1 at 0, 0 from 3 on."""
    return np.where(np.abs(x) < 3, np.sinc(x) * np.sinc(x / 3), 0)


def weights(size: int, count: int, align_corners: bool, scale: float | None, shape: Filter, reach: int) -> Array:
    """(count, size): how much each element of the input counts in each of the result."""
    if size == count:
        return np.eye(size)
    spread = (size - 1) / (count - 1) if count > 1 else 0.0
    ratio = spread if align_corners else step(size, count, scale)
    wide = max(ratio, 1.0)
    matrix = np.zeros((count, size))
    for i in range(count):
        centre = ratio * (i + 0.5)
        first = max(int(centre - reach * wide + 0.5), 0)
        last = min(int(centre + reach * wide + 0.5), size)
        row = shape((np.arange(first, last) - centre + 0.5) / wide)
        total = row.sum()
        matrix[i, first:last] = row / total if total else row
    return matrix


def smooth(
    input: Array, sizes: Ints, align_corners: bool, scales: Sequence[float | None], shape: Filter, reach: int
) -> Array:
    """Every row and column times its weights."""
    check(input, sizes, 2)
    if not is_float(input):
        name = {1: "bilinear", 2: "bicubic", 3: "lanczos"}[reach]
        raise not_implemented(f"upsample_{name}2d_aa", dtype_of(input))
    wide = widened(input)
    rows, columns = (
        weights(input.shape[axis + 2], sizes[axis], align_corners, scales[axis], shape, reach).astype(wide.dtype)
        for axis in (0, 1)
    )
    result = blas.matmul(blas.matmul(rows, wide), columns.T)
    return same_layout(np.asarray(result).astype(input.dtype, copy=False), input)


def sized(
    shape: Filter, reach: int, self: Array, output_size: Ints, align_corners: bool, scales_h: float | None,
    scales_w: float | None,
) -> Array:  # fmt: skip
    """The sizes are given; factors only say how far apart places are."""
    return smooth(self, output_size, align_corners, (scales_h, scales_w), shape, reach)


def either(
    shape: Filter, reach: int, input: Array, output_size: Ints | None, align_corners: bool,
    scale_factors: Sequence[float] | None,
) -> Array:  # fmt: skip
    """Sizes or factors are given."""
    sizes = target_sizes(input, output_size, scale_factors)
    return smooth(input, sizes, align_corners, scale_factors or (None, None), shape, reach)


def samples() -> list[Sample]:
    """Smaller, and larger along one dimension."""
    return [
        Sample(args=(mixed(1, 2, 7, 5), sizes, corners)) for sizes in ([3, 2], [9, 4]) for corners in (False, True)
    ]


def errors() -> list[ErrorSample]:
    """Another rank."""
    text = "It is expected input_size equals to 4"
    return [ErrorSample(args=(mixed(2, 3, 4), [5, 5], False), error=RuntimeError, message=text)]


for _name, _shape, _reach in (("bilinear", triangle, 1), ("bicubic", keys, 2), ("lanczos", lanczos, 3)):
    _arguments: dict[str, Any] = {"is_method": False, "is_function": False, "ulp": {float32: 32.0}}
    declare(
        f"aten::_upsample_{_name}2d_aa.vec(Tensor input, SymInt[]? output_size, bool align_corners, "
        "float[]? scale_factors) -> Tensor",
        kernel=partial(either, _shape, _reach),
        dtype=input_dtype,
        shape=ranks.input_rank,
        **_arguments,
    )
    declare(
        f"aten::_upsample_{_name}2d_aa(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, "
        "float? scales_w=None) -> Tensor",
        outs=("out",),
        kernel=partial(sized, _shape, _reach),
        doc="Resampled with a filter as wide as the image shrinks.",
        dtype=same_dtype,
        shape=ranks.self_rank,
        samples=samples,
        errors=errors,
        **_arguments,
    )
