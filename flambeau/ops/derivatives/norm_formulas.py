"""The formulas of norms of layers: over trailing dimensions, groups of channels, batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau.ops.derivatives.plain_arrays import of_groups
from flambeau.schema.gradient import decomposed, formulas, formulas_by_flag, together


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


def _layer(f: Any, grad: Any, input: Any, normalized_shape: Sequence[int], weight: Any, eps: float) -> Any:
    by_input, *parts = f.own("layer_norm_gradients", grad, input, weight, len(normalized_shape), eps)
    return by_input, *[f.sum(part, [0]) for part in parts]


formulas("aten::layer_norm", **together(_layer, "input", "weight", "bias"))


@decomposed("flambeau::layer_norm_gradients")
def _layer_gradients(f: Any, grad: Any, input: Any, weight: Any, dims: int, eps: float) -> Any:
    split = input.dim() - dims
    outer, inner = list(range(split)), list(range(split, input.dim()))
    by_input = _by_input(f, grad if weight is None else grad * weight, input, inner, eps)
    by_weight, by_bias = grad * _normalised(f, input, inner, eps), grad
    if outer:
        by_weight, by_bias = f.sum(by_weight, outer), f.sum(by_bias, outer)
    return by_input, f.unsqueeze(by_weight, 0), f.unsqueeze(by_bias, 0)


def _rms_scale(f: Any, input: Any, inner: list[int], eps: float | None) -> Any:
    least = 2.220446049250313e-16 if eps is None and input.itemsize == 8 else 1.1920928955078125e-07
    return f.rsqrt(f.mean(input * input, inner, True) + (least if eps is None else eps))


def _rms_input(
    f: Any, grad: Any, input: Any, normalized_shape: Sequence[int], weight: Any, eps: float | None
) -> Any:
    _, inner = _trailing(input, normalized_shape)
    x = f.conj(input)
    scale = _rms_scale(f, x, inner, eps)
    grad = grad if weight is None else grad * f.conj(weight)
    return scale * (grad - x * (scale * scale * f.mean(grad * x, inner, True)))


def _rms_weight(f: Any, grad: Any, input: Any, normalized_shape: Sequence[int], eps: float | None) -> Any:
    outer, inner = _trailing(input, normalized_shape)
    x = f.conj(input)
    by_element = grad * x * _rms_scale(f, x, inner, eps)
    return f.sum(by_element, outer) if outer else by_element


formulas("aten::rms_norm", input=_rms_input, weight=_rms_weight)


def _grouped(x: Any, groups: int) -> list[int]:
    sizes = list(x.shape)
    return [sizes[0], groups, sizes[1] // groups, *sizes[2:]]


def _group_input(f: Any, grad: Any, input: Any, num_groups: int, weight: Any, eps: float) -> Any:
    return f.over_arrays(of_groups, _group_rows, grad, input, num_groups, weight, eps)


def _group_rows(f: Any, grad: Any, input: Any, num_groups: int, weight: Any, eps: float) -> Any:
    each = input.shape[1] // num_groups
    for size in input.shape[2:]:
        each = each * size
    rows = [1, input.shape[0] * num_groups, each]
    grad = grad if weight is None else grad * f.reshape(weight, _channels(input)[1])
    by_group, _, _ = f.own("batch_norm_gradients", f.reshape(grad, rows), f.reshape(input, rows), None, eps)
    return f.reshape(by_group, list(input.shape))


def _group_weight(f: Any, grad: Any, input: Any, num_groups: int, eps: float) -> Any:
    sizes = _grouped(input, num_groups)
    normalised = _normalised(f, f.reshape(input, sizes), list(range(2, len(sizes))), eps)
    return f.sum(grad * f.reshape(normalised, list(input.shape)), _channels(input)[0])


formulas(
    "aten::group_norm",
    input=_group_input,
    weight=_group_weight,
    bias=lambda f, grad: f.sum(grad, _channels(grad)[0]),
)


@decomposed("aten::native_group_norm")
def _native_group_norm(
    f: Any, input: Any, weight: Any, bias: Any, N: int, C: int, HxW: int, group: int, eps: float
) -> Any:
    grouped = f.reshape(input, [N, group, C // group * HxW])
    mean = f.mean(grouped, [2], True)
    centred = grouped - mean
    scale = f.rsqrt(f.mean(centred * centred, [2], True) + eps)
    result = f.reshape(centred * scale, list(input.shape))
    along = _channels(input)[1]
    result = result if weight is None else result * f.reshape(weight, along)
    result = result if bias is None else result + f.reshape(bias, along)
    return result, f.squeeze(mean, 2), f.squeeze(scale, 2)


def _channels(x: Any) -> tuple[list[int], list[int]]:
    return [d for d in range(x.dim()) if d != 1], [1, -1, *[1] * (x.dim() - 2)]


def _batch_input(
    f: Any, grad: Any, input: Any, weight: Any, eps: float, running_mean: Any, running_var: Any
) -> Any:
    if running_var is None:
        return f.own("batch_norm_gradients", grad, input, weight, eps)[0]
    along = _channels(input)[1]
    grad = grad if weight is None else grad * f.reshape(weight, along)
    return grad * f.reshape(f.rsqrt(running_var + eps), along)


def _batch_weight(f: Any, grad: Any, input: Any, eps: float, running_mean: Any, running_var: Any) -> Any:
    dims, along = _channels(input)
    if running_var is None:
        return f.own("batch_norm_gradients", grad, input, None, eps)[1]
    centred = input - f.reshape(running_mean, along)
    return f.sum(grad * centred * f.reshape(f.rsqrt(running_var + eps), along), dims)


@decomposed("flambeau::batch_norm_gradients")
def _batch_gradients(f: Any, grad: Any, input: Any, weight: Any, eps: float) -> Any:
    dims, along = _channels(input)
    by_input = _by_input(f, grad if weight is None else grad * f.reshape(weight, along), input, dims, eps)
    return by_input, f.sum(grad * _normalised(f, input, dims, eps), dims), f.sum(grad, dims)


def _batch_bias(f: Any, grad: Any) -> Any:
    return f.sum(grad, _channels(grad)[0])


_TRAINING = 5
"""Which argument of norms over batches says that they train: then running statistics are moved, and not used."""
formulas_by_flag(
    "aten::batch_norm",
    flag_index=_TRAINING,
    if_set=together(
        lambda f, grad, input, weight, eps: f.own("batch_norm_gradients", grad, input, weight, eps),
        "input", "weight", "bias",
    ),
    if_not={
        "input": lambda f, grad, input, weight, running_mean, running_var, eps: _batch_input(
            f, grad, input, weight, eps, running_mean, running_var
        ),
        "weight": lambda f, grad, input, running_mean, running_var, eps: _batch_weight(
            f, grad, input, eps, running_mean, running_var
        ),
        "bias": _batch_bias,
    },
)  # fmt: skip
formulas_by_flag(
    "aten::native_batch_norm",
    "aten::_native_batch_norm_legit",
    flag_index=_TRAINING,
    if_set=together(
        lambda f, grads, input, weight, eps: f.own("batch_norm_gradients", grads[0], input, weight, eps),
        "input", "weight", "bias",
    ),
    if_not={
        "input": lambda f, grads, input, weight, running_mean, running_var, eps: _batch_input(
            f, grads[0], input, weight, eps, running_mean, running_var
        ),
        "weight": lambda f, grads, input, running_mean, running_var, eps: _batch_weight(
            f, grads[0], input, eps, running_mean, running_var
        ),
        "bias": lambda f, grads: _batch_bias(f, grads[0]),
    },
)  # fmt: skip

formulas(
    "flambeau::batch_norm_training",
    **together(
        lambda f, grads, input, weight, eps: f.own("batch_norm_gradients", grads[0], input, weight, eps),
        "input", "weight", "bias",
    ),
)  # fmt: skip


@decomposed("aten::_native_batch_norm_legit.no_stats")
def _batch_norm_alone(f: Any, input: Any, weight: Any, bias: Any, training: bool, momentum: float, eps: float) -> Any:
    return f.native_batch_norm(input, weight, bias, None, None, training, momentum, eps)


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
        moved = [x.detach() for x in (running_mean, running_var)]  # which have no derivatives
        f.instance_norm(input.detach(), None, None, *moved, True, momentum, eps, cudnn_enabled)
    return f.in_a_loop("instance_norm_alone", _each_normalised, input, weight, bias, eps)


def _each_normalised(f: Any, input: Any, weight: Any, bias: Any, eps: float) -> Any:
    result = _normalised(f, input, list(range(2, input.dim())), eps)
    along = [1, -1, *[1] * (input.dim() - 2)]
    result = result if weight is None else result * f.reshape(weight, along)
    return result if bias is None else result + f.reshape(bias, along)


@decomposed("aten::native_layer_norm")
def _native_layer_norm(f: Any, input: Any, normalized_shape: Sequence[int], weight: Any, bias: Any, eps: float) -> Any:
    result = f.layer_norm(input, normalized_shape, weight, bias, eps)
    plain = f.native_layer_norm(input.detach(), normalized_shape, None, None, eps)
    return result, plain[1], plain[2]
