"""The formulas of the layers and losses of neural networks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from flambeau.ops.derivatives.plain_arrays import Array, gated, of_classes, of_rows_of_classes
from flambeau.ops.derivatives.shapes import zeros
from flambeau.schema.array_gradient import array_gradient
from flambeau.schema.gradient import decomposed, flat_gradient, formulas

SELU_ALPHA: Final = 1.6732632423543772848170429916717
SELU_SCALE: Final = 1.0507009873554804934193349852946


def _softmax(f: Any, grad: Any, result: Any, dim: int) -> Any:
    weighted = grad * result
    return weighted - result * f.sum(weighted, [dim], True) if result.dim() else weighted - weighted


def _log_softmax(f: Any, grad: Any, result: Any, dim: int) -> Any:
    return grad - f.exp(result) * (f.sum(grad, [dim], True) if result.dim() else grad)


formulas("aten::softmax", "aten::_softmax", "aten::special_softmax", self=_softmax)
formulas("flambeau::causal_softmax", self=lambda f, grad, result: _softmax(f, grad, result, -1))
formulas("aten::log_softmax", "aten::_log_softmax", "aten::special_log_softmax", self=_log_softmax)
formulas("aten::relu", self=lambda f, grad, result: f.where(result <= 0, 0, grad))
formulas("aten::relu6", self=lambda f, grad, result: f.where((result <= 0) | (result >= 6), 0, grad))
formulas(
    "aten::hardtanh",
    self=lambda f, grad, self, min_val, max_val: f.where((self <= min_val) | (self >= max_val), 0, grad),
)
formulas("aten::hardsigmoid", self=lambda f, grad, self: f.where((self > -3) & (self < 3), grad / 6, 0))
formulas(
    "aten::hardswish",
    self=lambda f, grad, self: f.where(self <= -3, 0, f.where(self < 3, grad * (self / 3 + 0.5), grad)),
)
flat_gradient("aten::relu", of="result")
flat_gradient("aten::relu6", "aten::hardtanh", "aten::hardsigmoid", "aten::leaky_relu", of="self")
flat_gradient("aten::hardshrink", "aten::softshrink", "aten::threshold", of="self")


def _elu(f: Any, grad: Any, self: Any, alpha: Any, scale: Any, input_scale: Any) -> Any:
    """By the exponential itself, not by what is left of it in the result, which is -alpha far out; of what is not
    above 0 alone, so that derivatives of the derivative do not meet an infinite one on the other side."""
    decay = f.exp(f.where(self >= 0, 0, self) * input_scale)
    return f.where(self > 0, grad * scale, grad * (alpha * scale * input_scale) * decay)


def _celu(f: Any, grad: Any, self: Any, alpha: Any) -> Any:
    return _elu(f, grad, self, alpha, 1, 1 / alpha)


def _selu(f: Any, grad: Any, self: Any) -> Any:
    return _elu(f, grad, self, SELU_ALPHA, SELU_SCALE, 1)


def _softplus(f: Any, grad: Any, self: Any, beta: Any, threshold: Any) -> Any:
    scaled = self * beta
    is_far = scaled > threshold
    return f.where(is_far, grad, grad * f.sigmoid(f.where(is_far, 0, scaled)))


formulas("aten::softplus", self=_softplus)
formulas("aten::elu", self=_elu)
formulas("aten::celu", self=_celu)
formulas("aten::selu", self=_selu)


def _silu(f: Any, grad: Any, self: Any) -> Any:
    gate = f.sigmoid(self)
    return grad * f.conj(gate * (1 + self * (1 - gate)))


def _mish(f: Any, grad: Any, self: Any) -> Any:
    gate, inner = f.sigmoid(self), f.tanh(f.softplus(self))
    return grad * (inner + self * gate * (1 - inner * inner))


formulas("aten::silu", self=_silu)
formulas("aten::mish", self=_mish)


def _within(f: Any, grad: Any, self: Any, min: Any, max: Any) -> Any:
    if min is None and max is None:
        return grad
    if min is None:
        return f.where(self <= max, grad, 0)
    if max is None:
        return f.where(self >= min, grad, 0)
    return f.where((self >= min) & (self <= max), grad, 0)


def _at_least(f: Any, grad: Any, self: Any, min: Any, max: Any) -> Any:
    is_lower = self < min
    return f.where(is_lower if max is None else is_lower & (min < max), grad, 0)


def _at_most(f: Any, grad: Any, self: Any, min: Any, max: Any) -> Any:
    is_higher = self > max
    return f.where(is_higher if min is None else is_higher | (max < min), grad, 0)


formulas("aten::clamp", "aten::clip", self=_within, min=_at_least, max=_at_most)
formulas(
    "aten::clamp_min",
    self=lambda f, grad, self, min: f.where(self >= min, grad, 0),
    min=lambda f, grad, self, min: f.where(self < min, grad, 0),
)
formulas(
    "aten::clamp_max",
    self=lambda f, grad, self, max: f.where(self <= max, grad, 0),
    max=lambda f, grad, self, max: f.where(self > max, grad, 0),
)


def _reduced(grad: Any, reduction: int, number: Any) -> Any:
    return grad / number if reduction == 1 else grad


def _nll(
    f: Any, grad: Any, self_sizes: Sequence[int], target: Any, weight: Any, reduction: int, ignore_index: int, dim: int
) -> Any:
    """Minus the weight of each target at its place, for classes along `dim`."""
    if weight is None and reduction:
        body = _nll_unweighted
        return f.over_arrays(of_classes, body, grad, self_sizes, target, reduction == 1, ignore_index, dim)
    return _nll_of_operators(f, grad, self_sizes, target, weight, reduction, ignore_index, dim)


def _nll_unweighted(
    f: Any, grad: Any, self_sizes: Sequence[int], target: Any, is_mean: bool, ignore_index: int, dim: int
) -> Any:
    return _nll_of_operators(f, grad, self_sizes, target, None, 1 if is_mean else 2, ignore_index, dim)


def _nll_of_operators(
    f: Any, grad: Any, self_sizes: Sequence[int], target: Any, weight: Any, reduction: int, ignore_index: int, dim: int
) -> Any:
    is_counted = f.ne(target, ignore_index)
    safe = f.where(is_counted, target, 0)
    if weight is None:
        share = f.to(is_counted, grad.dtype)
    else:
        share = f.where(is_counted, f.reshape(f.index_select(weight, 0, f.reshape(safe, [-1])), target.shape), 0)
    if reduction == 1:
        grad = grad / f.sum(share)
    values = f.where(is_counted, -(grad * share), 0)  # where none is counted, the share of each is none
    indices = f.unsqueeze(safe, dim) if target.dim() == len(self_sizes) - 1 else safe
    return f.scatter_add(zeros(grad, self_sizes), dim, indices, f.reshape(values, list(indices.shape)))


formulas(
    "aten::nll_loss",
    self=lambda f, grad, self_sizes, target, weight, reduction, ignore_index: _nll(
        f, grad, self_sizes, target, weight, reduction, ignore_index, len(self_sizes) - 1
    ),
)
formulas(
    "aten::nll_loss2d",
    "aten::nll_loss_nd",
    self=lambda f, grad, self_sizes, target, weight, reduction, ignore_index: _nll(
        f, grad, self_sizes, target, weight, reduction, ignore_index, 1 if len(self_sizes) > 1 else 0
    ),
)
def _of_rows(
    f: Any, grads: Sequence[Any], self: Any, result1: Any, target: Any, reduction: int, ignore_index: int
) -> Any:  # fmt: skip
    """From the operand, not from the logarithms that were kept, through which nothing flows."""
    logs = f.log_softmax(self, 1)
    by_logs = _nll(f, grads[0], list(self.shape), target, None, reduction, ignore_index, 1)
    return _log_softmax(f, by_logs, logs, 1)


@array_gradient("flambeau::nll_loss_of_rows", of="self")
def _of_logarithms(
    grads: Sequence[Array | None], result1: Array, target: Array, reduction: int, ignore_index: int
) -> Array | None:  # fmt: skip
    grad = grads[0]
    return None if grad is None else of_rows_of_classes(result1, grad, target, reduction == 1, ignore_index)


formulas("flambeau::nll_loss_of_rows", self=_of_rows)
flat_gradient("aten::nll_loss", "aten::nll_loss2d", "aten::nll_loss_nd", of="self")


def _bce(f: Any, grad: Any, self: Any, target: Any, weight: Any, reduction: int) -> Any:
    slope = (self - target) / f.clamp_min((1 - self) * self, 1e-12)
    slope = slope if weight is None else slope * weight
    return _reduced(grad, reduction, self.numel()) * slope


def _bce_target(f: Any, grad: Any, self: Any, target: Any, weight: Any, reduction: int) -> Any:
    slope = f.clamp_min(f.log1p(-self), -100) - f.clamp_min(f.log(self), -100)
    slope = slope if weight is None else slope * weight
    return _reduced(grad, reduction, self.numel()) * slope


def _bce_weight(f: Any, grad: Any, self: Any, target: Any, reduction: int) -> Any:
    loss = (target - 1) * f.clamp_min(f.log1p(-self), -100) - target * f.clamp_min(f.log(self), -100)
    return _reduced(grad, reduction, self.numel()) * loss


formulas("aten::binary_cross_entropy", self=_bce, target=_bce_target, weight=_bce_weight)


def _by_distance(slope: Callable[..., Any]) -> dict[str, Callable[..., Any]]:
    """The formulas of a loss of the distance between two tensors, from its slope."""

    def of_self(f: Any, grad: Any, self: Any, target: Any, reduction: int, beta: Any = None, delta: Any = None) -> Any:
        distance = self - target
        bound = beta if delta is None else delta
        slopes = slope(f, distance) if bound is None else slope(f, distance, bound)
        return _reduced(grad, reduction, distance.numel()) * slopes

    def of_target(
        f: Any, grad: Any, self: Any, target: Any, reduction: int, beta: Any = None, delta: Any = None
    ) -> Any:
        return -of_self(f, grad, self, target, reduction, beta, delta)

    return {"self": of_self, "target": of_target}


formulas("aten::mse_loss", **_by_distance(lambda f, distance: f.conj(distance) * 2))
formulas(
    "aten::smooth_l1_loss",
    **_by_distance(lambda f, d, beta: f.clamp(d if beta == 1 else d / beta, -1.0, 1.0) if beta else f.sgn(d)),
)
formulas("aten::huber_loss", **_by_distance(lambda f, d, delta: f.clamp(d, -delta, delta)))


@decomposed("aten::prelu")
def _prelu(f: Any, self: Any, weight: Any) -> Any:
    if self.dim() == 0 or (weight.numel() != 1 and (self.dim() < 2 or self.shape[1] != weight.numel())):
        return f.where(self > 0, self, self * f.reshape(weight, []))
    along = [-1 if d == 1 else 1 for d in range(self.dim())] if self.dim() > 1 else [1]
    return f._prelu_kernel(self, f.reshape(weight, along))


def _glu(f: Any, grad: Any, self: Any, dim: int) -> Any:
    first, second = f.chunk(self, 2, dim)
    gate = f.sigmoid(second)
    along = grad * gate
    return f.cat([along, along * ((1 - gate) * first)], dim)


formulas("aten::glu", self=lambda f, grad, self, dim: f.over_arrays(gated, _glu, grad, self, dim))


def _odds(f: Any, grad: Any, self: Any, target: Any, weight: Any, pos_weight: Any, reduction: int) -> Any:
    gate = f.sigmoid(self)
    if pos_weight is None:
        slope = gate - target
    else:
        often = pos_weight * target
        slope = (often + 1 - target) * gate - often
    slope = slope if weight is None else slope * weight
    return _reduced(grad, reduction, slope.numel()) * slope


def _odds_target(f: Any, grad: Any, self: Any, weight: Any, pos_weight: Any, reduction: int, target: Any) -> Any:
    slope = -self if pos_weight is None else -self - (pos_weight - 1) * f.log_sigmoid(self)
    slope = slope if weight is None else slope * weight
    return _reduced(grad, reduction, (slope + target).numel()) * slope


def _odds_weight(f: Any, grad: Any, self: Any, target: Any, weight: Any, pos_weight: Any, reduction: int) -> Any:
    often = 1 if pos_weight is None else (pos_weight - 1) * target + 1
    loss = (1 - target) * self - often * f.log_sigmoid(self)
    return _reduced(grad, reduction, (loss * weight).numel()) * loss


def _odds_pos_weight(f: Any, grad: Any, self: Any, target: Any, weight: Any, reduction: int, pos_weight: Any) -> Any:
    slope = -target * f.log_sigmoid(self)
    slope = slope if weight is None else slope * weight
    return _reduced(grad, reduction, (slope * pos_weight).numel()) * slope


formulas(
    "aten::binary_cross_entropy_with_logits",
    self=_odds, target=_odds_target, weight=_odds_weight, pos_weight=_odds_pos_weight,
)  # fmt: skip


def _conjugate(f: Any, weight: Any) -> Any:
    """Of a tensor, or of one of Python's numbers."""
    return f.conj(weight) if hasattr(weight, "dim") else weight.conjugate() if isinstance(weight, complex) else weight


formulas(
    "aten::lerp",
    self=lambda f, grad, weight: grad * (1 - _conjugate(f, weight)),
    end=lambda f, grad, weight: grad * _conjugate(f, weight),
    weight=lambda f, grad, self, end: grad * f.conj(end - self),
)
