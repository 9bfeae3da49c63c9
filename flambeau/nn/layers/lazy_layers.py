"""Layers whose input size is that of the first input; then they are the layers without `Lazy` in their names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau.nn.layers.batch_norm import (
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
)
from flambeau.nn.layers.convolution import Conv1d, Conv2d, Conv3d
from flambeau.nn.layers.convolution_transposed import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from flambeau.nn.layers.linear import Linear
from flambeau.nn.lazy_module import LazyModuleMixin
from flambeau.nn.uninitialized import UninitializedBuffer, UninitializedParameter
from flambeau.schema.device import Device
from flambeau.schema.dtype import DType, int64
from flambeau.tensor import dispatch
from flambeau.tensor.tensor import Tensor

Sizes = int | Sequence[int]


class LazyLinear(LazyModuleMixin, Linear):
    """`Linear` whose `in_features` is the size of the last dimension of the first input.

    Args:
        out_features: features of the result.
        bias: whether there is a bias.
        device: where its tensors are; "cpu".
        dtype: the dtype of its parameters; the default one if None.

    Shape:
        (..., in_features) to (..., out_features).

    >>> import flambeau
    >>> flambeau.nn.LazyLinear(2)(flambeau.ones(5, 3)).shape
    flambeau.Size([5, 2])
    """

    cls_to_become = Linear

    def __init__(
        self, out_features: int, bias: bool = True, device: Device | str | None = None, dtype: DType | None = None
    ) -> None:
        super().__init__(0, 0, False, device, dtype)
        self.out_features = out_features
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Draw new parameters, if they have sizes."""
        if not self.has_uninitialized_params() and self.in_features:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """Give the parameters their sizes."""
        self.in_features = input.size(-1)
        if not self.has_uninitialized_params():
            return
        _materialize(self.weight, [self.out_features, self.in_features])
        _materialize(self.bias, [self.out_features])
        self.reset_parameters()


def _materialize(tensor: Tensor | None, sizes: list[int]) -> None:
    if isinstance(tensor, UninitializedParameter | UninitializedBuffer):
        tensor.materialize(sizes)


