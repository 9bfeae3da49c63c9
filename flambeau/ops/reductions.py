"""Sums, products, means and counts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod as product
from typing import Any

from flambeau.ops.families.arrays import (
    Array,
    as_dtype,
    contiguous,
    dtype_of,
    is_complex,
    is_inexact,
    reduce_with,
    some_dims,
    widened,
)
from flambeau.ops.families.reduce import AS_IT_IS, LONG, SHORT, ULP, folded_rows, reduction, total
from flambeau.ops.families.rows import EMPTY, Describe, Row, folded, is_usual
from flambeau.ops.families.rules import accumulate_dtype, flag_dtype, given_dtype, reduced_shape, summed_dtype, to_int64
from flambeau.schema.dtype import Category, DType
from flambeau.schema.opdef import ErrorSample, Sample, Sizes
from flambeau.schema.types import TensorType
from flambeau.tensor.array_library import is_host_array, np
from flambeau.tensor.tensor import wrap
from flambeau.util.inversions import LARGE

Dims = int | Sequence[int] | None


def sum_kernel(self: Array, dim: Dims = None, keepdim: bool = False, dtype: DType | int | None = None) -> Array:
    """Integers add up in int64, small floats in float32."""
    if covers_all(dim, self.ndim):
        return _of_all(sum_kernel(self, None, False, dtype), self.ndim if keepdim else 0)
    is_whole = dim is None and dtype is None and not keepdim and (self.size < LONG or self.flags.c_contiguous)
    if is_whole and self.dtype in AS_IT_IS:
        return _whole(self)
    by_rows = _over_last(self, dim, keepdim) if dtype is None else None
    if by_rows is None and dtype is None:
        by_rows = _over_both_ends(self, dim, keepdim)
    if by_rows is not None:
        return by_rows
    target = as_dtype(dtype) or accumulate_dtype(dtype_of(self))
    return total(self, some_dims(dim, self.ndim), keepdim, target.numpy)


def covers_all(dim: Dims, ndim: int) -> bool:
    """Whether a list names each of several dimensions once."""
    return type(dim) is list and len(dim) == ndim > 1 and {d + ndim if d < 0 else d for d in dim} == {*range(ndim)}


def _of_all(folded: Array, ndim: int) -> Array:
    """What a fold of all elements gives, with so many dimensions of size 1."""
    return folded.reshape((1,) * ndim)


def _over_last(array: Array, dim: Dims, keepdim: bool) -> Array | None:
    """The sum of few elements over several last dimensions, which are a row; None for other sums."""
    if type(dim) is not list or len(dim) < 2 or not is_usual(array.dtype) or array.size >= LARGE:
        return None
    rank = array.ndim
    first = rank - len(dim)
    if sorted([d + rank if d < 0 else d for d in dim]) != [*range(first, rank)] or not array.flags.c_contiguous:
        return None
    lead = array.shape[:first]
    length = product(array.shape[first:])
    if length <= SHORT:
        return None
    with np.errstate(all="ignore"):
        added = np.asarray(np.add.reduce(array.reshape(*lead, length), axis=-1))
    return added.reshape(*lead, *[1] * len(dim)) if keepdim else added


def _over_both_ends(array: Array, dim: Dims, keepdim: bool) -> Array | None:
    """The sum of few elements over the first dimensions and the last ones, as those of images for each channel are
    added up: rows, then few of their sums. None for other sums."""
    if type(dim) is not list or len(dim) < 2 or array.size >= LARGE or not is_usual(array.dtype):
        return None
    rank = array.ndim
    chosen = sorted([d + rank if d < 0 else d for d in dim])
    first = next((k for k, d in enumerate(chosen) if d != k), len(chosen))
    middle = rank - len(chosen)
    if chosen != [*range(first), *range(first + middle, rank)] or not 0 < first < len(chosen) < rank:
        return None
    lead, length = product(array.shape[:first]), product(array.shape[first + middle :])
    if length <= SHORT or not 0 < lead <= SHORT * SHORT or not array.flags.c_contiguous:
        return None
    kept = array.shape[first : first + middle]
    with np.errstate(all="ignore"):
        rows = np.add.reduce(array.reshape(lead, *kept, length), axis=-1)
        added = np.asarray(np.add.reduce(rows, axis=0))
    return added.reshape(*[1] * first, *kept, *[1] * (len(chosen) - first)) if keepdim else added


def _whole(array: Array) -> Array:
    """The sum of all elements: of many as one row, which is added up pairwise."""
    with np.errstate(all="ignore"):
        by_rows = folded_rows("sum", np.add, array.reshape(-1)) if array.size >= LARGE else None
        if by_rows is not None:
            return by_rows
        return np.asarray(np.add.reduce(array, axis=None) if array.size < LONG else np.add.reduce(array.reshape(-1)))


def prod_kernel(self: Array, dim: Dims = None, keepdim: bool = False, dtype: DType | int | None = None) -> Array:
    """Integers multiply in int64, small floats in float32."""
    target = as_dtype(dtype) or accumulate_dtype(dtype_of(self))
    wide = widened(self.astype(target.numpy, copy=False))
    dims = some_dims(dim, self.ndim)
    with np.errstate(all="ignore"):
        if wide.size >= LARGE and not keepdim and dims == tuple(range(self.ndim - len(dims), self.ndim)):
            rows = wide.reshape(*wide.shape[: self.ndim - len(dims)], -1)
            by_rows = folded_rows("prod", np.multiply, rows)
            if by_rows is not None:
                return contiguous(by_rows)
        return contiguous(
            np.asarray(reduce_with(np.multiply, wide, axis=dims, keepdims=keepdim)).astype(target.numpy, copy=False)
        )


def mean_kernel(self: Array, dim: Dims = None, keepdim: bool = False, dtype: DType | int | None = None) -> Array:
    """nan where nothing is averaged. Raises RuntimeError for integers."""
    if covers_all(dim, self.ndim):
        return _of_all(mean_kernel(self, None, False, dtype), self.ndim if keepdim else 0)
    if dim is None and dtype is None and not keepdim and self.flags.c_contiguous and is_usual(self.dtype):
        with np.errstate(all="ignore"):
            return np.asarray(np.true_divide(_whole(self), self.dtype.type(self.size)))
    by_rows = _over_last(self, dim, keepdim) if dtype is None else None
    if by_rows is not None:
        return np.asarray(np.true_divide(by_rows, self.dtype.type(self.size // by_rows.size)))
    target = mean_dtype(dtype_of(self), as_dtype(dtype))
    dims = some_dims(dim, self.ndim)
    return averaged(
        total(widened(self.astype(target.numpy, copy=False)), dims, keepdim, sum_type(target)), self, dims, target
    )


def sum_type(target: DType) -> np.dtype[Any]:
    """The NumPy dtype in which a mean's sum is kept until it is divided."""
    wide: np.dtype[Any] = widened(np.empty(0, target.numpy)).dtype
    return wide


