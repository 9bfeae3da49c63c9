"""Convolutions in one to three dimensions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from flambeau.nn import functional, init
from flambeau.nn.layers import fresh
from flambeau.nn.layers.layer import unusual
from flambeau.nn.module import Module
from flambeau.nn.parameter import Parameter
from flambeau.schema.device import Device
from flambeau.schema.dtype import DType
from flambeau.tensor.tensor import Tensor

Sizes = int | Sequence[int]
PADDING_MODES: Final = ("zeros", "reflect", "replicate", "circular")


class Convolution(Module):
    """What all convolutions have: sizes, a weight (out_channels, in_channels / groups, ...) and a bias.

    Both are uniform in +-1/sqrt(fan_in). Raises ValueError for arguments that do not go together.

    >>> from flambeau import nn
    >>> isinstance(nn.ConvTranspose2d(1, 1, 3), Convolution)
    True
    """

    __constants__ = [
        "stride", "padding", "dilation", "groups", "padding_mode", "output_padding", "in_channels", "out_channels",
        "kernel_size",
    ]  # fmt: skip
    dims: int

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Sizes, stride: Sizes = 1, padding: str | Sizes = 0,
        output_padding: Sizes = 0, dilation: Sizes = 1, groups: int = 1, bias: bool = True, padding_mode: str = "zeros",
        transposed: bool = False, device: Device | str | None = None, dtype: DType | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        dims = type(self).dims
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = fresh.repeated(kernel_size, dims)
        self.stride = fresh.repeated(stride, dims)
        self.padding = fresh.repeated(padding, dims)
        self.dilation = fresh.repeated(dilation, dims)
        self.transposed = transposed
        self.output_padding = fresh.repeated(output_padding, dims)
        self.groups = groups
        self.padding_mode = padding_mode
        self.check()
        self._reversed_padding_repeated_twice = self._padding_of_edges()
        sizes = (in_channels, out_channels // groups) if transposed else (out_channels, in_channels // groups)
        self.weight = fresh.parameter(*sizes, *self.kernel_size, dtype=dtype, device=device)
        self.bias: Parameter | None
        self.register_parameter("bias", fresh.parameter(out_channels, dtype=dtype, device=device) if bias else None)
        self.reset_parameters()

    def check(self) -> None:
        """Raise ValueError for arguments that do not go together."""
        if self.groups <= 0:
            raise ValueError(f"groups must be a positive integer, got {self.groups}")
        if self.in_channels % self.groups:
            raise ValueError(f"in_channels must be divisible by groups, got {self.in_channels} and {self.groups}")
        if self.out_channels % self.groups:
            raise ValueError(f"out_channels must be divisible by groups, got {self.out_channels} and {self.groups}")
        if isinstance(self.padding, str):
            if self.padding not in ("same", "valid"):
                raise ValueError(f"Invalid padding string {self.padding!r}, should be one of {{'same', 'valid'}}")
            if self.padding == "same" and any(s != 1 for s in self.stride):
                raise ValueError("padding='same' is not supported for strided convolutions")
        if self.padding_mode not in PADDING_MODES:
            modes = ", ".join(map(repr, PADDING_MODES))
            raise ValueError(f"padding_mode must be one of {{{modes}}}, but got padding_mode='{self.padding_mode}'")
        for name in ("kernel_size", "stride", "dilation"):
            values = getattr(self, name)
            if len(values) != type(self).dims:
                raise ValueError(f"{name} must be one int or {type(self).dims} of them, got {values}")

    def _padding_of_edges(self) -> list[int]:
        """What `functional.pad` takes: the last dimension first, before and behind."""
        if self.padding == "valid":
            return [0] * 2 * type(self).dims
        sides: list[int] = []
        for i in reversed(range(type(self).dims)):
            if isinstance(self.padding, str):
                total = self.dilation[i] * (self.kernel_size[i] - 1)
                sides += [total // 2, total - total // 2]
            else:
                sides += [self.padding[i]] * 2
        return sides

    def reset_parameters(self) -> None:
        """Draw new parameters."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init.fans(self.weight)
            bound = 1 / math.sqrt(fan_in) if fan_in else 0.0
            init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        """The sizes, and what is not as usual."""
        shown = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        zeros, ones = (0,) * type(self).dims, (1,) * type(self).dims
        shown += unusual(self, padding=zeros, dilation=ones, output_padding=zeros, groups=1)
        shown += ", bias=False" if self.bias is None else ""
        return shown + unusual(self, padding_mode="zeros")


class _Forward(Convolution):
    """Convolutions that are not transposed."""

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Sizes, stride: Sizes = 1, padding: str | Sizes = 0,
        dilation: Sizes = 1, groups: int = 1, bias: bool = True, padding_mode: str = "zeros",
        device: Device | str | None = None, dtype: DType | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, 0, dilation, groups, bias, padding_mode,
            device=device, dtype=dtype,
        )  # fmt: skip


class Conv1d(_Forward):
    """Sliding products over (N, C, L) or (C, L).

    Args:
        in_channels: channels of the input.
        out_channels: channels of the result.
        kernel_size: the size of a window: one int, or one for each dimension.
        stride: the step from window to window: one int, or one for each dimension.
        padding: what is added on both sides, or "same" or "valid".
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
    >>> flambeau.nn.Conv1d(2, 4, 3, padding="same")(flambeau.ones(1, 2, 9)).shape
    flambeau.Size([1, 4, 9])
    """

    dims = 1

    def forward(self, input: Tensor) -> Tensor:
        """(N, in_channels, L) to (N, out_channels, L')."""
        if self.padding_mode != "zeros":
            padded = functional.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            return functional.conv1d(padded, self.weight, self.bias, self.stride, 0, self.dilation, self.groups)
        return functional.conv1d(
            input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups
        )


class Conv2d(_Forward):
    """Sliding products over (N, C, H, W) or (C, H, W).

    Args:
        in_channels: channels of the input.
        out_channels: channels of the result.
        kernel_size: the size of a window: one int, or one for each dimension.
        stride: the step from window to window: one int, or one for each dimension.
        padding: what is added on both sides: one int, one for each dimension, "same" or "valid".
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
    >>> flambeau.nn.Conv2d(3, 8, 3, stride=2, padding=1)(flambeau.ones(1, 3, 8, 8)).shape
    flambeau.Size([1, 8, 4, 4])
    """

    dims = 2

    def forward(self, input: Tensor) -> Tensor:
        """(N, in_channels, H, W) to (N, out_channels, H', W')."""
        if self.padding_mode != "zeros":
            padded = functional.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            return functional.conv2d(padded, self.weight, self.bias, self.stride, 0, self.dilation, self.groups)
        return functional.conv2d(
            input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups
        )


class Conv3d(_Forward):
    """Sliding products over (N, C, D, H, W) or (C, D, H, W).

    Args:
        in_channels: channels of the input.
        out_channels: channels of the result.
        kernel_size: the size of a window: one int, or one for each dimension.
        stride: the step from window to window: one int, or one for each dimension.
        padding: what is added on both sides: one int, one for each dimension, "same" or "valid".
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
    >>> flambeau.nn.Conv3d(2, 3, 3)(flambeau.ones(1, 2, 8, 8, 8)).shape
    flambeau.Size([1, 3, 6, 6, 6])
    """

    dims = 3

    def forward(self, input: Tensor) -> Tensor:
        """(N, in_channels, D, H, W) to (N, out_channels, D', H', W')."""
        if self.padding_mode != "zeros":
            padded = functional.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            return functional.conv3d(padded, self.weight, self.bias, self.stride, 0, self.dilation, self.groups)
        return functional.conv3d(
            input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups
        )
