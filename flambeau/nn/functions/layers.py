"""Layers of `nn.functional` whose arguments are in another order, or have other defaults, than the operator's."""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.ops.families.composite import F
from flambeau.ops.surface import runs
from flambeau.tensor.observer import is_tracing
from flambeau.tensor.tensor import Tensor
from flambeau.util.broadcasting import BroadcastingList2

MANY_VALUES = "Expected more than 1 value per channel when training, got input size torch.Size({})"
MANY_PLACES = "Expected more than 1 spatial element when training, got input size torch.Size({})"


@runs("aten::linear")
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None, *, out: Tensor | None = None) -> Tensor:
    """`input @ weight.T + bias` over the last dimension.

    Args:
        input: the tensor.
        weight: (out_features, in_features).
        bias: (out_features,), or None.
        out: a tensor for the result.

    Shape:
        (..., in_features) to (..., out_features).

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.linear(flambeau.ones(2, 3), flambeau.ones(4, 3)).shape
    flambeau.Size([2, 4])
    """
    return F.linear(input, weight, bias) if out is None else F.linear(input, weight, bias, out=out)


@runs("aten::bilinear")
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`input1 @ weight[o] @ input2 + bias[o]` for every output o.

    Args:
        input1: the first tensor.
        input2: the second tensor.
        weight: (out_features, in1_features, in2_features).
        bias: (out_features,), or None.

    Shape:
        (..., in1_features) and (..., in2_features) to (..., out_features).

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.bilinear(flambeau.ones(2, 3), flambeau.ones(2, 4), flambeau.ones(5, 3, 4)).shape
    flambeau.Size([2, 5])
    """
    return F.bilinear(input1, input2, weight, bias)


def embedding(
    input: Tensor, weight: Tensor, padding_idx: int | None = None, max_norm: float | None = None,
    norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False,
) -> Tensor:  # fmt: skip
    """Row `input[...]` of the table `weight`, for every index.

    With `max_norm`, rows that are read and longer than that are made that long in the table first. The row
    `padding_idx` gets no gradient. Raises AssertionError for a `padding_idx` outside of the table.

    Args:
        input: indices.
        weight: the vectors, one for each index.
        padding_idx: the index whose vector is zero and stays as it is.
        max_norm: vectors that are longer are shortened to this norm when they are looked up.
        norm_type: the p of the p-norm.
        scale_grad_by_freq: whether the gradient of a row is divided by how often its index is there.
        sparse: accepted for gradients, which there are none of.

    Shape:
        any shape of indices, to it with the size of a vector behind.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.embedding(flambeau.tensor([1, 0]), flambeau.eye(3))
    tensor([[0., 1., 0.],
            [1., 0., 0.]])
    """
    padding_row = -1
    if padding_idx is not None:
        rows = weight.size(0)
        if padding_idx >= rows or padding_idx < -rows:
            raise AssertionError("Padding_idx must be within num_embeddings")
        padding_row = padding_idx if padding_idx >= 0 else rows + padding_idx
    if max_norm is not None:
        F.embedding_renorm_(F.detach(weight), input.contiguous(), max_norm, norm_type)
    return F.embedding(weight, input, padding_row, scale_grad_by_freq, sparse)


@runs("aten::layer_norm")
def layer_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:  # fmt: skip
    """Trailing dimensions shifted and scaled to mean 0 and variance 1, then times weight plus bias.

    Args:
        input: the tensor.
        normalized_shape: the sizes of the trailing dimensions over which it works.
        weight: a factor for every channel or element, or None.
        bias: what is added, for every channel or element, or None.
        eps: a small number that keeps a divisor from zero.

    Shape:
        (..., *normalized_shape); it stays.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.layer_norm(flambeau.ones(2, 3), (3,)).shape
    flambeau.Size([2, 3])
    """
    return F.layer_norm(input, normalized_shape, weight, bias, eps)


@runs("aten::rms_norm")
def rms_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """Trailing dimensions divided by the root of their mean square, then times weight.

    Args:
        input: the tensor.
        normalized_shape: the sizes of the trailing dimensions over which it works.
        weight: a factor for every channel or element, or None.
        eps: a small number that keeps a divisor from zero.

    Shape:
        (..., *normalized_shape); it stays.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.rms_norm(flambeau.tensor([3.0, 4.0]), (2,))
    tensor([0.8485, 1.1314])
    """
    return F.rms_norm(input, normalized_shape, weight, eps)


def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """Every sample normalised within groups of channels. Raises ValueError for a single value per group.

    Args:
        input: the tensor.
        num_groups: into how many groups channels are divided.
        weight: a factor for every channel or element, or None.
        bias: what is added, for every channel or element, or None.
        eps: a small number that keeps a divisor from zero.

    Shape:
        (N, C, ...); it stays.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.group_norm(flambeau.ones(1, 4, 3), 2).shape
    flambeau.Size([1, 4, 3])
    """
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

    Args:
        input: the tensor.
        running_mean: the mean outside of training; updated while training.
        running_var: the variance outside of training; updated while training.
        weight: a factor for every channel or element, or None.
        bias: what is added, for every channel or element, or None.
        training: whether the module is being trained.
        momentum: how much a batch counts in the running statistics; None for the average over all batches.
        eps: a small number that keeps a divisor from zero.

    Shape:
        (N, C, ...); it stays.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.batch_norm(flambeau.ones(3, 2), flambeau.zeros(2), flambeau.ones(2)).shape
    flambeau.Size([3, 2])
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
    """Every channel of every sample shifted and scaled. Raises ValueError for a single place per channel.

    Args:
        input: the tensor.
        running_mean: the mean outside of training; updated while training.
        running_var: the variance outside of training; updated while training.
        weight: a factor for every channel or element, or None.
        bias: what is added, for every channel or element, or None.
        use_input_stats: whether statistics are those of the input.
        momentum: how much a batch counts in the running statistics; None for the average over all batches.
        eps: a small number that keeps a divisor from zero.

    Shape:
        (N, C, ...); it stays.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.instance_norm(flambeau.ones(1, 2, 4)).shape
    flambeau.Size([1, 2, 4])
    """
    if use_input_stats and not is_tracing():
        size = input.size()
        elements = 1
        for i in range(len(size) - 2):
            elements *= size[i + 2]
        if elements == 1:
            raise ValueError(MANY_PLACES.format(list(size)))
    return F.instance_norm(
        input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, False
    )


def local_response_norm(
    input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Tensor:
    """Every value divided by a power of the mean square of the channels around it: Krizhevsky et al. (2012).

    Raises ValueError for an input of fewer than three dimensions.

    Args:
        input: the tensor.
        size: how many neighbouring channels count.
        alpha: the factor of the mean square.
        beta: the exponent.
        k: what is added before the power is taken.

    Shape:
        (N, C, ...); it stays.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.local_response_norm(flambeau.ones(1, 4, 3), 2).shape
    flambeau.Size([1, 4, 3])
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
    """Vectors along `dim` divided by their norm, which is taken as at least `eps`.

    Args:
        input: the tensor.
        p: the p of the p-norm.
        dim: the dimension along which it works.
        eps: a small number that keeps a divisor from zero.
        out: a tensor for the result.

    Shape:
        any; it stays.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.normalize(flambeau.tensor([[3.0, 4.0]]))
    tensor([[0.6000, 0.8000]])
    """
    dims = [dim] if isinstance(dim, int) else dim
    norm = F.expand_as(F.clamp_min(F.norm(input, float(p), dims, True), eps), input)
    return F.div(input, norm) if out is None else F.div(input, norm, out=out)


