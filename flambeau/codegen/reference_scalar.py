"""What each scalar operation means, one value at a time, in plain Python and NumPy scalars.

Integers wrap around; ``floordiv`` and ``remainder`` follow Python, ``truncdiv`` and ``fmod`` follow C; a zero divisor
raises ``ZeroDivisionError``. A shift count outside the type's width gives 0 (``shr`` of a negative number: -1). Float
functions are evaluated in double precision and rounded once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from flambeau.codegen.kernel.dtypes import WHOLE, element_type
from flambeau.ops.families import numpy_special

Scalar = Any
"""A NumPy scalar of the operation's element type."""


def wrap(value: int, dtype: str) -> int:
    """``value`` modulo the width of ``dtype``, in its range."""
    t = element_type(dtype)
    low = value & ((1 << t.bits) - 1)
    return low - (1 << t.bits) if t.kind == "int" and low >> (t.bits - 1) else low


def make(value: object, dtype: str) -> Scalar:
    """A NumPy scalar of ``dtype`` from a Python value; integers wrap around."""
    t = element_type(dtype)
    with np.errstate(all="ignore"):
        return t.numpy.type(wrap(int(value), dtype) if t.is_integer else value)  # type: ignore[call-overload]


def cast(value: Scalar, dtype: str) -> Scalar:
    """Convert as the hardware does: a float outside the target's range becomes the smallest integer, then wraps."""
    source, target = element_type(value.dtype.name), element_type(dtype)
    if source.name == target.name:
        return value
    if "half" in (source.kind, target.kind):
        with np.errstate(all="ignore"):
            single = np.float32(value)
        return cast(single, dtype) if source.kind == "half" else target.numpy.type(single)
    if target.kind == "bool":
        return np.bool_(value != 0)
    if source.is_float and target.is_integer:
        wide = 32 if target.kind == "int" and target.bits < 64 else 64
        number = float(value)
        low = -(2 ** (wide - 1))
        fits = math.isfinite(number) and low <= math.trunc(number) < -low
        return make(math.trunc(number) if fits else low, dtype)
    if target.is_float:
        with np.errstate(all="ignore"):
            return target.numpy.type(value)
    return make(int(value), dtype)


def _float_division(op: str, a: Scalar, b: Scalar) -> Scalar:
    """Quotient rounded down and remainder of the divisor's sign, in the operands' own arithmetic."""
    mod = np.fmod(a, b)
    adjust = mod != 0 and (b < 0) != (mod < 0)
    if op == "remainder":
        return mod + b if adjust else mod
    if b == 0:
        return a / b
    div = (a - mod) / b - (1 if adjust else 0)
    if div == 0:
        return np.copysign(type(a)(0), a / b)
    floored = np.floor(div)
    return floored + 1 if div - floored > 0.5 else floored


def _integer_division(op: str, a: int, b: int) -> int:
    if b == 0:
        raise ZeroDivisionError("ZeroDivisionError")
    if op == "floordiv":
        return a // b
    if op == "remainder":
        return a % b
    quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return quotient if op == "truncdiv" else a - quotient * b


def _division(op: str, a: Scalar, b: Scalar, dtype: str) -> Scalar:
    if element_type(dtype).is_integer:
        return make(_integer_division(op, int(a), int(b)), dtype)
    with np.errstate(all="ignore"):
        if op == "truncdiv":
            return np.trunc(a / b)
        if op == "fmod":
            return np.fmod(a, b)
        return make(_float_division(op, a, b), dtype)


def _float_power(a: float, b: float) -> float:
    try:
        return math.pow(a, b)
    except OverflowError:
        return -math.inf if a < 0 and b % 2 == 1 else math.inf
    except ValueError:
        if a == 0:  # a pole: 0 to a negative power
            return math.copysign(math.inf, a) if b % 2 == 1 else math.inf
        return math.nan


def _power(a: Scalar, b: Scalar, dtype: str) -> Scalar:
    if not element_type(dtype).is_integer:
        return make(_float_power(float(a), float(b)), dtype)
    base, exponent = int(a), int(b)
    if exponent >= 0:
        return make(pow(base, exponent, 1 << 64), dtype)
    return make({1: 1, -1: -1 if exponent % 2 else 1}.get(base, 0), dtype)


def _shift(op: str, a: Scalar, b: Scalar, dtype: str) -> Scalar:
    count = int(b)
    outside = count < 0 or count >= element_type(dtype).bits
    if op == "shl":
        return make(0 if outside else int(a) << count, dtype)
    return make((-1 if int(a) < 0 else 0) if outside else int(a) >> count, dtype)


def _extremum(op: str, a: Scalar, b: Scalar) -> Scalar:
    if a != a or b != b:
        return a if a != a else b
    return (a if a <= b else b) if op == "minimum" else (a if a >= b else b)


def _sigmoid(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-x)) if x >= 0 else math.exp(x) / (1.0 + math.exp(x))


