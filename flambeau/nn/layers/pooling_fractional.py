"""Pooling with windows at random places, to any size: Graham (2014)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau.nn import functional
from flambeau.nn.layers import fresh
from flambeau.nn.module import Module
from flambeau.tensor.tensor import Tensor

Sizes = int | Sequence[int]
Ratios = float | Sequence[float]


class _FractionalMaxPool(Module):
    __constants__ = ["kernel_size", "return_indices", "output_size", "output_ratio"]
    dims: int

    def __init__(
        self, kernel_size: Sizes, output_size: Sizes | None = None, output_ratio: Ratios | None = None,
        return_indices: bool = False, _random_samples: Tensor | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        name, dims = type(self).__name__, type(self).dims
        self.kernel_size = fresh.repeated(kernel_size, dims)
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size: Any = None if output_size is None else fresh.repeated(output_size, dims)
        self.output_ratio: Any = None if output_ratio is None else fresh.repeated(output_ratio, dims)
        if output_size is None and output_ratio is None:
            raise ValueError(f"{name} requires specifying either an output size, or a pooling ratio")
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if self.output_ratio is not None and not all(0 < ratio < 1 for ratio in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")


class FractionalMaxPool2d(_FractionalMaxPool):
    """The largest element of windows at random places of (N, C, H, W) or (C, H, W), with `return_indices` where it is.

    The result has `output_size`, or `output_ratio` of the input's size. Raises ValueError unless one of them is given.

    Args:
        kernel_size: the size of a window: one int, or one for each dimension.
        output_size: the sizes of the result: one int, or one for each dimension.
        output_ratio: the result's size as a fraction of the input's, between 0 and 1.
        return_indices: whether the result is a tuple with the places of the elements.
        _random_samples: numbers between 0 and 1 that choose the windows, in place of random ones.

    Shape:
        (N, C, H, W) or (C, H, W) to the same with `output_size`, or sizes times `output_ratio`.

    >>> import flambeau
    >>> flambeau.nn.FractionalMaxPool2d(2, output_ratio=0.5)(flambeau.ones(1, 1, 8, 6)).shape
    flambeau.Size([1, 1, 4, 3])
    """

    dims = 2

    def forward(self, input: Tensor):  # type: ignore[no-untyped-def]  # one tensor or two, as `return_indices` says
        """One element for each window."""
        return functional.fractional_max_pool2d(
            input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices,
            _random_samples=self._random_samples,
        )  # fmt: skip


class FractionalMaxPool3d(_FractionalMaxPool):
    """The same of (N, C, D, H, W) or (C, D, H, W).

    Args:
        kernel_size: the size of a window: one int, or one for each dimension.
        output_size: the sizes of the result: one int, or one for each dimension.
        output_ratio: the result's size as a fraction of the input's, between 0 and 1.
        return_indices: whether the result is a tuple with the places of the elements.
        _random_samples: numbers between 0 and 1 that choose the windows, in place of random ones.

    Shape:
        (N, C, D, H, W) or (C, D, H, W) to the same with `output_size`, or sizes times `output_ratio`.

    >>> import flambeau
    >>> flambeau.nn.FractionalMaxPool3d(2, output_size=3)(flambeau.ones(1, 2, 8, 8, 8)).shape
    flambeau.Size([1, 2, 3, 3, 3])
    """

    dims = 3

    def forward(self, input: Tensor):  # type: ignore[no-untyped-def]  # one tensor or two, as `return_indices` says
        """One element for each window."""
        return functional.fractional_max_pool3d(
            input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices,
            _random_samples=self._random_samples,
        )  # fmt: skip
