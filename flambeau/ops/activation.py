"""Activation functions of neural networks."""

from __future__ import annotations

import math
from functools import partial
from typing import Any, Final

from flambeau.ops.derivatives.network_formulas import SELU_ALPHA, SELU_SCALE
from flambeau.ops.families.pointwise import CATEGORIES, FLOATS, FRACTIONAL, NUMERIC, literal, unary
from flambeau.schema.dtype import DType, bool_, float32, float64, uint8
from flambeau.schema.traits import Role, Traits
from flambeau.tensor.array_library import np

_SQRT_HALF = 0.70710678118654752440
_SQRT_TWO_OVER_PI = 0.79788456080286535588
_SATURATED: Final = 32.0
"""Behind it the tangent of `gelu` is 1 to the last digit, and squares need not be numbers of half precision."""


activation = partial(
    unary, namespaces=("nn.functional",), is_method=False, accepts=FLOATS, traits=Traits(role=Role.ACTIVATION)
)  # fmt: skip
"""A unary operator that is a function of `nn.functional` too; most are made for fractions alone."""


def _refuse(dtype: DType, name: str) -> None:
    if dtype.is_complex:
        raise NotImplementedError("clamp is not supported for complex types")
    if dtype is bool_:
        raise RuntimeError(name)


def _between(s: Any, x: Any, low: Any, high: Any) -> Any:
    return s.minimum(s.maximum(x, low), high)


def _check_hardtanh(common: DType, x: Any, low: Any, high: Any) -> None:
    _refuse(common, "Bool inputs not supported for hardtanh")
    if common is uint8 and (low < 0 or high < 0):
        raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")


activation(
    "aten::relu(Tensor self) -> Tensor",
    scalar=lambda s, x: s.maximum(x, literal(s, x, 0)),
    check=lambda common, x: _refuse(common, "Boolean inputs not supported for relu"),
    accepts=CATEGORIES,
    is_method=True,
    reference=lambda x: np.maximum(x, 0),
    doc="max(x, 0).",
)
activation(
    "aten::relu6(Tensor self) -> Tensor",
    scalar=lambda s, x: _between(s, x, literal(s, x, 0), literal(s, x, 6)),
    check=lambda common, x: _refuse(common, "Bool inputs not supported for hardtanh"),
    accepts=CATEGORIES,
    out=None,
    reference=lambda x: np.clip(x, 0, 6),
    doc="min(max(x, 0), 6).",
)
activation(
    "aten::hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor",
    scalar=_between,
    check=_check_hardtanh,
    accepts=CATEGORIES,
    reference=lambda x, min_val=-1, max_val=1: np.clip(x, min_val, max_val),
    doc="x brought between `min_val` and `max_val`.",
)
activation(
    "aten::leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor",
    scalar=lambda s, x, slope: s.select(s.gt(x, literal(s, x, 0)), x, s.mul(x, slope)),
    doc="x above zero, negative_slope * x below.",
)


def _gelu(s: Any, x: Any, approximate: str) -> Any:
    half, one = literal(s, x, 0.5), literal(s, x, 1)
    if approximate == "none":
        return s.mul(s.mul(x, half), s.add(one, s.erf(s.mul(x, literal(s, x, _SQRT_HALF)))))
    bounded = s.minimum(s.maximum(x, literal(s, x, -_SATURATED)), literal(s, x, _SATURATED))
    cubic = s.add(bounded, s.mul(literal(s, x, 0.044715), s.mul(s.mul(bounded, bounded), bounded)))
    return s.mul(s.mul(half, x), s.add(one, s.tanh(s.mul(literal(s, x, _SQRT_TWO_OVER_PI), cubic))))


def _check_gelu(common: DType, x: Any, approximate: str) -> None:
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")


activation(
    'aten::gelu(Tensor self, *, str approximate="none") -> Tensor',
    scalar=_gelu,
    traits=Traits(role=Role.ACTIVATION, archive_version=10),
    check=_check_gelu,
    refusal="\"GeluKernelImpl\" not implemented for '{}'",
    ulp=8,
    doc="x times the standard normal distribution function of x, or its tanh approximation (approximate='tanh').",
)


def _elu(s: Any, x: Any, alpha: Any, scale: Any, input_scale: Any) -> Any:
    negative = s.mul(s.expm1(s.mul(x, input_scale)), s.mul(alpha, scale))
    return s.select(s.le(x, literal(s, x, 0)), negative, s.mul(x, scale))


def _check_celu(common: DType, x: Any, alpha: Any) -> None:
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")