def averaged(added: Array, source: Array, dims: tuple[int, ...], target: DType) -> Array:
    """A sum divided by how many elements went into each entry."""
    count = product(source.shape[d] for d in dims)
    with np.errstate(all="ignore"):
        return np.asarray(np.true_divide(added, added.dtype.type(count))).astype(target.numpy, copy=False)


def mean_dtype(source: DType, asked: DType | None) -> DType:
    """The dtype of a mean. Raises RuntimeError for integers and bools."""
    target = asked or source
    if target.category < Category.FLOAT:
        which = "Optional" if asked else "Input"
        raise RuntimeError(
            f"mean(): could not infer output dtype. {which} dtype must be either a floating point or complex dtype. "
            f"Got: {target.display}"
        )
    return target


def sum_rows(ndim: int, dtype: np.dtype[Any], dim: Dims = None, keepdim: bool = False) -> Row | None:
    """What `sum` does with rows."""
    if dtype.kind in "biu":
        added = lambda r, x: r.fold(np.add, r.converted(x, np.dtype(np.int64)))  # noqa: E731
        return folded(ndim, dim, keepdim, added, several_beyond=0)
    return _added(ndim, dtype, dim, keepdim, lambda r, x: r.fold(np.add, x))


def mean_rows(ndim: int, dtype: np.dtype[Any], dim: Dims = None, keepdim: bool = False) -> Row | None:
    """What `mean` does with rows."""
    return _added(ndim, dtype, dim, keepdim, lambda r, x: np.true_divide(r.fold(np.add, x), r.count(dtype)))


def _added(ndim: int, dtype: np.dtype[Any], dim: Dims, keepdim: bool, compute: Any) -> Row | None:
    if dtype != np.float32:
        return folded(ndim, dim, keepdim, compute, several_beyond=SHORT) if is_usual(dtype) else None
    bounds = {"most_of_several": LARGE - 1, "longest": LONG - 1, "several_beyond": SHORT}
    return folded(ndim, dim, keepdim, compute, **bounds)


