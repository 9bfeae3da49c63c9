"""Powers of floats with common exponents as the C library's `pow` gives them, by products, quotients and roots.

x ** 2    →    p = x * x, lost = fma(x, x, -p): p, where |lost| is well below half a unit in its last place

`pow` is wrong by less than 0.513 units in the last place where a result is neither very small nor very large. So where
a power with what its rounding lost lies within 0.486 units of a double, `pow` gives that double; it is asked for one of
36 others. Powers are functions that LLVM sees behind its passes, so that loops with them become vectors. Elements of
tensors, whose powers are not the C library's, are multiplied always.
"""

from __future__ import annotations

import sys
from typing import Final

from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.llvm.emitter import Emitter, Target, float_constant, int_constant, vector_type
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.codegen.llvm.lanes import call_lanes
from flambeau.codegen.llvm.late_functions import LateFunction, LateText

IS_CLOSE: Final = sys.platform == "linux"
"""Whether the C library's `pow` is known to be as exact as that: glibc's and musl's are."""
_STRETCH: Final = 0.5 / 0.486
"""Where what was lost, times this, is still rounded away, the power lies close enough to its double."""
_LEAST, _USUAL = (1023 - 64) << 52, 128 << 52
"""The bits of the least usual number, and those from there to the largest."""
_WHOLE: Final = {
    kind: {float_constant(float(n), kind, 1).text: n for n in (1, 2, 3)} for kind in ("float", "double")
}  # fmt: skip
_LIKELY: Final = '!prof !{!"branch_weights", i32 2000, i32 1}'

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
            fn.parts.late[symbol] = _text(late, e.target, power, lanes)
    e.libm.setdefault("pow")
    return late.call(e, x)


def exponent_of(exponent: Register) -> int | None:
    """1, 2 or 3, where a register is known to be that, an integer or a float."""
    known = {str(n): n for n in (1, 2, 3)} if exponent.type.startswith("i") else _WHOLE.get(exponent.type, {})
    return known.get(exponent.text) if exponent.lanes == 1 else None


def _text(late: LateFunction, target: Target, power: float, lanes: int) -> LateText:
    """The form of a power for so many lanes."""
    e = Emitter(target)
    symbol, vt = late.symbol(lanes), vector_type("double", lanes)
    x = Register("%x", "double", lanes)
    result, lost = _power(e, x, power)
    is_close = e.fcmp("oeq", result, e.fma(lost, e.like(lost, _STRETCH), result))
    above = e.binary("sub", e.as_bits(e.fabs(result)), int_constant(_LEAST, "i64", lanes))
    is_known = e.binary("and", is_close, e.icmp("ult", above, int_constant(_USUAL, "i64", lanes)))
    asked, after, before = e.label("asked"), e.label("after"), e.block
    more = ""
    if lanes == 1:
        e.raw(f"br i1 {is_known}, label %{after}, label %{asked}, {_LIKELY}")
        e.start(asked)
        by_library = call_lanes(e, "pow", (x, float_constant(power, "double", 1)))
    else:
        unknown = e.define(f"bitcast {is_known.full_type} {is_known} to i{lanes}", f"i{lanes}", 1)
        mask = e.binary("xor", unknown, int_constant(-1, f"i{lanes}", 1))
        e.raw(f"br i1 {e.icmp('eq', mask, int_constant(0, mask.type, 1))}, label %{after}, label %{asked}, {_LIKELY}")
        e.start(asked)
        by_library = e.define(f"call {vt} @{symbol}.some({vt} %x, {vt} {result}, {mask.type} {mask})", "double", lanes)
        more = _some_text(e, f"{symbol}.some", power, lanes)
    e.branch(after)
    e.start(after)
    joined = e.name("power")
    e.phi(joined, x, [(result, before), (by_library, asked)])
    e.raw(f"ret {vt} {joined}")
    head = f"define hidden {vt} @{symbol}({vt} %x) nounwind alwaysinline {{\nentry:\n"
    return LateText(head + "\n".join((*e.entry, *e.lines, "}", more)), tuple(e.declarations))


def _some_text(around: Emitter, name: str, power: float, lanes: int) -> str:
    """A function of numbers, their powers so far, and bits for those lanes that the C library is asked for."""
    e = Emitter(around.target, declarations=around.declarations)
    vt, bits = vector_type("double", lanes), f"i{lanes}"
    numbers, powers = e.slot(vt), e.slot(vt)
    for slot, value in ((numbers, "%x"), (powers, "%powers")):
        e.raw(f"store {vt} {value}, ptr {slot}, align 64")
    e.branch("next")
    e.start("next")
    mask, rest = Register("%mask", bits, 1), Register("%rest", bits, 1)
    e.phi("%mask", mask, [(Register("%asked", bits, 1), "entry"), (rest, "next")])
    e.declare(f"declare {bits} @llvm.cttz.{bits}({bits}, i1)")
    lane = e.convert("zext", e.define(f"call {bits} @llvm.cttz.{bits}({bits} {mask}, i1 true)", bits, 1), "i64")
    x = e.define(f"load double, ptr {e.offset(numbers, lane, 'double')}, align 8", "double", 1)
    result = call_lanes(e, "pow", (x, float_constant(power, "double", 1)))
    e.raw(f"store double {result}, ptr {e.offset(powers, lane, 'double')}, align 8")
    e.raw(f"%lower = sub {bits} {mask}, 1")
    e.raw(f"{rest} = and {bits} {mask}, %lower")
    e.branch_if(e.icmp("ne", rest, int_constant(0, bits, 1)), "next", "done")
    e.start("done")
    e.raw(f"ret {vt} {e.define(f'load {vt}, ptr {powers}, align 64', 'double', lanes)}")
    head = f"define internal {vt} @{name}({vt} %x, {vt} %powers, {bits} %asked) nounwind noinline cold {{\nentry:\n"
    return head + "\n".join((*e.entry, *e.lines, "}"))


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
