"""Powers of float32 and float64, by a logarithm and an exponential with digits to spare.

Those of float32 are computed in float64. Those of float64 have the logarithm to base 2 as a pair of numbers whose sum
it is (Dekker 1971), to 2^-65: of the largest powers the product with the exponent has ten digits before the point.

    x = 2^k m,  s = (m - 1) / (m + 1),  log2 m = 2/ln2 (s + s^3/3 + s^5 R(s^2))

Every special case is C's: ``x^0`` and ``1^y`` are 1, a negative base needs an integral exponent, and the signs of zeros
and infinities follow odd exponents.
"""

from __future__ import annotations

import math
from typing import Final

from flambeau.codegen.llvm import vecmath_exp_log as explog
from flambeau.codegen.llvm.emitter import Emitter, Value
from flambeau.codegen.llvm.lanes import call_lanes

Pair = tuple[Value, Value]
"""A number as the sum of two, of which the second is less than a unit of the first."""
TWO_BY_LN2: Final = (2.8853900817779268, 4.0710547481862066e-17)
THIRD: Final = (0.3333333333333333, 1.850371707708594e-17)
POW_R: Final = [
    0.2, 0.14285714285714682, 0.11111111110827943, 0.09090909167696401, 0.07692297481259215, 0.06667402346923655,
    0.05853118169745603, 0.05861589311938259,
]  # fmt: skip
"""R(z), a minimax fit for the m of `split_exponent`."""
FARTHEST: Final = 1100.0
"""From this logarithm on powers are infinite, or 0."""


def pow(e: Emitter, x: Value, y: Value) -> Value:
    """``x`` to the ``y``; float64 goes to the C library where products lose what rounding takes off."""
    if x.type == "double":
        return with_signs(e, x, y, _power(e, e.fabs(x), y)) if e.target.has_fma else call_lanes(e, "pow", (x, y))
    wide_x, wide_y = e.convert("fpext", e.fabs(x), "double"), e.convert("fpext", y, "double")
    product = e.fmul(wide_y, explog.log(e, wide_x))
    return with_signs(e, x, y, e.convert("fptrunc", explog.exp(e, product), "float"))


def _power(e: Emitter, x: Value, y: Value) -> Value:
    """``x`` to the ``y`` for an ``x`` that is not negative."""
    high, low = _log2(e, x)
    bits, rest = _product(e, y, high)
    rest = e.fma(y, low, rest)
    is_far = e.fcmp("uge", e.fabs(bits), e.like(x, FARTHEST))
    bits = e.least(e.like(x, FARTHEST), e.most(e.like(x, -FARTHEST), bits))
    rest = e.select(is_far, e.like(x, 0.0), rest)
    n = e.intrinsic("rint", bits)
    return explog.scale(e, explog.exp2_fraction(e, e.fsub(bits, n), rest), n)


def _log2(e: Emitter, x: Value) -> Pair:
    """The logarithm of a number that is not negative."""
    k, f = explog.split_exponent(e, x)
    s = _ratio(e, f)
    z = _times(e, s, s)
    t = _times(e, z, _sum(e, THIRD, e.fmul(z[0], e.polynomial(z[0], POW_R))))
    high, low = _times(e, _times(e, s, _plus(e, 1.0, t)), (e.like(x, TWO_BY_LN2[0]), e.like(x, TWO_BY_LN2[1])))
    total = e.fadd(k, high)
    low = e.fadd(e.fadd(e.fsub(k, total), high), low)
    edges = ((0.0, -math.inf), (math.inf, math.inf))
    for number, logarithm in edges:
        total = e.select(e.fcmp("oeq", x, e.like(x, number)), e.like(x, logarithm), total)
    return e.select(e.fcmp("uno", x, x), x, total), low


def _ratio(e: Emitter, f: Value) -> Pair:
    """f / (2 + f)."""
    two = e.like(f, 2.0)
    below = e.fadd(f, two)
    lost = e.fsub(f, e.fsub(below, two))
    inverse = e.fdiv(e.like(f, 1.0), below)
    high = e.fmul(f, inverse)
    minus = e.fneg(high)
    return high, e.fmul(e.fma(minus, lost, e.fma(minus, below, f)), inverse)


def _product(e: Emitter, a: Value, b: Value) -> Pair:
    high = e.fmul(a, b)
    return high, e.fma(a, b, e.fneg(high))


def _times(e: Emitter, a: Pair, b: Pair) -> Pair:
    high, low = _product(e, a[0], b[0])
    return high, e.fadd(low, e.fma(a[0], b[1], e.fmul(a[1], b[0])))


def _sum(e: Emitter, a: tuple[float, float], b: Value) -> Pair:
    """A constant pair and a smaller number."""
    high = e.fadd(b, e.like(b, a[0]))
    return high, e.fadd(e.fsub(b, e.fsub(high, e.like(b, a[0]))), e.like(b, a[1]))


def _plus(e: Emitter, a: float, b: Pair) -> Pair:
    """A number and a smaller pair."""
    high = e.fadd(b[0], e.like(b[0], a))
    return high, e.fadd(e.fsub(b[0], e.fsub(high, e.like(b[0], a))), b[1])


def with_signs(e: Emitter, x: Value, y: Value, magnitude: Value) -> Value:
    """``x`` to the ``y`` from ``|x|`` to the ``y``: signs, and the cases in which the answer is nan or one."""
    one, zero = e.like(x, 1.0), e.like(x, 0.0)
    half = e.fmul(y, e.like(y, 0.5))
    is_integral = e.fcmp("oeq", e.intrinsic("trunc", y), y)
    is_even = e.fcmp("oeq", e.intrinsic("trunc", half), half)
    is_odd = e.binary("and", is_integral, e.binary("xor", is_even, e.like(is_even, 1)))
    is_infinite = e.fcmp("oeq", e.fabs(y), e.like(y, math.inf))
    result = e.select(is_odd, e.intrinsic("copysign", magnitude, x), magnitude)
    needs_integer = e.binary("and", e.fcmp("olt", x, zero), e.fcmp("one", x, e.like(x, -math.inf)))
    has_none = e.binary("xor", e.binary("or", is_integral, is_infinite), e.like(is_odd, 1))
    result = e.select(e.binary("and", needs_integer, has_none), e.like(x, math.nan), result)
    is_one = e.binary("or", e.fcmp("oeq", x, one), e.fcmp("oeq", y, zero))
    minus_one = e.binary("and", e.fcmp("oeq", x, e.like(x, -1.0)), is_infinite)
    return e.select(e.binary("or", is_one, minus_one), one, result)
