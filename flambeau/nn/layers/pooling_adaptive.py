"""Pooling to a given size: windows that divide the input evenly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from flambeau.nn import functional
from flambeau.nn.layers.layer import Layer
from flambeau.tensor.tensor import Tensor

OutputSize = int | None | Sequence[int | None]


class _AdaptiveAvg(Layer):
    __constants__: ClassVar[list[str]] = ["output_size"]
    SHOWN = ("output_size",)

    def __init__(self, output_size: OutputSize) -> None:
        super().__init__()
        self.output_size = output_size


class AdaptiveAvgPool1d(_AdaptiveAvg):
    """The average of windows that divide (N, C, L) or (C, L) evenly.

    Args:
        output_size: the length of the result.

    Shape:
        (N, C, L) or (C, L) to the same with sizes of `output_size`.

    >>> import flambeau
    >>> flambeau.nn.AdaptiveAvgPool1d(3)(flambeau.ones(1, 2, 8)).shape
    flambeau.Size([1, 2, 3])
    """

    def forward(self, input: Tensor) -> Tensor:
        """To `output_size`."""
        return functional.adaptive_avg_pool1d(input, self.output_size)  # type: ignore[arg-type]  # never None: it has one size


class AdaptiveAvgPool2d(_AdaptiveAvg):
    """The average of windows that divide (N, C, H, W) or (C, H, W) evenly; None keeps a size.

    Args:
        output_size: the sizes of the result: one int, or one for each dimension.

    Shape:
        (N, C, H, W) or (C, H, W) to the same with sizes of `output_size`.

    >>> import flambeau
    >>> flambeau.nn.AdaptiveAvgPool2d(3)(flambeau.ones(1, 2, 8, 8)).shape
    flambeau.Size([1, 2, 3, 3])
    """

    def forward(self, input: Tensor) -> Tensor:
        """To `output_size`."""
        return functional.adaptive_avg_pool2d(input, self.output_size)


class AdaptiveAvgPool3d(_AdaptiveAvg):
    """The average of windows that divide (N, C, D, H, W) or (C, D, H, W) evenly; None keeps a size.

    Args:
        output_size: the sizes of the result: one int, or one for each dimension.

    Shape:
        (N, C, D, H, W) or (C, D, H, W) to the same with sizes of `output_size`.

    >>> import flambeau
    >>> flambeau.nn.AdaptiveAvgPool3d(3)(flambeau.ones(1, 2, 8, 8, 8)).shape
    flambeau.Size([1, 2, 3, 3, 3])
    """

    def forward(self, input: Tensor) -> Tensor:
        """To `output_size`."""
        return functional.adaptive_avg_pool3d(input, self.output_size)


class _AdaptiveMax(_AdaptiveAvg):
    __constants__ = ["output_size", "return_indices"]

    def __init__(self, output_size: OutputSize, return_indices: bool = False) -> None:
        super().__init__(output_size)
        self.return_indices = return_indices


class AdaptiveMaxPool1d(_AdaptiveMax):
    """The largest element of windows that divide (N, C, L) or (C, L) evenly.

    Args:
        output_size: the length of the result.
        return_indices: whether the result is a tuple with the places of the elements.

    Shape:
        (N, C, L) or (C, L) to the same with sizes of `output_size`.

    >>> import flambeau
    >>> flambeau.nn.AdaptiveMaxPool1d(3)(flambeau.ones(1, 2, 8)).shape
    flambeau.Size([1, 2, 3])
    """

    def forward(self, input: Tensor):  # type: ignore[no-untyped-def]  # one tensor or two, as `return_indices` says
        """To `output_size`."""
        return functional.adaptive_max_pool1d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool2d(_AdaptiveMax):
    """The largest element of windows that divide (N, C, H, W) or (C, H, W) evenly; None keeps a size.

    Args:
        output_size: the sizes of the result: one int, or one for each dimension.
        return_indices: whether the result is a tuple with the places of the elements.

    Shape:
        (N, C, H, W) or (C, H, W) to the same with sizes of `output_size`.

    >>> import flambeau
    >>> flambeau.nn.AdaptiveMaxPool2d(3)(flambeau.ones(1, 2, 8, 8)).shape
    flambeau.Size([1, 2, 3, 3])
    """

    def forward(self, input: Tensor):  # type: ignore[no-untyped-def]  # one tensor or two, as `return_indices` says
        """To `output_size`."""
        return functional.adaptive_max_pool2d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool3d(_AdaptiveMax):
    """The largest element of windows that divide (N, C, D, H, W) or (C, D, H, W) evenly; None keeps a size.

    Args:
        output_size: the sizes of the result: one int, or one for each dimension.
        return_indices: whether the result is a tuple with the places of the elements.

    Shape:
        (N, C, D, H, W) or (C, D, H, W) to the same with sizes of `output_size`.

    >>> import flambeau
    >>> flambeau.nn.AdaptiveMaxPool3d(3)(flambeau.ones(1, 2, 8, 8, 8)).shape
    flambeau.Size([1, 2, 3, 3, 3])
    """

    def forward(self, input: Tensor):  # type: ignore[no-untyped-def]  # one tensor or two, as `return_indices` says
        """To `output_size`."""
        return functional.adaptive_max_pool3d(input, self.output_size, self.return_indices)
