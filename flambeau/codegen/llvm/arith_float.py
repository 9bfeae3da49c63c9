"""Float operations that are not transcendental: arithmetic, divisions with remainder, rounding, predicates."""

from __future__ import annotations

import math

from flambeau.codegen.llvm.emitter import Emitter, Value, constant_float
from flambeau.codegen.llvm.lanes import call_lanes

_PLAIN = {"add": "fadd", "sub": "fsub", "mul": "fmul", "product": "fmul", "div": "fdiv"}
_COMPARE = {"eq": "oeq", "ne": "une", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge"}
_ROUND = {"floor": "floor", "ceil": "ceil", "trunc": "trunc", "round": "roundeven", "sqrt": "sqrt", "abs": "fabs"}


def lower_float(e: Emitter, op: str, args: list[Value]) -> Value | None:
    """The operation, or None when it is not one of this file's."""
    a = args[0]
    if op in _PLAIN:
        return e.user(_PLAIN[op], a, args[1])
    if op in _COMPARE:
        return e.fcmp(_COMPARE[op], a, args[1])
    if op in _ROUND:
        return e.intrinsic(_ROUND[op], a)
    if op in ("minimum", "maximum"):
        return extremum(e, op, a, args[1])
    if op in ("fmod", "remainder", "floordiv", "truncdiv"):
        return _division(e, op, a, args[1])
    if op == "neg":
        return e.fneg(a)
    if op == "copysign":
        return e.intrinsic("copysign", a, args[1])
    if op == "nextafter":
        return _nextafter(e, a, args[1])
    if op == "reciprocal":
        return e.fdiv(e.like(a, 1.0), a)
    if op == "rsqrt":
        return e.fdiv(e.like(a, 1.0), e.intrinsic("sqrt", a))
    if op == "frac":
        return e.fsub(a, e.intrinsic("trunc", a))
    if op == "sign":
        one, zero = e.like(a, 1.0), e.like(a, 0.0)
        signed = e.select(e.fcmp("olt", a, zero), e.like(a, -1.0), zero)
        return e.select(e.fcmp("ogt", a, zero), one, signed)
    return _predicate(e, op, a)


def _nextafter(e: Emitter, a: Value, b: Value) -> Value:
    """The next number from ``a`` towards ``b``, ``b`` where they are equal: bits that are less or more by one."""
    bits, zero = e.as_bits(a), e.like(a, 0.0)
    is_away = e.binary("xor", e.fcmp("olt", a, b), e.fcmp("olt", a, zero))
    step = e.select(is_away, e.bits_like(a, 1), e.bits_like(a, -1))
    moved = e.as_float(e.binary("add", bits, step))
    least = e.as_float(e.binary("or", e.bits_like(a, 1), e.binary("and", e.as_bits(b), _sign_bit(e, b))))
    moved = e.select(e.fcmp("oeq", a, zero), least, moved)
    moved = e.select(e.fcmp("oeq", a, b), b, moved)
    return e.select(e.fcmp("uno", a, b), e.fadd(a, b), moved)


def _sign_bit(e: Emitter, a: Value) -> Value:
    return e.bits_like(a, -1 << a.bits - 1)


def extremum(e: Emitter, op: str, a: Value, b: Value) -> Value:
    """minimum or maximum; a nan on either side is the answer, and ``b`` of two zeros."""
    bound = constant_float(b)
    if bound is not None and not math.isnan(bound):
        if bound == 0.0:  # either zero becomes this one
            beyond = e.fcmp("oge" if op == "minimum" else "ole", a, b)
        else:
            beyond = e.fcmp("olt" if op == "minimum" else "ogt", b, a)
        return e.select(beyond, b, a)
    chosen = e.select(e.fcmp("olt" if op == "minimum" else "ogt", a, b), a, b)
    return e.select(e.fcmp("uno", a, a), a, chosen)


def _predicate(e: Emitter, op: str, a: Value) -> Value | None:
    if op == "isnan":
        return e.fcmp("uno", a, a)
    if op == "isinf":
        return e.fcmp("oeq", e.fabs(a), e.like(a, math.inf))
    if op == "isfinite":
        return e.fcmp("one", e.fabs(a), e.like(a, math.inf))
    if op == "signbit":
        return e.icmp("slt", e.as_bits(a), e.bits_like(a, 0))
    return None


def _fmod(e: Emitter, a: Value, b: Value) -> Value:
    """C's fmod: exact by one fused multiply-add where the quotient is small, else by the C library."""
    ratio = e.fdiv(a, b)
    quotient = e.intrinsic("trunc", ratio)
    rest = e.intrinsic("fma", e.fneg(quotient), b, a)
    # A quotient rounded up across an integer leaves a remainder of the wrong sign.
    crossed = e.fcmp("olt", e.fmul(e.intrinsic("copysign", e.like(a, 1.0), a), rest), e.like(a, 0.0))
    rest = e.select(crossed, e.fadd(rest, e.intrinsic("copysign", b, a)), rest)
    rest = e.intrinsic("copysign", rest, a)
    large = e.fcmp("uge", e.fabs(ratio), e.like(a, 4194304.0))
    large = e.binary("or", large, e.fcmp("ueq", e.fabs(b), e.like(b, math.inf)))
    return call_lanes(e, "fmod", (a, b), large, rest)


def _division(e: Emitter, op: str, a: Value, b: Value) -> Value:
    if op == "truncdiv":
        return e.intrinsic("trunc", e.fdiv(a, b))
    mod = _fmod(e, a, b)
    if op == "fmod":
        return mod
    zero = e.like(a, 0.0)
    differ = e.binary("xor", e.fcmp("olt", b, zero), e.fcmp("olt", mod, zero))
    adjust = e.binary("and", differ, e.fcmp("one", mod, zero))
    if op == "remainder":
        return e.select(adjust, e.fadd(mod, b), mod)
    ratio = e.fdiv(a, b)
    div = e.fdiv(e.fsub(a, mod), b)
    div = e.select(adjust, e.fsub(div, e.like(a, 1.0)), div)
    floored = e.intrinsic("floor", div)
    above = e.fcmp("ogt", e.fsub(div, floored), e.like(a, 0.5))
    floored = e.select(above, e.fadd(floored, e.like(a, 1.0)), floored)
    floored = e.select(e.fcmp("oeq", div, zero), e.intrinsic("copysign", zero, ratio), floored)
    return e.select(e.fcmp("oeq", b, zero), ratio, floored)
