"""Squares and cubes of floats as the C library's `pow` gives them, by products where these tell it.

x ** 2    →    p = x * x, lost = fma(x, x, -p): p, where |lost| is well below half a unit in its last place

`pow` is wrong by less than 0.55 units in the last place. So where a product with its rounding error lies within 0.45
units of a double, `pow` gives that double; it is asked for one of ten others, and for what is very small or large.
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
_CLOSE: Final = 0.45 * 2.0**-52
_LEAST, _LARGEST = 2.0**-900, 2.0**1000
_EXPONENT: Final = 0x7FF << 52
_EXPONENTS: Final = {float_constant(float(n), "double", 1).text: n for n in (2, 3)}
_LIKELY: Final = "!prof !21"


def whole_power(e: LaneEmitter, x: Register, exponent: Register) -> Register | None:
    """`pow(x, exponent)` of doubles for an exponent that is known to be 2 or 3; None for another."""
    power = _EXPONENTS.get(exponent.text)
    if power is None or not IS_CLOSE or e.lanes > 1 or x.lanes > 1:
        return None
    result, lost = _product(e, x, x)
    if power == 3:
        cube, lost_of_cube = _product(e, result, x)
        rest = e.binary("fadd", lost_of_cube, e.binary("fmul", lost, x))
        result = e.binary("fadd", cube, rest)
        lost = e.binary("fadd", e.binary("fsub", cube, result), rest)
    unit = e.as_float(e.binary("and", e.as_bits(result), int_constant(_EXPONENT, "i64", 1)))
    size = e.intrinsic("fabs", result)
    is_close = e.fcmp("olt", e.intrinsic("fabs", lost), e.binary("fmul", unit, e.like(unit, _CLOSE)))
    is_usual = e.binary("and", e.fcmp("ogt", size, e.like(size, _LEAST)), e.fcmp("olt", size, e.like(size, _LARGEST)))
    known, asked, after = e.label("known"), e.label("asked"), e.label("after")
    e.raw(f"br i1 {e.binary('and', is_close, is_usual)}, label %{known}, label %{asked}, {_LIKELY}")
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


def _product(e: LaneEmitter, a: Register, b: Register) -> tuple[Register, Register]:
    """A product, and what its rounding lost."""
    product = e.binary("fmul", a, b)
    return product, e.fma(a, b, e.define(f"fneg double {product}", "double", 1))
