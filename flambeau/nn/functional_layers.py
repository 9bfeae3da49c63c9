"""Layers of `nn.functional` whose arguments are in another order, or have other defaults, than the operator's."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from flambeau.ops.families.composite import F
from flambeau.ops.surface import runs
from flambeau.tensor.dispatch import call
from flambeau.tensor.tensor import Tensor

Ints = int | Sequence[int]
Optional = Tensor | None


@runs("aten::linear")
def linear(input: Tensor, weight: Tensor, bias: Optional = None) -> Any:
    """`input @ weight.T + bias` over the last dimension."""
    return call("aten::linear", input, weight, bias)


@runs("aten::bilinear")
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Optional = None) -> Any:
    """`input1 @ weight[o] @ input2 + bias[o]` for every output o."""
    return call("aten::bilinear", input1, input2, weight, bias)


def embedding(
    input: Tensor, weight: Tensor, padding_idx: int | None = None, max_norm: float | None = None,
    norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False,
) -> Any:  # fmt: skip
    """Row `input[...]` of the table `weight`, for every index.

    `max_norm` is refused: it rewrites the table while reading it. Write `weight.renorm(...)` before the call instead.
    """
    if max_norm is not None:
        raise ValueError("embedding(): max_norm rewrites the table; renormalise `weight` before the call instead")
    if padding_idx is not None:
        rows = weight.shape[0]
        if not -rows <= padding_idx < rows:
            raise AssertionError("Padding_idx must be within num_embeddings")
    place = -1 if padding_idx is None else padding_idx % weight.shape[0]
    return call("aten::embedding", weight, input, place, scale_grad_by_freq, sparse)


@runs("aten::layer_norm")
def layer_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Optional = None, bias: Optional = None, eps: float = 1e-5
) -> Any:
    """Trailing dimensions shifted and scaled to mean 0 and variance 1, then times weight plus bias."""
    return call("aten::layer_norm", input, normalized_shape, weight, bias, eps)


@runs("aten::rms_norm")
def rms_norm(input: Tensor, normalized_shape: Sequence[int], weight: Optional = None, eps: float | None = None) -> Any:
    """Trailing dimensions divided by the root of their mean square, then times weight."""
    return call("aten::rms_norm", input, normalized_shape, weight, eps)


@runs("aten::group_norm")
def group_norm(
    input: Tensor, num_groups: int, weight: Optional = None, bias: Optional = None, eps: float = 1e-5
) -> Any:
    """Every sample normalised within groups of channels. Raises ValueError for a single value per group."""
    if input.ndim >= 2:
        _require_spread([input.shape[0] * input.shape[1] // max(num_groups, 1), num_groups, *input.shape[2:]])
    return call("aten::group_norm", input, num_groups, weight, bias, eps)


def _require_spread(size: Sequence[int]) -> None:
    if size[0] * prod(size[2:]) == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {_size(size)}")


def _size(size: Sequence[int]) -> str:
    return f"torch.Size({list(size)})"


def batch_norm(
    input: Tensor, running_mean: Optional, running_var: Optional, weight: Optional = None, bias: Optional = None,
    training: bool = False, momentum: float = 0.1, eps: float = 1e-5,
) -> Any:  # fmt: skip
    """Every channel shifted and scaled by the batch's or the running statistics.

    Raises ValueError for a single value per channel while training.
    """
    if training:
        _require_spread(input.shape)
    return call("aten::batch_norm", input, weight, bias, running_mean, running_var, training, momentum, eps, False)


def instance_norm(
    input: Tensor, running_mean: Optional = None, running_var: Optional = None, weight: Optional = None,
    bias: Optional = None, use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-5,
) -> Any:  # fmt: skip
    """Every channel of every sample shifted and scaled. Raises ValueError for a single place per channel."""
    if use_input_stats and prod(input.shape[2:]) == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {_size(input.shape)}")
    return call(
        "aten::instance_norm", input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, False
    )


def normalize(input: Tensor, p: float = 2.0, dim: Ints = 1, eps: float = 1e-12, out: Optional = None) -> Any:
    """Vectors along `dim` divided by their norm, which is taken as at least `eps`."""
    dims = [dim] if isinstance(dim, int) else list(dim)
    norm = F.expand_as(F.clamp_min(F.norm(input, p, dims, True), eps), input)
    return F.div(input, norm) if out is None else F.div(input, norm, out=out)


def unfold(input: Tensor, kernel_size: Ints, dilation: Ints = 1, padding: Ints = 0, stride: Ints = 1) -> Any:
    """Every window of an image as a column."""
    return call("aten::im2col", input, kernel_size, dilation, padding, stride)


def fold(
    input: Tensor, output_size: Ints, kernel_size: Ints, dilation: Ints = 1, padding: Ints = 0, stride: Ints = 1
) -> Any:
    """Columns added up where the windows of `unfold` come from."""
    return call("aten::col2im", input, output_size, kernel_size, dilation, padding, stride)