def unfold(
    input: Tensor, kernel_size: BroadcastingList2[int], dilation: BroadcastingList2[int] = 1,
    padding: BroadcastingList2[int] = 0, stride: BroadcastingList2[int] = 1,
) -> Tensor:  # fmt: skip
    """Every window of an image as a column.

    Args:
        input: the tensor.
        kernel_size: the size of a window: one int, or one for each dimension.
        dilation: the distance between neighbouring elements of a window.
        padding: what is added on both sides: one int, or one for each dimension.
        stride: the step from window to window: one int, or one for each dimension.

    Shape:
        (N, C, H, W) to (N, C k k, windows).

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.unfold(flambeau.ones(1, 3, 4, 5), 2).shape
    flambeau.Size([1, 12, 12])
    """
    return F.im2col(input, kernel_size, dilation, padding, stride)


def fold(
    input: Tensor, output_size: BroadcastingList2[int], kernel_size: BroadcastingList2[int],
    dilation: BroadcastingList2[int] = 1, padding: BroadcastingList2[int] = 0, stride: BroadcastingList2[int] = 1,
) -> Tensor:  # fmt: skip
    """Columns added up where the windows of `unfold` come from.

    Args:
        input: the tensor.
        output_size: height and width of the result.
        kernel_size: the size of a window: one int, or one for each dimension.
        dilation: the distance between neighbouring elements of a window.
        padding: what is added on both sides: one int, or one for each dimension.
        stride: the step from window to window: one int, or one for each dimension.

    Shape:
        (N, C k k, windows) to (N, C, *output_size).

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.fold(flambeau.ones(1, 12, 12), (4, 5), 2).shape
    flambeau.Size([1, 3, 4, 5])
    """
    return F.col2im(input, output_size, kernel_size, dilation, padding, stride)
