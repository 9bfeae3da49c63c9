"""Transposed convolutions: the gradients of convolutions as layers, which make images larger."""

from __future__ import annotations

from flambeau.nn import functional
from flambeau.nn.layers.convolution import Convolution, Sizes
from flambeau.schema.device import Device
from flambeau.schema.dtype import DType
from flambeau.tensor.tensor import Tensor


def padding_for(
    input: Tensor, output_size: list[int] | None, output_padding: list[int], stride: list[int], padding: list[int],
    kernel_size: list[int], dilation: list[int],
) -> list[int]:  # fmt: skip
    """What to add at one end of every dimension, so that the result has `output_size`.

    Raises ValueError for a size that no padding gives.
    """
    if output_size is None:
        return output_padding
    dims = len(kernel_size)
    wanted = list(output_size)
    if len(wanted) == input.dim():
        wanted = wanted[input.dim() - dims :]
    if len(wanted) != dims:
        raise ValueError(
            f"ConvTranspose{dims}D: for {input.dim()}D input, output_size must have {dims} or {input.dim()} elements "
            f"(got {len(wanted)})"
        )
    result: list[int] = []
    for i in range(dims):
        size = input.size(input.dim() - dims + i)
        least = (size - 1) * stride[i] - 2 * padding[i] + dilation[i] * (kernel_size[i] - 1) + 1
        if wanted[i] < least or wanted[i] > least + stride[i] - 1:
            raise ValueError(
                f"requested an output size of {wanted}, but valid sizes range from {least} to "
                f"{least + stride[i] - 1} in dimension {i} (for an input of {list(input.size())})"
            )
        result.append(wanted[i] - least)
    return result


class _Transposed(Convolution):
    """Convolutions whose weight is (in_channels, out_channels / groups, ...)."""

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Sizes, stride: Sizes = 1, padding: Sizes = 0,
        output_padding: Sizes = 0, groups: int = 1, bias: bool = True, dilation: Sizes = 1, padding_mode: str = "zeros",
        device: Device | str | None = None, dtype: DType | None = None,
    ) -> None:  # fmt: skip
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}, got {padding_mode!r}')
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, output_padding, dilation, groups, bias,
            padding_mode, True, device=device, dtype=dtype,
        )  # fmt: skip


class ConvTranspose1d(_Transposed):
    """(N, C, L) or (C, L) to a longer one.

    Args:
        in_channels: channels of the input.
        out_channels: channels of the result.
        kernel_size: the size of a window: one int, or one for each dimension.
        stride: the step from window to window: one int, or one for each dimension.
        padding: what is cut off on both sides: one int, or one for each dimension.
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
    >>> flambeau.nn.ConvTranspose1d(2, 3, 2, stride=2)(flambeau.ones(1, 2, 8)).shape
    flambeau.Size([1, 3, 16])
    """

    dims = 1

    def forward(self, input: Tensor, output_size: list[int] | None = None) -> Tensor:
        """With `output_size`, the result has that size. Raises ValueError where that cannot be."""
        added = padding_for(
            input, output_size, self.output_padding, self.stride, self.padding, self.kernel_size, self.dilation
        )
        return functional.conv_transpose1d(
            input, self.weight, self.bias, self.stride, self.padding, added, self.groups, self.dilation
        )


class ConvTranspose2d(_Transposed):
    """(N, C, H, W) or (C, H, W) to a larger one.

    Args:
        in_channels: channels of the input.
        out_channels: channels of the result.
        kernel_size: the size of a window: one int, or one for each dimension.
        stride: the step from window to window: one int, or one for each dimension.
        padding: what is cut off on both sides: one int, or one for each dimension.
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
    >>> up = flambeau.nn.ConvTranspose2d(3, 2, 3, stride=2, padding=1)
    >>> up(flambeau.ones(1, 3, 5, 5)).shape, up(flambeau.ones(1, 3, 5, 5), output_size=[10, 10]).shape
    (flambeau.Size([1, 2, 9, 9]), flambeau.Size([1, 2, 10, 10]))
    """

    dims = 2

    def forward(self, input: Tensor, output_size: list[int] | None = None) -> Tensor:
        """With `output_size`, the result has that size. Raises ValueError where that cannot be."""
        added = padding_for(
            input, output_size, self.output_padding, self.stride, self.padding, self.kernel_size, self.dilation
        )
        return functional.conv_transpose2d(
            input, self.weight, self.bias, self.stride, self.padding, added, self.groups, self.dilation
        )


class ConvTranspose3d(_Transposed):
    """(N, C, D, H, W) or (C, D, H, W) to a larger one.

    Args:
        in_channels: channels of the input.
        out_channels: channels of the result.
        kernel_size: the size of a window: one int, or one for each dimension.
        stride: the step from window to window: one int, or one for each dimension.
        padding: what is cut off on both sides: one int, or one for each dimension.
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
    >>> flambeau.nn.ConvTranspose3d(2, 3, 2, stride=2)(flambeau.ones(1, 2, 8, 8, 8)).shape
    flambeau.Size([1, 3, 16, 16, 16])
    """

    dims = 3

    def forward(self, input: Tensor, output_size: list[int] | None = None) -> Tensor:
        """With `output_size`, the result has that size. Raises ValueError where that cannot be."""
        added = padding_for(
            input, output_size, self.output_padding, self.stride, self.padding, self.kernel_size, self.dilation
        )
        return functional.conv_transpose3d(
            input, self.weight, self.bias, self.stride, self.padding, added, self.groups, self.dilation
        )
