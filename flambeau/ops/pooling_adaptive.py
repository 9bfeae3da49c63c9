"""Pooling with windows that divide the input into a number of parts."""

from __future__ import annotations

from functools import partial
from math import prod
from typing import Any

from flambeau.ops.families import ranks
from flambeau.ops.families.arrays import (
    Array,
    Shaped,
    contiguous,
    dtype_of,
    is_float,
    not_implemented,
    reduce_with,
    widened,
)
from flambeau.ops.families.half_precision import in_float32
from flambeau.ops.families.opaque import declare
from flambeau.ops.families.rules import same_dtype, value_and_index
from flambeau.ops.native_windows import natively
from flambeau.ops.pooling import max_pool, of_images, place_of_largest, sample_image
from flambeau.ops.pooling_windows import Ints, spread
from flambeau.schema.dtype import float32, float64
from flambeau.schema.opdef import Sample
from flambeau.schema.traits import Traits
from flambeau.tensor.array_library import np


def adaptive_bounds(size: int, count: int) -> list[slice]:
    """`count` windows that cover `size` elements as evenly as they can."""
    return [slice(i * size // count, -(-(i + 1) * size // count)) for i in range(count)]


def check_adaptive(name: str, array: Shaped, dims: int, sizes: Ints) -> tuple[int, ...]:
    """The sizes of the result. Raises RuntimeError for other ranks, empty dimensions and negative sizes."""
    if dims == 1 and array.ndim not in (2, 3):
        raise RuntimeError(
            f"Expected 2 to 3 dimensions, but got {array.ndim}-dimensional tensor for argument #1 'self' (while "
            f"checking "
            f"arguments for {name})"
        )
    is_max = "max" in name
    if len(sizes) not in (1, dims):
        if dims == 1:
            raise RuntimeError(f"{name}() argument 'output_size' should contain one int (got {len(sizes)})")
        inner = f"{name}(): internal error: output_size.size()" if is_max else f"{name}: output_size"
        raise RuntimeError(f"{inner} must be {dims}")
    if array.ndim not in (dims + 1, dims + 2):
        colon = ":" if is_max else ""
        raise RuntimeError(f"{name}(): Expected {dims + 1}D or {dims + 2}D tensor, but got{colon} {list(array.shape)}")
    for i in range(array.ndim - dims - is_max, array.ndim):
        if not array.shape[i]:
            raise RuntimeError(
                f"{name}(): Expected input to have non-zero size for non-batch dimensions, but input has sizes "
                f"{list(array.shape)} with dimension {i} being empty"
            )
    negative = next((s for s in sizes if s < 0), None)
    if negative is not None:
        target = [*array.shape[: array.ndim - dims], *sizes]
        shown = ", ".join(map(str, sizes))
        raise RuntimeError(
            f"Trying to create tensor with negative dimension {negative}: {target}" if is_max else
            f"{name}: elements of output_size must be greater than or equal to 0 but received {{{shown}}}"
        )  # fmt: skip
    return spread(sizes, dims)


def adaptive_avg(dims: int) -> Any:
    """The kernel of averages over windows that adapt to the sizes of the result."""
    name = f"adaptive_avg_pool{dims}d"

    def kernel(self: Array, output_size: Ints) -> Array:
        sizes = check_adaptive(name, self, dims, output_size)
        if not is_float(self):
            raise not_implemented("adaptive_avg_pool2d" if dims < 3 else name, dtype_of(self))
        means = widened(self)
        for axis, count in zip(range(self.ndim - dims, self.ndim), sizes, strict=True):
            parts = [
                reduce_with(np.add, means[(slice(None),) * axis + (b,)], axis=axis) / means.dtype.type(b.stop - b.start)
                for b in adaptive_bounds(self.shape[axis], count)
            ]
            empty = np.empty((*means.shape[:axis], 0, *means.shape[axis + 1 :]), means.dtype)
            means = np.stack(parts, axis=axis) if parts else empty
        return contiguous(means.astype(self.dtype, copy=False))

    return kernel


def adaptive_max(dims: int) -> Any:
    """The kernel of the largest elements of windows that adapt, and their places."""
    name = f"adaptive_max_pool{dims}d"
    of_equal = max_pool(f"max_pool{dims}d", dims)

    def kernel(self: Array, output_size: Ints) -> tuple[Array, Array]:
        sizes = check_adaptive(name, self, dims, output_size)
        if not is_float(self):
            raise not_implemented("adaptive_max_pool2d" if dims < 3 else name, dtype_of(self))
        spatial = self.shape[-dims:]
        lead = self.shape[: self.ndim - dims]
        equal = _largest_of_equal(self, spatial, sizes, of_equal) if self.size else None
        if equal is not None:
            return equal
        values = np.empty((*lead, *sizes), self.dtype)
        indices = np.empty((*lead, *sizes), np.int64)
        flat = np.arange(prod(spatial)).reshape(spatial)
        bounds = [adaptive_bounds(n, c) for n, c in zip(spatial, sizes, strict=True)]
        if prod(sizes) > 1 and values.size:
            reach = [max([b.stop - b.start for b in axis]) for axis in bounds]
            if prod(reach) * values.size <= MOST_AT_ONCE:
                return _largest_at_once(self, flat, bounds, reach)
        for index in np.ndindex(*sizes):
            window = tuple(b[i] for b, i in zip(bounds, index, strict=True))
            rows = self[(..., *window)].reshape(*lead, prod(w.stop - w.start for w in window))
            best = place_of_largest(widened(rows))
            values[(..., *index)] = np.take_along_axis(rows, best[..., None], axis=-1)[..., 0]
            indices[(..., *index)] = flat[window].reshape(-1)[best]
        return values, indices

    return kernel


def _largest_of_equal(array: Array, spatial: Ints, sizes: Ints, pool: Any) -> tuple[Array, Array] | None:
    """The largest elements and their places of one window, or of small ones of equal sizes; None for others."""
    lead = array.shape[: array.ndim - len(spatial)]
    if prod(sizes) == 1:
        rows = array.reshape(prod(lead), -1)
        best = place_of_largest(widened(rows))
        shape = (*lead, *[1] * len(spatial))
        return rows[np.arange(len(rows)), best].reshape(shape), best.astype(np.int64, copy=False).reshape(shape)
    if not all(sizes) or any(n % count for n, count in zip(spatial, sizes, strict=True)):
        return None
    kernel = [n // count for n, count in zip(spatial, sizes, strict=True)]
    largest: tuple[Array, Array] | None = pool(array, kernel) if prod(kernel) <= FEW_IN_A_WINDOW else None
    return largest


FEW_IN_A_WINDOW = 32
"""Elements of windows of equal sizes up to which those of pooling are gone over, one element after the other."""
MOST_AT_ONCE = 1 << 20
"""Elements up to which those of all windows are picked at once."""


def _largest_at_once(self: Array, flat: Array, bounds: list[list[slice]], reach: list[int]) -> tuple[Array, Array]:
    """The largest elements of windows and their places: windows are as large as the largest, whose last element counts
    several times in smaller ones."""
    dims = len(bounds)
    grid: list[Array] = []
    for axis, (slices, size) in enumerate(zip(bounds, reach, strict=True)):
        positions = np.array([[min(b.start + k, b.stop - 1) for k in range(size)] for b in slices])
        shape = [1] * (2 * dims)
        shape[axis], shape[dims + axis] = positions.shape
        grid.append(positions.reshape(shape))
    where = flat[tuple(grid)].reshape(*[len(b) for b in bounds], prod(reach))
    lead = self.shape[: self.ndim - dims]
    rows = self.reshape(*lead, -1).take(where, axis=len(lead))
    best = place_of_largest(widened(rows))
    values = rows.reshape(-1, rows.shape[-1])[np.arange(best.size), best.reshape(-1)].reshape(best.shape)
    inside = where.reshape(-1)
    first = np.arange(0, inside.size, rows.shape[-1]).reshape(where.shape[:-1])
    return values, inside.take(first + best)


def adaptive_samples(dims: int) -> list[Sample]:
    """Windows of unequal sizes, and one window."""
    return [Sample(args=(sample_image(dims), [3] * dims)), Sample(args=(sample_image(dims), [1] * dims))]


for _d in (1, 2, 3):
    declare(
        f"aten::adaptive_avg_pool{_d}d(Tensor self, {'SymInt' if _d > 1 else 'int'}[{_d}] output_size) -> Tensor",
        outs=("out",),
        kernel=of_images(_d)(in_float32(natively(f"aten::adaptive_avg_pool{_d}d", adaptive_avg(_d)))),
        traits=Traits(has_routine=True),
        doc="The average of windows that divide the input evenly into `output_size` parts.",
        dtype=same_dtype,
        shape=ranks.self_rank,
        samples=partial(adaptive_samples, _d),
        ulp={float32: 4.0, float64: 4.0},  # of sums along one axis after the other, and of all of a window
        is_method=False,
        is_function=_d == 1,
    )
    declare(
        f"aten::adaptive_max_pool{_d}d(Tensor self, int[{_d}] output_size) -> (Tensor, Tensor)",
        outs=() if _d == 1 else ("out(out, indices)",),
        kernel=of_images(_d)(in_float32(adaptive_max(_d))),
        traits=Traits(has_routine=_d < 3),
        dtype=value_and_index,
        shape=ranks.self_values_and_places,
        samples=partial(adaptive_samples, _d),
        is_method=False,
        is_function=_d == 1,
    )
