"""The angle and the length of points of a plane, with C's answers at zeros, infinities and nan."""

from __future__ import annotations

import math

from flambeau.codegen.llvm.emitter import Emitter, Value
from flambeau.codegen.llvm.vecmath_trig import ATAN_P, PI_PARTS, odd_series

FAR = 2.0**500
"""From here on, and up to its inverse, float64s are squared in another scale."""
SCALE = 2.0**600


def atan2(e: Emitter, y: Value, x: Value) -> Value:
    """The angle of ``(x, y)``: the nearer axis, and the arc tangent of the smaller coordinate over the larger."""
    zero, one = e.like(x, 0.0), e.like(x, 1.0)
    across, up = e.fabs(x), e.fabs(y)
    is_steep = e.fcmp("ogt", up, across)
    small, large = e.select(is_steep, across, up), e.select(is_steep, up, across)
    equal = e.select(e.fcmp("oeq", large, zero), zero, one)  # 0 / 0, and infinity over infinity
    slope = e.select(e.fcmp("oeq", small, large), equal, e.fdiv(small, large))
    angle = odd_series(e, slope, ATAN_P[x.type])
    bits = e.as_bits(x)
    is_left = e.icmp("slt", bits, e.like(bits, 0))
    angle = e.select(e.binary("xor", is_steep, is_left), e.fneg(angle), angle)
    axis, rest = (
        e.select(is_steep, e.like(x, part / 2), e.select(is_left, e.like(x, part), zero))
        for part in (math.pi, PI_PARTS[x.type][1])
    )
    return e.intrinsic("copysign", e.fadd(axis, e.fadd(angle, rest)), y)


def hypot(e: Emitter, x: Value, y: Value) -> Value:
    """The root of the sum of squares; infinite if one is, whatever the other."""
    across, up = e.fabs(x), e.fabs(y)
    infinite = e.like(x, math.inf)
    is_infinite = e.binary("or", e.fcmp("oeq", across, infinite), e.fcmp("oeq", up, infinite))
    return e.select(is_infinite, infinite, (_wide_length if x.type == "float" else _length)(e, across, up))


def _wide_length(e: Emitter, x: Value, y: Value) -> Value:
    """Of float32s: their squares, and the sum of these, have room in float64."""
    wide_x, wide_y = e.convert("fpext", x, "double"), e.convert("fpext", y, "double")
    return e.convert("fptrunc", e.intrinsic("sqrt", e.fma(wide_x, wide_x, e.fmul(wide_y, wide_y))), "float")


def _length(e: Emitter, x: Value, y: Value) -> Value:
    one, is_wide = e.like(x, 1.0), e.fcmp("ogt", x, y)
    large, small = e.select(is_wide, x, y), e.select(is_wide, y, x)
    is_far, is_near = e.fcmp("ogt", large, e.like(x, FAR)), e.fcmp("olt", large, e.like(x, 1 / FAR))
    scale = e.select(is_far, e.like(x, 1 / SCALE), e.select(is_near, e.like(x, SCALE), one))
    back = e.select(is_far, e.like(x, SCALE), e.select(is_near, e.like(x, 1 / SCALE), one))
    large, small = e.fmul(large, scale), e.fmul(small, scale)
    return e.fmul(e.intrinsic("sqrt", e.fma(large, large, e.fmul(small, small))), back)
