"""Fresh tensors with the same elements in other places, or several times."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from flambeau.ops.families import ranks
from flambeau.ops.families.arrays import Array, at_least_1d, contiguous, dtype_of, not_implemented, one_dim, some_dims
from flambeau.ops.families.opaque import declare
from flambeau.ops.families.rules import known, same_dtype, same_shape
from flambeau.ops.small_tensors import ramp
from flambeau.schema.opdef import UNKNOWN, ErrorSample, Sample, Sizes
from flambeau.schema.types import TensorType
from flambeau.tensor.array_library import is_host_array, np
from flambeau.tensor.tensor import wrap

Ints = int | Sequence[int]


def listed(value: Ints) -> list[int]:
    """A single int as a list."""
    return [value] if isinstance(value, int) else list(value)


def flip_kernel(self: Array, dims: Ints) -> Array:
    """Keeps the order of dimensions in memory."""
    chosen = some_dims(listed(dims), self.ndim, empty_is_all=False)
    return np.flip(self, chosen).copy(order="K") if chosen else self.copy(order="K")


def flip_one(name: str, dim: int) -> Any:
    """The kernel that flips one fixed dimension."""

    def kernel(self: Array) -> Array:
        if self.ndim <= dim:
            raise RuntimeError(f"Input must be >= {dim + 1}-d.")
        return flip_kernel(self, dim)

    kernel.__name__ = name
    return kernel


def roll_kernel(self: Array, shifts: Ints, dims: Ints = ()) -> Array:
    """Without `dims`, the flattened tensor is rolled."""
    amounts, chosen = listed(shifts), listed(dims)
    if not amounts:
        raise RuntimeError("`shifts` required")
    if not chosen and len(amounts) == 1:
        return np.roll(contiguous(self), amounts[0])
    if len(chosen) != len(amounts):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(amounts)}, dims:{len(chosen)}")
    if not self.ndim:
        raise IndexError(f"Dimension specified as {chosen[0]} but tensor has no dimensions")
    axes = [one_dim(d, self.ndim) for d in chosen]
    if len(axes) == 1 and self.size and is_host_array(self):
        return _rolled(self, amounts[0] % self.shape[axes[0]], axes[0])
    return contiguous(np.roll(self, amounts, axes))


def _rolled(array: Array, amount: int, axis: int) -> Array:
    """Along one dimension, by less than its size."""
    lead = (slice(None),) * axis
    cut = array.shape[axis] - amount
    result = np.empty(array.shape, array.dtype)
    result[(*lead, slice(amount, None))] = array[(*lead, slice(cut))]
    result[(*lead, slice(amount))] = array[(*lead, slice(cut, None))]
    return result


def rot90_kernel(self: Array, k: int = 1, dims: Sequence[int] = (0, 1)) -> Array:
    """A quarter turn from the first of `dims` towards the second, `k` times."""
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if self.ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {self.ndim}")
    if dims[0] == dims[1] or abs(dims[0] - dims[1]) == self.ndim:
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}")
    first, second = one_dim(dims[0], self.ndim), one_dim(dims[1], self.ndim)
    if k % 4 == 0:
        return self.copy(order="C")
    if k % 4 == 2:
        return flip_kernel(self, [first, second])
    return flip_kernel(self, [second if k % 4 == 1 else first]).swapaxes(first, second)


def repeat_kernel(self: Array, repeats: Ints) -> Array:
    """Raises RuntimeError for fewer counts than dimensions, or a negative one."""
    counts = listed(repeats)
    if len(counts) < self.ndim:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    shape = (1,) * (len(counts) - self.ndim) + self.shape
    target = [c * s for c, s in zip(counts, shape, strict=True)]
    for size in target:
        if size < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {size}: {target}")
    return np.tile(self, counts) if counts else self.copy()


def tile_kernel(self: Array, dims: Ints) -> Array:
    """Repeat along each dimension; dimensions in front that have no count are repeated once."""
    counts = listed(dims)
    return repeat_kernel(self, [1] * (self.ndim - len(counts)) + counts)


def repeat_interleave_kernel(
    self: Array, repeats: Array | int, dim: int | None = None, output_size: int | None = None
) -> Array:
    """Each element, or each slice along `dim`, several times in a row. Without `dim` the tensor is flattened first."""
    array = at_least_1d(self) if dim is not None else self.reshape(-1)
    axis = one_dim(0 if dim is None else dim, self.ndim if dim is not None else 1)
    counts = repeats if isinstance(repeats, int) else checked_counts(repeats, array.shape[axis])
    if isinstance(counts, int) and counts < 0:
        raise RuntimeError("Repeats must be non-negative")
    result = contiguous(np.repeat(array, counts, axis=axis))
    if output_size is not None and result.shape[axis] != output_size:
        raise RuntimeError("allocated size does not match required size")
    return result


def checked_counts(repeats: Array, size: int) -> Array:
    """One count per slice. Raises RuntimeError for a wrong shape or a negative count, NotImplementedError for
    floats.
    """
    if repeats.ndim > 1:
        raise RuntimeError("repeats must be 0-dim or 1-dim tensor")
    if repeats.dtype not in (np.dtype(np.int64), np.dtype(np.int32)):
        raise not_implemented("repeat_interleave_cpu", dtype_of(repeats))
    if repeats.ndim == 1 and repeats.size not in (1, size):
        raise RuntimeError(
            "repeats must have the same size as input along dim, but got repeats.size(0) = "
            f"{repeats.size} and input.size(0) = {size}"
        )
    if (repeats < 0).any():
        raise RuntimeError("repeats can not be negative")
    return np.asarray(np.broadcast_to(repeats, (size,)))


def repeat_indices_kernel(repeats: Array, output_size: int | None = None) -> Array:
    """Index 0 `repeats[0]` times, then index 1, and so on."""
    counts = checked_counts(repeats, repeats.size)
    return repeat_interleave_kernel(np.arange(repeats.size, dtype=repeats.dtype), counts, 0, output_size)


def repeat_shape(self: TensorType, repeats: Any) -> Sizes | None:
    """Sizes times counts."""
    if self.sizes is None or not known(repeats):
        return ranks.as_long_as(repeats)
    counts = listed(repeats)
    if len(counts) < len(self.sizes):  # refused when it runs
        return None
    sizes = (1,) * (len(counts) - len(self.sizes)) + tuple(self.sizes)
    return tuple(None if s is None or s < 0 else s * c for s, c in zip(sizes, counts, strict=True))


def tile_shape(self: TensorType, dims: Any) -> Sizes | None:
    """Sizes times counts."""
    if self.sizes is None or dims is UNKNOWN:
        return None
    if not known(dims):
        return ranks.of_rank(max(len(self.sizes), len(dims)))
    return repeat_shape(self, [1] * (len(self.sizes) - len(listed(dims))) + listed(dims))


def interleaved_shape(self: TensorType, dim: Any = None) -> Sizes | None:
    """A vector without `dim`; else `self` with another size there."""
    if dim is None:
        return (None,)
    return None if dim is UNKNOWN else ranks.with_dim(self.sizes or (None if self.sizes is None else (1,)), dim, None)


def _dim_errors(*arguments: Any) -> Any:
    def made() -> Iterable[ErrorSample]:
        yield ErrorSample(args=(ramp(3), *arguments), error=IndexError, message="Dimension out of range")

    return made


declare(
    "aten::flip(Tensor self, int[] dims) -> Tensor",
    outs=("out",),
    kernel=flip_kernel,
    doc="The elements in reverse order along each of `dims`.",
    dtype=same_dtype,
    shape=same_shape,
    samples=lambda: [Sample(args=(ramp(2, 3), d)) for d in ([0], [-1], [0, 1], [])],
    errors=_dim_errors([1]),
    reference=lambda self, dims: np.flip(self, tuple(dims)) if dims else self,
)

for _name, _dim in (("flipud", 0), ("fliplr", 1)):
    declare(
        f"aten::{_name}(Tensor self) -> Tensor",
        kernel=flip_one(_name, _dim),
        doc="The rows in reverse order." if _dim == 0 else "The columns in reverse order.",
        dtype=same_dtype,
        shape=same_shape,
        samples=lambda: [Sample(args=(ramp(2, 3),))],
    )

declare(
    "aten::roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor",
    outs=("out",),
    kernel=roll_kernel,
    doc="The elements moved by `shifts` along `dims`; what leaves at the end enters at the beginning.",
    dtype=same_dtype,
    shape=same_shape,
    samples=lambda: [
        Sample(args=(ramp(2, 3), 1)),
        Sample(args=(ramp(2, 3), [1, -4], [0, 1])),
        Sample(args=(ramp(0, 3), 2, 0), note="zero-size"),
    ],
    errors=lambda: [
        ErrorSample(
            args=(ramp(3), [1, 2], [0]),
            error=RuntimeError,
            message="shifts and dimensions must align. shifts: 2, dims:1",
        )
    ],
)

declare(
    "aten::rot90(Tensor self, int k=1, int[] dims=[0, 1]) -> Tensor",
    outs=("out",),
    kernel=rot90_kernel,
    doc="Turned by `k` quarter turns in the plane of two dimensions.",
    dtype=same_dtype,
    shape=ranks.self_rank,
    samples=lambda: [Sample(args=(ramp(2, 3), k)) for k in (-1, 0, 1, 2)],
    reference=np.rot90,
)

declare(
    "aten::repeat(Tensor self, SymInt[] repeats) -> Tensor",
    outs=("out",),
    kernel=repeat_kernel,
    doc="Copies side by side, `repeats[i]` along dimension i; new dimensions come in front.",
    dtype=same_dtype,
    shape=repeat_shape,
    samples=lambda: [Sample(args=(ramp(2, 3), [2, 1])), Sample(args=(ramp(2), [3, 1, 0]))],
    errors=lambda: [
        ErrorSample(
            args=(ramp(2, 2), [2]),
            error=RuntimeError,
            message="Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor",
        )
    ],
    reference=lambda self, repeats: np.tile(self, repeats),
    is_function=False,
)

declare(
    "aten::tile(Tensor self, SymInt[] dims) -> Tensor",
    kernel=tile_kernel,
    doc="As repeat, but counts may be fewer than dimensions.",
    dtype=same_dtype,
    shape=tile_shape,
    samples=lambda: [Sample(args=(ramp(2, 3), [2])), Sample(args=(ramp(2), [3, 1]))],
    reference=lambda self, dims: np.tile(self, dims),
)

declare(
    "aten::repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, SymInt? output_size=None)"
    " -> Tensor",
    "aten::repeat_interleave.self_int(Tensor self, SymInt repeats, int? dim=None, *, SymInt? output_size=None) -> "
    "Tensor",
    kernel=repeat_interleave_kernel,
    doc="Each element, or each slice along `dim`, several times in a row.",
    dtype=same_dtype,
    shape=interleaved_shape,
    samples=lambda: [
        Sample(args=(ramp(2, 3), 2)),
        Sample(args=(ramp(2, 3), 2, 1)),
        Sample(args=(ramp(3), wrap(np.array([0, 2, 1])), 0)),
    ],
    errors=_dim_errors(2, 1),
)

declare(
    "aten::repeat_interleave.Tensor(Tensor repeats, *, SymInt? output_size=None) -> Tensor",
    outs=("Tensor_out",),
    kernel=repeat_indices_kernel,
    dtype=lambda repeats: repeats.dtype,
    shape=ranks.vector,
)