def prod_rows(ndim: int, dtype: np.dtype[Any], dim: Dims = None, keepdim: bool = False) -> Row | None:
    """What `prod` does with rows."""
    wide = dtype if is_usual(dtype) else np.dtype(np.int64) if dtype.kind in "biu" else None
    if wide is None:
        return None
    return folded(ndim, dim, keepdim, lambda r, x: r.fold(np.multiply, r.converted(x, wide)))


def flags_rows(fold: np.ufunc) -> Describe:
    """What `all` and `any` do with rows."""

    def describe(ndim: int, dtype: np.dtype[Any], dim: Dims = None, keepdim: bool = False) -> Row | None:
        if dtype.kind not in "bif" or dim is EMPTY:
            return None
        flags = lambda r, x: r.fold(fold, x if dtype.kind == "b" else np.not_equal(x, 0))  # noqa: E731
        return folded(ndim, dim, keepdim, flags, several_beyond=0)

    return describe


def nansum_kernel(self: Array, dim: Dims = None, keepdim: bool = False, dtype: DType | int | None = None) -> Array:
    """The sum with nan counted as zero. Raises RuntimeError for complex numbers."""
    if is_complex(self):
        raise RuntimeError("nansum on CPU does not support complex inputs")
    if is_host_array(self):  # most have none, which the sum tells
        added = sum_kernel(self, dim, keepdim, dtype)
        if added.dtype.kind != "f" or not np.isnan(added).any():
            return added
    return sum_kernel(without_nan(self), dim, keepdim, dtype)


def without_nan(array: Array) -> Array:
    """The array with nan replaced by zero."""
    if not is_inexact(array):
        return array
    is_nan = np.isnan(array)
    if not is_nan.any():
        return array
    kept: Array = array.copy()
    kept[is_nan] = 0
    return kept


def nanmean_kernel(self: Array, dim: Dims = None, keepdim: bool = False, dtype: DType | int | None = None) -> Array:
    """The mean of what is not nan. Raises RuntimeError for integers and bools."""
    if not is_inexact(self):
        raise RuntimeError(
            f"nanmean(): expected input to have floating point or complex dtype but got {dtype_of(self).display}"
        )
    target = as_dtype(dtype) or dtype_of(self)
    dims = some_dims(dim, self.ndim)
    added = total(widened(without_nan(self).astype(target.numpy, copy=False)), dims, keepdim, sum_type(target))
    count = reduce_with(np.add, ~np.isnan(self), axis=dims, keepdims=keepdim, dtype=np.int64)
    with np.errstate(divide="ignore", invalid="ignore"):
        return contiguous(
            np.asarray(np.true_divide(added, np.asarray(count).astype(added.dtype))).astype(target.numpy, copy=False)
        )


def any_kernel(self: Array, dim: Dims = None, keepdim: bool = False) -> Array:
    """Whether an element is not zero; nan is not zero."""
    return _flags(np.logical_or, self, dim, keepdim)


def all_kernel(self: Array, dim: Dims = None, keepdim: bool = False) -> Array:
    """Whether no element is zero."""
    return _flags(np.logical_and, self, dim, keepdim)


def _flags(fold: np.ufunc, array: Array, dim: Dims, keepdim: bool) -> Array:
    """An empty list of dimensions removes none here, unlike in sums."""
    dims = some_dims(dim, array.ndim, empty_is_all=False)
    folded = np.asarray(reduce_with(fold, array != 0, axis=dims, keepdims=keepdim))
    return contiguous(folded.astype(np.uint8 if array.dtype == np.uint8 else np.bool_, copy=False))


def count_nonzero_kernel(self: Array, dim: Dims = None) -> Array:
    """How many elements are not zero."""
    dims = some_dims(dim, self.ndim)
    return contiguous(reduce_with(np.add, self != 0, axis=dims, dtype=np.int64))


def mean_dtype_rule(self: TensorType, dtype: Any = None) -> DType | None:
    """`dtype` or the input's."""
    return given_dtype(self, dtype)


def flags_shape(self: TensorType, dim: Any = None, keepdim: Any = False) -> Sizes | None:
    """The shape of a sum, except that an empty list of dimensions reduces none."""
    return self.sizes if dim == [] else reduced_shape(self, dim, keepdim)


def samples() -> Iterable[Sample]:
    """Whole, one dimension, several, kept, and nothing to reduce."""
    grid = wrap(np.arange(12, dtype=np.float32).reshape(3, 4) / 7 - 0.5)
    yield Sample(args=(grid,))
    yield Sample(args=(grid, 1))
    yield Sample(args=(grid, -2, True), note="dimension from the end, kept")
    yield Sample(args=(wrap(np.float32(3).reshape(())),), note="0-dim")
    yield Sample(args=(wrap(np.zeros((0, 3), np.float32)), 0), note="zero-size")


