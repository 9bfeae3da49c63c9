"""Reductions: fold some dimensions of one tensor away.

Kernels here fold over arrays with NumPy's pairwise order, small floats in float32 and long strided float32 columns in
float64, so that results are stable and do not depend on how memory is laid out by more than the stated ULP.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from math import prod
from typing import Any, Final

from flambeau.ops.families.arrays import Array, at_least_1d, contiguous, one_dim, reduce_with, some_dims, widened
from flambeau.ops.families.element_loops import loop_for
from flambeau.ops.families.opaque import ArrayKernel, declare
from flambeau.ops.families.rows import Describe
from flambeau.ops.families.rules import reduced_shape
from flambeau.schema.dtype import DType, bfloat16, complex64, complex128, float16, float32, float64
from flambeau.schema.opdef import DtypeRule, ErrorSample, OpDef, Sample, ShapeRule
from flambeau.tensor.array_library import is_host_array, np, on_host
from flambeau.util.inversions import LARGE, ROW_FOLDS

AS_IT_IS: Final = frozenset(map(np.dtype, (np.float32, np.float64, np.int64)))
"""What is added up without conversions."""
LONG: Final = 1024
"""From this many elements on, float32 sums that NumPy would add one after the other are kept in float64."""

SHORT: Final = 8
"""Up to so many elements, NumPy adds up a row one after the other."""

ROW: Final = 256
"""Elements of a row that are added up in a few vectors, one after the other, before their sums are."""

SHORT_ROW: Final = 128
"""Up to so many columns, a loop over rows that adds each to the totals takes longer than sums of pieces of columns."""

COLUMN: Final = 32
"""Elements of a column that are added up one after the other."""

ULP: Final = {float16: 2.0, bfloat16: 2.0, float32: 16.0, float64: 16.0, complex64: 16.0, complex128: 16.0}
"""How far two orders of adding up may differ, for inputs whose sum does not cancel."""


def reduction(
    *schemas: str,
    kernel: ArrayKernel,
    accumulator: str,
    dtype: DtypeRule,
    shape: ShapeRule = reduced_shape,
    outs: Sequence[str] = (),
    doc: str = "",
    samples: Callable[[], Iterable[Sample]] | None = None,
    errors: Callable[[], Iterable[ErrorSample]] | None = None,
    reference: Callable[..., Any] | None = None,
    ulp: Mapping[DType, float] | None = None,
    is_method: bool = True,
    is_function: bool = True,
    rows: Describe | None = None,
) -> tuple[OpDef, ...]:
    """Register the overloads of a reduction; `accumulator` is what generated loops fold with (empty: only the kernel
    can).
    """
    return declare(
        *schemas, kernel=kernel, family="reduce", accumulator=accumulator, dtype=dtype, shape=shape, outs=outs, doc=doc,
        samples=samples, errors=errors, reference=reference, ulp=ulp, is_method=is_method, is_function=is_function,
        rows=rows,
    )  # fmt: skip


def total(array: Array, dims: tuple[int, ...], keepdim: bool, dtype: np.dtype[Any]) -> Array:
    """The sum over `dims` as `dtype`."""
    if array.size < LONG and array.dtype is dtype and dtype in AS_IT_IS:
        with np.errstate(all="ignore"):
            added = array.sum(axis=dims, keepdims=keepdim)
        return contiguous(added) if added.ndim else np.asarray(added)
    wide = widened(array) if array.dtype == dtype else widened(array.astype(dtype))
    with np.errstate(all="ignore"):
        if wide.size >= LONG:
            added = _added_quickly(*_with_merged_ends(wide, dims))
            if keepdim:
                added = added.reshape([1 if d in dims else size for d, size in enumerate(array.shape)])
        else:
            added = reduce_with(np.add, wide, axis=dims, keepdims=keepdim)
        return contiguous(np.asarray(added).astype(dtype, copy=False))


def _added_quickly(array: Array, dims: tuple[int, ...]) -> Array:
    """The sum of many elements, without what NumPy is slow at."""
    last = array.ndim - 1
    if dims == (last,) and 0 < array.shape[last] <= SHORT:
        return _added_slices(array)
    by_rows = folded_rows("sum", np.add, array) if last in dims else None
    if by_rows is not None:
        return by_rows if len(dims) == 1 else reduce_with(np.add, by_rows, axis=dims[:-1], dtype=np.float64)
    columns = _added_columns(array, dims)
    if columns is not None:
        return columns
    if array.dtype != np.float32 or _adds_pairwise(array, dims):
        return reduce_with(np.add, array, axis=dims)
    if not array.flags.c_contiguous:
        return reduce_with(np.add, array, axis=dims, dtype=np.float64)
    if last in dims and len(dims) > 1 and array.shape[last] > SHORT:
        return reduce_with(np.add, reduce_with(np.add, array, axis=last), axis=dims[:-1], dtype=np.float64)
    loop = loop_for(add_rows, array.size) if _is_of_columns(array, dims) else None
    if loop is None:
        return reduce_with(np.add, array, axis=dims, dtype=np.float64)
    totals = np.zeros(array.shape[len(dims) :])
    loop(array.reshape(-1), totals.reshape(-1))
    return totals


def _is_of_columns(array: Array, dims: tuple[int, ...]) -> bool:
    """Whether the first dimensions are added up, and others stay."""
    return dims == tuple(range(len(dims))) and len(dims) < array.ndim


def _added_columns(array: Array, dims: tuple[int, ...]) -> Array | None:
    """The sum of many float32 elements over the first dimensions by native code: at most `COLUMN` of a column one after
    the other, then in float64. None where there is none."""
    is_served = array.size >= LARGE and array.dtype == np.float32 and _is_of_columns(array, dims)
    if not is_served or not is_host_array(array) or not array.flags.c_contiguous:
        return None
    first = len(dims)
    rows = array.reshape(prod(array.shape[:first]), -1)
    count, length = rows.shape
    if length > SHORT_ROW:
        return None
    piece = next((n for n in range(COLUMN, COLUMN // 4, -1) if not count % n), COLUMN)  # of one length, if it may be
    end = count - count % piece
    pieces = ROW_FOLDS.implementation("columns", rows[:end].reshape(end // piece, piece, length))
    if pieces is None:
        return None
    totals = reduce_with(np.add, pieces, axis=0, dtype=np.float64)
    if end < count:
        totals += reduce_with(np.add, rows[end:], axis=0, dtype=np.float64)
    return totals.reshape(array.shape[first:])


def add_rows(rows: np.ndarray, totals: np.ndarray) -> None:
    """totals[j] += rows[i, j], both arrays being flat."""
    length = len(totals)
    for i in range(len(rows) // length):
        for j in range(length):
            totals[j] += rows[i * length + j]


def folded_rows(name: str, function: np.ufunc, array: Array) -> Array | None:
    """A fold along the last axis of many float32 elements by native code; None where there is none.

    Rows are cut into pieces of up to `ROW`, whose folds are folded in float64: so sums have no more than NumPy's error.
    """
    is_served = array.dtype == np.float32 and array.size >= LARGE and array.shape[-1] >= 2 * SHORT
    if not is_served or not is_host_array(array) or not array.flags.c_contiguous:
        return None
    length = array.shape[-1]
    least = -(-length // ROW)
    count = next((n for n in range(least, 4 * least) if not length % n), 0)  # pieces of one length, if there are such
    piece = length // count if count else ROW
    end = length - length % piece
    if count == 1:
        return ROW_FOLDS.implementation(name, array)  # type: ignore[no-any-return]
    pieces = ROW_FOLDS.implementation(name, array[..., :end].reshape(*array.shape[:-1], end // piece, piece))
    if pieces is None:
        return None
    result = reduce_with(function, pieces, axis=-1, dtype=np.float64)
    if end < length:
        result = function(result, reduce_with(function, array[..., end:], axis=-1))
    return np.asarray(result).astype(np.float32)


def _with_merged_ends(array: Array, dims: tuple[int, ...]) -> tuple[Array, tuple[int, ...]]:
    """The same with one dimension in the place of the last ones, if all of these are added up and lie row-major."""
    first = array.ndim
    while first - 1 in dims:
        first -= 1
    if first > array.ndim - 2 or not array.flags.c_contiguous:
        return array, dims
    return array.reshape(*array.shape[:first], -1), (*(d for d in dims if d < first), first)


def _added_slices(array: Array) -> Array:
    """The sum over a short last dimension, one of its entries after the other: NumPy folds each row by itself."""
    added = array[..., 0].copy()
    for index in range(1, array.shape[-1]):
        added += array[..., index]
    return added


def _adds_pairwise(array: Array, dims: tuple[int, ...]) -> bool:
    """Whether NumPy's own order is good enough: short, or along the dimension that is contiguous in memory."""
    count = prod(array.shape[d] for d in dims)
    return count < LONG or (
        array.flags.c_contiguous and set(dims) >= {array.ndim - 1} and array.shape[-1] >= count // LONG
    )


