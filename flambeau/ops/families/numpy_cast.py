"""Conversion of NumPy arrays between element types, with the results of x86 hardware.

Floats truncate towards zero; what does not fit, nan included, becomes the smallest integer of the conversion's width
(32 bits for signed targets up to 32 bits, else 64) and then wraps into the target; uint64 has its upper half too.
Complex numbers lose their imaginary part.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, Final

import ml_dtypes

from flambeau.schema.dtype import ALL, Category, DType, bfloat16, complex32, float16, from_numpy_dtype, uint64
from flambeau.tensor.array_library import np, on_host
from flambeau.util.inversions import LARGE, LARGE_CONVERSION

Array = Any
"""A NumPy array, or the NumPy scalar that an operation on 0-dim arrays gives."""

_DTYPES: Final = {d.numpy: d for d in ALL}
_BFLOAT16: Final = np.dtype(ml_dtypes.bfloat16)
MANY: Final = 1 << 12
"""Elements from which on somebody else may convert those of half precision, one number at a time for NumPy."""
_HALVES, _FLOATS = "eE", "eEfd"
"""Characters of the dtypes of half precision, and of those whose numbers somebody else converts."""
_WIDE: Final = {
    "i1": np.int32, "i2": np.int32, "i4": np.int32, "u1": np.int64, "u2": np.int64, "u4": np.int64, "i8": np.int64
}  # fmt: skip


def cast(array: Array, dtype: DType) -> Array:
    """`array` with elements of `dtype`; the same object if it has them already."""
    if array.dtype is dtype.numpy or array.dtype == dtype.numpy:
        return array
    if dtype is complex32:
        return _to_complex32(array)
    if array.dtype == complex32.numpy:
        array = _from_complex32(array)
    if array.size >= MANY and _is_large_conversion(array, dtype):
        converted = LARGE_CONVERSION.implementation(array, dtype)
        if converted is not None:
            return converted
    with np.errstate(all="ignore"):
        return _convert(array, dtype)


def _is_large_conversion(array: Array, dtype: DType) -> bool:
    """Whether floats are so many that one native loop takes less than NumPy's."""
    character = array.dtype.char
    return character in _FLOATS and (array.size >= LARGE or character in _HALVES or dtype.numpy.char in _HALVES)


def _convert(array: Array, dtype: DType) -> Array:
    kind = "f" if array.dtype == _BFLOAT16 else array.dtype.kind
    if dtype.category == Category.BOOL:
        return array != 0
    if kind == "c" and not dtype.is_complex:
        array, kind = array.real, "f"
    if dtype is float16 or dtype is bfloat16:
        return array.astype(np.float32, copy=False).astype(dtype.numpy)
    if kind == "f" and dtype.is_integral:
        if array.dtype.itemsize < 4:
            array = array.astype(np.float32)
        if dtype is uint64:
            return _to_uint64(array)
        return array.astype(_WIDE[dtype.numpy.str[1:]]).astype(dtype.numpy, copy=False)
    return array.astype(dtype.numpy)


def _to_uint64(array: Array) -> Array:
    is_large = (array >= 2.0**63) & (array < 2.0**64)
    number = np.where(is_large, array - array.dtype.type(2.0**63), array).astype(np.int64)
    return np.where(is_large, number ^ np.int64(-(2**63)), number).view(np.uint64)


def _to_complex32(array: Array) -> Array:
    result = np.empty(array.shape, complex32.numpy)
    result["real"] = array.real.astype(np.float32).astype(np.float16)
    result["imag"] = array.imag.astype(np.float32).astype(np.float16) if array.dtype.kind == "c" else 0
    return result


def _from_complex32(array: Array) -> Array:
    result = np.empty(array.shape, np.complex64)
    result.real, result.imag = array["real"], array["imag"]
    return result


def constant(value: Any, dtype: DType) -> Array:
    """A NumPy scalar of `dtype` from a Python number, wrapped (integers) or rounded (floats) to it."""
    kind = type(value)
    if kind is complex:
        with on_host():
            return _made(value, dtype)
    return _remembered(value, kind.__name__, dtype, math.copysign(1.0, value) if kind is float and value == 0 else 1.0)


@lru_cache(maxsize=1024)
def _remembered(value: Any, kind: str, dtype: DType, sign_of_zero: float) -> Array:
    """The constants seen lately; `kind` tells True from 1 and 1.0, `sign_of_zero` tells -0.0 from 0.0."""
    with on_host():
        return _made(value, dtype)


def _made(value: Any, dtype: DType) -> Array:
    if dtype.is_integral and isinstance(value, int):
        bits = 8 * dtype.itemsize
        low = int(value) & ((1 << bits) - 1)
        return dtype.numpy.type(low - (1 << bits) if dtype.is_signed and low >> (bits - 1) else low)
    if dtype.category == Category.FLOAT and isinstance(value, complex):
        value = value.real
    with np.errstate(all="ignore"):
        try:
            wide = np.asarray(value, dtype=np.complex128 if isinstance(value, complex) else None)
        except OverflowError:
            wide = np.asarray(float(value))
        if wide.dtype == object:
            wide = np.asarray(float(value))
        return cast(wide, dtype)[()]


def dtype_of(array: Array) -> DType:
    """The element type of an array."""
    dtype = _DTYPES.get(array.dtype)
    return from_numpy_dtype(array.dtype) if dtype is None else dtype
