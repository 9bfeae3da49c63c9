"""Pooling with windows of a given size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from flambeau.nn import functional
from flambeau.nn.layers import fresh
from flambeau.nn.layers.layer import Layer
from flambeau.tensor.tensor import Tensor

Sizes = int | Sequence[int]


class _MaxPool(Layer):
    __constants__ = ["kernel_size", "stride", "padding", "dilation", "return_indices", "ceil_mode"]
    SHOWN = ("kernel_size", "stride", "padding", "dilation", "ceil_mode")

    def __init__(
        self, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0, dilation: Sizes = 1,
        return_indices: bool = False, ceil_mode: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode


class MaxPool1d(_MaxPool):
    """The largest element of every window of (N, C, L) or (C, L), and with `return_indices` where it is.

    Args:
        kernel_size: the size of a window: one int, or one for each dimension.
        stride: the step from window to window: one int, or one for each dimension.
        padding: what is added on both sides: one int, or one for each dimension.
        dilation: the distance between neighbouring elements of a window.
        return_indices: whether the result is a tuple with the places of the elements.
        ceil_mode: whether a window that only begins inside counts.

    Shape:
        (N, C, L) or (C, L) to the same with (size + 2 padding - kernel_size) / stride + 1 for each size, rounded
        down.

    >>> import flambeau
    >>> flambeau.nn.MaxPool1d(2)(flambeau.ones(1, 2, 8)).shape
    flambeau.Size([1, 2, 4])
    """

    def forward(self, input: Tensor):  # type: ignore[no-untyped-def]  # one tensor or two, as `return_indices` says
        """One element for each window."""
        return functional.max_pool1d(
            input, self.kernel_size, self.stride, self.padding, self.dilation, ceil_mode=self.ceil_mode,
            return_indices=self.return_indices,
        )  # fmt: skip


class MaxPool2d(_MaxPool):
    """The largest element of every window of (N, C, H, W) or (C, H, W), and with `return_indices` where it is.

    Args:
        kernel_size: the size of a window: one int, or one for each dimension.
        stride: the step from window to window: one int, or one for each dimension.
        padding: what is added on both sides: one int, or one for each dimension.
        dilation: the distance between neighbouring elements of a window.
        return_indices: whether the result is a tuple with the places of the elements.
        ceil_mode: whether a window that only begins inside counts.

    Shape:
        (N, C, H, W) or (C, H, W) to the same with (size + 2 padding - kernel_size) / stride + 1 for each size,
        rounded down.

    >>> import flambeau
    >>> flambeau.nn.MaxPool2d(2)(flambeau.ones(1, 2, 8, 8)).shape
    flambeau.Size([1, 2, 4, 4])
    """

    def forward(self, input: Tensor):  # type: ignore[no-untyped-def]  # one tensor or two, as `return_indices` says
        """One element for each window."""
        return functional.max_pool2d(
            input, self.kernel_size, self.stride, self.padding, self.dilation, ceil_mode=self.ceil_mode,
            return_indices=self.return_indices,
        )  # fmt: skip


class MaxPool3d(_MaxPool):
    """The largest element of every window of (N, C, D, H, W) or (C, D, H, W), and with `return_indices` where it is.

    Args:
        kernel_size: the size of a window: one int, or one for each dimension.
        stride: the step from window to window: one int, or one for each dimension.
        padding: what is added on both sides: one int, or one for each dimension.
        dilation: the distance between neighbouring elements of a window.
        return_indices: whether the result is a tuple with the places of the elements.
        ceil_mode: whether a window that only begins inside counts.

    Shape:
        (N, C, D, H, W) or (C, D, H, W) to the same with (size + 2 padding - kernel_size) / stride + 1 for each
        size, rounded down.

    >>> import flambeau
    >>> flambeau.nn.MaxPool3d(2)(flambeau.ones(1, 2, 8, 8, 8)).shape
    flambeau.Size([1, 2, 4, 4, 4])
    """

    def forward(self, input: Tensor):  # type: ignore[no-untyped-def]  # one tensor or two, as `return_indices` says
        """One element for each window."""
        return functional.max_pool3d(
            input, self.kernel_size, self.stride, self.padding, self.dilation, ceil_mode=self.ceil_mode,
            return_indices=self.return_indices,
        )  # fmt: skip


class _AvgPool(Layer):
    __constants__: ClassVar[list[str]] = [
        "kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override",
    ]  # fmt: skip
    SHOWN = ("kernel_size", "stride", "padding")

    def __init__(
        self, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0, ceil_mode: bool = False,
        count_include_pad: bool = True, divisor_override: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override


class AvgPool1d(_AvgPool):
    """The average of every window of (N, C, L) or (C, L).

    Args:
        kernel_size: the size of a window: one int, or one for each dimension.
        stride: the step from window to window: one int, or one for each dimension.
        padding: what is added on both sides: one int, or one for each dimension.
        ceil_mode: whether a window that only begins inside counts.
        count_include_pad: whether the padding counts in the average.

    Shape:
        (N, C, L) or (C, L) to the same with (size + 2 padding - kernel_size) / stride + 1 for each size, rounded
        down.

    >>> import flambeau
    >>> flambeau.nn.AvgPool1d(2)(flambeau.ones(1, 2, 8)).shape
    flambeau.Size([1, 2, 4])
    """

    __constants__ = ["kernel_size", "stride", "padding", "ceil_mode", "count_include_pad"]

    def __init__(
        self, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0, ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(
            fresh.repeated(kernel_size, 1), None if stride is None else fresh.repeated(stride, 1),
            fresh.repeated(padding, 1), ceil_mode, count_include_pad,
        )  # fmt: skip

    def forward(self, input: Tensor) -> Tensor:
        """One element for each window."""
        return functional.avg_pool1d(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad
        )


class AvgPool2d(_AvgPool):
    """The average of every window of (N, C, H, W) or (C, H, W), or the sum by `divisor_override`.

    Args:
        kernel_size: the size of a window: one int, or one for each dimension.
        stride: the step from window to window: one int, or one for each dimension.
        padding: what is added on both sides: one int, or one for each dimension.
        ceil_mode: whether a window that only begins inside counts.
        count_include_pad: whether the padding counts in the average.
        divisor_override: what sums are divided by, in place of the window's size.

    Shape:
        (N, C, H, W) or (C, H, W) to the same with (size + 2 padding - kernel_size) / stride + 1 for each size,
        rounded down.

    >>> import flambeau
    >>> flambeau.nn.AvgPool2d(2)(flambeau.ones(1, 2, 8, 8)).shape
    flambeau.Size([1, 2, 4, 4])
    """

    def forward(self, input: Tensor) -> Tensor:
        """One element for each window."""
        return functional.avg_pool2d(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad,
            self.divisor_override,
        )  # fmt: skip


class AvgPool3d(_AvgPool):
    """The average of every window of (N, C, D, H, W) or (C, D, H, W), or the sum by `divisor_override`.

    Args:
        kernel_size: the size of a window: one int, or one for each dimension.
        stride: the step from window to window: one int, or one for each dimension.
        padding: what is added on both sides: one int, or one for each dimension.
        ceil_mode: whether a window that only begins inside counts.
        count_include_pad: whether the padding counts in the average.
        divisor_override: what sums are divided by, in place of the window's size.

    Shape:
        (N, C, D, H, W) or (C, D, H, W) to the same with (size + 2 padding - kernel_size) / stride + 1 for each
        size, rounded down.

    >>> import flambeau
    >>> flambeau.nn.AvgPool3d(2)(flambeau.ones(1, 2, 8, 8, 8)).shape
    flambeau.Size([1, 2, 4, 4, 4])
    """

    def forward(self, input: Tensor) -> Tensor:
        """One element for each window."""
        return functional.avg_pool3d(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad,
            self.divisor_override,
        )  # fmt: skip


class _LPPool(Layer):
    __constants__ = ["norm_type", "kernel_size", "stride", "ceil_mode"]

    def __init__(
        self, norm_type: float, kernel_size: Sizes, stride: Sizes | None = None, ceil_mode: bool = False
    ) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size: Any = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode


class LPPool1d(_LPPool):
    """The p-norm of every window of (N, C, L) or (C, L), p being `norm_type`.

    Args:
        norm_type: the p of the p-norm.
        kernel_size: the size of a window: one int, or one for each dimension.
        stride: the step from window to window: one int, or one for each dimension.
        ceil_mode: whether a window that only begins inside counts.

    Shape:
        (N, C, L) or (C, L) to the same with (size - kernel_size) / stride + 1 for each size, rounded down.

    >>> import flambeau
    >>> flambeau.nn.LPPool1d(2, 2)(flambeau.ones(1, 2, 8)).shape
    flambeau.Size([1, 2, 4])
    """

    def forward(self, input: Tensor) -> Tensor:
        """One element for each window."""
        return functional.lp_pool1d(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


class LPPool2d(_LPPool):
    """The p-norm of every window of (N, C, H, W) or (C, H, W), p being `norm_type`.

    Args:
        norm_type: the p of the p-norm.
        kernel_size: the size of a window: one int, or one for each dimension.
        stride: the step from window to window: one int, or one for each dimension.
        ceil_mode: whether a window that only begins inside counts.

    Shape:
        (N, C, H, W) or (C, H, W) to the same with (size - kernel_size) / stride + 1 for each size, rounded down.

    >>> import flambeau
    >>> flambeau.nn.LPPool2d(2, 2)(flambeau.ones(1, 2, 8, 8)).shape
    flambeau.Size([1, 2, 4, 4])
    """

    def forward(self, input: Tensor) -> Tensor:
        """One element for each window."""
        return functional.lp_pool2d(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


class LPPool3d(_LPPool):
    """The p-norm of every window of (N, C, D, H, W) or (C, D, H, W), p being `norm_type`.

    Args:
        norm_type: the p of the p-norm.
        kernel_size: the size of a window: one int, or one for each dimension.
        stride: the step from window to window: one int, or one for each dimension.
        ceil_mode: whether a window that only begins inside counts.

    Shape:
        (N, C, D, H, W) or (C, D, H, W) to the same with (size - kernel_size) / stride + 1 for each size, rounded
        down.

    >>> import flambeau
    >>> flambeau.nn.LPPool3d(2, 2)(flambeau.ones(1, 2, 8, 8, 8)).shape
    flambeau.Size([1, 2, 4, 4, 4])
    """

    def forward(self, input: Tensor) -> Tensor:
        """One element for each window."""
        return functional.lp_pool3d(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)
