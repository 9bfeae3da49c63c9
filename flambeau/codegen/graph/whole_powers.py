"""Squares and cubes of floats as the C library's `pow` gives them, by products where these tell it.

x ** 2    →    p = x * x, lost = fma(x, x, -p): p, where |lost| is well below half a unit in its last place

`pow` is wrong by less than 0.515 units in the last place where a result is neither very small nor very large. So where
a product with its rounding error lies within 0.484 units of a double, `pow` gives that double; it is asked for one of
30 others. Elements of tensors, whose powers are not the C library's, are multiplied always.
"""

from __future__ import annotations

import sys
from typing import Final

from flambeau.codegen.graph.lanes_emitter import LaneEmitter
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.codegen.llvm.emitter import float_constant, int_constant
from flambeau.codegen.llvm.lanes import call_lanes

IS_CLOSE: Final = sys.platform == "linux"
"""Whether the C library's `pow` is known to be as exact as that: glibc's and musl's are."""
_CLOSE: Final = 0.484 * 2.0**-52
_EXPONENT: Final = 0x7FF << 52
_LEAST, _USUAL = (1023 - 64) << 52, 128 << 52
"""The bits of the least usual exponent, and how many there are."""
_EXPONENTS: Final = {float_constant(float(n), "double", 1).text: n for n in (2, 3)}
_WHOLE: Final = {
    kind: {float_constant(float(n), kind, 1).text: n for n in (1, 2, 3)} for kind in ("float", "double")
}  # fmt: skip
_LIKELY: Final = "!prof !21"


def whole_power(e: LaneEmitter, x: Register, exponent: Register) -> Register | None:
    """`pow(x, exponent)` of doubles for an exponent that is known to be 2 or 3; None for another."""
    power = _EXPONENTS.get(exponent.text)
    if power is None or not IS_CLOSE or exponent.lanes > 1:
        return None
    result, lost = _product(e, x, x)
    if power == 3:
        cube, lost_of_cube = _product(e, result, x)
        rest = e.binary("fadd", lost_of_cube, e.binary("fmul", lost, x))
        result = e.binary("fadd", cube, rest)
        lost = e.binary("fadd", e.binary("fsub", cube, result), rest)
    exponent_bits = e.binary("and", e.as_bits(result), int_constant(_EXPONENT, "i64", x.lanes))
    unit = e.as_float(exponent_bits)
    is_close = e.fcmp("olt", e.intrinsic("fabs", lost), e.binary("fmul", unit, e.like(unit, _CLOSE)))
    above = e.binary("sub", exponent_bits, int_constant(_LEAST, "i64", x.lanes))
    is_known = e.binary("and", is_close, e.icmp("ult", above, int_constant(_USUAL, "i64", x.lanes)))
    if x.lanes > 1:
        is_unknown = e.binary("xor", is_known, e.like(is_known, 1))
        return call_lanes(e, "pow", (x, e.splat(exponent, x.lanes)), is_unknown, result)
    known, asked, after = e.label("known"), e.label("asked"), e.label("after")
    e.raw(f"br i1 {is_known}, label %{known}, label %{asked}, {_LIKELY}")
    e.start(asked)
    by_library = call_lanes(e, "pow", (x, exponent))
    end = e.block
    e.branch(after)
    e.start(known)
    e.branch(after)
    e.start(after)
    joined = Register(e.name("power"), "double", 1)
    e.raw(f"{joined} = phi double [{result}, %{known}], [{by_library}, %{end}]")
    return joined


def exponent_of(exponent: Register) -> int | None:
    """1, 2 or 3, where a register is known to be that, an integer or a float."""
    known = {str(n): n for n in (1, 2, 3)} if exponent.type.startswith("i") else _WHOLE.get(exponent.type, {})
    return known.get(exponent.text) if exponent.lanes == 1 else None


def _product(e: LaneEmitter, a: Register, b: Register) -> tuple[Register, Register]:
    """A product, and what its rounding lost."""
    product = e.binary("fmul", a, b)
    return product, e.fma(a, b, e.define(f"fneg {product.full_type} {product}", "double", product.lanes))
