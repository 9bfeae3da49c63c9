"""Powers of float64: the logarithm in two doubles, whose product with the exponent keeps the digits exp will need.

``x = 2^k m`` with m in [sqrt(1/2), sqrt(2)), ``s = (m - 1) / (m + 1)``, ``log m = 2s + 2/3 s^3 + 2/5 s^5 + ...``: the
first two terms in two doubles, the rest, below 2^-12 of the sum, in one.
"""

from __future__ import annotations

import math

from flambeau.codegen.llvm import vecmath_exp_log as explog
from flambeau.codegen.llvm.emitter import Emitter, Value
from flambeau.codegen.llvm.vecmath_pow import with_signs

Pair = tuple[Value, Value]
"""A sum of two doubles, the second below half a unit of the first."""
TERMS = 14
LN2 = (0.693147180559945286, 2.319046813846299558e-17)


def _two_sum(e: Emitter, a: Value, b: Value) -> Pair:
    """``a + b`` exactly."""
    total = e.fadd(a, b)
    part = e.fsub(total, a)
    return total, e.fadd(e.fsub(a, e.fsub(total, part)), e.fsub(b, part))


def _quick_sum(e: Emitter, a: Value, b: Value) -> Pair:
    """``a + b`` exactly, for ``|a| >= |b|``."""
    total = e.fadd(a, b)
    return total, e.fsub(b, e.fsub(total, a))


def _times(e: Emitter, a: Pair, b: Pair) -> Pair:
    product = e.fmul(a[0], b[0])
    error = e.fma(a[0], b[0], e.fneg(product))
    error = e.fma(a[0], b[1], e.fma(a[1], b[0], error))
    return _quick_sum(e, product, error)


def _plus(e: Emitter, a: Pair, b: Pair) -> Pair:
    total, error = _two_sum(e, a[0], b[0])
    return _quick_sum(e, total, e.fadd(error, e.fadd(a[1], b[1])))


def _log(e: Emitter, x: Value) -> Pair:
    """log of a positive finite number."""
    k, f = explog.split_exponent(e, x)
    top, bottom = f, _two_sum(e, f, e.like(x, 2.0))
    s = e.fdiv(top, bottom[0])
    rest = e.fma(e.fneg(s), bottom[0], top)
    rest = e.fdiv(e.fma(e.fneg(s), bottom[1], rest), bottom[0])
    pair = _quick_sum(e, s, rest)
    square = _times(e, pair, pair)
    cube = _times(e, square, pair)
    third = (e.like(x, 2.0 / 3.0), e.like(x, 3.700743415417188e-17))
    tail = e.polynomial(square[0], [2.0 / n for n in range(5, 5 + 2 * TERMS, 2)])
    tail = e.fmul(e.fmul(e.fmul(square[0], square[0]), s), tail)
    log_m = _plus(e, (e.fadd(pair[0], pair[0]), e.fadd(pair[1], pair[1])), _times(e, cube, third))
    log_m = _quick_sum(e, log_m[0], e.fadd(log_m[1], tail))
    high = e.fmul(k, e.like(x, LN2[0]))
    low = e.fma(k, e.like(x, LN2[1]), e.fma(k, e.like(x, LN2[0]), e.fneg(high)))
    return _plus(e, _quick_sum(e, high, low), log_m)


def _exp(e: Emitter, p: Pair) -> Value:
    """exp of a sum of two doubles."""
    x = e.least(e.like(p[0], 710.0), e.most(e.like(p[0], -746.0), p[0]))
    _, n, r = explog.reduce_exp(e, x)
    r = e.fadd(r, e.select(e.fcmp("oeq", x, p[0]), p[1], e.like(x, 0.0)))
    return explog.scale(e, e.polynomial(r, [1.0, 1.0, *explog.EXP_Q["double"]]), n)


def power(e: Emitter, x: Value, y: Value) -> Value:
    """``x`` to the ``y`` for every float64."""
    a, zero, infinity = e.fabs(x), e.like(x, 0.0), e.like(x, math.inf)
    log = _log(e, a)
    high = e.fmul(y, log[0])
    low = e.fma(y, log[1], e.fma(y, log[0], e.fneg(high)))
    is_plain = e.fcmp("olt", e.fabs(high), e.like(x, 2000.0))
    magnitude = _exp(e, (high, e.select(is_plain, low, zero)))
    # The logarithms of 0 and infinity are infinite; 0 times infinity is dealt with by the signs.
    towards = e.select(e.fcmp("oeq", a, zero), e.fneg(y), y)
    edge = e.select(e.fcmp("ogt", towards, zero), infinity, zero)
    edge = e.select(e.fcmp("uno", y, y), y, edge)
    is_edge = e.binary("or", e.fcmp("oeq", a, zero), e.fcmp("oeq", a, infinity))
    magnitude = e.select(is_edge, edge, magnitude)
    magnitude = e.select(e.fcmp("uno", x, x), x, magnitude)
    return with_signs(e, x, y, magnitude)
