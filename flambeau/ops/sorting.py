"""Order along one dimension: sort, argsort, topk, kthvalue, median, mode. nan is larger than every number."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from flambeau.ops.families.arrays import (
    Array,
    at_least_1d,
    dtype_of,
    is_complex,
    is_inexact,
    not_implemented,
    one_dim,
    reduce_with,
    widened,
)
from flambeau.ops.families.element_loops import FLOATS, LEAST, loop_for
from flambeau.ops.families.half_precision import in_float32
from flambeau.ops.families.opaque import declare
from flambeau.ops.families.reduce import along_one_dim, take_along
from flambeau.ops.families.rules import (
    reduced_pair,
    same_dtype,
    same_pair,
    same_shape,
    to_int64,
    unknown_dims,
    value_and_index,
)
from flambeau.schema.opdef import UNKNOWN, ErrorSample, Sample, Sizes
from flambeau.schema.traits import Traits
from flambeau.schema.types import TensorType
from flambeau.tensor.array_folds import accumulated
from flambeau.tensor.array_library import is_host_array, np
from flambeau.tensor.tensor import Tensor, wrap


def order(array: Array, axis: int, descending: bool) -> Array:
    """Stable sorting indices along a dimension."""
    keys = widened(array)
    if not descending:
        return np.asarray(np.argsort(keys, axis=axis, kind="stable"))
    turned = np.argsort(np.flip(keys, axis), axis=axis, kind="stable")
    return np.asarray(array.shape[axis] - 1 - np.flip(turned, axis))


def sort_kernel(
    self: Array, dim: int = -1, descending: bool = False, stable: bool | None = None
) -> tuple[Array, Array]:
    """Always stable. The order of dimensions in memory is kept. Raises RuntimeError for complex numbers."""
    axis = one_dim(dim, self.ndim)
    if is_complex(self):
        raise RuntimeError("Sort does not support complex dtypes on CPU")
    lined = at_least_1d(self)
    indices = order(lined, axis, descending)
    values = np.take_along_axis(lined, indices, axis=axis)
    shaped = np.empty_like(self, subok=False) if is_host_array(self) else np.empty_like(self)
    shaped[...] = values.reshape(self.shape)
    placed = np.empty_like(self, dtype=np.int64)
    placed[...] = indices.reshape(self.shape)
    return shaped, placed


def argsort_kernel(self: Array, dim: int = -1, descending: bool = False, stable: bool | None = None) -> Array:
    """The indices that sort."""
    return sort_kernel(self, dim, descending, stable)[1]


@in_float32
def topk_kernel(self: Array, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> tuple[Array, Array]:
    """The `k` largest or smallest, in order. Raises RuntimeError for a `k` that the dimension does not have."""
    axis = one_dim(dim, self.ndim)
    lined = at_least_1d(self)
    if not 0 <= k <= lined.shape[axis]:
        raise RuntimeError("selected index k out of range")
    if is_complex(self):
        raise RuntimeError(" topk does not support complex dtypes on CPU")
    if self.dtype == np.bool_:
        raise RuntimeError("topk does not support bool dtypes on CPU")
    if (best := _first_of_rows(lined, axis, k, largest)) is not None:
        return best
    indices = _selected(lined, axis, k, largest)
    if indices is None:
        indices = np.take(order(lined, axis, largest), range(k), axis=axis)
    values, indices = take_along(lined, indices, axis, True)
    return (values.reshape(()), indices.reshape(())) if self.ndim == 0 and k == 1 else (values, indices)


MOST_BEST: Final = 32
"""Elements that are asked for up to which each is put into its place among the best so far."""


def largest_of_rows(rows: np.ndarray, values: np.ndarray, indices: np.ndarray, most: int) -> None:
    """The largest of each row, in order; what is no number counts as larger than all, and of equals the first."""
    for i in range(len(rows)):
        for j in range(rows.shape[1]):
            one = rows[i, j]
            at = min(j, most)
            while at > 0 and (one > values[i, at - 1] or (one != one and values[i, at - 1] == values[i, at - 1])):
                at -= 1
            if at < most:
                last = min(j, most - 1)
                for k in range(last - at):
                    values[i, last - k] = values[i, last - k - 1]
                    indices[i, last - k] = indices[i, last - k - 1]
                values[i, at] = one
                indices[i, at] = j


def smallest_of_rows(rows: np.ndarray, values: np.ndarray, indices: np.ndarray, most: int) -> None:
    """The smallest of each row, in order; what is no number counts as larger than all, and of equals the first."""
    for i in range(len(rows)):
        for j in range(rows.shape[1]):
            one = rows[i, j]
            at = min(j, most)
            while at > 0 and (one < values[i, at - 1] or (one == one and values[i, at - 1] != values[i, at - 1])):
                at -= 1
            if at < most:
                last = min(j, most - 1)
                for k in range(last - at):
                    values[i, last - k] = values[i, last - k - 1]
                    indices[i, last - k] = indices[i, last - k - 1]
                values[i, at] = one
                indices[i, at] = j


def _first_of_rows(array: Array, axis: int, k: int, largest: bool) -> tuple[Array, Array] | None:
    """What sorting would give first of rows that lie one behind the other, by a native loop; None for others, and for
    many elements of each."""
    if array.dtype not in FLOATS or axis != array.ndim - 1 or not 0 < k <= MOST_BEST or not array.size:
        return None
    loop = loop_for(largest_of_rows if largest else smallest_of_rows, array.size)
    if loop is None:
        return None
    shape = (*array.shape[:-1], k)
    values, indices = np.empty(shape, array.dtype), np.empty(shape, np.int64)
    rows = np.ascontiguousarray(array).reshape(-1, array.shape[-1])
    loop(rows, values.reshape(-1, k), indices.reshape(-1, k), k)
    return values, indices


def _selected(array: Array, axis: int, k: int, largest: bool) -> Array | None:
    """What sorting would give for few of many elements, without sorting the others; None where there are nan, or equal
    ones of which not all are among the first `k`."""
    keys = np.moveaxis(widened(array), axis, -1)
    count = keys.shape[-1]
    if not 0 < k <= count // 4 or not keys.size or not is_host_array(keys):
        return None
    if is_inexact(keys) and bool(np.isnan(keys).any()):
        return None
    bound = count - k if largest else k - 1
    least = np.partition(keys, bound, axis=-1)[..., bound : bound + 1]
    chosen = keys >= least if largest else keys <= least
    if bool((np.count_nonzero(chosen, axis=-1) != k).any()):
        return None
    indices = np.nonzero(chosen)[-1].reshape(*keys.shape[:-1], k)
    ordered = order(np.take_along_axis(keys, indices, -1), -1 % keys.ndim, largest)
    return np.moveaxis(np.take_along_axis(indices, ordered, -1), -1, axis)


def kthvalue_kernel(self: Array, k: int, dim: int = -1, keepdim: bool = False) -> tuple[Array, Array]:
    """The `k`-th smallest, counting from one. Raises RuntimeError for a `k` that the dimension does not have."""
    axis = one_dim(dim, self.ndim)
    if self.ndim and not self.shape[axis]:
        raise IndexError(f"kthvalue(): Expected reduction dim {axis} to have non-zero size.")
    size = self.shape[axis] if self.ndim else 1
    if not 1 <= k <= size:
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {axis}")
    if is_complex(self) or self.dtype == np.bool_:
        raise not_implemented("kthvalue_cpu", dtype_of(self))
    return along_one_dim(self, dim, keepdim, lambda a, d: _place_of(a, d, k - 1))


def _place_of(array: Array, axis: int, rank: int) -> Array:
    """Where along a dimension the elements are that sorting puts at a place."""
    position = _place_by_partition(array, axis, rank)
    return np.take(order(array, axis, False), [rank], axis=axis) if position is None else position


def _place_by_partition(array: Array, axis: int, rank: int) -> Array | None:
    """The same without sorting what comes before and behind; None for few elements, and where others are equal, or
    there are nan."""
    if array.size < LEAST or array.shape[axis] < 16 or not is_host_array(array):
        return None
    keys = np.moveaxis(widened(array), axis, -1)
    is_there = keys == np.partition(keys, rank, axis=-1)[..., rank : rank + 1]
    if bool((np.count_nonzero(is_there, axis=-1) != 1).any()):
        return None
    return np.asarray(np.moveaxis(np.argmax(is_there, axis=-1, keepdims=True), -1, axis))


def _middle(ignore_nan: bool) -> Any:
    def pick(array: Array, axis: int) -> Array:
        size = array.shape[axis]
        if not is_inexact(array) or not bool(np.isnan(array).any()):
            return _place_of(array, axis, (size - 1) // 2)
        indices = order(array, axis, False)
        nans = reduce_with(np.add, np.isnan(array), axis=axis, keepdims=True)
        first_nan = size - nans
        below = np.maximum(first_nan - 1, 0) // 2
        wanted = below if ignore_nan else np.where(nans > 0, first_nan, below)
        return np.take_along_axis(indices, wanted, axis=axis)

    return pick


def median_of(name: str, ignore_nan: bool) -> tuple[Any, Any]:
    """The kernels over everything and over one dimension: the lower of two middle elements."""

    def check(array: Array) -> None:
        if is_complex(array) or array.dtype == np.bool_:
            raise not_implemented("median_cpu", dtype_of(array))

    def whole(self: Array) -> Array:
        check(self)
        if not self.size:
            missing = np.nan if is_inexact(self) else np.iinfo(self.dtype).min
            return np.full((), missing, self.dtype)
        return along_one_dim(self.reshape(-1), 0, False, _middle(ignore_nan))[0]

    def along(self: Array, dim: int, keepdim: bool = False) -> tuple[Array, Array]:
        axis = one_dim(dim, self.ndim)
        if self.ndim and not self.shape[axis]:
            raise IndexError(f"{name}(): Expected reduction dim {axis} to have non-zero size.")
        check(self)
        return along_one_dim(self, dim, keepdim, _middle(ignore_nan))

    return whole, along


def mode_kernel(self: Array, dim: int = -1, keepdim: bool = False) -> tuple[Array, Array]:
    """The most frequent element, the smallest of several, and where it occurs last."""
    own_axis = one_dim(dim, self.ndim)
    if self.ndim and not self.shape[own_axis]:
        raise IndexError(f"mode(): Expected reduction dim {own_axis} to have non-zero size.")
    if is_complex(self):
        raise not_implemented("mode_cpu", dtype_of(self))

    def pick(array: Array, axis: int) -> Array:
        if not array.size:
            return np.empty((*array.shape[:axis], 1, *array.shape[axis + 1 :]), np.int64)
        if array.ndim > 1 or not is_host_array(array):
            return _most_frequent_together(widened(array), axis)
        return most_frequent(widened(array))

    return along_one_dim(self, dim, keepdim, pick)


def most_frequent(row: Array) -> Array:
    """The index, as an array of size one, of the most frequent element of a vector."""
    ordered = np.argsort(row, kind="stable")
    values = row[ordered]
    starts = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
    lengths = np.diff(np.append(starts, row.size))
    run = int(np.argmax(lengths))
    return ordered[[starts[run] + lengths[run] - 1]]


def _most_frequent_together(array: Array, axis: int) -> Array:
    """The same of all vectors: the end of the first of the longest runs of equal elements in order."""
    ordered = np.argsort(array, axis=axis, kind="stable")
    values = np.moveaxis(np.take_along_axis(array, ordered, axis=axis), axis, 0)
    starts = np.zeros(values.shape, np.int64)
    positions = np.arange(len(values)).reshape(-1, *[1] * (array.ndim - 1))
    starts[1:] = np.where(values[1:] != values[:-1], positions[1:], 0)
    lengths = positions - accumulated(np.maximum, starts, 0)
    best = np.expand_dims(np.argmax(lengths, axis=0), axis)
    return np.asarray(np.take_along_axis(ordered, best, axis=axis))


def msort_kernel(self: Array) -> Array:
    """Values only, along the first dimension."""
    return sort_kernel(self, 0)[0]


def topk_shape(self: TensorType, k: Any, dim: Any = -1) -> tuple[Sizes | None, ...]:
    """`k` in place of the dimension's size."""
    if self.sizes is None or dim is UNKNOWN:
        return (None, None)
    sizes = unknown_dims(self.sizes, dim)
    if k is not UNKNOWN and sizes:
        axis = one_dim(dim, len(sizes))
        sizes = tuple(k if i == axis else s for i, s in enumerate(sizes))
    return (sizes, sizes)