class _LazyConvolution(LazyModuleMixin):
    in_channels: int
    out_channels: int
    kernel_size: tuple[int, ...]
    groups: int
    transposed: bool
    dims: int
    weight: Any
    bias: Any

    def _leave_open(
        self, out_channels: int, bias: bool, device: Device | str | None, dtype: DType | None
    ) -> None:
        self.out_channels = out_channels
        self.check()
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Draw new parameters, if they have sizes."""
        if not self.has_uninitialized_params() and self.in_channels:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor, *rest: Any, **options: Any) -> None:
        """Give the parameters their sizes. Raises RuntimeError for another rank, ValueError unless groups divide."""
        dims = type(self).dims
        if input.dim() not in (dims + 1, dims + 2):
            raise RuntimeError(
                f"Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to {type(self).__name__}, but got "
                f"input of size: {list(input.shape)}"
            )
        self.in_channels = input.size(-dims - 1)
        if not self.has_uninitialized_params():
            return
        self.check()
        inputs, outputs = self.in_channels, self.out_channels
        sizes = [inputs, outputs // self.groups] if self.transposed else [outputs, inputs // self.groups]
        _materialize(self.weight, [*sizes, *self.kernel_size])
        _materialize(self.bias, [outputs])
        self.reset_parameters()


class _LazyForward(_LazyConvolution):
    def __init__(
        self, out_channels: int, kernel_size: Sizes, stride: Sizes = 1, padding: str | Sizes = 0, dilation: Sizes = 1,
        groups: int = 1, bias: bool = True, padding_mode: str = "zeros", device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:  # fmt: skip
        super().__init__(0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode)
        self._leave_open(out_channels, bias, device, dtype)


class _LazyTransposed(_LazyConvolution):
    def __init__(
        self, out_channels: int, kernel_size: Sizes, stride: Sizes = 1, padding: Sizes = 0, output_padding: Sizes = 0,
        groups: int = 1, bias: bool = True, dilation: Sizes = 1, padding_mode: str = "zeros",
        device: Device | str | None = None, dtype: DType | None = None,
    ) -> None:  # fmt: skip
        super().__init__(0, 0, kernel_size, stride, padding, output_padding, groups, False, dilation, padding_mode)
        self._leave_open(out_channels, bias, device, dtype)


class LazyConv1d(_LazyForward, Conv1d):
    """`Conv1d` whose `in_channels` is that of the first input.

    Args:
        out_channels: channels of the result.
        kernel_size: the size of a window: one int, or one for each dimension.
        stride: the step from window to window: one int, or one for each dimension.
        padding: what is added on both sides: one int, or one for each dimension.
        dilation: the distance between neighbouring elements of a window.
        groups: into how many groups channels are divided, each for itself.
        bias: whether there is a bias.
        padding_mode: "zeros", "reflect", "replicate" or "circular": what is added.
        device: where its tensors are; "cpu".
        dtype: the dtype of its parameters; the default one if None.

    Shape:
        (N, C, L) or (C, L), with in_channels, to the same with out_channels and, for each size,
        (size + 2 padding - dilation (kernel_size - 1) - 1) / stride + 1, rounded down.

    >>> import flambeau
    >>> flambeau.nn.LazyConv1d(3, 3)(flambeau.ones(1, 2, 8)).shape
    flambeau.Size([1, 3, 6])
    """

    cls_to_become = Conv1d


class LazyConv2d(_LazyForward, Conv2d):
    """`Conv2d` whose `in_channels` is that of the first input.

    Args:
        out_channels: channels of the result.
        kernel_size: the size of a window: one int, or one for each dimension.
        stride: the step from window to window: one int, or one for each dimension.
        padding: what is added on both sides: one int, or one for each dimension.
        dilation: the distance between neighbouring elements of a window.
        groups: into how many groups channels are divided, each for itself.
        bias: whether there is a bias.
        padding_mode: "zeros", "reflect", "replicate" or "circular": what is added.
        device: where its tensors are; "cpu".
        dtype: the dtype of its parameters; the default one if None.

    Shape:
        (N, C, H, W) or (C, H, W), with in_channels, to the same with out_channels and, for each size,
        (size + 2 padding - dilation (kernel_size - 1) - 1) / stride + 1, rounded down.

    >>> import flambeau
    >>> flambeau.nn.LazyConv2d(3, 3)(flambeau.ones(1, 2, 8, 8)).shape
    flambeau.Size([1, 3, 6, 6])
    """

    cls_to_become = Conv2d


class LazyConv3d(_LazyForward, Conv3d):
    """`Conv3d` whose `in_channels` is that of the first input.

    Args:
        out_channels: channels of the result.
        kernel_size: the size of a window: one int, or one for each dimension.
        stride: the step from window to window: one int, or one for each dimension.
        padding: what is added on both sides: one int, or one for each dimension.
        dilation: the distance between neighbouring elements of a window.
        groups: into how many groups channels are divided, each for itself.
        bias: whether there is a bias.
        padding_mode: "zeros", "reflect", "replicate" or "circular": what is added.
        device: where its tensors are; "cpu".
        dtype: the dtype of its parameters; the default one if None.

    Shape:
        (N, C, D, H, W) or (C, D, H, W), with in_channels, to the same with out_channels and, for each size,
        (size + 2 padding - dilation (kernel_size - 1) - 1) / stride + 1, rounded down.

    >>> import flambeau
    >>> flambeau.nn.LazyConv3d(3, 3)(flambeau.ones(1, 2, 8, 8, 8)).shape
    flambeau.Size([1, 3, 6, 6, 6])
    """

    cls_to_become = Conv3d


class LazyConvTranspose1d(_LazyTransposed, ConvTranspose1d):
    """`ConvTranspose1d` whose `in_channels` is that of the first input.

    Args:
        out_channels: channels of the result.
        kernel_size: the size of a window: one int, or one for each dimension.
        stride: the step from window to window: one int, or one for each dimension.
        padding: what is added on both sides: one int, or one for each dimension.
        output_padding: what is added to one side of the result's size.
        groups: into how many groups channels are divided, each for itself.
        bias: whether there is a bias.
        dilation: the distance between neighbouring elements of a window.
        padding_mode: "zeros", "reflect", "replicate" or "circular": what is added.
        device: where its tensors are; "cpu".
        dtype: the dtype of its parameters; the default one if None.

    Shape:
        (N, C, L) or (C, L), with in_channels, to the same with out_channels and, for each size,
        (size - 1) stride - 2 padding + dilation (kernel_size - 1) + output_padding + 1.

    >>> import flambeau
    >>> flambeau.nn.LazyConvTranspose1d(3, 2)(flambeau.ones(1, 2, 8)).shape
    flambeau.Size([1, 3, 9])
    """

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyTransposed, ConvTranspose2d):
    """`ConvTranspose2d` whose `in_channels` is that of the first input.

    Args:
        out_channels: channels of the result.
        kernel_size: the size of a window: one int, or one for each dimension.
        stride: the step from window to window: one int, or one for each dimension.
        padding: what is added on both sides: one int, or one for each dimension.
        output_padding: what is added to one side of the result's size.
        groups: into how many groups channels are divided, each for itself.
        bias: whether there is a bias.
        dilation: the distance between neighbouring elements of a window.
        padding_mode: "zeros", "reflect", "replicate" or "circular": what is added.
        device: where its tensors are; "cpu".
        dtype: the dtype of its parameters; the default one if None.

    Shape:
        (N, C, H, W) or (C, H, W), with in_channels, to the same with out_channels and, for each size,
        (size - 1) stride - 2 padding + dilation (kernel_size - 1) + output_padding + 1.

    >>> import flambeau
    >>> flambeau.nn.LazyConvTranspose2d(3, 2)(flambeau.ones(1, 2, 8, 8)).shape
    flambeau.Size([1, 3, 9, 9])
    """

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyTransposed, ConvTranspose3d):
    """`ConvTranspose3d` whose `in_channels` is that of the first input.

    Args:
        out_channels: channels of the result.
        kernel_size: the size of a window: one int, or one for each dimension.
        stride: the step from window to window: one int, or one for each dimension.
        padding: what is added on both sides: one int, or one for each dimension.
        output_padding: what is added to one side of the result's size.
        groups: into how many groups channels are divided, each for itself.
        bias: whether there is a bias.
        dilation: the distance between neighbouring elements of a window.
        padding_mode: "zeros", "reflect", "replicate" or "circular": what is added.
        device: where its tensors are; "cpu".
        dtype: the dtype of its parameters; the default one if None.

    Shape:
        (N, C, D, H, W) or (C, D, H, W), with in_channels, to the same with out_channels and, for each size,
        (size - 1) stride - 2 padding + dilation (kernel_size - 1) + output_padding + 1.

    >>> import flambeau
    >>> flambeau.nn.LazyConvTranspose3d(3, 2)(flambeau.ones(1, 2, 8, 8, 8)).shape
    flambeau.Size([1, 3, 9, 9, 9])
    """

    cls_to_become = ConvTranspose3d


class _LazyNorm(LazyModuleMixin):
    num_features: int
    affine: bool
    track_running_stats: bool
    weight: Any
    bias: Any
    running_mean: Any
    running_var: Any
    num_batches_tracked: Any

    def __init__(
        self, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True, track_running_stats: bool = True,
        device: Device | str | None = None, dtype: DType | None = None, *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(0, eps, momentum, False, False)
        self.affine = affine
        self.track_running_stats = track_running_stats
        if affine:
            self.weight = UninitializedParameter(device=device, dtype=dtype)
        if affine and bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(device=device, dtype=dtype)
            self.running_var = UninitializedBuffer(device=device, dtype=dtype)
            self.num_batches_tracked = dispatch.call("aten::zeros", [], dtype=int64, device=device)

    def reset_parameters(self) -> None:
        """Factors 1, shifts 0, no batch seen: if they have sizes."""
        if not self.has_uninitialized_params() and self.num_features:
            super().reset_parameters()

    def _channels(self, input: Tensor) -> int:
        self._check_input_dim(input)
        return input.size(1)

    def initialize_parameters(self, input: Tensor) -> None:
        """Give parameters and statistics their size. Raises ValueError for a rank that the layer does not take."""
        self.num_features = self._channels(input)
        if not self.has_uninitialized_params():
            return
        for tensor in (self.weight, self.bias, self.running_mean, self.running_var):
            _materialize(tensor, [self.num_features])
        self.reset_parameters()


class _LazyInstanceNorm(_LazyNorm):
    def _channels(self, input: Tensor) -> int:
        spatial_rank: int = self._spatial_rank()
        if input.dim() not in (spatial_rank + 1, spatial_rank + 2):
            raise ValueError(f"expected {spatial_rank + 1}D or {spatial_rank + 2}D input (got {input.dim()}D input)")
        return input.size(-spatial_rank - 1)


class LazyBatchNorm1d(_LazyNorm, BatchNorm1d):
    """`BatchNorm1d` whose `num_features` is that of the first input.

    Args:
        eps: a small number that keeps a divisor from zero.
        momentum: how much a batch counts in the running statistics; None for the average over all batches.
        affine: whether there are a weight and a bias for every channel.
        track_running_stats: whether running statistics are kept, and used outside of training.
        device: where its tensors are; "cpu".
        dtype: the dtype of its parameters; the default one if None.
        bias: whether there is a bias.

    Shape:
        (N, C) or (N, C, L); it stays.

    >>> import flambeau
    >>> flambeau.nn.LazyBatchNorm1d()(flambeau.ones(1, 2, 8)).shape
    flambeau.Size([1, 2, 8])
    """

    cls_to_become = BatchNorm1d


class LazyBatchNorm2d(_LazyNorm, BatchNorm2d):
    """`BatchNorm2d` whose `num_features` is that of the first input.

    Args:
        eps: a small number that keeps a divisor from zero.
        momentum: how much a batch counts in the running statistics; None for the average over all batches.
        affine: whether there are a weight and a bias for every channel.
        track_running_stats: whether running statistics are kept, and used outside of training.
        device: where its tensors are; "cpu".
        dtype: the dtype of its parameters; the default one if None.
        bias: whether there is a bias.

    Shape:
        (N, C, H, W); it stays.

    >>> import flambeau
    >>> flambeau.nn.LazyBatchNorm2d()(flambeau.ones(1, 2, 8, 8)).shape
    flambeau.Size([1, 2, 8, 8])
    """

    cls_to_become = BatchNorm2d


class LazyBatchNorm3d(_LazyNorm, BatchNorm3d):
    """`BatchNorm3d` whose `num_features` is that of the first input.

    Args:
        eps: a small number that keeps a divisor from zero.
        momentum: how much a batch counts in the running statistics; None for the average over all batches.
        affine: whether there are a weight and a bias for every channel.
        track_running_stats: whether running statistics are kept, and used outside of training.
        device: where its tensors are; "cpu".
        dtype: the dtype of its parameters; the default one if None.
        bias: whether there is a bias.

    Shape:
        (N, C, D, H, W); it stays.

    >>> import flambeau
    >>> flambeau.nn.LazyBatchNorm3d()(flambeau.ones(1, 2, 8, 8, 8)).shape
    flambeau.Size([1, 2, 8, 8, 8])
    """

    cls_to_become = BatchNorm3d


class LazyInstanceNorm1d(_LazyInstanceNorm, InstanceNorm1d):
    """`InstanceNorm1d` whose `num_features` is that of the first input.

    Args:
        eps: a small number that keeps a divisor from zero.
        momentum: how much a batch counts in the running statistics; None for the average over all batches.
        affine: whether there are a weight and a bias for every channel.
        track_running_stats: whether running statistics are kept, and used outside of training.
        device: where its tensors are; "cpu".
        dtype: the dtype of its parameters; the default one if None.
        bias: whether there is a bias.

    Shape:
        (N, C, L) or (C, L); it stays.

    >>> import flambeau
    >>> flambeau.nn.LazyInstanceNorm1d()(flambeau.ones(1, 2, 8)).shape
    flambeau.Size([1, 2, 8])
    """

    cls_to_become = InstanceNorm1d


class LazyInstanceNorm2d(_LazyInstanceNorm, InstanceNorm2d):
    """`InstanceNorm2d` whose `num_features` is that of the first input.

    Args:
        eps: a small number that keeps a divisor from zero.
        momentum: how much a batch counts in the running statistics; None for the average over all batches.
        affine: whether there are a weight and a bias for every channel.
        track_running_stats: whether running statistics are kept, and used outside of training.
        device: where its tensors are; "cpu".
        dtype: the dtype of its parameters; the default one if None.
        bias: whether there is a bias.

    Shape:
        (N, C, H, W) or (C, H, W); it stays.

    >>> import flambeau
    >>> flambeau.nn.LazyInstanceNorm2d()(flambeau.ones(1, 2, 8, 8)).shape
    flambeau.Size([1, 2, 8, 8])
    """

    cls_to_become = InstanceNorm2d


class LazyInstanceNorm3d(_LazyInstanceNorm, InstanceNorm3d):
    """`InstanceNorm3d` whose `num_features` is that of the first input.

    Args:
        eps: a small number that keeps a divisor from zero.
        momentum: how much a batch counts in the running statistics; None for the average over all batches.
        affine: whether there are a weight and a bias for every channel.
        track_running_stats: whether running statistics are kept, and used outside of training.
        device: where its tensors are; "cpu".
        dtype: the dtype of its parameters; the default one if None.
        bias: whether there is a bias.

    Shape:
        (N, C, D, H, W) or (C, D, H, W); it stays.

    >>> import flambeau
    >>> flambeau.nn.LazyInstanceNorm3d()(flambeau.ones(1, 2, 8, 8, 8)).shape
    flambeau.Size([1, 2, 8, 8, 8])
    """

    cls_to_become = InstanceNorm3d
