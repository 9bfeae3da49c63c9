"""Powers of floats with common exponents as the C library's `pow` gives them, by products, quotients and roots.

x ** 2    →    p = x * x, lost = fma(x, x, -p): p, where |lost| is well below half a unit in its last place

`pow` is wrong by less than 0.513 units in the last place where a result is neither very small nor very large. So where
a power with what its rounding lost lies within 0.486 units of a double, `pow` gives that double; it is asked for one of
36 others. Powers are functions that LLVM sees behind its passes, so that loops with them become vectors. Elements of
tensors, whose powers are not the C library's, are multiplied always.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import Final

from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.loops.asked_lanes import Registers, asking_text
from flambeau.codegen.llvm.emitter import Emitter, float_constant, int_constant
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.codegen.llvm.lanes import call_lanes
from flambeau.codegen.llvm.late_functions import LateFunction

IS_CLOSE: Final = sys.platform == "linux"
"""Whether the C library's `pow` is known to be as exact as that: glibc's and musl's are."""
_STRETCH: Final = 0.5 / 0.486
"""Where what was lost, times this, is still rounded away, the power lies close enough to its double."""
_LEAST, _USUAL = (1023 - 64) << 52, 128 << 52
"""The bits of the least usual number, and those from there to the largest."""
_WHOLE: Final = {
    kind: {float_constant(float(n), kind, 1).text: n for n in (1, 2, 3)} for kind in ("float", "double")
}  # fmt: skip

Double = tuple[Register, Register]
"""A number as a double, and what it differs from that by."""


def exact_power(fn: EmittedFunction, x: Register, exponent: Register) -> Register | None:
    """`pow(x, exponent)` of doubles for one of the exponents that are computed here; None for another."""
    power = _EXPONENTS.get(exponent.text)
    if power is None or not IS_CLOSE or exponent.lanes > 1:
        return None
    e = fn.e
    late = LateFunction(f"flambeau_power_{power:g}".replace("-", "minus_"), e.target.vector_bits // 64)
    for lanes in {1, late.lanes, x.lanes}:
        symbol = late.symbol(lanes)
        if symbol not in fn.parts.late:
            quick, exactly = partial(_quick, power), partial(_by_library, power)
            fn.parts.late[symbol] = asking_text(late, e.target, lanes, quick, exactly)
    e.libm.setdefault("pow")
    return late.call(e, x)


def exponent_of(exponent: Register) -> int | None:
    """1, 2 or 3, where a register is known to be that, an integer or a float."""
    known = {str(n): n for n in (1, 2, 3)} if exponent.type.startswith("i") else _WHOLE.get(exponent.type, {})
    return known.get(exponent.text) if exponent.lanes == 1 else None


def _quick(power: float, e: Emitter, xs: Registers) -> tuple[Register, Register]:
    """The power, and whether it is known to be what `pow` gives, which nan and infinite ones are not."""
    result, lost = _power(e, xs[0], power)
    is_close = e.fcmp("ueq", result, e.fma(lost, e.like(lost, _STRETCH), result))
    size = e.fabs(result) if power % 2 == 1 else result  # only powers with odd exponents have a sign
    above = e.binary("sub", e.as_bits(size), int_constant(_LEAST, "i64", result.lanes))
    is_usual = e.icmp("ult", above, int_constant(_USUAL, "i64", result.lanes))
    return result, e.binary("and", is_close, is_usual)


def _by_library(power: float, e: Emitter, xs: Registers) -> Register:
    return call_lanes(e, "pow", (xs[0], float_constant(power, "double", 1)))


# -- powers, and what they lost to rounding -------------------------------------------------------------------------


def _rounded(e: Emitter, high: Register, low: Register) -> Double:
    """The sum of a number and a much smaller one."""
    total = e.fadd(high, low)
    return total, e.fadd(e.fsub(high, total), low)


def _product(e: Emitter, a: Double, b: Register) -> Double:
    high = e.fmul(a[0], b)
    low = e.fma(a[0], b, e.fneg(high))
    return _rounded(e, high, e.fma(a[1], b, low))


def _square(e: Emitter, x: Register) -> Double:
    high = e.fmul(x, x)
    return high, e.fma(x, x, e.fneg(high))


def _square_of(e: Emitter, a: Double) -> Double:
    high, low = _square(e, a[0])
    return _rounded(e, high, e.fma(e.fadd(a[0], a[0]), a[1], low))


def _root(e: Emitter, x: Register) -> Double:
    """The root, and by Newton's step what it lacks."""
    high = e.intrinsic("sqrt", x)
    rest = e.fma(e.fneg(high), high, x)
    return high, e.fdiv(rest, e.fadd(high, high))


def _reciprocal(e: Emitter, a: Double) -> Double:
    high = e.fdiv(e.like(a[0], 1.0), a[0])
    minus = e.fneg(high)
    rest = e.fma(minus, a[1], e.fma(minus, a[0], e.like(high, 1.0)))
    return _rounded(e, high, e.fmul(rest, high))


def _whole(e: Emitter, x: Register, exponent: int) -> Double:
    """The power with an exponent of 1 and more, by squares and products from its highest bit on."""
    power: Double = x, e.like(x, 0.0)
    for digit in f"{exponent:b}"[1:]:
        power = _square(e, x) if power[0] is x else _square_of(e, power)
        power = _product(e, power, x) if digit == "1" else power
    return power


def _power(e: Emitter, x: Register, exponent: float) -> Double:
    """The power with an exponent of `_EXPONENTS`."""
    whole, size = int(abs(exponent)), abs(exponent)
    if whole == size:
        power = _whole(e, x, whole)
    else:
        power = _root(e, x)
        for _ in range(whole):
            power = _product(e, power, x)
    return power if exponent > 0 else _reciprocal(e, power)


_EXPONENTS: Final = {
    float_constant(exponent, "double", 1).text: exponent
    for exponent in (*map(float, range(-8, 17)), -3.5, -2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 3.5)
    if exponent not in (0.0, 1.0)
}
