"""Inverse trigonometric and hyperbolic functions of complex numbers on their parts: Kahan's formulas, which keep the
signs of zeros at branch cuts, another scale for what is large, and Annex G's answers at infinities and nan.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from flambeau.codegen.complex_arithmetic import Pair, constant
from flambeau.codegen.complex_functions import sqrt

_LARGE = {"float32": 1e9, "float64": 1e75}
"""Parts from which squares of sums with one are squares of the parts, and not too large yet."""
_SMALL = {"float32": 1e-18, "float64": 1e-150}
"""Parts whose squares may be lost."""


def _is_large(s: Any, x: Pair) -> Any:
    limit = constant(s, x.re, _LARGE[s.dtype_of(x.re).name])
    return s.logical_or(s.gt(s.abs(x.re), limit), s.gt(s.abs(x.im), limit))


def _log_of_double(s: Any, x: Pair) -> Any:
    """log(2 |x|), of what is large."""
    half = constant(s, x.re, 0.5)
    return s.add(s.log(s.hypot(s.mul(x.re, half), s.mul(x.im, half))), constant(s, x.re, 2 * math.log(2.0)))


def acos(s: Any, x: Pair) -> Pair:
    """The angle whose cosine is x."""
    one, zero = constant(s, x.re, 1.0), constant(s, x.re, 0.0)
    below, above = sqrt(s, Pair(s.sub(one, x.re), s.neg(x.im))), sqrt(s, Pair(s.add(one, x.re), x.im))
    re = s.mul(constant(s, x.re, 2.0), s.atan2(below.re, above.re))
    im = s.asinh(s.sub(s.mul(above.re, below.im), s.mul(above.im, below.re)))
    is_large = _is_large(s, x)
    re = s.select(is_large, s.atan2(s.abs(x.im), x.re), re)
    im = s.select(is_large, s.neg(s.copysign(_log_of_double(s, x), x.im)), im)
    is_upright = s.logical_and(s.eq(x.re, zero), s.isnan(x.im))
    return Pair(s.select(is_upright, constant(s, x.re, math.pi / 2), re), im)


def asinh(s: Any, x: Pair) -> Pair:
    """The number whose hyperbolic sine is x."""
    one, zero = constant(s, x.re, 1.0), constant(s, x.re, 0.0)
    up, down = sqrt(s, Pair(s.add(one, x.im), s.neg(x.re))), sqrt(s, Pair(s.sub(one, x.im), x.re))
    re = s.asinh(s.sub(s.mul(up.re, down.im), s.mul(down.re, up.im)))
    im = s.atan2(x.im, s.sub(s.mul(up.re, down.re), s.mul(up.im, down.im)))
    is_large = _is_large(s, x)
    re = s.select(is_large, s.copysign(_log_of_double(s, x), x.re), re)
    im = s.select(is_large, s.atan2(x.im, s.abs(x.re)), im)
    is_flat = s.logical_and(s.isnan(x.re), s.eq(x.im, zero))
    return Pair(re, s.select(is_flat, x.im, im))


def atanh(s: Any, x: Pair) -> Pair:
    """The number whose hyperbolic tangent is x."""
    re, im = s.abs(x.re), s.abs(x.im)
    zero, one, two = (constant(s, re, value) for value in (0.0, 1.0, 2.0))
    away, square = s.sub(one, re), s.mul(im, im)
    along = s.mul(
        s.log1p(s.div(s.mul(constant(s, re, 4.0), re), s.add(s.mul(away, away), square))), constant(s, re, 0.25)
    )
    across = s.mul(s.atan2(s.mul(two, im), s.sub(s.mul(away, s.add(one, re)), square)), constant(s, re, 0.5))
    is_pole = s.logical_and(s.eq(re, one), s.lt(im, constant(s, re, _SMALL[s.dtype_of(re).name])))
    near = s.neg(s.log(s.div(s.sqrt(im), s.sqrt(s.hypot(im, two)))))
    along = s.select(is_pole, near, along)
    beside = s.mul(s.atan2(two, s.neg(im)), constant(s, re, 0.5))
    across = s.select(is_pole, s.select(s.eq(im, zero), zero, beside), across)
    half = constant(s, re, 0.5)
    size = s.hypot(s.mul(re, half), s.mul(im, half))
    far = s.div(s.div(s.mul(re, constant(s, re, 0.25)), size), size)
    is_infinite = s.logical_or(s.isinf(re), s.isinf(im))
    is_large = _is_large(s, x)
    along = s.select(is_large, s.select(is_infinite, zero, far), along)
    is_right = s.logical_and(is_large, s.logical_and(s.eq(im, im), s.logical_or(s.eq(re, re), s.isinf(im))))
    across = s.select(is_right, constant(s, re, math.pi / 2), across)
    is_upright = s.logical_and(s.eq(re, zero), s.isnan(im))
    return Pair(s.copysign(s.select(is_upright, re, along), x.re), s.copysign(across, x.im))


def acosh(s: Any, x: Pair) -> Pair:
    """The number of the right half whose hyperbolic cosine is x."""
    one = constant(s, x.re, 1.0)
    below, above = sqrt(s, Pair(s.sub(x.re, one), x.im)), sqrt(s, Pair(s.add(x.re, one), x.im))
    re = s.asinh(s.add(s.mul(below.re, above.re), s.mul(below.im, above.im)))
    im = s.mul(constant(s, x.re, 2.0), s.atan2(below.im, above.re))
    is_large = _is_large(s, x)
    im = s.select(is_large, s.atan2(x.im, x.re), im)
    is_upright = s.logical_and(s.eq(x.re, constant(s, x.re, 0.0)), s.isnan(x.im))
    im = s.select(is_upright, constant(s, x.re, math.pi / 2), im)
    return Pair(s.select(is_large, _log_of_double(s, x), re), im)


def asin(s: Any, x: Pair) -> Pair:
    """The angle whose sine is x."""
    result = asinh(s, Pair(s.neg(x.im), x.re))
    return Pair(result.im, s.neg(result.re))


def atan(s: Any, x: Pair) -> Pair:
    """The angle whose tangent is x."""
    result = atanh(s, Pair(s.neg(x.im), x.re))
    return Pair(result.im, s.neg(result.re))


INVERSES: dict[str, Callable[..., Pair]] = {
    "acos": acos, "asin": asin, "atan": atan, "acosh": acosh, "asinh": asinh, "atanh": atanh
}  # fmt: skip
"""By the name of an operation of the Scalar protocol."""
