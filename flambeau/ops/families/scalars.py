"""Python numbers as elements of a dtype."""

from __future__ import annotations

from typing import Any, Final

from flambeau.schema.dtype import Category, DType, complex32, complex64, float32, float64
from flambeau.tensor.array_library import np

_SAFE: Final = 1e38
"""Numbers below are within the range of single floats."""
_PLAIN_FLOATS: Final = frozenset({float32, float64})
_REALS: Final = frozenset({int, float})
OVERFLOW: Final = "value cannot be converted to type {} without overflow"


def exact_scalar(value: Any, dtype: DType) -> Any:
    """The NumPy scalar for `value`; floats truncate to integers, and what is too large for a half is infinite.

    Raises RuntimeError where `dtype` cannot hold it: an imaginary part, an integer out of range, a finite number
    beyond float32.
    """
    if dtype in _PLAIN_FLOATS and type(value) in _REALS and -_SAFE < value < _SAFE:
        return dtype.numpy.type(value)
    return _checked(value, dtype)


def _checked(value: Any, dtype: DType) -> Any:
    if dtype.category == Category.BOOL:
        return np.bool_(bool(value))
    if isinstance(value, complex) and not dtype.is_complex:
        if value.imag:
            raise RuntimeError(
                OVERFLOW.format("double" if dtype.itemsize == 2 and not dtype.is_integral else c_name(dtype))
            )
        value = value.real
    if dtype.is_integral:
        return _integer(value, dtype)
    if dtype is complex32:
        number = complex(value)
        return np.array((number.real, number.imag), dtype.numpy)[()]
    with np.errstate(all="ignore"):
        result = dtype.numpy.type(_rounded(value))
    if (dtype is float32 or dtype is complex64) and _overflowed(value, result):
        raise RuntimeError(OVERFLOW.format(c_name(dtype)))
    return result


def _rounded(value: Any) -> Any:
    """Ints as floats, since NumPy refuses large ones."""
    return float(value) if isinstance(value, int) else value


def _overflowed(value: Any, result: Any) -> bool:
    return bool(np.isinf(result)) and bool(np.isfinite(complex(value)))


def _integer(value: Any, dtype: DType) -> Any:
    bits = 8 * dtype.itemsize
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if dtype.is_signed else (0, (1 << bits) - 1)
    if isinstance(value, float) and (value != value or abs(value) == float("inf")):
        raise RuntimeError(OVERFLOW.format(c_name(dtype)))
    number = int(value)
    if isinstance(value, int) and not dtype.is_signed and -high <= number < 0:
        number += high + 1
    if not low <= number <= high:
        raise RuntimeError(OVERFLOW.format(c_name(dtype)))
    return dtype.numpy.type(number)


def c_name(dtype: DType) -> str:
    """How messages about numbers name the dtype."""
    names = {"int64": "int64_t", "int8": "int8_t", "int16": "int16_t", "uint8": "uint8_t"}
    return names.get(dtype.name, dtype.short)