def require_elements(name: str, array: Array, dims: Sequence[int] | int | None) -> None:
    """Refuse to reduce nothing with a fold that has no identity.

    Raises RuntimeError when all of an empty array is reduced, IndexError naming the empty dimension otherwise.
    """
    if array.size:
        return
    if dims is None or (not isinstance(dims, int) and not dims):
        raise RuntimeError(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. "
            "Specify the reduction dim with the 'dim' argument."
        )
    for dim in some_dims(dims, array.ndim):
        if array.shape[dim] == 0:
            raise IndexError(f"{name}(): Expected reduction dim {dim} to have non-zero size.")


FEW: Final = 1 << 12
"""Indices up to which where their lines begin is kept."""


def _counted(array: Array, indices: Array, dim: int) -> Array:
    """Indices along a dimension, of which there are as many for each line, as places among all elements."""
    outer, inner = prod(array.shape[:dim]), prod(array.shape[dim + 1 :])
    apart = indices.reshape(outer, -1, inner)
    return ((apart if inner == 1 else apart * inner) + _lines(outer, array.shape[dim], inner)).reshape(indices.shape)


@lru_cache(maxsize=64)
def _lines(outer: int, size: int, inner: int) -> Array:
    """Where each line begins."""
    with on_host():
        return np.arange(outer)[:, None, None] * (size * inner) + np.arange(inner)


def take_along(array: Array, indices: Array, dim: int, keepdim: bool) -> tuple[Array, Array]:
    """Values at `indices` (which keep the dimension `dim`) and the indices, without that dimension unless `keepdim`."""
    if 0 < indices.size <= FEW and is_host_array(array) and array.flags.c_contiguous:
        values = array.reshape(-1).take(indices if array.ndim == 1 else _counted(array, indices, dim))
    else:
        values = np.take_along_axis(array, indices, axis=dim)
    if not keepdim:
        values, indices = values.squeeze(dim), indices.squeeze(dim)
    return contiguous(values), contiguous(indices.astype(np.int64, copy=False))


def along_one_dim(array: Array, dim: int, keepdim: bool, pick: Callable[[Array, int], Array]) -> tuple[Array, Array]:
    """Values and indices of what `pick(array, dim)` chooses; it returns indices that keep the dimension. 0-dim works
    as size 1.
    """
    axis = one_dim(dim, array.ndim)
    lined = at_least_1d(array)
    values, indices = take_along(lined, pick(lined, axis), axis, keepdim)
    return (values.reshape(()), indices.reshape(())) if array.ndim == 0 else (values, indices)