_ELU_REFUSAL = "\"elu_cpu\" not implemented for '{}'"
activation(
    "aten::elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor",
    scalar=_elu,
    ulp=4,
    doc="scale * x above zero, scale * alpha * (exp(input_scale * x) - 1) below.",
)
activation(
    "aten::celu(Tensor self, Scalar alpha=1.) -> Tensor",
    scalar=lambda s, x, alpha: _elu(s, x, alpha, literal(s, x, 1), s.reciprocal(alpha)),
    check=_check_celu,
    refusal=_ELU_REFUSAL,
    ulp=4,
    doc="max(0, x) + min(0, alpha * (exp(x / alpha) - 1)).",
)
activation(
    "aten::selu(Tensor self) -> Tensor",
    scalar=lambda s, x: _elu(s, x, literal(s, x, SELU_ALPHA), literal(s, x, SELU_SCALE), literal(s, x, 1)),
    refusal=_ELU_REFUSAL,
    ulp=4,
    doc="`elu` with the constants that keep mean 0 and variance 1 through layers.",
)
activation(
    "aten::silu(Tensor self) -> Tensor",
    scalar=lambda s, x: s.div(x, s.add(literal(s, x, 1), s.exp(s.neg(x)))),
    accepts=FRACTIONAL,
    ulp=4,
    reference=lambda x: x / (1 + np.exp(-x)),
    doc="x * sigmoid(x).",
)
activation(
    "aten::mish(Tensor self) -> Tensor",
    scalar=lambda s, x: s.mul(x, s.tanh(s.log1p(s.exp(x)))),
    ulp=8,
    doc="x * tanh(softplus(x)).",
)


def _log_sigmoid(s: Any, x: Any) -> Any:
    """Nothing overflows, and what is chosen by the sign has the function's derivatives at 0, where `abs` has none."""
    zero = literal(s, x, 0)
    is_below = s.lt(x, zero)
    return s.sub(s.select(is_below, x, zero), s.log1p(s.exp(s.select(is_below, x, s.neg(x)))))


def _softplus(s: Any, x: Any, beta: Any, threshold: Any) -> Any:
    scaled = s.mul(x, beta)
    return s.select(s.gt(scaled, threshold), x, s.div(s.log1p(s.exp(scaled)), beta))


activation(
    "aten::softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor",
    scalar=_softplus,
    in_place=False,
    ulp=4,
    doc="log(1 + exp(beta * x)) / beta; x itself where beta * x is above `threshold`.",
)
activation(
    "aten::hardsigmoid(Tensor self) -> Tensor",
    scalar=lambda s, x: s.div(_relu6_of_shifted(s, x), literal(s, x, 6)),
    ulp=2,
    doc="min(max(x + 3, 0), 6) / 6.",
)
activation(
    "aten::hardswish(Tensor self) -> Tensor",
    scalar=lambda s, x: s.div(s.mul(x, _relu6_of_shifted(s, x)), literal(s, x, 6)),
    ulp=2,
    doc="x * hardsigmoid(x).",
)


def _relu6_of_shifted(s: Any, x: Any) -> Any:
    return _between(s, s.add(x, literal(s, x, 3)), literal(s, x, 0), literal(s, x, 6))


def _hardshrink(s: Any, x: Any, lambd: Any) -> Any:
    is_small = s.logical_and(s.ge(x, s.neg(lambd)), s.le(x, lambd))
    return s.select(is_small, literal(s, x, 0), x)


def _softshrink(s: Any, x: Any, lambd: Any) -> Any:
    below = s.select(s.lt(x, s.neg(lambd)), s.add(x, lambd), s.mul(x, literal(s, x, 0)))
    return s.select(s.gt(x, lambd), s.sub(x, lambd), below)


def _check_softshrink(common: DType, x: Any, lambd: Any) -> None:
    limit = float(np.finfo(common.numpy).max) if common in (float32, float64) else math.inf
    if not 0 <= lambd <= limit:
        raise RuntimeError(
            f"lambda must be in range [0, {limit:g}] for input dtype {common.display}, but found {lambd:g}"
        )


activation(
    "aten::hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor",
    scalar=_hardshrink,
    in_place=False,
    is_method=True,
    doc="0 between -lambd and lambd, else x.",
)
activation(
    "aten::softshrink(Tensor self, Scalar lambd=0.5) -> Tensor",
    scalar=_softshrink,
    check=_check_softshrink,
    refusal="\"softshrink_check\" not implemented for '{}'",
    in_place=False,
    doc="x moved towards zero by `lambd`, and 0 within.",
)
activation(
    "aten::log_sigmoid(Tensor self) -> Tensor",
    scalar=_log_sigmoid,
    in_place=False,
    ulp=4,
    doc="log(sigmoid(x)), accurate far out.",
)
activation(
    "aten::threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor",
    scalar=lambda s, x, threshold, value: s.select(s.le(x, threshold), value, x),
    accepts=NUMERIC,
    refusal="\"threshold_cpu\" not implemented for '{}'",
    doc="x above `threshold`, else `value`.",
)
