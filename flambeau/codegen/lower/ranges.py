"""Folds of float32 whose sums may leave the range of the dtype where their results do not: taken again, scaled by a
power of two, where that happened.
"""

from __future__ import annotations

from flambeau.codegen.lower.folds import count, reduce, seldom
from flambeau.codegen.lower.recorder import apply, constant
from flambeau.codegen.lower.values import Expr

MOST = float.fromhex("0x1.fffffep+127")
"""The largest float32."""
LEAST = 2.0**-100
"""Sums of squares from which on those of their terms that are 0 or not exact do not matter."""
LARGE, SMALL = 2.0**90, 2.0**-90
"""What numbers are multiplied by whose squares are too small, and those whose squares are too large."""


def root_of_squares(x: Expr, axes: tuple[int, ...]) -> Expr:
    """The root of the sum of squares, with the dimensions kept."""
    total = _squares(x, axes)
    value = apply("sqrt", total)
    if x.dtype != "float32":
        return value
    factor, inverse = _scales(total)
    scaled = apply("mul", apply("sqrt", _squares(apply("mul", x, factor), axes)), inverse)
    return seldom(_is_unusual(total), scaled, value)


def spread(x: Expr, axes: tuple[int, ...], freedom: Expr, *, is_root: bool) -> Expr:
    """The sum of squared distances from the mean over `freedom`, or its root, with the dimensions kept."""
    total = _squared_distances(x, axes)
    value = apply("div", total, freedom)
    if x.dtype == "float32":
        factor, inverse = _scales(total)
        scaled = apply("div", _squared_distances(apply("mul", x, factor), axes), freedom)
        scaled = apply("mul", apply("sqrt", scaled) if is_root else apply("mul", scaled, inverse), inverse)
        return seldom(_is_unusual(total), scaled, apply("sqrt", value) if is_root else value)
    return apply("sqrt", value) if is_root else value


def _squares(x: Expr, axes: tuple[int, ...]) -> Expr:
    return reduce(apply("mul", x, x), "sum", axes, True)


def _squared_distances(x: Expr, axes: tuple[int, ...]) -> Expr:
    center = apply("div", reduce(x, "sum", axes, True), count(x, axes, x.dtype))
    return _squares(apply("sub", x, center), axes)


def _is_unusual(total: Expr) -> Expr:
    """Whether a sum of squares is infinite, nan, zero, or so small that terms of it may be."""
    least, most = constant(LEAST, total.dtype), constant(MOST, total.dtype)
    return apply("ne", apply("minimum", apply("maximum", total, least), most), total)


def _scales(total: Expr) -> tuple[Expr, Expr]:
    """What to scale numbers by whose squares come to that, and what scales the result back."""
    is_small = apply("lt", total, constant(LEAST, total.dtype))
    large, small = constant(LARGE, total.dtype), constant(SMALL, total.dtype)
    return apply("select", is_small, large, small), apply("select", is_small, small, large)
