"""Circular functions and their inverses.

sin, cos and tan: ``x = n pi/2 + r`` with ``|r| <= pi/4``, both polynomials of ``r``, the choice between them and the
sign from ``n``. The subtraction uses pi in three parts with fused multiply-adds, which holds up to a bound on
``|x|``; lanes beyond it go to the C library.
"""

from __future__ import annotations

import math

from flambeau.codegen.llvm.emitter import Emitter, Value
from flambeau.codegen.llvm.lanes import call_lanes
from flambeau.codegen.llvm.vecmath_exp_log import MAGIC

PI_PARTS = {
    "float": [3.1415927410125732, -8.742277657347586e-08, -3.4302490200117637e-15],
    "double": [3.141592653589793, 1.2246467991473532e-16, -2.9947698097183397e-33],
}
LARGEST = {"float": 30000.0, "double": 1.0e7}
"""Bound on ``|x|`` up to which the three-part subtraction is accurate."""
SIN_QUARTER = {
    "float": [-0.166666641831398, 0.008332747966051102, -0.00019587899441830814],
    "double": [-0.16666666666666666, 0.008333333333333331, -0.00019841269841265063, 2.7557319219336253e-06,
               -2.5052106231407527e-08, 1.6058531450551412e-10, -7.5866870129781e-13],
}  # fmt: skip
"""(sin r - r) / r^3 in r^2 on |r| <= pi/4."""
COS_QUARTER = {
    "float": [0.0416666641831398, -0.001388830365613103, 2.4547940483898856e-05],
    "double": [0.041666666666666664, -0.0013888888888888887, 2.4801587301584645e-05, -2.755731922140116e-07,
               2.087675579048828e-09, -1.1470460791961289e-11, 4.745866175815075e-14],
}  # fmt: skip
"""(cos r - 1 + r^2/2) / r^4 in r^2 on |r| <= pi/4."""
ATAN_P = {
    "float": [-0.3333333134651184, 0.1999976634979248, -0.14279110729694366, 0.11037994176149368, -0.08673170953989029,
              0.06284360587596893, -0.036270175129175186, 0.013750283978879452, -0.002447031205520034],
    "double": [-0.3333333333333333, 0.1999999999999784, -0.14285714285420378, 0.11111111095189265,
               -0.09090908632998367, 0.07692299608538965, -0.06666571116309021, 0.05881552238667051,
               -0.05258206977515918, 0.04738648786275643, -0.04262985730644524, 0.037553839957608456,
               -0.031379046544951064, 0.023831884941536995, -0.015671636995656543, 0.008471897649490865,
               -0.003552058629716547, 0.0010705283915803199, -0.0002047228449238937, 1.8560948007510396e-05],
}  # fmt: skip
"""(atan t - t) / t^3 in t^2 on |t| <= 1."""
ASIN_P = {
    "float": [0.16666673123836517, 0.07498808950185776, 0.045010700821876526, 0.026494277641177177,
              0.03820645064115524],
    "double": [0.16666666666666666, 0.07500000000000125, 0.04464285714253574, 0.030381944476963723,
               0.02237215737767329, 0.01735281834070849, 0.013963748435199949, 0.011566830427132645,
               0.009618864779963437, 0.009335970060991405, 0.0029838811037374503, 0.01970071180526169,
               -0.01944563642504257, 0.0297378456439969],
}  # fmt: skip
"""(asin t - t) / t^3 in t^2 on |t| <= 1/2."""


def _subtract(e: Emitter, x: Value, n: Value, scale: float) -> Value:
    """``x - n * pi * scale`` with pi in three parts."""
    r = x
    for part in PI_PARTS[x.type]:
        r = e.fma(n, e.like(x, -part * scale), r)
    return r


def odd_series(e: Emitter, r: Value, coefficients: list[float]) -> Value:
    """``r + r^3 P(r^2)``."""
    z = e.fmul(r, r)
    return e.fma(e.fmul(z, r), e.polynomial(z, coefficients), r)


def _beyond(e: Emitter, x: Value) -> Value:
    return e.fcmp("uge", e.fabs(x), e.like(x, LARGEST[x.type]))


