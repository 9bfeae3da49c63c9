"""sinh, cosh and the inverse hyperbolic functions, from the exponentials and logarithms."""

from __future__ import annotations

import math

from flambeau.codegen.llvm import vecmath_exp_log as explog
from flambeau.codegen.llvm.emitter import Emitter, Value


def _half_exp(e: Emitter, x: Value) -> Value:
    """``exp(x) / 2``, finite wherever that is."""
    bound = 90.0 if x.type == "float" else 711.0
    x = e.least(e.like(x, bound), x)
    _, n, r = explog.reduce_exp(e, x)
    p = e.polynomial(r, [1.0, 1.0, *explog.EXP_Q[x.type]])
    return explog.scale(e, p, e.fsub(n, e.like(x, 1.0)))


def sinh(e: Emitter, x: Value) -> Value:
    a = e.fabs(x)
    t = explog.expm1(e, a)
    near = e.fmul(e.like(x, 0.5), e.fadd(t, e.fdiv(t, e.fadd(t, e.like(x, 1.0)))))
    far = _half_exp(e, a)
    large = e.fcmp("ogt", a, e.like(x, 20.0))
    return e.intrinsic("copysign", e.select(large, far, near), x)


def cosh(e: Emitter, x: Value) -> Value:
    h = _half_exp(e, e.fabs(x))
    return e.fadd(h, e.fdiv(e.like(x, 0.25), h))


def asinh(e: Emitter, x: Value) -> Value:
    a, one = e.fabs(x), e.like(x, 1.0)
    square = e.fmul(a, a)
    inside = e.fadd(a, e.fdiv(square, e.fadd(one, e.intrinsic("sqrt", e.fadd(square, one)))))
    huge = e.fcmp("ogt", a, e.like(x, 1e9))
    y = explog.log1p(e, e.select(huge, e.fsub(a, one), inside))
    y = e.select(huge, e.fadd(y, e.like(x, explog.LN2)), y)
    return e.intrinsic("copysign", y, x)


def acosh(e: Emitter, x: Value) -> Value:
    one = e.like(x, 1.0)
    t = e.fsub(x, one)
    inside = e.fadd(t, e.intrinsic("sqrt", e.fma(t, t, e.fadd(t, t))))
    huge = e.fcmp("ogt", x, e.like(x, 1e9))
    y = explog.log1p(e, e.select(huge, t, inside))
    y = e.select(huge, e.fadd(y, e.like(x, explog.LN2)), y)
    return e.select(e.fcmp("olt", x, one), e.like(x, math.nan), y)


def atanh(e: Emitter, x: Value) -> Value:
    a = e.fabs(x)
    ratio = e.fdiv(e.fadd(a, a), e.fsub(e.like(x, 1.0), a))
    y = e.fmul(e.like(x, 0.5), explog.log1p(e, ratio))
    return e.intrinsic("copysign", y, x)