def _rows() -> Tensor:
    return wrap(np.array([[3, 1, 2, 1], [np.nan, -1, 5, np.inf], [0, 0, -0.0, 0]], np.float32))


def _distinct() -> Tensor:
    return wrap(np.array([[3, 1, 2, 7], [np.nan, -1, 5, np.inf], [0.5, 9, -4, 6]], np.float32))


def samples() -> Iterable[Sample]:
    """Ties, nan and both zeros along each dimension; 0-dim."""
    yield Sample(args=(_rows(), 0))
    yield Sample(args=(_rows(), -1))
    yield Sample(args=(wrap(np.float32(3).reshape(())), 0), note="0-dim")


def errors() -> Iterable[ErrorSample]:
    """A dimension that is not there."""
    yield ErrorSample(args=(wrap(np.ones(2, np.float32)), 1), error=IndexError, message="Dimension out of range")


declare(
    "aten::sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)",
    "aten::sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False)"
    " -> (Tensor values, Tensor indices)",
    outs=("values", "values_stable"),
    kernel=sort_kernel,
    doc="The elements in order along `dim`, and where they came from; equal ones keep their order.",
    dtype=value_and_index,
    shape=same_pair,
    samples=samples,
    errors=errors,
)

declare(
    "aten::argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor",
    "aten::argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> Tensor",
    outs=("", "stable_out"),
    kernel=argsort_kernel,
    doc="The indices that sort along `dim`; equal elements keep their order.",
    dtype=to_int64,
    shape=same_shape,
    samples=samples,
    errors=errors,
    reference=lambda self, dim: np.argsort(self, axis=dim, kind="stable") if self.ndim else np.zeros((), np.int64),
)

