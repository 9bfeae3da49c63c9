"""The formulas of the layers and losses of neural networks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau.ops.derivatives.shapes import zeros
from flambeau.schema.gradient import decomposed, formulas, passed_on


def _softmax(f: Any, grad: Any, result: Any, dim: int) -> Any:
    weighted = grad * result
    return weighted - result * f.sum(weighted, [dim], True) if result.dim() else weighted - weighted


def _log_softmax(f: Any, grad: Any, result: Any, dim: int) -> Any:
    return grad - f.exp(result) * (f.sum(grad, [dim], True) if result.dim() else grad)


formulas("aten::softmax", "aten::_softmax", "aten::special_softmax", self=_softmax)
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
    self=lambda f, grad, self: f.where(self < -3, 0, f.where(self <= 3, grad * (self / 3 + 0.5), grad)),
)


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


def _normalised(f: Any, x: Any, dims: list[int], eps: float) -> Any:
    centred = x - f.mean(x, dims, True)
    return centred * f.rsqrt(f.mean(centred * centred, dims, True) + eps)


def _by_input(f: Any, grad: Any, x: Any, dims: list[int], eps: float) -> Any:
    """The gradient of the input of a norm over `dims`, of which `grad` is that of the normalised values."""
    centred = x - f.mean(x, dims, True)
    rstd = f.rsqrt(f.mean(centred * centred, dims, True) + eps)
    xhat = centred * rstd
    return rstd * (grad - f.mean(grad, dims, True) - xhat * f.mean(grad * xhat, dims, True))


def _trailing(x: Any, normalized_shape: Sequence[int]) -> tuple[list[int], list[int]]:
    split = x.dim() - len(normalized_shape)
    return list(range(split)), list(range(split, x.dim()))


def _layer_input(f: Any, grad: Any, input: Any, normalized_shape: Sequence[int], weight: Any, eps: float) -> Any:
    _, inner = _trailing(input, normalized_shape)
    return _by_input(f, grad if weight is None else grad * weight, input, inner, eps)


def _layer_weight(f: Any, grad: Any, input: Any, normalized_shape: Sequence[int], eps: float) -> Any:
    outer, inner = _trailing(input, normalized_shape)
    product = grad * _normalised(f, input, inner, eps)
    return f.sum(product, outer) if outer else product


formulas("aten::layer_norm", input=_layer_input, weight=_layer_weight, bias=passed_on)


@decomposed("aten::rms_norm")
def _rms_norm(f: Any, input: Any, normalized_shape: Sequence[int], weight: Any, eps: float | None) -> Any:
    _, inner = _trailing(input, normalized_shape)
    least = 2.220446049250313e-16 if eps is None and input.itemsize == 8 else 1.1920928955078125e-07
    scaled = input * f.rsqrt(f.mean(input * input, inner, True) + (least if eps is None else eps))
    return scaled if weight is None else scaled * weight


def _grouped(x: Any, groups: int) -> list[int]:
    sizes = list(x.shape)
    return [sizes[0], groups, sizes[1] // groups, *sizes[2:]]


@decomposed("aten::group_norm")
def _group_norm(
    f: Any, input: Any, num_groups: int, weight: Any, bias: Any, eps: float, cudnn_enabled: bool = False
) -> Any:
    sizes = _grouped(input, num_groups)
    grouped = f.reshape(input, sizes)
    centred = grouped - f.mean(grouped, list(range(2, len(sizes))), True)
    variance = f.mean(centred * centred, list(range(2, len(sizes))), True)
    result = f.reshape(centred * f.rsqrt(variance + eps), list(input.shape))
    along = [1, -1, *[1] * (input.dim() - 2)]
    result = result if weight is None else result * f.reshape(weight, along)
    return result if bias is None else result + f.reshape(bias, along)


def _channels(x: Any) -> tuple[list[int], list[int]]:
    return [d for d in range(x.dim()) if d != 1], [1, -1, *[1] * (x.dim() - 2)]


def _batch_input(
    f: Any, grad: Any, input: Any, weight: Any, running_mean: Any, running_var: Any, training: bool, eps: float
) -> Any:
    dims, along = _channels(input)
    grad = grad if weight is None else grad * f.reshape(weight, along)
    if training or running_var is None:
        return _by_input(f, grad, input, dims, eps)
    return grad * f.reshape(f.rsqrt(running_var + eps), along)


def _batch_weight(
    f: Any, grad: Any, input: Any, running_mean: Any, running_var: Any, training: bool, eps: float
) -> Any:
    dims, along = _channels(input)
    if training or running_var is None:
        return f.sum(grad * _normalised(f, input, dims, eps), dims)
    centred = input - f.reshape(running_mean, along)
    return f.sum(grad * centred * f.reshape(f.rsqrt(running_var + eps), along), dims)


formulas(
    "aten::batch_norm",
    input=_batch_input,
    weight=_batch_weight,
    bias=lambda f, grad: f.sum(grad, _channels(grad)[0]),
)


@decomposed("aten::instance_norm")
def _instance_norm(
    f: Any,
    input: Any,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Any:
    if not use_input_stats:
        return f.batch_norm(input, weight, bias, running_mean, running_var, False, momentum, eps, cudnn_enabled)
    if running_mean is not None:
        f.instance_norm(
            input.detach(), None, None, running_mean, running_var, True, momentum, eps, cudnn_enabled
        )  # moves the running statistics
    result = _normalised(f, input, list(range(2, input.dim())), eps)
    along = [1, -1, *[1] * (input.dim() - 2)]
    result = result if weight is None else result * f.reshape(weight, along)
    return result if bias is None else result + f.reshape(bias, along)


def _reduced(f: Any, grad: Any, reduction: int, number: Any) -> Any:
    return grad / number if reduction == 1 else grad


def _nll(
    f: Any, grad: Any, self_sizes: Sequence[int], target: Any, weight: Any, reduction: int, ignore_index: int, dim: int
) -> Any:
    """Minus the weight of each target at its place, for classes along `dim`."""
    is_counted = f.ne(target, ignore_index)
    safe = f.where(is_counted, target, 0)
    if weight is None:
        share = f.to(is_counted, grad.dtype)
    else:
        share = f.where(is_counted, f.reshape(f.index_select(weight, 0, f.reshape(safe, [-1])), target.shape), 0)
    if reduction == 1:
        grad = grad / f.sum(share)
    values = -(grad * share)
    places = f.unsqueeze(safe, dim) if target.dim() == len(self_sizes) - 1 else safe
    return f.scatter_add(zeros(grad, self_sizes), dim, places, f.reshape(values, list(places.shape)))


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


def _bce(f: Any, grad: Any, self: Any, target: Any, weight: Any, reduction: int) -> Any:
    slope = (self - target) / f.clamp_min((1 - self) * self, 1e-12)
    slope = slope if weight is None else slope * weight
    return _reduced(f, grad, reduction, self.numel()) * slope


def _bce_target(f: Any, grad: Any, self: Any, target: Any, weight: Any, reduction: int) -> Any:
    slope = f.clamp_min(f.log1p(-self), -100) - f.clamp_min(f.log(self), -100)
    slope = slope if weight is None else slope * weight
    return _reduced(f, grad, reduction, self.numel()) * slope


formulas("aten::binary_cross_entropy", self=_bce, target=_bce_target)


@decomposed("aten::dropout")
def _dropout(f: Any, input: Any, p: float, train: bool) -> Any:
    if not train or p == 0:
        return input
    return input * f.dropout(f.ones_like(input.detach()), p, True)


@decomposed("aten::feature_dropout")
def _feature_dropout(f: Any, input: Any, p: float, train: bool) -> Any:
    if not train or p == 0:
        return input
    sizes = [n if d < 2 else 1 for d, n in enumerate(input.shape)]
    return input * f.feature_dropout(f.ones(sizes, dtype=input.dtype), p, True)


@decomposed("aten::cdist")
def _cdist(f: Any, x1: Any, x2: Any, p: float, compute_mode: Any) -> Any:
    difference = f.unsqueeze(x1, -2) - f.unsqueeze(x2, -3)
    return f.linalg_vector_norm(difference, p, [-1])


@decomposed("aten::prelu")
def _prelu(f: Any, self: Any, weight: Any) -> Any:
    if self.dim() == 0 or (weight.numel() != 1 and (self.dim() < 2 or self.shape[1] != weight.numel())):
        return f.where(self > 0, self, self * f.reshape(weight, []))
    along = [-1 if d == 1 else 1 for d in range(self.dim())] if self.dim() > 1 else [1]
    return f._prelu_kernel(self, f.reshape(weight, along))


@decomposed("aten::glu")
def _glu(f: Any, self: Any, dim: int) -> Any:
    first, second = f.chunk(self, 2, dim)
    return first * f.sigmoid(second)


@decomposed("aten::native_layer_norm")
def _native_layer_norm(f: Any, input: Any, normalized_shape: Sequence[int], weight: Any, bias: Any, eps: float) -> Any:
    result = f.layer_norm(input, normalized_shape, weight, bias, eps)
    plain = f.native_layer_norm(input.detach(), normalized_shape, None, None, eps)
    return result, plain[1], plain[2]
