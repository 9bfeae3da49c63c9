"""Elementary functions of complex numbers on their parts, with C's answers at zeros, infinities and nan (Annex G).

Formulas are those that are usual; what overflows on the way is computed in another scale, and a select puts the answers
of the annex where a formula has none.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from flambeau.codegen.complex_arithmetic import (
    Pair,
    add,
    constant,
    multiply,
    negate,
    power_by_number,
    real,
    reciprocal,
)

_LARGE_EXPONENT = {"float32": 88.0, "float64": 709.0}
"""From here on e to the power of x is computed as the power of what is left, times that of this."""
_LARGE = {"float32": 1e38, "float64": 1e307}
"""Parts from which lengths may not be numbers any more."""
_SMALL = {"float32": 1e-30, "float64": 1e-290}
"""Parts up to which an eighth may lose digits."""
_LOG2_E = {2.0: 1 / math.log(2.0), 10.0: 1 / math.log(10.0)}
MOST_MULTIPLIED = 100
"""Whole exponents below which a power is made of products."""


def _by_dtype(s: Any, x: Any, values: dict[str, float]) -> Any:
    return constant(s, x, values[s.dtype_of(x).name])


def _is_wild(s: Any, x: Any) -> Any:
    return s.logical_not(s.isfinite(x))


def _is_zero(s: Any, x: Any) -> Any:
    return s.eq(x, constant(s, x, 0.0))


def _in_range(s: Any, x: Any) -> tuple[Any, Any]:
    """An exponent whose power is a number, and what that power is to be multiplied with."""
    limit = _by_dtype(s, x, _LARGE_EXPONENT)
    is_large = s.gt(x, limit)
    return s.select(is_large, s.sub(x, limit), x), s.select(is_large, s.exp(limit), constant(s, x, 1.0))


def exp(s: Any, x: Pair) -> Pair:
    """e to the power of x."""
    zero = constant(s, x.re, 0.0)
    exponent, scale = _in_range(s, x.re)
    size = s.exp(exponent)
    re, im = s.mul(s.mul(size, s.cos(x.im)), scale), s.mul(s.mul(size, s.sin(x.im)), scale)
    is_wild = _is_wild(s, x.im)
    is_last = s.logical_and(is_wild, s.isinf(x.re))
    is_nothing = s.logical_and(is_last, s.lt(x.re, zero))
    re = s.select(is_last, s.select(is_nothing, zero, x.re), re)
    im = s.select(is_nothing, s.copysign(zero, x.im), im)
    return Pair(re, s.select(_is_zero(s, x.im), x.im, im))


def log(s: Any, x: Pair) -> Pair:
    """The natural logarithm, accurate near lengths of one."""
    re, im, one = s.abs(x.re), s.abs(x.im), constant(s, x.re, 1.0)
    is_wide = s.gt(re, im)
    more, less = s.select(is_wide, re, im), s.select(is_wide, im, re)
    is_large, is_small = s.gt(more, _by_dtype(s, more, _LARGE)), s.lt(more, _by_dtype(s, more, _SMALL))
    digits = s.select(is_large, constant(s, re, 1.0), s.select(is_small, constant(s, re, -53.0), constant(s, re, 0.0)))
    scale = s.select(is_large, constant(s, re, 0.5), s.select(is_small, constant(s, re, 2.0**53), one))
    size = s.hypot(s.mul(re, scale), s.mul(im, scale))
    far = s.add(s.log(size), s.mul(digits, constant(s, re, math.log(2.0))))
    near = s.log1p(s.add(s.mul(s.sub(more, one), s.add(more, one)), s.mul(less, less)))
    is_near = s.logical_and(s.le(constant(s, re, 0.71), size), s.le(size, constant(s, re, 1.73)))
    return Pair(s.select(is_near, s.mul(near, constant(s, re, 0.5)), far), s.atan2(x.im, x.re))


def _log_of_base(base: float) -> Callable[..., Pair]:
    def function(s: Any, x: Pair) -> Pair:
        natural = log(s, x)
        factor = constant(s, x.re, _LOG2_E[base])
        return Pair(s.mul(natural.re, factor), s.mul(natural.im, factor))

    return function


def log1p(s: Any, x: Pair) -> Pair:
    """log(1 + x), as NumPy has it."""
    moved = s.add(x.re, constant(s, x.re, 1.0))
    return Pair(s.log(s.hypot(moved, x.im)), s.atan2(x.im, moved))


def expm1(s: Any, x: Pair) -> Pair:
    """exp(x) - 1, as NumPy has it."""
    across = s.sin(s.mul(x.im, constant(s, x.im, 0.5)))
    missing = s.mul(constant(s, x.re, 2.0), s.mul(across, across))
    return Pair(s.sub(s.mul(s.expm1(x.re), s.cos(x.im)), missing), s.mul(s.exp(x.re), s.sin(x.im)))


def exp2(s: Any, x: Pair) -> Pair:
    """2 to the power of x."""
    factor = constant(s, x.re, math.log(2.0))
    return exp(s, Pair(s.mul(x.re, factor), s.mul(x.im, factor)))


def sqrt(s: Any, x: Pair) -> Pair:
    """The root in the right half of the plane."""
    re, im, zero = s.abs(x.re), s.abs(x.im), constant(s, x.re, 0.0)
    limit = _by_dtype(s, re, _SMALL)
    is_small = s.logical_and(s.lt(re, limit), s.lt(im, limit))
    scale = s.select(is_small, constant(s, re, 2.0**53), constant(s, re, 0.125))
    back = s.select(is_small, constant(s, re, 2.0**-27), constant(s, re, 2.0))
    scaled = s.mul(re, scale)
    root = s.mul(back, s.sqrt(s.add(scaled, s.hypot(scaled, s.mul(im, scale)))))
    other = s.div(im, s.mul(constant(s, re, 2.0), root))
    other = s.select(s.logical_and(_is_zero(s, re), _is_zero(s, im)), zero, other)
    is_right = s.ge(x.re, zero)
    along, across = s.select(is_right, root, other), s.select(is_right, other, root)
    is_infinite = s.isinf(x.im)
    return Pair(s.select(is_infinite, im, along), s.copysign(s.select(is_infinite, im, across), x.im))


def _hyperbolic(s: Any, x: Any) -> tuple[Any, Any]:
    """sinh and cosh, halved twice where they would overflow, and what both are to be multiplied with."""
    limit = _by_dtype(s, x, _LARGE_EXPONENT)
    size = s.abs(x)
    is_large = s.gt(size, limit)
    inner = s.select(is_large, s.copysign(s.sub(size, limit), x), x)
    half = s.mul(s.exp(s.abs(inner)), constant(s, x, 0.5))
    return (
        Pair(s.select(is_large, s.copysign(half, x), s.sinh(inner)), s.select(is_large, half, s.cosh(inner))),
        s.select(is_large, s.exp(limit), constant(s, x, 1.0)),
    )


def _sines(s: Any, growing: Any, turning: Any) -> Pair:
    """cos(turning) sinh(growing), and sin(turning) cosh(growing)."""
    (along, across), scale = _hyperbolic(s, growing)
    first, second = s.mul(s.mul(s.cos(turning), along), scale), s.mul(s.mul(s.sin(turning), across), scale)
    is_wild, is_infinite = _is_wild(s, turning), s.isinf(growing)
    first = s.select(s.logical_and(is_wild, is_infinite), s.abs(growing), first)
    first = s.select(s.logical_and(is_wild, _is_zero(s, growing)), growing, first)
    return Pair(first, s.select(_is_zero(s, turning), turning, second))


def sinh(s: Any, x: Pair) -> Pair:
    """The hyperbolic sine."""
    return _sines(s, x.re, x.im)


def sin(s: Any, x: Pair) -> Pair:
    """The sine."""
    im, re = _sines(s, x.im, x.re)
    return Pair(re, im)


def cosh(s: Any, x: Pair) -> Pair:
    """The hyperbolic cosine."""
    (along, across), scale = _hyperbolic(s, x.re)
    re, im = s.mul(s.mul(s.cos(x.im), across), scale), s.mul(s.mul(s.sin(x.im), along), scale)
    is_last = s.logical_and(_is_wild(s, x.im), s.isinf(x.re))
    is_flat = s.logical_or(_is_zero(s, x.im), s.logical_and(_is_zero(s, x.re), _is_wild(s, x.im)))
    nothing = s.mul(s.copysign(constant(s, x.re, 0.0), x.im), s.copysign(constant(s, x.re, 1.0), x.re))
    return Pair(s.select(is_last, s.abs(x.re), re), s.select(is_flat, nothing, im))


def tanh(s: Any, x: Pair) -> Pair:
    """The hyperbolic tangent."""
    one = constant(s, x.re, 1.0)
    along, across, narrow = s.tanh(x.re), s.tan(x.im), s.div(one, s.cosh(x.re))
    both = s.mul(along, across)
    below = s.add(one, s.mul(both, both))
    re = s.div(s.mul(along, s.add(one, s.mul(across, across))), below)
    im = s.mul(s.mul(s.div(across, below), narrow), narrow)
    is_wild = _is_wild(s, x.im)
    is_last = s.logical_and(is_wild, s.isinf(x.re))
    re = s.select(s.logical_or(is_last, s.logical_and(is_wild, _is_zero(s, x.re))), along, re)
    im = s.select(is_last, s.copysign(constant(s, x.im, 0.0), x.im), im)
    return Pair(re, s.select(_is_zero(s, x.im), x.im, im))


def tan(s: Any, x: Pair) -> Pair:
    """The tangent."""
    result = tanh(s, Pair(s.neg(x.im), x.re))
    return Pair(result.im, s.neg(result.re))


def cos(s: Any, x: Pair) -> Pair:
    """The cosine."""
    return cosh(s, Pair(s.neg(x.im), x.re))


def sigmoid(s: Any, x: Pair) -> Pair:
    """1 / (1 + exp(-x))."""
    return reciprocal(s, add(s, real(s, constant(s, x.re, 1.0)), exp(s, negate(s, x))))


def rsqrt(s: Any, x: Pair) -> Pair:
    """1 / sqrt(x)."""
    return reciprocal(s, sqrt(s, x))


def power(s: Any, x: Pair, y: Pair, exponent: complex | None = None) -> Pair:
    """x to the power of y, whose value is ``exponent`` where that is known."""
    if exponent is not None and not exponent.imag and float(exponent.real).is_integer():
        whole = int(exponent.real)
        if whole == 0:  # a value per element, of what is not a number too
            one = s.select(s.eq(x.re, x.re), constant(s, x.re, 1.0), constant(s, x.re, 1.0))
            return Pair(one, s.select(s.eq(x.im, x.im), constant(s, x.im, 0.0), constant(s, x.im, 0.0)))
        if 0 < whole < MOST_MULTIPLIED:
            return power_by_number(s, x, whole)
        if -MOST_MULTIPLIED < whole < 0:
            return _at_origin(s, x, constant(s, x.re, math.nan), power_by_number(s, x, whole))
    zero, one = constant(s, x.re, 0.0), constant(s, x.re, 1.0)
    nothing = s.select(s.gt(y.re, zero), zero, constant(s, x.re, math.nan))
    result = _at_origin(s, x, nothing, exp(s, multiply(s, y, log(s, x))))
    is_one = s.logical_and(_is_zero(s, y.re), _is_zero(s, y.im))
    return Pair(s.select(is_one, one, result.re), s.select(is_one, zero, result.im))


def _at_origin(s: Any, x: Pair, value: Any, elsewhere: Pair) -> Pair:
    """A value for both parts where x is 0, as NumPy's powers have it."""
    is_origin = s.logical_and(_is_zero(s, x.re), _is_zero(s, x.im))
    return Pair(s.select(is_origin, value, elsewhere.re), s.select(is_origin, value, elsewhere.im))


FUNCTIONS: dict[str, Callable[..., Pair]] = {
    "exp": exp, "exp2": exp2, "expm1": expm1, "log": log, "log2": _log_of_base(2.0), "log10": _log_of_base(10.0),
    "log1p": log1p, "sqrt": sqrt, "rsqrt": rsqrt, "sigmoid": sigmoid, "sinh": sinh, "cosh": cosh, "tanh": tanh,
    "sin": sin, "tan": tan, "cos": cos, "pow": power,
}  # fmt: skip
"""By the name of an operation of the Scalar protocol."""
