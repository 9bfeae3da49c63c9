"""The Scalar protocol on whole NumPy arrays: how eager calls compute.

Differences to what NumPy does by itself: integer division by zero raises, counts of shifts outside the width are
defined, `remainder` keeps the sign of a zero, powers of integers wrap, negative ones give 0 or 1 or -1, and nothing
warns (callers hold `np.errstate(all="ignore")`). Half precision never arrives here: the families compute it in
single.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from flambeau.ops.families import numpy_special
from flambeau.ops.families.numpy_cast import Array, cast, constant, dtype_of
from flambeau.schema.dtype import Category, DType
from flambeau.tensor.array_library import np


def _is_float(x: Array) -> bool:
    return x.dtype.kind in "fcV"  # V: bfloat16


def _refuse_zero(x: Array, y: Array) -> None:
    """Raise for a divisor of zero, if anything is divided by it."""
    if not np.all(y) and 0 not in np.shape(x):
        raise RuntimeError("ZeroDivisionError")


def _floordiv(x: Array, y: Array) -> Array:
    if not _is_float(x):
        _refuse_zero(x, y)
        return np.floor_divide(x, y)
    rest = np.fmod(x, y)
    quotient = (x - rest) / y
    quotient = np.where((rest != 0) & ((y < 0) != (rest < 0)), quotient - 1, quotient)
    floored = np.floor(quotient)
    floored = np.where(quotient - floored > 0.5, floored + 1, floored)
    exact = x / y
    floored = np.where(quotient != 0, floored, np.copysign(x.dtype.type(0), exact))
    return np.where(y == 0, exact, floored)


def _truncdiv(x: Array, y: Array) -> Array:
    if _is_float(x):
        return np.trunc(x / y)
    _refuse_zero(x, y)
    quotient = np.floor_divide(x, y)
    return quotient + ((x - quotient * y != 0) & ((x < 0) != (y < 0))).astype(x.dtype)


def _remainder(x: Array, y: Array) -> Array:
    if not _is_float(x):
        _refuse_zero(x, y)
        return np.remainder(x, y)
    rest = np.fmod(x, y)
    return np.where((rest != 0) & ((y < 0) != (rest < 0)), rest + y, rest)


def _fmod(x: Array, y: Array) -> Array:
    if not _is_float(x):
        _refuse_zero(x, y)
    return np.fmod(x, y)


def _pow(x: Array, y: Array) -> Array:
    if x.dtype.kind == "b":
        return x | ~y
    if _is_float(x):
        return np.power(x, y)
    if x.dtype.kind == "u" or not np.any(y < 0):
        return np.power(x, y)
    one = x.dtype.type(1)
    alternating = np.where(y & 1, -one, one)
    inverse = np.where(x == 1, one, np.where(x == -1, alternating, x.dtype.type(0)))
    return np.where(y < 0, inverse, np.power(x, np.maximum(y, 0)))


def _mul(x: Array, y: Array) -> Array:
    """The product; nothing is computed for the factor one, as `alpha` mostly is."""
    return y if isinstance(x, np.generic) and x == 1 and x.dtype == y.dtype else np.multiply(x, y)


def _width(x: Array) -> int:
    return int(8 * x.dtype.itemsize)


def _shl(x: Array, y: Array) -> Array:
    outside = (y < 0) | (y >= _width(x))
    return np.where(outside, x.dtype.type(0), np.left_shift(x, np.where(outside, x.dtype.type(0), y)))


def _shr(x: Array, y: Array) -> Array:
    last = x.dtype.type(_width(x) - 1)
    return (
        np.right_shift(x, np.where((y < 0) | (y > last), last, y))
        if x.dtype.kind == "i"
        else np.where((y > last), x.dtype.type(0), np.right_shift(x, np.minimum(y, last)))
    )


def _sign(x: Array) -> Array:
    if x.dtype.kind == "b":
        return x
    if x.dtype.kind == "c":
        size = np.abs(x)
        return np.where(size == 0, x.dtype.type(0), x / np.where(size == 0, size.dtype.type(1), size))
    return (x > 0).astype(x.dtype) - (x < 0).astype(x.dtype)


def _sigmoid(x: Array) -> Array:
    one = x.dtype.type(1)
    if x.dtype.kind == "c":
        return one / (one + np.exp(-x))
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, one / (one + small), small / (one + small))


def _unchanged_if_integer(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
    return lambda x: function(x) if _is_float(x) else x


def _log1p(x: Array) -> Array:
    return np.log1p(x)


def _polar(size: Array, angle: Array) -> Array:
    return _complex(size * np.cos(angle), size * np.sin(angle))


def _complex(real: Array, imag: Array) -> Array:
    result = np.empty(np.broadcast_shapes(real.shape, imag.shape), dtype_of(real).to_complex().numpy)
    result.real, result.imag = real, imag
    return result


def _angle(x: Array) -> Array:
    if x.dtype.kind == "c":
        return np.angle(x)
    return np.where(np.isnan(x), x, np.where(x < 0, x.dtype.type(np.pi), x.dtype.type(0)))


def _isinf(x: Array) -> Array:
    return np.isinf(x) if _is_float(x) else np.zeros(x.shape, np.bool_)


def _signbit(x: Array) -> Array:
    return np.signbit(x) if _is_float(x) else x < 0


_OPERATIONS: Final[dict[str, Callable[..., Array]]] = {
    # one float in, the same float out
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log2": np.log2, "log10": np.log10,
    "log1p": _log1p, "sqrt": np.sqrt, "rsqrt": lambda x: x.dtype.type(1) / np.sqrt(x), "sin": np.sin, "cos": np.cos,
    "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh,
    "tanh": np.tanh, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "sigmoid": _sigmoid,
    **numpy_special.STEPS,
    # one number in, the same dtype out (abs, real, imag and angle of a complex number: its real dtype)
    "neg": np.negative, "abs": np.abs, "sign": _sign, "floor": _unchanged_if_integer(np.floor),
    "ceil": _unchanged_if_integer(np.ceil), "trunc": _unchanged_if_integer(np.trunc),
    "round": _unchanged_if_integer(np.rint), "bitnot": np.invert, "reciprocal": lambda x: x.dtype.type(1) / x,
    "real": np.real, "imag": np.imag, "conj": np.conj, "angle": _angle,
    # two numbers in
    "add": np.add, "sub": lambda x, y: np.bitwise_xor(x, y) if x.dtype.kind == "b" else np.subtract(x, y),
    "mul": _mul, "div": np.true_divide, "floordiv": _floordiv, "truncdiv": _truncdiv, "remainder": _remainder,
    "fmod": _fmod, "pow": _pow, "minimum": np.minimum, "maximum": np.maximum, "atan2": np.arctan2,
    "copysign": np.copysign, "hypot": np.hypot, "nextafter": np.nextafter, "bitand": np.bitwise_and,
    "bitor": np.bitwise_or, "bitxor": np.bitwise_xor, "shl": _shl, "shr": _shr, "gcd": np.gcd,
    "complex": _complex, "polar": _polar,
    # bools out
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
    "ge": np.greater_equal, "logical_and": np.logical_and, "logical_or": np.logical_or,
    "logical_xor": np.logical_xor, "logical_not": np.logical_not, "isnan": lambda x: x != x, "isinf": _isinf,
    "isfinite": lambda x: np.isfinite(x), "signbit": _signbit,
}  # fmt: skip


class NumpyScalar:
    """Implements `schema.scalar.Scalar` for NumPy arrays.

    >>> NUMPY.remainder(np.float32([-7.0, 7.0]), np.float32(2.0)).tolist()
    [1.0, 1.0]
    """

    def __init__(self) -> None:
        self.__dict__.update(_OPERATIONS)

    def dtype_of(self, x: Array) -> DType:
        """The dtype of an array."""
        return dtype_of(x)

    def const(self, value: complex, dtype: DType) -> Array:
        """A literal as a NumPy scalar."""
        return constant(value, dtype)

    def cast(self, x: Array, dtype: DType) -> Array:
        """Conversion as `Tensor.to`."""
        return cast(x, dtype)

    def select(self, condition: Array, a: Array, b: Array) -> Array:
        """`a` where `condition` holds, else `b`."""
        return np.where(condition, a, b)

    def supports(self, name: str, dtype: DType) -> bool:
        """Whether `name` can be computed on `dtype`: every operation is here, half precision is not."""
        return name in _OPERATIONS and (dtype.category != Category.FLOAT or dtype.itemsize >= 4)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"no scalar operation is called '{name}'")


NUMPY: Final = NumpyScalar()
"""The one instance."""
