"""The formulas of special functions whose meaning is one of whole arrays."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from flambeau.schema.gradient import formulas


def _i1e(f: Any, grad: Any, self: Any, result: Any) -> Any:
    is_zero = f.eq(self, 0)
    inverse = f.reciprocal(f.where(is_zero, 1, self))
    return grad * f.where(is_zero, 0.5, f.special_i0e(self) - result * (f.sgn(self) + inverse))


def _i1(f: Any, grad: Any, self: Any, result: Any) -> Any:
    is_zero = f.eq(self, 0)
    return grad * f.where(is_zero, 0.5, f.i0(self) - result / f.where(is_zero, 1, self))


formulas("aten::i0", "aten::special_i0", self=lambda f, grad, self: grad * f.special_i1(self))
formulas("aten::special_i0e", self=lambda f, grad, self, result: grad * (f.special_i1e(self) - f.sgn(self) * result))
formulas("aten::special_i1", self=_i1)
formulas("aten::special_i1e", self=_i1e)
formulas(
    "aten::special_erfcx",
    self=lambda grad, self, result: (2.0 * self * result - 2.0 / math.sqrt(math.pi)) * grad,
)
formulas(
    "aten::special_ndtri",
    self=lambda f, grad, result: grad * math.sqrt(2 * math.pi) * f.exp(f.square(result) / 2),
)
formulas(
    "aten::special_log_ndtr",
    self=lambda f, grad, self: grad / f.special_erfcx(-self / math.sqrt(2)) * math.sqrt(2 / math.pi),
)
formulas("aten::polygamma", "aten::special_polygamma", self=lambda f, grad, self, n: grad * f.polygamma(n + 1, self))


def _mvlgamma(f: Any, grad: Any, self: Any, p: int) -> Any:
    slope = f.digamma(self)
    for j in range(1, p):
        slope = slope + f.digamma(self - j / 2)
    return grad * slope


formulas("aten::mvlgamma", "aten::special_multigammaln", self=_mvlgamma)


def _logit(f: Any, grad: Any, self: Any, eps: float | None) -> Any:
    """What lies outside has none: nan, or 0 where it is brought inside first."""
    least = 0 if eps is None else eps
    is_outside = f.logical_or(self < least, self > 1 - least)
    return f.where(is_outside, math.nan if eps is None else 0, grad / (self * (1 - self)))


formulas("aten::logit", "aten::special_logit", self=_logit)
formulas("aten::special_entr", self=lambda f, grad, self: grad * (-1 - f.log(self)))


def _unknown(operand: str) -> Callable[..., Any]:
    """The formula of an operand whose derivative no operator computes: it raises NotImplementedError."""

    def formula(grad: Any) -> Any:
        raise NotImplementedError(f"the derivative for '{operand}' is not implemented.")

    return formula


def _zeta(f: Any, grad: Any, self: Any, other: Any) -> Any:
    return grad * -self * f.special_zeta(self + 1, other)


formulas("aten::special_zeta", self=_unknown("zeta: self"), other=_zeta)


def _gammainc(f: Any, grad: Any, self: Any, other: Any) -> Any:
    return grad * f.exp((self - 1) * f.log(other) - other - f.lgamma(self))


formulas("aten::igamma", "aten::special_gammainc", self=_unknown("igamma: input"), other=_gammainc)
formulas(
    "aten::igammac",
    "aten::special_gammaincc",
    self=_unknown("igammac: input"),
    other=lambda f, grad, self, other: -_gammainc(f, grad, self, other),
)
formulas("aten::frexp", self=lambda f, grads, result1: f.ldexp(grads[0], -result1))