declare(
    "aten::msort(Tensor self) -> Tensor",
    outs=("out",),
    kernel=msort_kernel,
    doc="The elements in order along the first dimension.",
    dtype=same_dtype,
    shape=same_shape,
)

declare(
    "aten::topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True)"
    " -> (Tensor values, Tensor indices)",
    outs=("values",),
    kernel=topk_kernel,
    doc="The `k` largest (or smallest) elements along `dim`, in order, and where they are.",
    dtype=value_and_index,
    shape=topk_shape,
    samples=lambda: [Sample(args=(_distinct(), 2)), Sample(args=(_distinct(), 1, 0, False))],
    errors=lambda: [
        ErrorSample(args=(wrap(np.ones(3, np.float32)), 5), error=RuntimeError, message="selected index k out of range")
    ],
)

declare(
    "aten::kthvalue(Tensor self, SymInt k, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)",
    outs=("values",),
    kernel=kthvalue_kernel,
    traits=Traits(out_apart=True),
    doc="The `k`-th smallest element along `dim`, counting from one, and where it is.",
    dtype=value_and_index,
    shape=reduced_pair,
    samples=lambda: [Sample(args=(_distinct(), 2)), Sample(args=(_distinct(), 1, 0, True))],
    errors=lambda: [
        ErrorSample(
            args=(wrap(np.ones(3, np.float32)), 5),
            error=RuntimeError,
            message="kthvalue(): selected number k out of range for dimension 0",
        )
    ],
)

for _name in ("median", "nanmedian"):
    _whole, _along = median_of(_name, _name == "nanmedian")
    declare(
        f"aten::{_name}(Tensor self) -> Tensor",
        kernel=_whole,
        doc="The middle element, the lower one of two" + ("; nan does not count." if _name == "nanmedian" else "."),
        dtype=same_dtype,
        shape=lambda: (),
        samples=lambda: [Sample(args=(_rows(),))],
    )
    declare(
        f"aten::{_name}.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
        outs=("dim_values",),
        kernel=_along,
        dtype=value_and_index,
        shape=reduced_pair,
        samples=samples,
        errors=errors,
    )

declare(
    "aten::mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)",
    outs=("values",),
    kernel=mode_kernel,
    doc="The most frequent element along `dim`, and where it occurs last.",
    dtype=value_and_index,
    shape=reduced_pair,
    samples=lambda: [Sample(args=(wrap(np.array([[1, 2, 2], [3, 1, 1]])),))],
)
