"""sin, cos and tan of large arguments: the quarter turns taken off exactly, with as many bits of 2/pi as it takes.

``x = m 2^e`` with an integral ``m`` of 53 bits. Of ``x * 2/pi``, bits of 2/pi that give multiples of four count for
nothing; the 192 bits after those give the quadrant and the fraction with 137 bits right, of which cancellation can take
62 (Payne and Hanek, SIGNUM 18, 1983).
"""

from __future__ import annotations

import math
from functools import cache
from itertools import pairwise

from flambeau.codegen.llvm.emitter import Emitter, Value, int_constant
from flambeau.codegen.llvm.vecmath_trig import PI_PARTS, is_odd, negated_by_bit_one, quarter

TABLE = "flambeau_two_over_pi"
WORDS = 21
PAD = 64
"""Zero bits before the binary point's first: exponents for which fewer of x's own bits lie before it."""


@cache
def two_over_pi() -> tuple[int, ...]:
    """2/pi behind ``PAD`` zero bits, in words of 64 bits, from the highest."""
    bits = WORDS * 64
    one = 1 << (bits + 64)

    def arc(n: int) -> int:
        """``one * atan(1/n)`` by its series."""
        power = total = one // n
        k, sign = 3, -1
        while power:
            power //= n * n
            total += sign * (power // k)
            k, sign = k + 2, -sign
        return total

    pi = 4 * (4 * arc(5) - arc(239))
    whole = (2 * one << (bits - PAD)) // pi
    return tuple(whole >> (64 * k) & (1 << 64) - 1 for k in reversed(range(WORDS)))


def table_text() -> str:
    """The table as an LLVM constant."""
    words = ", ".join(f"i64 {w - (1 << 64) if w >> 63 else w}" for w in two_over_pi())
    return f"@{TABLE} = internal addrspace(4) constant [{WORDS} x i64] [{words}], align 8"


def _word(e: Emitter, index: Value) -> Value:
    address = e.define(f"getelementptr i64, ptr addrspace(4) @{TABLE}, i64 {index}", "ptr addrspace(4)", 1)
    return e.define(f"load i64, ptr addrspace(4) {address}, align 8", "i64", 1)


def _window(e: Emitter, first: Value) -> list[Value]:
    """192 bits of the table from a bit on, highest word first."""
    e.declare("declare i64 @llvm.fshl.i64(i64, i64, i64)")
    index = e.binary("lshr", first, e.like(first, 6))
    words = [_word(e, e.binary("add", index, e.like(index, k))) for k in range(4)]
    shift = e.binary("and", first, e.like(first, 63))
    return [e.define(f"call i64 @llvm.fshl.i64(i64 {a}, i64 {b}, i64 {shift})", "i64", 1) for a, b in pairwise(words)]


def _product(e: Emitter, m: Value, window: list[Value]) -> tuple[Value, Value, Value]:
    """``m * window`` modulo 2^192, highest word first."""

    def full(a: Value) -> Value:
        wide = [e.define(f"zext i64 {v} to i128", "i128", 1) for v in (m, a)]
        return e.define(f"mul i128 {wide[0]}, {wide[1]}", "i128", 1)

    def low(a: Value) -> Value:
        return e.define(f"trunc i128 {a} to i64", "i64", 1)

    def high(a: Value) -> Value:
        return low(e.define(f"lshr i128 {a}, 64", "i128", 1))

    last = full(window[2])
    carried = e.define(f"zext i64 {high(last)} to i128", "i128", 1)
    middle = e.define(f"add i128 {full(window[1])}, {carried}", "i128", 1)
    return e.binary("add", high(middle), e.binary("mul", m, window[0])), low(middle), low(last)


def _reduced(e: Emitter, x: Value) -> tuple[Value, Value]:
    """(n, r) with ``|x| = n pi/2 + r`` modulo a whole turn, ``|r| <= pi/4``, for large finite ``|x|``."""
    bits = e.as_bits(e.fabs(x))
    exponent = e.binary("lshr", bits, e.like(bits, 52))
    m = e.binary("or", e.binary("and", bits, e.like(bits, (1 << 52) - 1)), e.like(bits, 1 << 52))
    # x = m 2^(exponent - 1075); the bit of weight two in the product is the first that counts. Infinity reads anything.
    first = e.binary("add", exponent, e.like(bits, PAD - 1075 - 2))
    first = e.intrinsic("smax", e.intrinsic("smin", first, e.like(bits, 64 * (WORDS - 4))), e.like(bits, 0))
    top, middle, last = _product(e, m, _window(e, first))
    n = e.binary("lshr", top, e.like(top, 62))

    def fshl(a: Value, b: Value, count: Value) -> Value:
        return e.define(f"call i64 @llvm.fshl.i64(i64 {a}, i64 {b}, i64 {count})", "i64", 1)

    two = e.like(top, 2)
    high, low = fshl(top, middle, two), fshl(middle, last, two)
    # The fraction as a signed number of 128 bits, then its size.
    sign = e.binary("ashr", high, e.like(high, 63))
    n = e.binary("add", n, e.binary("and", sign, e.like(sign, 1)))
    high, low = e.binary("xor", high, sign), e.binary("xor", low, sign)
    e.declare("declare i64 @llvm.ctlz.i64(i64, i1)")
    zeros = e.define(f"call i64 @llvm.ctlz.i64(i64 {high}, i1 false)", "i64", 1)
    shift = e.binary("and", zeros, e.like(zeros, 63))
    high, low = fshl(high, low, shift), e.binary("shl", low, shift)
    first_bits = e.binary("lshr", high, e.like(high, 11))
    rest = e.binary("lshr", fshl(high, low, int_constant(53, "i64", 1)), e.like(high, 11))
    h = e.fmul(e.convert("uitofp", first_bits, "double"), e.like(x, 2.0**-53))
    t = e.fmul(e.convert("uitofp", rest, "double"), e.like(x, 2.0**-106))
    half_pi, half_pi_low = e.like(x, math.pi / 2), e.like(x, PI_PARTS["double"][1] / 2)
    r = e.fmul(h, half_pi)
    error = e.fma(h, half_pi, e.fneg(r))
    error = e.fma(t, half_pi, e.fma(h, half_pi_low, error))
    power = e.as_float(e.binary("shl", e.binary("sub", e.like(shift, 1023), shift), e.like(shift, 52)))
    r = e.fmul(e.fadd(r, error), power)
    return n, e.select(e.icmp("slt", sign, e.like(sign, 0)), e.fneg(r), r)


def _finite(e: Emitter, x: Value, y: Value) -> Value:
    """``y``, nan where ``x`` is infinite or nan."""
    return e.select(e.fcmp("ueq", e.fabs(x), e.like(x, math.inf)), e.like(x, math.nan), y)


def _signed_like(e: Emitter, x: Value, y: Value) -> Value:
    return e.select(e.fcmp("olt", x, e.like(x, 0.0)), e.fneg(y), y)


def sin(e: Emitter, x: Value) -> Value:
    """sin of ``|x| >= 2^14``."""
    n, r = _reduced(e, x)
    s, c = quarter(e, r)
    y = negated_by_bit_one(e, n, e.select(is_odd(e, n), c, s))
    return _finite(e, x, _signed_like(e, x, y))


def cos(e: Emitter, x: Value) -> Value:
    """cos of ``|x| >= 2^14``."""
    n, r = _reduced(e, x)
    s, c = quarter(e, r)
    return _finite(e, x, negated_by_bit_one(e, e.binary("add", n, e.like(n, 1)), e.select(is_odd(e, n), s, c)))


def tan(e: Emitter, x: Value) -> Value:
    """tan of ``|x| >= 2^14``."""
    n, r = _reduced(e, x)
    s, c = quarter(e, r)
    odd = is_odd(e, n)
    y = e.fdiv(e.select(odd, e.fneg(c), s), e.select(odd, s, c))
    return _finite(e, x, _signed_like(e, x, y))
