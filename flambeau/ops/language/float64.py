"""Arithmetic of the language's float where Python's own raises: C's results, inf and nan, instead of exceptions.

>>> div(1.0, 0.0), div(0.0, 0.0), floordiv(-7.0, 2.0), power(10.0, 400.0)
(inf, nan, -4.0, inf)
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from typing import Any

from flambeau.tensor.array_library import np

INF = math.inf
NAN = math.nan


def div(a: float, b: float) -> float:
    """a / b; by zero inf with the product's sign, or nan."""
    if b:
        return a / b
    if a != a or a == 0:
        return NAN
    return INF if (a > 0) == (math.copysign(1.0, b) > 0) else -INF


def floordiv(a: float, b: float) -> float:
    """a // b, as Python computes it from the remainder; by zero a / b.

    >>> floordiv(1.0, 0.1), math.floor(1.0 / 0.1), floordiv(-7.5, INF)
    (9.0, 10, -1.0)
    """
    return a // b if b else div(a, b)


def remainder(a: float, b: float) -> float:
    """The remainder with the sign of the divisor, a zero too; nan for a zero divisor or an infinite dividend."""
    result = fmod(a, b)
    if result == 0:
        return math.copysign(0.0, b)
    return result + b if (result < 0) != (b < 0) else result


def fmod(a: float, b: float) -> float:
    """The remainder with the sign of the dividend; nan for a zero divisor."""
    return math.fmod(a, b) if b and a - a == 0 and b == b else NAN


def ieee_remainder(a: float, b: float) -> float:
    """The remainder of the nearest quotient; nan for a zero divisor."""
    return math.remainder(a, b) if b and a - a == 0 and b == b else NAN


def power(a: float, b: float) -> float:
    """a ** b as C's pow: nan for a fractional power of a negative number, inf on overflow."""
    try:
        return math.pow(a, b)
    except OverflowError:
        return -INF if a < 0 and b % 2 == 1 else INF
    except ValueError:
        if a == 0:
            return math.copysign(INF, a) if b % 2 == 1 else INF
        return NAN


def minimum(a: float, b: float) -> float:
    """The smaller operand, the second of equal or unordered ones."""
    return a if a < b else b


def maximum(a: float, b: float) -> float:
    """The larger operand, the second of equal or unordered ones."""
    return a if a > b else b


def quiet(function: Callable[..., float], fallback: Callable[..., Any]) -> Callable[..., float]:
    """`function` of `math`, and NumPy's `fallback`, which has no exceptions, where that refuses its operands."""

    def call(*operands: float) -> float:
        try:
            return function(*operands)
        except (ValueError, OverflowError):
            with np.errstate(all="ignore"):
                return float(fallback(*operands))

    call.__name__ = function.__name__
    return call


def quiet_complex(function: Callable[..., complex], fallback: Callable[..., Any]) -> Callable[..., complex]:
    """`quiet` for functions of `cmath`."""

    def call(*operands: complex) -> complex:
        try:
            return function(*operands)
        except (ValueError, OverflowError):
            with np.errstate(all="ignore"):
                return complex(fallback(*map(np.complex128, operands)))

    call.__name__ = function.__name__
    return call


def complex_div(a: complex, b: complex) -> complex:
    """a / b; inf and nan parts for a zero divisor."""
    if b:
        return a / b
    with np.errstate(all="ignore"):
        return complex(np.complex128(a) / np.complex128(b))


def complex_power(a: complex, b: complex) -> complex:
    """a ** b; nan parts where Python refuses."""
    try:
        return complex(a) ** b
    except (ZeroDivisionError, OverflowError):
        if not a:
            return complex(NAN, NAN)
        return cmath.inf * cmath.exp(1j * (cmath.phase(a) * b.real))