def _guarded(function: Callable[[float], float]) -> Callable[[float], float]:
    """Python's ``math`` raises where IEEE gives nan or infinity; callers below pass such points by."""

    def call(x: float) -> float:
        try:
            return function(x)
        except (ValueError, OverflowError):
            return math.nan

    return call


_NUMPY_FLOAT: dict[str, Callable[[Any], Any]] = {
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log2": np.log2, "log10": np.log10,
    "log1p": np.log1p, "sqrt": np.sqrt, "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin,
    "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh,
    "acosh": np.arccosh, "atanh": np.arctanh, "rsqrt": lambda x: 1.0 / np.sqrt(x),
    "reciprocal": lambda x: np.float64(1.0) / x, "sigmoid": _guarded(_sigmoid), "erf": math.erf, "erfc": math.erfc,
    "erfinv": numpy_special.erfinv, "lgamma": numpy_special.lgamma, "digamma": numpy_special.digamma,
}  # fmt: skip
_EXACT_FLOAT: dict[str, Callable[[Any], Any]] = {
    "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "round": np.rint, "frac": lambda x: x - np.trunc(x),
    "isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite, "signbit": np.signbit,
}  # fmt: skip
_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
}  # fmt: skip
_PARTS: dict[str, Callable[..., Any]] = {
    "real": lambda z: z.real, "imag": lambda z: z.imag,
    "complex": lambda a, b: np.array([a, b]).view(WHOLE[a.dtype.name])[0],
}  # fmt: skip
_LOGICAL: dict[str, Callable[[Any, Any], Any]] = {
    "logical_and": lambda a, b: a and b, "logical_or": lambda a, b: a or b, "logical_xor": lambda a, b: a != b,
    "bitand": lambda a, b: a & b, "bitor": lambda a, b: a | b, "bitxor": lambda a, b: a ^ b,
}  # fmt: skip
_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
    "product": lambda a, b: a * b,
}  # fmt: skip
_BOOL_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a or b, "sub": lambda a, b: a != b, "mul": lambda a, b: a and b,
}  # fmt: skip


_PAIRS: dict[str, Callable[[Any, Any], Any]] = {"copysign": np.copysign, "nextafter": np.nextafter, "gcd": np.gcd}


def evaluate(op: str, args: tuple[Scalar, ...], dtype: str) -> Scalar:
    """The value of ``op`` on scalars whose common element type is ``dtype`` (``select``: that of its branches)."""
    if op == "select":
        return args[1] if args[0] else args[2]
    if op in _PARTS:
        return _PARTS[op](*args)
    if op in _COMPARE:
        return np.bool_(_COMPARE[op](args[0], args[1]))
    if op in _LOGICAL:
        return make(_LOGICAL[op](args[0], args[1]), dtype)
    if op == "logical_not":
        return np.bool_(not args[0])
    if op == "bitnot":
        return make(not args[0] if dtype == "bool" else ~int(args[0]), dtype)
    if op in ("shl", "shr"):
        return _shift(op, args[0], args[1], dtype)
    if op in ("minimum", "maximum"):
        return _extremum(op, args[0], args[1])
    if op in ("floordiv", "truncdiv", "remainder", "fmod"):
        return _division(op, args[0], args[1], dtype)
    if op == "pow":
        return _power(args[0], args[1], dtype)
    return _arithmetic(op, args, dtype)


def _arithmetic(op: str, args: tuple[Scalar, ...], dtype: str) -> Scalar:
    kind = element_type(dtype).kind
    with np.errstate(all="ignore"):
        if op in _ARITHMETIC:
            if kind == "bool":
                return np.bool_(_BOOL_ARITHMETIC[op](args[0], args[1]))
            if kind != "float":
                return make(_ARITHMETIC[op](int(args[0]), int(args[1])), dtype)
            return _ARITHMETIC[op](args[0], args[1])
        if op == "div":
            return args[0] / args[1]
        if op in ("neg", "abs", "sign"):
            return _sign(op, args[0], dtype)
        if op in _EXACT_FLOAT:
            return _EXACT_FLOAT[op](args[0])
        if op in _NUMPY_FLOAT:
            return make(_NUMPY_FLOAT[op](np.float64(args[0])), dtype)
        if op in _PAIRS:
            return _PAIRS[op](args[0], args[1])
        if op == "atan2":
            return make(np.arctan2(np.float64(args[0]), np.float64(args[1])), dtype)
        assert op == "hypot", op
        return make(np.hypot(np.float64(args[0]), np.float64(args[1])), dtype)


def _sign(op: str, value: Scalar, dtype: str) -> Scalar:
    if dtype == "bool":
        return value
    if not element_type(dtype).is_float:
        number = int(value)
        return make({"neg": -number, "abs": abs(number), "sign": (number > 0) - (number < 0)}[op], dtype)
    if op == "sign":
        return make(float(value > 0) - float(value < 0), dtype)
    return -value if op == "neg" else np.abs(value)