def errors() -> Iterable[ErrorSample]:
    """A dimension that is not there."""
    yield ErrorSample(
        args=(wrap(np.ones((2, 3), np.float32)), 2),
        error=IndexError,
        message="Dimension out of range (expected to be in range of [-2, 1], but got 2)",
    )


def _axis(dim: Dims) -> Any:
    """A `dim` argument as NumPy's `axis`."""
    return None if dim is None or dim == [] else dim if isinstance(dim, int) else tuple(dim)


reduction(
    "aten::sum(Tensor self, *, ScalarType? dtype=None) -> Tensor",
    "aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    outs=("out", "IntList_out"),
    kernel=sum_kernel,
    rows=sum_rows,
    accumulator="sum",
    doc="The sum over the dimensions `dim`, or over all. Sums of integers and bools are int64.",
    dtype=summed_dtype,
    samples=samples,
    errors=errors,
    reference=lambda self, dim=None, keepdim=False: np.sum(self, axis=_axis(dim), keepdims=keepdim, dtype=np.float64),
    ulp=ULP,
)

reduction(
    "aten::prod(Tensor self, *, ScalarType? dtype=None) -> Tensor",
    "aten::prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    outs=("out", "int_out"),
    kernel=prod_kernel,
    rows=prod_rows,
    accumulator="prod",
    doc="The product over dimension `dim`, or over all. Products of integers and bools are int64.",
    dtype=summed_dtype,
    samples=samples,
    errors=errors,
    reference=lambda self, dim=None, keepdim=False: np.prod(self, axis=_axis(dim), keepdims=keepdim, dtype=np.float64),
    ulp=ULP,
)

reduction(
    "aten::mean(Tensor self, *, ScalarType? dtype=None) -> Tensor",
    "aten::mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    outs=("dtype_out", "out"),
    kernel=mean_kernel,
    rows=mean_rows,
    accumulator="mean",
    doc="The average over the dimensions `dim`, or over all. Floats and complex numbers only.",
    dtype=mean_dtype_rule,
    samples=samples,
    errors=errors,
    ulp=ULP,
)

reduction(
    "aten::nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    outs=("out",),
    kernel=nansum_kernel,
    accumulator="",
    doc="The sum over the dimensions `dim` with nan counted as zero.",
    dtype=summed_dtype,
    samples=samples,
    errors=errors,
    reference=lambda self, dim=None, keepdim=False: np.nansum(self, axis=_axis(dim), keepdims=keepdim),
    ulp=ULP,
)

reduction(
    "aten::nanmean(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    outs=("out",),
    kernel=nanmean_kernel,
    accumulator="",
    doc="The average over the dimensions `dim` of what is not nan.",
    dtype=given_dtype,
    samples=samples,
    errors=errors,
    ulp=ULP,
)

reduction(
    "aten::any(Tensor self) -> Tensor",
    "aten::any.dim(Tensor self, int dim, bool keepdim=False) -> Tensor",
    "aten::any.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
    outs=("all_out", "out", "dims_out"),
    kernel=any_kernel,
    rows=flags_rows(np.logical_or),
    accumulator="any",
    doc="Whether any element is not zero: bool, or uint8 for uint8.",
    dtype=flag_dtype,
    shape=flags_shape,
    samples=samples,
    errors=errors,
    reference=lambda self, dim=None, keepdim=False: np.any(self, axis=_axis(dim), keepdims=keepdim),
)

reduction(
    "aten::all(Tensor self) -> Tensor",
    "aten::all.dim(Tensor self, int dim, bool keepdim=False) -> Tensor",
    "aten::all.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
    outs=("all_out", "out", "dims_out"),
    kernel=all_kernel,
    rows=flags_rows(np.logical_and),
    accumulator="all",
    doc="Whether no element is zero: bool, or uint8 for uint8.",
    dtype=flag_dtype,
    shape=flags_shape,
    samples=samples,
    errors=errors,
    reference=lambda self, dim=None, keepdim=False: np.all(self, axis=_axis(dim), keepdims=keepdim),
)

reduction(
    "aten::count_nonzero(Tensor self, int? dim=None) -> Tensor",
    "aten::count_nonzero.dim_IntList(Tensor self, int[] dim) -> Tensor",
    outs=("out", "dim_IntList_out"),
    kernel=count_nonzero_kernel,
    accumulator="",
    doc="How many elements are not zero, as int64.",
    dtype=to_int64,
    errors=errors,
)
