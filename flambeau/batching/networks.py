"""Batching rules of layers: a batch of batches is one larger batch."""

from __future__ import annotations

from typing import Any, Final

from flambeau.batching.operand import Operand, in_front
from flambeau.batching.operators import EITHER, sizes_of
from flambeau.batching.rules import Call, batches, decomposes
from flambeau.tensor.tensor import Tensor


def _first(call: Call) -> Operand:
    operand = call.arguments[0]
    assert isinstance(operand, Operand)
    return operand


def _merged(value: Tensor) -> Tensor:
    """The batch and the axis behind it as one."""
    sizes = sizes_of(value)
    result: Tensor = EITHER.reshape(value, [sizes[0] * sizes[1], *sizes[2:]])
    return result


def _parted(result: Any, size: int) -> Any:
    """The first axis as the batch and what is behind it."""
    if isinstance(result, list | tuple):
        return type(result)([_parted(r, size) for r in result])
    sizes = sizes_of(result)
    return EITHER.reshape(result, [size, sizes[0] // size, *sizes[1:]])


def _over_images(axes: int) -> Any:
    def rule(call: Call) -> Any:
        """Of images, or of a batch of them: one larger batch."""
        own = _first(call)
        others = [a for a in call.arguments[1:] if isinstance(a, Operand)]
        if any(o.is_batched for o in others) or not call.size:
            return None
        if own.rank == axes + 1:
            return call.run([own.value, *_values(call.arguments[1:])])
        if own.rank != axes + 2 or not own.sizes[0]:
            return None
        return _parted(call.run([_merged(own.value), *_values(call.arguments[1:])]), call.size)

    return rule


def _values(arguments: Any) -> list[Any]:
    return [a.value if isinstance(a, Operand) else a for a in arguments]


batches(
    "aten::max_pool1d", "aten::avg_pool1d", "aten::adaptive_avg_pool1d", "aten::adaptive_max_pool1d",
    "aten::max_pool1d_with_indices", "aten::reflection_pad1d", "aten::replication_pad1d",
)(_over_images(1))  # fmt: skip
batches(
    "aten::max_pool2d", "aten::avg_pool2d", "aten::adaptive_avg_pool2d", "aten::adaptive_max_pool2d",
    "aten::max_pool2d_with_indices", "aten::_adaptive_avg_pool2d", "aten::reflection_pad2d",
    "aten::replication_pad2d", "aten::pixel_shuffle", "aten::pixel_unshuffle",
)(_over_images(2))  # fmt: skip
batches(
    "aten::max_pool3d", "aten::avg_pool3d", "aten::adaptive_avg_pool3d", "aten::adaptive_max_pool3d",
    "aten::max_pool3d_with_indices", "aten::reflection_pad3d", "aten::replication_pad3d",
)(_over_images(3))  # fmt: skip


def _convolution(axes: int) -> Any:
    def rule(call: Call) -> Any:
        """One weight for all: a larger batch. A weight each: a group of channels for each element."""
        own, weight, bias = call["input"], call["weight"], call["bias"]
        if not call.size or isinstance(call.get("padding"), str):
            return None
        if own.rank == axes + 1:
            own = Operand(EITHER.unsqueeze(own.value, -axes - 2), own.is_batched)
            alone = True
        else:
            alone = False
        if not weight.is_batched and (bias is None or not bias.is_batched):
            merged = call.run([_merged(own.value), *_values(call.arguments[1:])])
            result = _parted(merged, call.size)
        else:
            result = _grouped(call, own, weight, bias, axes)
        return EITHER.squeeze(result, 1) if alone else result

    return rule


def _grouped(call: Call, own: Operand, weight: Operand, bias: Operand | None, axes: int) -> Any:
    size = call.size
    images = in_front(own, size)
    number, channels, *space = sizes_of(images)[1:]
    together = EITHER.reshape(EITHER.transpose(images, 0, 1), [number, size * channels, *space])
    weights = _merged(in_front(weight, size))
    result = call.run(
        _values(call.arguments), input=together, weight=weights, bias=None, groups=size * call["groups"]
    )
    sizes = sizes_of(result)
    parted = EITHER.transpose(EITHER.reshape(result, [number, size, sizes[1] // size, *sizes[2:]]), 0, 1)
    if bias is None:
        return parted
    lying = EITHER.reshape(bias.value, [size if bias.is_batched else 1, 1, -1, *[1] * axes])
    return EITHER.add(parted, lying)


batches("aten::conv1d.", "aten::conv_transpose1d")(_convolution(1))
batches("aten::conv2d.", "aten::conv_transpose2d")(_convolution(2))
batches("aten::conv3d.", "aten::conv_transpose3d")(_convolution(3))


@batches("flambeau::convolution_weight")
def _convolution_weight(call: Call) -> Any:
    """One call for all examples, the channels of each a group of their own."""
    if not call.size:
        return None
    rank, folded = len(call["kernel"]), []
    for operand in (call["input"], call["slope"]):
        value = operand.value
        if not operand.is_batched:
            value = EITHER.expand(value, [call.size, *sizes_of(value)])
        if value.ndim == rank + 2:
            value = EITHER.unsqueeze(value, 1)
        value = EITHER.movedim(value, 0, 1)
        samples, _, channels, *rest = sizes_of(value)
        folded.append(EITHER.reshape(value, [samples, call.size * channels, *rest]))
    groups = call.size * call["groups"]
    result = call.run(call.arguments, input=folded[0], slope=folded[1], groups=groups)
    channels, *rest = sizes_of(result)
    return EITHER.reshape(result, [call.size, channels // call.size, *rest])

batches(
    "aten::upsample_nearest1d", "aten::_upsample_nearest_exact1d", "aten::upsample_linear1d", "aten::col2im",
)(_over_images(1))  # fmt: skip
batches(
    "aten::upsample_nearest2d", "aten::_upsample_nearest_exact2d", "aten::upsample_bilinear2d",
    "aten::upsample_bicubic2d", "aten::_upsample_bilinear2d_aa", "aten::_upsample_bicubic2d_aa", "aten::im2col",
)(_over_images(2))  # fmt: skip
batches(
    "aten::upsample_nearest3d", "aten::_upsample_nearest_exact3d", "aten::upsample_trilinear3d",
)(_over_images(3))  # fmt: skip


@batches(
    "aten::grid_sampler", "aten::grid_sampler_2d", "aten::grid_sampler_3d", "aten::max_unpool2d", "aten::max_unpool3d",
)  # fmt: skip
def _all_merged(call: Call) -> Any:
    """Tensors of which each has a batch as first axis: one larger batch."""
    operands = [a for a in call.arguments if isinstance(a, Operand)]
    if not call.size or any(o.rank < 4 for o in operands):
        return None
    arguments = [_merged(in_front(a, call.size)) if isinstance(a, Operand) else a for a in call.arguments]
    return _parted(call.run(arguments), call.size)


_LAYER: Final = ("weight", "bias")


@batches("aten::layer_norm", "aten::rms_norm")
def _layer_norm(call: Call) -> Any:
    """Over the last axes; weights that differ are multiplied afterwards."""
    own = call["input"]
    weights = [call.get(name) for name in _LAYER]
    if not any(w is not None and w.is_batched for w in weights):
        return call.run(_values(call.arguments))
    result = call.run(_values(call.arguments), **{n: None for n in _LAYER if n in call.names})
    for weight, combine in zip(weights, (EITHER.mul, EITHER.add), strict=True):
        if weight is not None:
            sizes = sizes_of(weight.value)
            lying = weight.value
            if weight.is_batched:
                lying = EITHER.reshape(lying, [sizes[0], *[1] * (own.rank - weight.rank), *sizes[1:]])
            result = combine(result, lying)
    return result


@batches("aten::binary_cross_entropy")
def _element_loss(call: Call) -> Any:
    """The losses of all elements, and then their mean or sum."""
    arguments = [in_front(a, call.size) if isinstance(a, Operand) else a for a in call.arguments]
    operands = [a for a in call.arguments if isinstance(a, Operand)]
    if any(o.rank != operands[0].rank for o in operands):
        return None
    losses = call.run(arguments, reduction=0)
    if call["reduction"] == 0 or not operands[0].rank:
        return losses
    fold = EITHER.mean if call["reduction"] == 1 else EITHER.sum
    return fold(losses, list(range(1, operands[0].rank + 1)))


@decomposes("aten::batch_norm")
def _batch_norm(
    f: Any, input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool, momentum: float,
    eps: float, **_: Any,
) -> Any:  # fmt: skip
    dims = [d for d in range(input.dim()) if d != 1]
    sizes = [-1 if d == 1 else 1 for d in range(input.dim())]
    mean, variance = running_mean, running_var
    if training or mean is None:
        mean, variance = f.mean(input, dims), f.var(input, dims, correction=0)
        if running_mean is not None:
            number = input.numel() // max(input.shape[1], 1)
            f.copy_(running_mean, running_mean * (1 - momentum) + f.detach(mean) * momentum)
            f.copy_(
                running_var,
                running_var * (1 - momentum) + f.detach(variance) * (momentum * number / max(number - 1, 1)),
            )
    normal = (input - f.reshape(mean, sizes)) * f.rsqrt(f.reshape(variance, sizes) + eps)
    if weight is not None:
        normal = normal * f.reshape(weight, sizes)
    return normal if bias is None else normal + f.reshape(bias, sizes)


def _nll(f: Any, self: Any, target: Any, weight: Any, reduction: int, ignore_index: int) -> Any:
    axis = 1 if self.dim() > 1 else 0
    counts = f.ne(target, ignore_index)
    safe = f.where(counts, target, 0)
    picked = f.neg(f.squeeze(f.gather(self, axis, f.unsqueeze(safe, axis)), axis))
    if weight is None:
        scale = counts.to(self.dtype)
    else:
        scale = f.where(counts, f.reshape(f.index(weight, [f.reshape(safe, [-1])]), list(safe.shape)), 0)
    losses = f.where(counts, picked * scale, 0)
    if reduction == 0:
        return losses
    return f.sum(losses) if reduction == 2 else f.sum(losses) / f.sum(scale)


decomposes("aten::nll_loss", "aten::nll_loss_nd", "aten::nll_loss2d")(_nll)
