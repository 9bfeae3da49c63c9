"""Bicubic resampling: Keys (1981), with the constant -0.75 that image libraries use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from flambeau.ops.families import ranks
from flambeau.ops.families.arrays import Array, dtype_of, is_float, not_implemented, widened
from flambeau.ops.families.opaque import declare
from flambeau.ops.families.rules import input_dtype, same_dtype
from flambeau.ops.resampling import Ints, check, same_layout, step, target_sizes
from flambeau.ops.small_tensors import mixed
from flambeau.schema.opdef import ErrorSample, Sample
from flambeau.schema.traits import Traits
from flambeau.tensor.array_library import np

A: Final = -0.75


def cubic_weights(t: Array) -> list[Array]:
    """The weights of the elements one before, at, one after and two after a place `t` behind an element."""
    one = t.dtype.type(1)

    def near(x: Array) -> Array:
        return np.asarray(((A + 2) * x - (A + 3)) * x * x + 1, t.dtype)

    def far(x: Array) -> Array:
        return np.asarray(((A * x - 5 * A) * x + 8 * A) * x - 4 * A, t.dtype)

    return [far(t + one), near(t), near(one - t), far(one - t + one)]


def bicubic(input: Array, sizes: Ints, align_corners: bool, scales: Sequence[float | None]) -> Array:
    """Interpolated from four elements along both spatial dimensions; the edges count as often as they are read."""
    check(input, sizes, 2)
    if not (is_float(input) or input.dtype == np.uint8):
        raise not_implemented("upsample_bicubic2d", dtype_of(input))
    result = widened(input) if is_float(input) else input.astype(np.float32)
    for axis in (3, 2):
        size, count = input.shape[axis], sizes[axis - 2]
        indexes, weights = four_neighbours(size, count, align_corners, scales[axis - 2], result.dtype)
        shape = [1] * 4
        shape[axis] = count
        parts = [
            np.take(result, index, axis=axis) * weight.reshape(shape)
            for index, weight in zip(indexes, weights, strict=True)
        ]
        result = parts[0] + parts[1] + parts[2] + parts[3]
    if not is_float(input):
        result = np.clip(np.round(result), 0, 255)
    return same_layout(result.astype(input.dtype, copy=False), input)


def four_neighbours(
    size: int, count: int, align_corners: bool, scale: float | None, dtype: np.dtype[Any]
) -> tuple[list[Array], list[Array]]:
    """For each position of the result: the four elements around it, and their weights."""
    positions = np.arange(count, dtype=dtype)
    if align_corners:
        source = positions * dtype.type((size - 1) / (count - 1) if count > 1 else 0)
    else:
        source = (positions + dtype.type(0.5)) * dtype.type(step(size, count, scale)) - dtype.type(0.5)
    below = np.floor(source)
    indexes = [np.clip(below.astype(np.int64) + offset, 0, size - 1) for offset in (-1, 0, 1, 2)]
    return indexes, cubic_weights(source - below)


def sized(
    self: Array, output_size: Ints, align_corners: bool, scales_h: float | None = None, scales_w: float | None = None
) -> Array:
    """The sizes are given; factors only say how far apart places are."""
    return bicubic(self, output_size, align_corners, (scales_h, scales_w))


def either(
    input: Array, output_size: Ints | None, align_corners: bool, scale_factors: Sequence[float] | None
) -> Array:
    """Sizes or factors are given."""
    sizes = target_sizes(input, output_size, scale_factors)
    return bicubic(input, sizes, align_corners, scale_factors or (None, None))


def reference(self: Any, output_size: Any, align_corners: bool) -> Any:
    """Element by element, in float64."""
    height, width = self.shape[2:]
    result = np.zeros((*self.shape[:2], *output_size))

    def weight(x: float) -> float:
        x = abs(x)
        if x <= 1:
            return (A + 2) * x**3 - (A + 3) * x**2 + 1
        return A * x**3 - 5 * A * x**2 + 8 * A * x - 4 * A if x < 2 else 0.0

    def place(i: int, size: int, count: int) -> float:
        return i * (size - 1) / max(count - 1, 1) if align_corners else (i + 0.5) * size / count - 0.5

    for i in range(output_size[0]):
        for j in range(output_size[1]):
            y, x = place(i, height, output_size[0]), place(j, width, output_size[1])
            for r in range(int(np.floor(y)) - 1, int(np.floor(y)) + 3):
                for c in range(int(np.floor(x)) - 1, int(np.floor(x)) + 3):
                    value = self[:, :, min(max(r, 0), height - 1), min(max(c, 0), width - 1)]
                    result[:, :, i, j] += weight(y - r) * weight(x - c) * value
    return result


declare(
    "aten::upsample_bicubic2d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) "
    "-> Tensor",
    kernel=either,
    traits=Traits(has_routine=True),
    dtype=input_dtype,
    shape=ranks.input_rank,
    is_method=False,
    is_function=False,
)

declare(
    "aten::upsample_bicubic2d(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, "
    "float? scales_w=None) -> Tensor",
    outs=("out",),
    kernel=sized,
    traits=Traits(has_routine=True),
    doc="Interpolated from four elements along both spatial dimensions.",
    dtype=same_dtype,
    shape=ranks.self_rank,
    samples=lambda: [Sample(args=(mixed(1, 2, 3, 4), [5, 3], corners)) for corners in (False, True)],
    errors=lambda: [
        ErrorSample(
            args=(mixed(2, 3, 4), [5, 5], False), error=RuntimeError, message="It is expected input_size equals to 4"
        )
    ],
    reference=reference,
    ulp={},
    is_method=False,
    is_function=False,
)
