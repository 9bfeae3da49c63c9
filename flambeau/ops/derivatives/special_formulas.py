"""The formulas of special functions whose meaning is one of whole arrays."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from flambeau.schema.dtype import complex128, float64
from flambeau.schema.gradient import Formula, decomposed, formulas

_TINY = 1e-20
"""Numbers of which the Bessel functions of order 1 are halves, and whose reciprocals may be infinite."""


def _i1e(f: Any, grad: Any, self: Any, result: Any) -> Any:
    is_tiny = f.abs(self) < _TINY
    inverse = f.reciprocal(f.where(is_tiny, 1, self))
    return grad * f.where(is_tiny, 0.5, f.special_i0e(self) - result * (f.sgn(self) + inverse))


def _i1(f: Any, grad: Any, self: Any, result: Any) -> Any:
    is_tiny = f.abs(self) < _TINY
    return grad * f.where(is_tiny, 0.5, f.i0(self) - result / f.where(is_tiny, 1, self))


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
formulas("aten::frexp", self=lambda f, grads, result1: grads[0] / f.exp2(result1))


def _by_logarithm(name: str) -> Callable[..., Any]:
    """The gradient of the factor before a logarithm: 0 for a gradient of 0, whatever the logarithm is, and for a factor
    of 0 before a logarithm that is not finite."""

    def formula(f: Any, grad: Any, self: Any, other: Any, result: Any) -> Any:
        slope = getattr(f, name)(grad, other)
        is_flat = f.logical_and(f.eq(self, 0), f.eq(result, 0))
        return f.where(f.logical_and(is_flat, f.logical_not(f.isfinite(slope))), 0, slope)

    return formula


formulas(
    "aten::xlogy",
    "aten::special_xlogy",
    self=_by_logarithm("xlogy"),
    other=Formula(lambda f, grad, self, other: grad * self / other, is_elementwise=True),
)
formulas(
    "aten::special_xlog1py",
    self=_by_logarithm("special_xlog1py"),
    other=Formula(lambda f, grad, self, other: grad * self / (other + 1), is_elementwise=True),
)


def _share(f: Any, grad: Any, self: Any, other: Any) -> Any:
    """nan where both are the same infinity, as their difference is."""
    return grad * f.conj(f.sigmoid(self - other))


formulas(
    "aten::logaddexp",
    self=_share,
    other=lambda f, grad, self, other: _share(f, grad, other, self),
)


def _share_of_powers(f: Any, grad: Any, self: Any, other: Any) -> Any:
    return grad * f.sigmoid((self - other) * math.log(2))


formulas(
    "aten::logaddexp2",
    self=Formula(_share_of_powers, is_elementwise=True),
    other=Formula(lambda f, grad, self, other: _share_of_powers(f, grad, other, self), is_elementwise=True),
)


def _is_tensor(x: Any) -> bool:
    return hasattr(x, "dim")


@decomposed("aten::float_power")
def _float_power(f: Any, self: Any, exponent: Any) -> Any:
    """`pow` of both in double precision."""
    is_complex = any(x.dtype.is_complex if _is_tensor(x) else isinstance(x, complex) for x in (self, exponent))
    wide = complex128 if is_complex else float64
    return f.pow(*(f.to(x, wide) if _is_tensor(x) else x for x in (self, exponent)))
