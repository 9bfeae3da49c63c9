"""Arithmetic of complex numbers on their parts, written over whoever computes in real numbers (`schema.scalar`).

It is NumPy's to the operation: a product is two differences of products, a quotient is Smith's. Functions are in
`complex_functions`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Pair(NamedTuple):
    """A complex number: its parts, values of real numbers.

    >>> Pair(3.0, 4.0).im
    4.0
    """

    re: Any
    im: Any


def constant(s: Any, x: Any, value: float) -> Any:
    """A literal of the dtype of a real value."""
    return s.const(value, s.dtype_of(x))


def real(s: Any, x: Any) -> Pair:
    """A real value as a complex number."""
    return Pair(x, constant(s, x, 0.0))


def add(s: Any, x: Pair, y: Pair) -> Pair:
    """The sum."""
    return Pair(s.add(x.re, y.re), s.add(x.im, y.im))


def subtract(s: Any, x: Pair, y: Pair) -> Pair:
    """The difference."""
    return Pair(s.sub(x.re, y.re), s.sub(x.im, y.im))


def multiply(s: Any, x: Pair, y: Pair) -> Pair:
    """The product."""
    re = s.sub(s.mul(x.re, y.re), s.mul(x.im, y.im))
    return Pair(re, s.add(s.mul(x.re, y.im), s.mul(x.im, y.re)))


def divide(s: Any, x: Pair, y: Pair) -> Pair:
    """The quotient by Smith's method; a divisor of zero divides each part."""
    zero = constant(s, y.re, 0.0)
    is_wide = s.ge(s.abs(y.re), s.abs(y.im))
    large, small = s.select(is_wide, y.re, y.im), s.select(is_wide, y.im, y.re)
    ratio = s.div(small, large)
    scale = s.div(constant(s, y.re, 1.0), s.add(large, s.mul(small, ratio)))
    first, second = s.select(is_wide, x.re, x.im), s.select(is_wide, x.im, x.re)
    re = s.mul(s.add(first, s.mul(second, ratio)), scale)
    left, right = s.select(is_wide, x.im, s.mul(x.im, ratio)), s.select(is_wide, s.mul(x.re, ratio), x.re)
    im = s.mul(s.sub(left, right), scale)
    is_zero, below = s.logical_and(s.eq(y.re, zero), s.eq(y.im, zero)), s.abs(y.re)
    return Pair(s.select(is_zero, s.div(x.re, below), re), s.select(is_zero, s.div(x.im, below), im))


def negate(s: Any, x: Pair) -> Pair:
    """-x."""
    return Pair(s.neg(x.re), s.neg(x.im))


def conjugate(s: Any, x: Pair) -> Pair:
    """The number with its imaginary part negated."""
    return Pair(x.re, s.neg(x.im))


def length(s: Any, x: Pair) -> Any:
    """The distance from zero."""
    return s.hypot(x.re, x.im)


def direction(s: Any, x: Pair) -> Pair:
    """x / |x|, and 0 at 0."""
    size = length(s, x)
    zero = constant(s, size, 0.0)
    is_zero = s.eq(size, zero)
    unit = divide(s, x, real(s, s.select(is_zero, constant(s, size, 1.0), size)))
    return Pair(s.select(is_zero, zero, unit.re), s.select(is_zero, zero, unit.im))


def reciprocal(s: Any, x: Pair) -> Pair:
    """1 / x."""
    return divide(s, real(s, constant(s, x.re, 1.0)), x)


def power_by_number(s: Any, x: Pair, exponent: int) -> Pair:
    """A power with a whole exponent that is not zero, by products."""
    result: Pair | None = None
    square, rest = x, abs(exponent)
    while True:
        if rest & 1:
            result = square if result is None else multiply(s, result, square)
        rest >>= 1
        if not rest:
            break
        square = multiply(s, square, square)
    assert result is not None
    return reciprocal(s, result) if exponent < 0 else result


def equal(s: Any, x: Pair, y: Pair) -> Any:
    """Whether both parts are equal."""
    return s.logical_and(s.eq(x.re, y.re), s.eq(x.im, y.im))


def either(name: str) -> Callable[..., Any]:
    """Whether a predicate holds of a part."""
    return lambda s, x: s.logical_or(getattr(s, name)(x.re), getattr(s, name)(x.im))


ARITHMETIC: dict[str, Callable[..., Any]] = {
    "add": add, "sub": subtract, "mul": multiply, "div": divide, "neg": negate, "conj": conjugate, "abs": length,
    "sign": direction, "reciprocal": reciprocal, "real": lambda s, x: x.re, "imag": lambda s, x: x.im,
    "angle": lambda s, x: s.atan2(x.im, x.re), "eq": equal, "ne": lambda s, x, y: s.logical_not(equal(s, x, y)),
    "isnan": either("isnan"), "isinf": either("isinf"),
    "isfinite": lambda s, x: s.logical_and(s.isfinite(x.re), s.isfinite(x.im)),
}  # fmt: skip
"""By the name of an operation of the Scalar protocol: what it means of complex numbers. Gives a `Pair`, or a real
value.
"""
