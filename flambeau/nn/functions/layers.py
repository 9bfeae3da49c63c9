"""Layers of `nn.functional` whose arguments are in another order, or have other defaults, than the operator's."""

from __future__ import annotations

from flambeau.ops.families.composite import F
from flambeau.ops.surface import runs
from flambeau.tensor.observer import is_tracing
from flambeau.tensor.tensor import Tensor
from flambeau.util.broadcasting import BroadcastingList2

MANY_VALUES = "Expected more than 1 value per channel when training, got input size torch.Size({})"
MANY_PLACES = "Expected more than 1 spatial element when training, got input size torch.Size({})"


@runs("aten::linear")
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`input @ weight.T + bias` over the last dimension."""
    return F.linear(input, weight, bias)


@runs("aten::bilinear")
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`input1 @ weight[o] @ input2 + bias[o]` for every output o."""
    return F.bilinear(input1, input2, weight, bias)


def embedding(
    input: Tensor, weight: Tensor, padding_idx: int | None = None, max_norm: float | None = None,
    norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False,
) -> Tensor:  # fmt: skip
    """Row `input[...]` of the table `weight`, for every index.

    With `max_norm`, rows that are read and longer than that are made that long in the table first. The row
    `padding_idx` gets no gradient. Raises AssertionError for a `padding_idx` outside of the table.
    """
    place = -1
    if padding_idx is not None:
        rows = weight.size(0)
        if padding_idx >= rows or padding_idx < -rows:
            raise AssertionError("Padding_idx must be within num_embeddings")
        place = padding_idx if padding_idx >= 0 else rows + padding_idx
    if max_norm is not None:
        F.embedding_renorm_(F.detach(weight), input.contiguous(), max_norm, norm_type)
    return F.embedding(weight, input, place, scale_grad_by_freq, sparse)


@runs("aten::layer_norm")
def layer_norm(
    input: Tensor, normalized_shape: list[int], weight: Tensor | None = None, bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:  # fmt: skip
    """Trailing dimensions shifted and scaled to mean 0 and variance 1, then times weight plus bias."""
    return F.layer_norm(input, normalized_shape, weight, bias, eps)


@runs("aten::rms_norm")
def rms_norm(
    input: Tensor, normalized_shape: list[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """Trailing dimensions divided by the root of their mean square, then times weight."""
    return F.rms_norm(input, normalized_shape, weight, eps)


def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """Every sample normalised within groups of channels. Raises ValueError for a single value per group."""
    size = input.size()
    if len(size) < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {len(size)}")
    if num_groups > 0 and not is_tracing():
        values = size[0] * size[1] // num_groups
        for i in range(len(size) - 2):
            values *= size[i + 2]
        if values == 1:
            raise ValueError(MANY_VALUES.format(list(size)))
    return F.group_norm(input, num_groups, weight, bias, eps)


def batch_norm(
    input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None = None,
    bias: Tensor | None = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-5,
) -> Tensor:  # fmt: skip
    """Every channel shifted and scaled by the batch's or the running statistics.

    Raises ValueError for a single value per channel while training.
    """
    if training and not is_tracing():
        size = input.size()
        values = size[0]
        for i in range(len(size) - 2):
            values *= size[i + 2]
        if values == 1:
            raise ValueError(MANY_VALUES.format(list(size)))
    return F.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, False)


def instance_norm(
    input: Tensor, running_mean: Tensor | None = None, running_var: Tensor | None = None,
    weight: Tensor | None = None, bias: Tensor | None = None, use_input_stats: bool = True, momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:  # fmt: skip
    """Every channel of every sample shifted and scaled. Raises ValueError for a single place per channel."""
    if use_input_stats and not is_tracing():
        size = input.size()
        places = 1
        for i in range(len(size) - 2):
            places *= size[i + 2]
        if places == 1:
            raise ValueError(MANY_PLACES.format(list(size)))
    return F.instance_norm(
        input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, False
    )


def local_response_norm(
    input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Tensor:
    """Every value divided by a power of the mean square of the channels around it: Krizhevsky et al. (2012).

    Raises ValueError for an input of fewer than three dimensions.
    """
    rank = input.dim()
    if rank < 3:
        raise ValueError(f"Expected 3D or higher dimensionality  input (got {rank} dimensions)")
    if not is_tracing() and input.numel() == 0:
        return input
    square = F.unsqueeze(F.mul(input, input), 1)
    if rank == 3:
        mean = F.squeeze(F.avg_pool2d(F.pad(square, [0, 0, size // 2, (size - 1) // 2]), [size, 1], 1), 1)
    else:
        sizes = input.size()
        flat = F.view(square, [sizes[0], 1, sizes[1], sizes[2], -1])
        padded = F.pad(flat, [0, 0, 0, 0, size // 2, (size - 1) // 2])
        mean = F.view(F.squeeze(F.avg_pool3d(padded, [size, 1, 1], 1), 1), sizes)
    return F.div(input, F.pow(F.add(F.mul(mean, alpha), k), beta))


def normalize(
    input: Tensor, p: float | int = 2.0, dim: int | list[int] = 1, eps: float = 1e-12, out: Tensor | None = None
) -> Tensor:
    """Vectors along `dim` divided by their norm, which is taken as at least `eps`."""
    dims = [dim] if isinstance(dim, int) else dim
    norm = F.expand_as(F.clamp_min(F.norm(input, float(p), dims, True), eps), input)
    return F.div(input, norm) if out is None else F.div(input, norm, out=out)


def unfold(
    input: Tensor, kernel_size: BroadcastingList2[int], dilation: BroadcastingList2[int] = 1,
    padding: BroadcastingList2[int] = 0, stride: BroadcastingList2[int] = 1,
) -> Tensor:  # fmt: skip
    """Every window of an image as a column."""
    return F.im2col(input, kernel_size, dilation, padding, stride)


def fold(
    input: Tensor, output_size: BroadcastingList2[int], kernel_size: BroadcastingList2[int],
    dilation: BroadcastingList2[int] = 1, padding: BroadcastingList2[int] = 0, stride: BroadcastingList2[int] = 1,
) -> Tensor:  # fmt: skip
    """Columns added up where the windows of `unfold` come from."""
    return F.col2im(input, output_size, kernel_size, dilation, padding, stride)
