"""What scalars of NumPy do otherwise than numbers of Python: round to fewer bits, wrap, refuse ints that do not fit.

python::as_float32(%sum)    the float of 32 bits nearest to a sum that was computed in 64
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final

from flambeau.ops.language import float64, int64
from flambeau.ops.language.declare import NEVER, Kernel, declare, same
from flambeau.schema import dtype as dtypes
from flambeau.schema.dtype import DType
from flambeau.tensor.array_library import np

OUT_OF_BOUNDS: Final = "Python integer {value} out of bounds for {name}"


def _rounding(dtype: DType) -> Callable[[float], float]:
    scalar = dtype.numpy.type

    def kernel(x: float) -> float:
        with np.errstate(all="ignore"):
            return float(scalar(x))

    return kernel


def _on_float(function: Callable[[float], Any]) -> Callable[[float], float]:
    return lambda x: float(function(x))


def _wrapping(dtype: DType) -> Callable[[int], int]:
    bits = 8 * dtype.itemsize
    least = 0 if dtype.name.startswith("u") else -(1 << (bits - 1))
    return lambda x: ((x - least) & ((1 << bits) - 1)) + least


def _through(dtype: DType, result: DType) -> Kernel:
    return lambda s, x: s.cast(s.cast(x, dtype), result)


def _within(dtype: DType) -> tuple[Kernel, Kernel]:
    info = np.iinfo(dtype.numpy)
    least, most = int(info.min), int(info.max)

    def kernel(x: int) -> int:
        if not least <= x <= most:
            raise OverflowError(OUT_OF_BOUNDS.format(value=x, name=dtype.name))
        return x

    def meaning(s: Any, x: Any) -> Any:
        low, high = (s.const(bound, dtypes.int64) for bound in (least, most))
        one, zero = (s.const(value, dtypes.int64) for value in (1, 0))
        fits = s.select(s.lt(x, low), zero, s.select(s.gt(x, high), zero, one))
        return s.floordiv(x, fits)  # by zero: the kernel says what is wrong

    return kernel, meaning


for _name in ("float16", "float32"):
    _dtype: DType = getattr(dtypes, _name)
    _to = _through(_dtype, dtypes.float64)
    declare(f"python::as_{_name}.float(float x) -> float", _rounding(_dtype), scalar=_to, traits=NEVER)
    declare(f"python::as_{_name}.int(int x) -> float", _rounding(_dtype), scalar=_to, traits=NEVER)
    declare(f"python::text_of_{_name}(float x) -> str", lambda x, scalar=_dtype.numpy.type: str(scalar(x)))
declare("python::as_complex64(complex x) -> complex", lambda x: complex(np.complex64(x)))


def _complex_kernel(function: Callable[..., Any], dtype: DType) -> Callable[[complex, complex], complex]:
    """What an operator of Python gives for scalars of NumPy; ufuncs have other roundings."""
    scalar = dtype.numpy.type

    def kernel(a: complex, b: complex) -> complex:
        with np.errstate(all="ignore"):
            return complex(function(scalar(a), scalar(b)))

    return kernel


for _name, _function in (("mul", operator.mul), ("div", operator.truediv), ("power", operator.pow)):
    for _dtype in (dtypes.complex64, dtypes.complex128):
        if (_name, _dtype) != ("mul", dtypes.complex128):  # which is Python's
            _schema = f"python::{_dtype.name}_{_name}(complex a, complex b) -> complex"
            declare(_schema, _complex_kernel(_function, _dtype))

for _name in ("int8", "int16", "int32", "uint8", "uint16", "uint32"):
    _dtype = getattr(dtypes, _name)
    _wrapped = _through(_dtype, dtypes.int64)
    declare(f"python::as_{_name}(int x) -> int", _wrapping(_dtype), scalar=_wrapped, traits=NEVER)
    _kernel, _meaning = _within(_dtype)
    declare(f"python::within_{_name}(int x) -> int", _kernel, scalar=_meaning)

declare("python::element_max(float a, float b) -> float", lambda a, b: float(np.maximum(a, b)), scalar=same("maximum"))
declare("python::element_min(float a, float b) -> float", lambda a, b: float(np.minimum(a, b)), scalar=same("minimum"))
for _name, _function in (("floor", np.floor), ("ceil", np.ceil), ("trunc", np.trunc), ("rint", np.rint)):
    _rounded = "round" if _name == "rint" else _name
    declare(f"python::element_{_name}(float a) -> float", _on_float(_function), scalar=same(_rounded))
declare(
    "python::element_sign(float a) -> float", _on_float(np.sign), scalar=lambda s, x: s.select(s.isnan(x), x, s.sign(x))
)
declare("python::element_power.float(float a, float b) -> float", float64.power, scalar=same("pow"))


def _whole_power(a: int, b: int) -> int:
    if b < 0:
        raise ValueError("Integers to negative integer powers are not allowed.")
    return int64.power(a, b)


def _whole_power_of(s: Any, a: Any, b: Any) -> Any:
    one, zero = (s.const(value, dtypes.int64) for value in (1, 0))
    return s.pow(a, s.floordiv(b, s.select(s.lt(b, zero), zero, one)))  # by zero: the kernel says what is wrong


def _int_power(a: int, b: int) -> int:
    if b < 0:
        raise ValueError(f"{a} ** {b} is a float, where an int was expected: write float(a) ** b, or ask for the sign")
    return int64.power(a, b)


declare("python::element_power.int(int a, int b) -> int", _whole_power, scalar=_whole_power_of)
declare("python::int_power(int a, int b) -> int", _int_power, scalar=_whole_power_of)
