"""Functions written with others: angles in degrees, logs of sums, powers of two, distribution functions."""

from __future__ import annotations

import math
from typing import Any

from flambeau.ops.families.pointwise import FLOATS, FRACTIONAL, REAL, binary, literal, pointwise, to_float, unary
from flambeau.schema.dtype import DType, complex128, float64
from flambeau.tensor.array_library import np


def _degrees(name: str, factor: float, doc: str, reference: Any) -> None:
    def check(common: DType, x: Any) -> None:
        if common.is_complex:
            raise RuntimeError(f"{name} is not supported for complex tensors.")

    unary(
        f"aten::{name}(Tensor self) -> Tensor",
        scalar=lambda s, x: s.mul(x, literal(s, x, factor)),
        result=to_float,
        check=check,
        ulp=1,
        reference=reference,
        doc=doc,
    )


_degrees("deg2rad", math.pi / 180, "Degrees to radians.", np.deg2rad)
_degrees("rad2deg", 180 / math.pi, "Radians to degrees.", np.rad2deg)


def _log_of_sum(s: Any, x: Any, y: Any, exp: str, log1p: Any) -> Any:
    """The larger one and the rest: what is chosen by a comparison has the function's derivatives where both are equal,
    where `abs` and `maximum` have none."""
    is_less = s.lt(x, y)
    larger = s.select(is_less, y, x)
    both_infinite = s.logical_and(s.isinf(x), s.eq(x, y))
    rest = log1p(getattr(s, exp)(s.select(is_less, s.sub(x, y), s.sub(y, x))))
    return s.select(both_infinite, x, s.add(larger, rest))


def complex_log_of_sum(s: Any, x: Any, y: Any) -> Any:
    """The number with the larger real part, and the logarithm of 1 plus the exponential of how far the other is off."""
    is_less = s.lt(s.real(x), s.real(y))
    larger, smaller = s.select(is_less, y, x), s.select(is_less, x, y)
    both_infinite = s.logical_and(s.isinf(s.real(larger)), s.eq(s.real(x), s.real(y)))
    rest = s.log1p(s.exp(s.sub(smaller, larger)))
    return s.select(both_infinite, smaller, s.add(larger, rest))


def _logaddexp(s: Any, x: Any, y: Any) -> Any:
    if s.dtype_of(x).is_complex:
        return complex_log_of_sum(s, x, y)
    return _log_of_sum(s, x, y, "exp", s.log1p)


binary(
    "aten::logaddexp(Tensor self, Tensor other) -> Tensor",
    scalar=_logaddexp,
    accepts=FRACTIONAL,
    in_place=False,
    ulp=4,
    reference=lambda self, other: (
        np.log(np.exp(self) + np.exp(other)) if "c" in self.dtype.kind + other.dtype.kind else np.logaddexp(self, other)
    ),
    doc="log(exp(x) + exp(y)), without overflow.",
)
binary(
    "aten::logaddexp2(Tensor self, Tensor other) -> Tensor",
    scalar=lambda s, x, y: _log_of_sum(s, x, y, "exp2", lambda t: s.mul(s.log1p(t), literal(s, t, 1 / math.log(2)))),
    accepts=FLOATS,
    in_place=False,
    ulp=4,
    reference=np.logaddexp2,
    doc="log2(2**x + 2**y), without overflow.",
)
binary(
    "aten::ldexp.Tensor(Tensor self, Tensor other) -> Tensor",
    scalar=lambda s, x, y: s.mul(x, s.exp2(y)),
    result=to_float,
    out=("out",),
    ulp=2,
    reference=lambda x, y: x * np.exp2(y),
    doc="x times 2 to the power of y.",
)


def _wide(common: DType, args: Any = ()) -> DType:
    return complex128 if common.is_complex else float64


def _check_float_power_in_place(common: DType, x: Any, exponent: Any) -> None:
    needed = _wide(common)
    if x.dtype is not needed:
        raise RuntimeError(
            f"the base given to float_power_ has dtype {x.dtype.display} but the operation's result requires dtype "
            f"{needed.display}"
        )


pointwise(
    "aten::float_power.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor",
    "aten::float_power.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor",
    "aten::float_power.Scalar(Scalar self, Tensor exponent) -> Tensor",
    operands=("self", "exponent"),
    scalar=lambda s, x, y: s.pow(x, y),
    result=_wide,
    compute=_wide,
    check_in_place=_check_float_power_in_place,
    ulp=4,
    doc="x to the power of y in double precision.",
)


def _entr(s: Any, x: Any) -> Any:
    zero = literal(s, x, 0)
    inside = s.select(s.eq(x, zero), zero, s.neg(s.mul(x, s.log(x))))
    below = s.select(s.lt(x, zero), literal(s, x, -math.inf), inside)
    return s.select(s.isnan(x), x, below)


def _special(name: str, scalar: Any, doc: str) -> None:
    unary(
        f"aten::special_{name}(Tensor self) -> Tensor",
        scalar=scalar,
        result=to_float,
        accepts=REAL,
        in_place=False,
        is_method=False,
        ulp=8,
        doc=doc,
    )


_special("entr", _entr, "-x * log(x); 0 at zero, -inf below.")
_special(
    "ndtr", lambda s, x: s.mul(literal(s, x, 0.5), s.erfc(s.mul(x, literal(s, x, -math.sqrt(0.5))))),
    "The distribution function of the standard normal distribution.",
)  # fmt: skip
