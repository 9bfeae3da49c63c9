"""Powers of float32, computed in float64 where the logarithm and the exponential have digits to spare.

Every special case is C's: ``x^0`` and ``1^y`` are 1, a negative base needs an integral exponent, and the signs of zeros
and infinities follow odd exponents.
"""

from __future__ import annotations

import math

from flambeau.codegen.llvm import vecmath_exp_log as explog
from flambeau.codegen.llvm.emitter import Emitter, Value
from flambeau.codegen.llvm.lanes import call_lanes


def pow(e: Emitter, x: Value, y: Value) -> Value:
    """``x`` to the ``y``; float64 goes to the C library, since nothing wider is at hand."""
    if x.type == "double":
        return call_lanes(e, "pow", (x, y))
    wide_x, wide_y = e.convert("fpext", e.fabs(x), "double"), e.convert("fpext", y, "double")
    product = e.fmul(wide_y, explog.log(e, wide_x))
    return with_signs(e, x, y, e.convert("fptrunc", explog.exp(e, product), "float"))


def with_signs(e: Emitter, x: Value, y: Value, magnitude: Value) -> Value:
    """``x`` to the ``y`` from ``|x|`` to the ``y``: signs, and the cases in which the answer is nan or one."""
    one, zero = e.like(x, 1.0), e.like(x, 0.0)
    half = e.fmul(y, e.like(y, 0.5))
    is_integral = e.fcmp("oeq", e.intrinsic("trunc", y), y)
    is_even = e.fcmp("oeq", e.intrinsic("trunc", half), half)
    is_odd = e.binary("and", is_integral, e.binary("xor", is_even, e.like(is_even, 1)))
    is_infinite = e.fcmp("oeq", e.fabs(y), e.like(y, math.inf))
    result = e.select(is_odd, e.intrinsic("copysign", magnitude, x), magnitude)
    needs_integer = e.binary("and", e.fcmp("olt", x, zero), e.fcmp("one", x, e.like(x, -math.inf)))
    has_none = e.binary("xor", e.binary("or", is_integral, is_infinite), e.like(is_odd, 1))
    result = e.select(e.binary("and", needs_integer, has_none), e.like(x, math.nan), result)
    is_one = e.binary("or", e.fcmp("oeq", x, one), e.fcmp("oeq", y, zero))
    minus_one = e.binary("and", e.fcmp("oeq", x, e.like(x, -1.0)), is_infinite)
    return e.select(e.binary("or", is_one, minus_one), one, result)