def _quadrant(e: Emitter, x: Value) -> tuple[Value, Value, Value]:
    """(bits of n, sin r, cos r) with ``x = n pi/2 + r``, ``|r| <= pi/4``."""
    magic = e.like(x, MAGIC[x.type])
    t = e.fma(x, e.like(x, 2.0 / math.pi), magic)
    s, c = quarter(e, _subtract(e, x, e.fsub(t, magic), 0.5))
    return e.as_bits(t), s, c


def quarter(e: Emitter, r: Value) -> tuple[Value, Value]:
    """(sin r, cos r) for ``|r| <= pi/4``."""
    z = e.fmul(r, r)
    s = e.fma(e.fmul(z, r), e.polynomial(z, SIN_QUARTER[r.type]), r)
    c = e.fma(e.fmul(z, z), e.polynomial(z, COS_QUARTER[r.type]), e.fma(z, e.like(r, -0.5), e.like(r, 1.0)))
    return s, c


def is_odd(e: Emitter, n: Value) -> Value:
    """Whether bit 0 of ``n`` is set."""
    return e.icmp("ne", e.binary("and", n, e.like(n, 1)), e.like(n, 0))


def negated_by_bit_one(e: Emitter, n: Value, y: Value) -> Value:
    """``y``, negated where bit 1 of ``n`` is set."""
    sign = e.binary("shl", e.binary("and", n, e.like(n, 2)), e.like(n, n.bits - 2))
    return e.as_float(e.binary("xor", e.as_bits(y), sign))


def sin(e: Emitter, x: Value) -> Value:
    n, s, c = _quadrant(e, x)
    y = negated_by_bit_one(e, n, e.select(is_odd(e, n), c, s))
    y = e.select(e.fcmp("oeq", x, e.like(x, 0.0)), x, y)
    return call_lanes(e, "sin", (x,), _beyond(e, x), y)


def cos(e: Emitter, x: Value) -> Value:
    n, s, c = _quadrant(e, x)
    y = negated_by_bit_one(e, e.binary("add", n, e.like(n, 1)), e.select(is_odd(e, n), s, c))
    return call_lanes(e, "cos", (x,), _beyond(e, x), y)


def tan(e: Emitter, x: Value) -> Value:
    n, s, c = _quadrant(e, x)
    odd = is_odd(e, n)
    y = e.fdiv(e.select(odd, e.fneg(c), s), e.select(odd, s, c))
    y = e.select(e.fcmp("oeq", x, e.like(x, 0.0)), x, y)
    return call_lanes(e, "tan", (x,), _beyond(e, x), y)


def atan(e: Emitter, x: Value) -> Value:
    a, one = e.fabs(x), e.like(x, 1.0)
    inverted = e.fcmp("ogt", a, one)
    t = e.select(inverted, e.fdiv(one, a), a)
    y = odd_series(e, t, ATAN_P[x.type])
    far = e.fadd(e.fsub(e.like(x, math.pi / 2), y), e.like(x, PI_PARTS[x.type][1] / 2))
    return e.intrinsic("copysign", e.select(inverted, far, y), x)


def _asin_parts(e: Emitter, x: Value) -> tuple[Value, Value, Value]:
    """(|x| > 1/2, t, asin t) with ``t`` = |x|, or sqrt((1 - |x|) / 2) where |x| > 1/2."""
    a, half = e.fabs(x), e.like(x, 0.5)
    large = e.fcmp("ogt", a, half)
    root = e.intrinsic("sqrt", e.fmul(e.fsub(e.like(x, 1.0), a), half))
    t = e.select(large, root, a)
    return large, t, odd_series(e, t, ASIN_P[x.type])


def asin(e: Emitter, x: Value) -> Value:
    large, _, y = _asin_parts(e, x)
    far = e.fma(y, e.like(x, -2.0), e.like(x, math.pi / 2))
    return e.intrinsic("copysign", e.select(large, far, y), x)


def acos(e: Emitter, x: Value) -> Value:
    large, _, y = _asin_parts(e, x)
    negative = e.fcmp("olt", x, e.like(x, 0.0))
    signed = e.intrinsic("copysign", y, x)
    low = e.like(x, PI_PARTS[x.type][1] / 2)
    near = e.fsub(e.like(x, math.pi / 2), e.fsub(signed, low))
    double = e.fadd(y, y)
    far = e.select(negative, e.fsub(e.like(x, math.pi), e.fsub(double, e.fadd(low, low))), double)
    return e.select(large, far, near)
