"""Functions of one number: elementary and special functions, signs, rounding, parts of complex numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from flambeau.ops.families.pointwise import CATEGORIES, FLOATS, REAL, literal, same, to_float, to_real, unary
from flambeau.schema.dtype import DType, bool_, int64
from flambeau.schema.traits import PLAIN, Role, Traits
from flambeau.tensor.array_library import np


def _float_function(
    name: str,
    doc: str,
    reference: Callable[..., Any] | None,
    *,
    alias: str = "",
    is_complex: bool = True,
    ulp: float = 4,
    traits: Traits = PLAIN,
) -> None:
    """A function with fractions for results; integers and bools are converted first."""
    unary(
        f"aten::{name}(Tensor self) -> Tensor",
        scalar=lambda s, x: getattr(s, name)(x),
        result=to_float,
        accepts=CATEGORIES if is_complex else REAL,
        refusal=f"\"{name}_vml_cpu\" not implemented for '{{}}'",
        aliases=(alias,) if alias else (),
        ulp=ulp,
        reference=reference,
        doc=doc,
        traits=traits,
    )


_each_erf = np.vectorize(math.erf, otypes=[np.float64])
_each_erfc = np.vectorize(math.erfc, otypes=[np.float64])

_float_function("exp", "e to the power of x.", np.exp)
_float_function("exp2", "2 to the power of x.", np.exp2, alias="special_exp2")
_float_function("expm1", "exp(x) - 1, accurate near zero.", np.expm1, alias="special_expm1")
_float_function("log", "The natural logarithm; nan below zero, -inf at zero.", np.log)
_float_function("log2", "The logarithm to base 2.", np.log2)
_float_function("log10", "The logarithm to base 10.", np.log10)
_float_function("log1p", "log(1 + x), accurate near zero.", np.log1p, alias="special_log1p")
_float_function("sqrt", "The square root; nan below zero.", np.sqrt, ulp=0)
_float_function("rsqrt", "One over the square root.", lambda x: 1 / np.sqrt(x))
_float_function("sin", "The sine of radians.", np.sin)
_float_function("cos", "The cosine of radians.", np.cos)
_float_function("tan", "The tangent of radians.", np.tan)
_float_function("asin", "The angle whose sine is x; nan outside [-1, 1].", np.arcsin, alias="arcsin")
_float_function("acos", "The angle whose cosine is x; nan outside [-1, 1].", np.arccos, alias="arccos")
_float_function("atan", "The angle whose tangent is x.", np.arctan, alias="arctan")
_float_function("sinh", "The hyperbolic sine.", np.sinh)
_float_function("cosh", "The hyperbolic cosine.", np.cosh)
_float_function("tanh", "The hyperbolic tangent.", np.tanh, traits=Traits(role=Role.ACTIVATION))
_float_function("asinh", "The inverse hyperbolic sine.", np.arcsinh, alias="arcsinh")
_float_function("acosh", "The inverse hyperbolic cosine; nan below 1.", np.arccosh, alias="arccosh")
_float_function("atanh", "The inverse hyperbolic tangent; nan outside [-1, 1].", np.arctanh, alias="arctanh")
_float_function(
    "sigmoid", "1 / (1 + exp(-x)).", lambda x: 1 / (1 + np.exp(-x)), alias="special_expit",
    traits=Traits(role=Role.ACTIVATION),
)  # fmt: skip
_float_function("erf", "The error function.", _each_erf, alias="special_erf", is_complex=False)
_float_function("erfc", "1 - erf(x), accurate far out.", _each_erfc, alias="special_erfc", is_complex=False)
_float_function(
    "erfinv", "The x whose erf is given; nan outside [-1, 1].", None, alias="special_erfinv", is_complex=False, ulp=8
)
_float_function(
    "lgamma", "Log of the absolute gamma function.", None, alias="special_gammaln", is_complex=False, ulp=16
)
_float_function("digamma", "The derivative of lgamma.", None, alias="special_digamma", is_complex=False, ulp=16)
_float_function("reciprocal", "1 / x.", lambda x: 1 / x, ulp=0)


def _rounding(name: str, doc: str, reference: Callable[..., Any], *, alias: str = "") -> None:
    def check(common: DType, *args: Any) -> None:
        if common.is_complex:
            raise NotImplementedError(f"{name} is not supported for complex inputs")
        if common is bool_:
            raise NotImplementedError(f"\"{name}_vml_cpu\" not implemented for 'Bool'")

    unary(
        f"aten::{name}(Tensor self) -> Tensor",
        scalar=lambda s, x: getattr(s, name)(x),
        check=check,
        aliases=(alias,) if alias else (),
        reference=reference,
        doc=doc,
    )


_rounding("floor", "The largest integer not above x, as a float; integers stay.", np.floor)
_rounding("ceil", "The smallest integer not below x, as a float; integers stay.", np.ceil)
_rounding("trunc", "x without its fraction; integers stay.", np.trunc, alias="fix")
_rounding("round", "The nearest integer, halves to the even one; integers stay.", np.rint)


def round_decimals(s: Any, x: Any, decimals: int) -> Any:
    """x rounded to so many places behind the point."""
    power = literal(s, x, 10.0 ** abs(decimals))
    if decimals >= 0:
        return s.div(s.round(s.mul(x, power)), power)
    return s.mul(s.round(s.div(x, power)), power)


unary(
    "aten::round.decimals(Tensor self, *, int decimals) -> Tensor",
    scalar=round_decimals,
    accepts=FLOATS,
    refusal="\"round_cpu\" not implemented for '{}'",
    doc="x rounded to so many places behind the point; before it if negative.",
)
unary(
    "aten::frac(Tensor self) -> Tensor",
    scalar=lambda s, x: s.sub(x, s.trunc(x)),
    accepts=FLOATS,
    reference=lambda x: x - np.trunc(x),
    doc="The fraction, with the sign of x.",
)


def _check_neg(common: DType, x: Any) -> None:
    if common is bool_:
        raise RuntimeError(
            "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use "
            "the `~` or `logical_not()` operator instead."
        )


def _check_abs_in_place(common: DType, x: Any) -> None:
    if common.is_complex:
        raise RuntimeError("In-place abs is not supported for complex tensors.")


def _check_sign(common: DType, x: Any) -> None:
    if common.is_complex:
        raise NotImplementedError(
            "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use torch.sgn instead."
        )


unary(
    "aten::neg(Tensor self) -> Tensor",
    scalar=lambda s, x: s.neg(x),
    check=_check_neg,
    aliases=("negative",),
    reference=np.negative,
    doc="-x. The smallest integer stays itself.",
)
unary(
    "aten::abs(Tensor self) -> Tensor",
    scalar=lambda s, x: s.abs(x),
    result=to_real,
    compute=same,
    accepts=CATEGORIES - {bool_.category},
    check_in_place=_check_abs_in_place,
    aliases=("absolute",),
    reference=np.abs,
    doc="The absolute value; of complex numbers the modulus.",
)
unary(
    "aten::sign(Tensor self) -> Tensor",
    scalar=lambda s, x: s.sign(x),
    check=_check_sign,
    doc="-1, 0 or 1; 0 for nan.",
)
unary(
    "aten::sgn(Tensor self) -> Tensor",
    scalar=lambda s, x: s.sign(x),
    doc="As `sign`; of complex numbers x / |x|, and 0 at 0.",
)
unary(
    "aten::square(Tensor self) -> Tensor",
    scalar=lambda s, x: s.mul(x, x),
    result=lambda common, args: common if common is not bool_ else int64,
    compute=lambda common, args: common if common is not bool_ else int64,
    reference=np.square,
    doc="x times x.",
)
unary(
    "aten::sinc(Tensor self) -> Tensor",
    scalar=lambda s, x: _sinc(s, x),
    result=to_float,
    aliases=("special_sinc",),
    ulp=4,
    reference=np.sinc,
    doc="sin(pi x) / (pi x), and 1 at 0.",
)
unary(
    "aten::logit(Tensor self, float? eps=None) -> Tensor",
    scalar=lambda s, x, eps: _logit(s, x, eps),
    result=to_float,
    accepts=REAL,
    aliases=("special_logit",),
    ulp=4,
    doc="log(x / (1 - x)); with `eps`, x is first brought between eps and 1 - eps.",
)


def _sinc(s: Any, x: Any) -> Any:
    """1 where the square of x is no number above 0, by which the derivative divides."""
    angle = s.mul(literal(s, x, math.pi), x)
    return s.select(s.eq(s.mul(x, x), literal(s, x, 0)), literal(s, x, 1), s.div(s.sin(angle), angle))


def _logit(s: Any, x: Any, eps: Any) -> Any:
    one = literal(s, x, 1)
    if eps is not None:
        x = s.minimum(s.maximum(x, eps), s.sub(one, eps))
    return s.log(s.div(x, s.sub(one, x)))
