"""Running sums, products, extremes and log-sum-exps along one dimension."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import prod
from typing import Any

from flambeau.ops.derived_math import complex_log_of_sum
from flambeau.ops.families.arrays import (
    Array,
    as_dtype,
    at_least_1d,
    contiguous,
    dtype_of,
    is_complex,
    is_float,
    is_inexact,
    not_implemented,
    one_dim,
    rounded,
    widened,
)
from flambeau.ops.families.element_loops import FLOATS, loop_for
from flambeau.ops.families.numpy_cast import cast
from flambeau.ops.families.numpy_scalar import NUMPY
from flambeau.ops.families.opaque import declare
from flambeau.ops.families.reduce import ULP
from flambeau.ops.families.rules import (
    accumulate_dtype,
    same_dtype,
    same_pair,
    same_shape,
    summed_dtype,
    value_and_index,
)
from flambeau.schema.dtype import DType
from flambeau.schema.opdef import ErrorSample, Sample
from flambeau.tensor.array_folds import accumulated
from flambeau.tensor.array_library import np
from flambeau.tensor.tensor import wrap


def _accumulated(fold: np.ufunc, array: Array, dim: int, dtype: DType | int | None) -> Array:
    target = as_dtype(dtype) or accumulate_dtype(dtype_of(array))
    axis = one_dim(dim, array.ndim)
    wide = widened(at_least_1d(cast(array, target)))
    with np.errstate(all="ignore"):
        return contiguous(rounded(fold.accumulate(wide, axis=axis), target.numpy).reshape(array.shape))


def cumsum_kernel(self: Array, dim: int, dtype: DType | int | None = None) -> Array:
    """Integers add up in int64."""
    return _accumulated(np.add, self, dim, dtype)


def cumprod_kernel(self: Array, dim: int, dtype: DType | int | None = None) -> Array:
    """Integers multiply in int64."""
    return _accumulated(np.multiply, self, dim, dtype)


def largest_so_far(
    source: np.ndarray, values: np.ndarray, indices: np.ndarray, outer: int, inner: int, sign: float
) -> None:
    """The largest of sign * source up to each element along the middle of three dimensions, all arrays being flat."""
    length = len(source) // (outer * inner)
    for i in range(outer):
        first = i * length * inner
        for j in range(inner):
            values[first + j] = source[first + j]
            indices[first + j] = 0
        for k in range(1, length):
            at = first + k * inner
            for j in range(inner):
                number, before = source[at + j], values[at - inner + j]
                is_new = number * sign >= before * sign or number != number
                values[at + j] = number if is_new else before
                indices[at + j] = k if is_new else indices[at - inner + j]


def largest_of_rows(source: np.ndarray, values: np.ndarray, indices: np.ndarray, outer: int) -> None:
    """The largest up to each element of rows, with what was found so far at hand."""
    length = len(source) // outer
    for i in range(outer):
        first = i * length
        best, best_at = source[first], 0
        for k in range(length):
            number = source[first + k]
            if number >= best or number != number:
                best, best_at = number, k
            values[first + k] = best
            indices[first + k] = best_at


def smallest_of_rows(source: np.ndarray, values: np.ndarray, indices: np.ndarray, outer: int) -> None:
    """The smallest up to each element of rows."""
    length = len(source) // outer
    for i in range(outer):
        first = i * length
        best, best_at = source[first], 0
        for k in range(length):
            number = source[first + k]
            if number <= best or number != number:
                best, best_at = number, k
            values[first + k] = best
            indices[first + k] = best_at


def _extremes_natively(array: Array, axis: int, is_largest: bool) -> tuple[Array, Array] | None:
    """Values and where each was last seen; None for what NumPy is to do."""
    inner, outer = prod(array.shape[axis + 1 :]), prod(array.shape[:axis])
    function = largest_so_far if inner > 1 else largest_of_rows if is_largest else smallest_of_rows
    loop = loop_for(function, array.size) if array.dtype in FLOATS else None
    if loop is None:
        return None
    values, indices = np.empty(array.shape, array.dtype), np.empty(array.shape, np.int64)
    arrays = [one.reshape(-1) for one in (np.ascontiguousarray(array), values, indices)]
    loop(*arrays, outer, *((inner, 1.0 if is_largest else -1.0) if inner > 1 else ()))
    return values, indices


def extreme_so_far(name: str, fold: np.ufunc) -> Callable[[Array, int], tuple[Array, Array]]:
    """The kernel of `cummax` or `cummin`: values, and where each was last seen. Once nan, always nan."""

    def kernel(self: Array, dim: int) -> tuple[Array, Array]:
        axis = one_dim(dim, self.ndim)
        if is_complex(self):
            raise not_implemented(f"{name}_cpu", dtype_of(self))
        array = at_least_1d(self)
        if not array.size:
            return np.empty(self.shape, self.dtype), np.empty(self.shape, np.int64)
        native = _extremes_natively(array, axis, fold is np.maximum)
        if native is not None:
            return native[0].reshape(self.shape), native[1].reshape(self.shape)
        values = accumulated(fold, widened(array), axis).astype(self.dtype, copy=False)
        seen = array == values
        if is_inexact(array):
            seen |= np.isnan(array)
        shape = [1] * array.ndim
        shape[axis] = -1
        positions = np.arange(array.shape[axis]).reshape(shape)
        indices = accumulated(np.maximum, np.where(seen, positions, 0), axis)
        return contiguous(values.reshape(self.shape)), contiguous(indices.astype(np.int64).reshape(self.shape))

    return kernel


def logcumsumexp_kernel(self: Array, dim: int) -> Array:
    """Raises NotImplementedError for integers."""
    axis = one_dim(dim, self.ndim)
    if not is_inexact(self):
        raise not_implemented("logcumsumexp_out_cpu", dtype_of(self))
    wide = widened(at_least_1d(self))
    with np.errstate(all="ignore"):
        if is_float(wide):
            result = accumulated(np.logaddexp, wide, axis) if wide.size else wide.copy()
        else:
            result = wide.copy()
            rows = np.moveaxis(result, axis, 0)
            for i in range(1, len(rows)):
                rows[i] = complex_log_of_sum(NUMPY, rows[i - 1], rows[i])
    return contiguous(rounded(result, self.dtype).reshape(self.shape))


def samples() -> Iterable[Sample]:
    """Each dimension, 0-dim, zero-size, nan."""
    rows = np.arange(12, dtype=np.float32).reshape(3, 4) % 5 - 1.5
    yield Sample(args=(wrap(rows), 0))
    yield Sample(args=(wrap(rows), -1))
    yield Sample(args=(wrap(np.float32(3).reshape(())), 0), note="0-dim")
    yield Sample(args=(wrap(np.zeros((0, 2), np.float32)), 0), note="zero-size")


def errors() -> Iterable[ErrorSample]:
    """A dimension that is not there."""
    yield ErrorSample(args=(wrap(np.ones(2, np.float32)), 1), error=IndexError, message="Dimension out of range")


def _by_numpy(fold: Any) -> Any:
    return lambda self, dim: fold(np.atleast_1d(self), axis=dim).reshape(self.shape)


for _name, _kernel, _reference, _doc in (
    ("cumsum", cumsum_kernel, np.cumsum, "The sum of all elements up to each, along `dim`."),
    ("cumprod", cumprod_kernel, np.cumprod, "The product of all elements up to each, along `dim`."),
):
    declare(
        f"aten::{_name}(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
        outs=("out",),
        in_place=True,
        kernel=_kernel,
        family="scan",
        accumulator=_name,
        doc=_doc,
        dtype=summed_dtype,
        shape=same_shape,
        samples=samples,
        errors=errors,
        reference=_by_numpy(_reference),
        ulp=ULP,
    )

for _name, _fold in (("cummax", np.maximum), ("cummin", np.minimum)):
    declare(
        f"aten::{_name}(Tensor self, int dim) -> (Tensor values, Tensor indices)",
        outs=("out",),
        kernel=extreme_so_far(_name, _fold),
        family="scan",
        doc=f"The {'largest' if _name == 'cummax' else 'smallest'} element up to each, along `dim`, and where it is.",
        dtype=value_and_index,
        shape=same_pair,
        samples=samples,
        errors=errors,
    )

declare(
    "aten::logcumsumexp(Tensor self, int dim) -> Tensor",
    outs=("out",),
    kernel=logcumsumexp_kernel,
    family="scan",
    doc="log(cumsum(exp(x))) along `dim`, without overflow.",
    dtype=same_dtype,
    shape=same_shape,
    samples=samples,
    errors=errors,
    ulp=ULP,
)
