"""Arithmetic of the language's int: signed 64 bits that wrap.

>>> add(MAX, 1) == MIN, floordiv(-7, 2), remainder(-7, 2)
(True, -4, 1)
"""

from __future__ import annotations

MIN = -(1 << 63)
MAX = (1 << 63) - 1
_MASK = (1 << 64) - 1


def wrap(value: int) -> int:
    """The 64-bit integer congruent to `value`."""
    return ((value - MIN) & _MASK) + MIN


def add(a: int, b: int) -> int:
    """a + b."""
    result = a + b
    return result if result.bit_length() <= 63 else wrap(result)


def sub(a: int, b: int) -> int:
    """a - b."""
    result = a - b
    return result if result.bit_length() <= 63 else wrap(result)


def mul(a: int, b: int) -> int:
    """a * b."""
    result = a * b
    return result if result.bit_length() <= 63 else wrap(result)


def neg(a: int) -> int:
    """-a; the smallest integer is its own negative."""
    return -a if a != MIN else MIN


def absolute(a: int) -> int:
    """|a|; the smallest integer stays itself."""
    return a if a >= 0 or a == MIN else -a


def floordiv(a: int, b: int) -> int:
    """The quotient rounded down. Raises RuntimeError for a zero divisor."""
    if b == 0:
        raise RuntimeError("division by 0")
    result = a // b
    return result if result <= MAX else MIN


def remainder(a: int, b: int) -> int:
    """What `floordiv` leaves, with the sign of the divisor. Raises RuntimeError for a zero divisor."""
    if b == 0:
        raise RuntimeError("division by 0")
    return a % b


def truncdiv(a: int, b: int) -> int:
    """The quotient rounded towards zero. Raises RuntimeError for a zero divisor."""
    if b == 0:
        raise RuntimeError("division by 0")
    result = abs(a) // abs(b)
    return wrap(-result if (a < 0) != (b < 0) else result)


def lshift(a: int, b: int) -> int:
    """a << b. Raises RuntimeError for a negative count."""
    _refuse_negative(b)
    return wrap(a << b) if b < 64 else 0


def rshift(a: int, b: int) -> int:
    """a >> b with the sign kept. Raises RuntimeError for a negative count."""
    _refuse_negative(b)
    return a >> min(b, 63)


def _refuse_negative(count: int) -> None:
    if count < 0:
        raise RuntimeError("negative shift count")


def power(a: int, b: int) -> int:
    """a ** b that stays an integer; the truncated fraction for a negative exponent. Raises RuntimeError for 0 ** -1."""
    if b >= 0:
        return wrap(pow(a, b, 1 << 64))
    if a == 0:
        raise RuntimeError("zero to a negative power")
    return {1: 1, -1: 1 if b % 2 == 0 else -1}.get(a, 0)


def from_float(a: float) -> int:
    """Truncation. Raises RuntimeError for nan, and for what does not fit in 64 bits."""
    if not -9223372036854775808.0 <= a < 9223372036854775808.0:
        raise RuntimeError(f"Cannot convert float {a:.6f} to integer")
    return int(a)
