"""Layers that put elements back where max pooling took them from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau.nn import functional
from flambeau.nn.layers import fresh
from flambeau.nn.layers.layer import Layer
from flambeau.tensor.tensor import Tensor

Sizes = int | Sequence[int]


class _MaxUnpool(Layer):
    SHOWN = ("kernel_size", "stride", "padding")
    dims: int

    def __init__(self, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0) -> None:
        super().__init__()
        dims = type(self).dims
        self.kernel_size: Any = fresh.repeated(kernel_size, dims)
        self.stride: Any = fresh.repeated(kernel_size if stride is None else stride, dims)
        self.padding: Any = fresh.repeated(padding, dims)


class MaxUnpool1d(_MaxUnpool):
    """The reverse of `MaxPool1d` with `return_indices`.

    Args:
        kernel_size: the size of a window: one int, or one for each dimension.
        stride: the step from window to window; `kernel_size` if None.
        padding: what is added on both sides: one int, or one for each dimension.

    Shape:
        (N, C, L) or (C, L), and the places as `MaxPool1d` gave them, to what was pooled.

    >>> import flambeau
    >>> values, places = flambeau.nn.MaxPool1d(2, return_indices=True)(flambeau.ones(1, 2, 8))
    >>> flambeau.nn.MaxUnpool1d(2)(values, places).shape
    flambeau.Size([1, 2, 8])
    """

    dims = 1

    def forward(self, input: Tensor, indices: Tensor, output_size: list[int] | None = None) -> Tensor:
        """Zeros but for the elements. Raises ValueError for an `output_size` that cannot have been."""
        return functional.max_unpool1d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool2d(_MaxUnpool):
    """The reverse of `MaxPool2d` with `return_indices`.

    Args:
        kernel_size: the size of a window: one int, or one for each dimension.
        stride: the step from window to window: one int, or one for each dimension.
        padding: what is added on both sides: one int, or one for each dimension.

    Shape:
        (N, C, H, W) or (C, H, W), and the places as `MaxPool2d` gave them, to what was pooled.

    >>> import flambeau
    >>> x = flambeau.tensor([[[[1.0, 2.0], [4.0, 3.0]]]])
    >>> flambeau.nn.MaxUnpool2d(2)(*flambeau.nn.MaxPool2d(2, return_indices=True)(x)).tolist()
    [[[[0.0, 0.0], [4.0, 0.0]]]]
    """

    dims = 2

    def forward(self, input: Tensor, indices: Tensor, output_size: list[int] | None = None) -> Tensor:
        """Zeros but for the elements. Raises ValueError for an `output_size` that cannot have been."""
        return functional.max_unpool2d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool3d(_MaxUnpool):
    """The reverse of `MaxPool3d` with `return_indices`.

    Args:
        kernel_size: the size of a window: one int, or one for each dimension.
        stride: the step from window to window: one int, or one for each dimension.
        padding: what is added on both sides: one int, or one for each dimension.

    Shape:
        (N, C, D, H, W) or (C, D, H, W), and the places as `MaxPool3d` gave them, to what was pooled.

    >>> import flambeau
    >>> values, places = flambeau.nn.MaxPool3d(2, return_indices=True)(flambeau.ones(1, 2, 8, 8, 8))
    >>> flambeau.nn.MaxUnpool3d(2)(values, places).shape
    flambeau.Size([1, 2, 8, 8, 8])
    """

    dims = 3

    def forward(self, input: Tensor, indices: Tensor, output_size: list[int] | None = None) -> Tensor:
        """Zeros but for the elements. Raises ValueError for an `output_size` that cannot have been."""
        return functional.max_unpool3d(input, indices, self.kernel_size, self.stride, self.padding, output_size)
