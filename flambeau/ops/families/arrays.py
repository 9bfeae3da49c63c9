"""What kernels over arrays share: dimensions, dtypes, widening of small floats, and the layout of results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Protocol

import ml_dtypes

from flambeau.schema.dtype import Category, DType, by_code, from_numpy_dtype
from flambeau.tensor.array_folds import reduced
from flambeau.tensor.array_library import is_host_array, np
from flambeau.tensor.layout import contiguous_strides
from flambeau.util.inversions import LARGE_CONVERSION

Array = np.ndarray[Any, Any]

BFLOAT16: Final = np.dtype(ml_dtypes.bfloat16)
_HALVES: Final = (np.dtype(np.float16), BFLOAT16)
_SINGLE: Final = np.dtype(np.float32)
MANY_HALVES: Final = 1 << 12
"""Elements from which on one native loop converts them."""


class Shaped(Protocol):
    """What checks look at: an array, or how one lies."""

    @property
    def dtype(self) -> Any:
        """NumPy's."""

    @property
    def shape(self) -> tuple[Any, ...]:
        """The sizes."""

    @property
    def ndim(self) -> int:
        """How many there are."""


def dtype_of(array: Shaped) -> DType:
    """The element type."""
    return from_numpy_dtype(array.dtype)


def as_dtype(value: DType | int | None) -> DType | None:
    """A `ScalarType?` argument: a `DType`, or the number that programs write for it."""
    return by_code(value) if isinstance(value, int) else value


def is_float(array: Shaped) -> bool:
    """Whether elements are real floats (float16 and bfloat16 included)."""
    return dtype_of(array).is_floating_point


def is_inexact(array: Array) -> bool:
    """Whether elements are real or complex floats."""
    return bool(dtype_of(array).category >= Category.FLOAT)


def is_complex(array: Array) -> bool:
    """Whether elements are complex."""
    return bool(array.dtype.kind == "c")


def one_dim(dim: int, ndim: int) -> int:
    """`dim` counted from the front; 0-dim arrays have one dimension here. Raises IndexError."""
    bound = max(ndim, 1)
    if not -bound <= dim < bound:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-bound}, {bound - 1}], but got {dim})")
    return dim % bound


def some_dims(dims: int | Sequence[int] | None, ndim: int, *, empty_is_all: bool = True) -> tuple[int, ...]:
    """The dimensions a reduction removes, from the front; none given means all.

    Raises IndexError for a dimension out of range, RuntimeError for one that is named twice.
    """
    if dims is None or (empty_is_all and not isinstance(dims, int) and not dims):
        return tuple(range(ndim))
    if isinstance(dims, int) and -ndim <= dims < ndim:
        return (dims % ndim,)
    if type(dims) is list and len(dims) == 1 and -ndim <= dims[0] < ndim:
        return (dims[0] % ndim,)
    wrapped: list[int] = []
    for dim in [dims] if isinstance(dims, int) else dims:
        axis = one_dim(dim, ndim)
        if axis in wrapped:
            raise RuntimeError(f"dim {axis} appears multiple times in the list of dims")
        wrapped.append(axis)
    return tuple(wrapped) if ndim else ()


def at_least_1d(array: Array) -> Array:
    """A 0-dim array as one of size 1, others as they are."""
    return array.reshape(1) if array.ndim == 0 else array


def is_half(array: Array) -> bool:
    """Whether elements are of half precision, float16 or bfloat16."""
    return array.dtype.itemsize == 2 and array.dtype in _HALVES


def widened(array: Array) -> Array:
    """float16 and bfloat16 as float32, in which they are computed; others as they are."""
    return _converted(array, _SINGLE) if is_half(array) else array


def rounded(array: Array, dtype: np.dtype[Any]) -> Array:
    """`array` as `dtype` without a copy when it is that already."""
    if type(array) is not np.ndarray:
        array = np.asarray(array)
    if array.dtype is dtype:
        return array
    if array.dtype == _SINGLE and dtype.itemsize == 2 and dtype in _HALVES:
        return _converted(array, dtype)
    return array.astype(dtype, copy=False)


def _converted(array: Array, dtype: np.dtype[Any]) -> Array:
    """Halves as float32, or float32 as halves: NumPy converts one number at a time, and takes ten times as long where
    some of them are next to zero."""
    if array.size >= MANY_HALVES and is_host_array(array) and array.flags.c_contiguous:
        converted: Array | None = LARGE_CONVERSION.implementation(array, from_numpy_dtype(dtype))
        if converted is not None:
            return converted
    with np.errstate(all="ignore"):
        return array.astype(dtype)


def contiguous(array: Array) -> Array:
    """`array` in row-major order with the strides a fresh array of its shape has; a copy only if needed."""
    if type(array) is not np.ndarray:
        array = np.asarray(array)
    if not array.flags.c_contiguous:
        return array.copy(order="C")
    return array.ravel().reshape(array.shape) if 1 in array.shape else array


def empty(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """An array without elements, with the strides that one with elements would have (a size of zero counts as one)."""
    strides = [s * dtype.itemsize for s in contiguous_strides(shape)]
    return np.ndarray(shape, dtype, np.empty(1, dtype), 0, strides)


def not_implemented(kernel: str, dtype: DType) -> NotImplementedError:
    """The refusal of a dtype by a kernel."""
    return NotImplementedError(f"\"{kernel}\" not implemented for '{dtype.display}'")


def shape_text(array: Array) -> str:
    """`2x3`, as messages about matrices write shapes."""
    return "x".join(map(str, array.shape))


def reduce_with(function: np.ufunc, array: Array, axis: int | tuple[int, ...] | None = None, **options: Any) -> Array:
    """`function` folded over dimensions; a 0-dim array where NumPy gives a scalar."""
    return np.asarray(reduced(function, array, axis, **options))
