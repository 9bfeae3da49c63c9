"""Layers that only move elements: flattening, windows as columns, channels as places, other sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau.nn import functional
from flambeau.nn.layers.layer import Layer
from flambeau.nn.module import Module
from flambeau.tensor.tensor import Tensor

Sizes = int | Sequence[int]
Factors = float | Sequence[float]


class Flatten(Layer):
    """The dimensions from `start_dim` to `end_dim` as one.

    Args:
        start_dim: the first dimension that is flattened.
        end_dim: the last dimension that is flattened.

    Shape:
        any, to one with `start_dim` to `end_dim` as one dimension.

    >>> import flambeau
    >>> flambeau.nn.Flatten()(flambeau.ones(2, 3, 4)).shape
    flambeau.Size([2, 12])
    """

    __constants__ = ["start_dim", "end_dim"]

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Tensor) -> Tensor:
        """A view where memory allows it."""
        return input.flatten(self.start_dim, self.end_dim)


class Unflatten(Layer):
    """The dimension `dim` as several. Raises TypeError for sizes that are no ints.

    Args:
        dim: the dimension that becomes several.
        unflattened_size: the sizes that the dimension gets.

    Shape:
        any, to one with `dim` as several dimensions.

    >>> import flambeau
    >>> flambeau.nn.Unflatten(1, (2, 3))(flambeau.ones(4, 6)).shape
    flambeau.Size([4, 2, 3])
    """

    __constants__ = ["dim", "unflattened_size"]

    def __init__(self, dim: int, unflattened_size: Sequence[int]) -> None:
        super().__init__()
        if not isinstance(unflattened_size, Sequence):
            kind = type(unflattened_size).__name__
            raise TypeError(f"unflattened_size must be a tuple of ints, but found type {kind}")
        sizes = tuple(unflattened_size)
        for i, size in enumerate(sizes):
            if not isinstance(size, int):
                raise TypeError(
                    f"unflattened_size must be tuple of ints, but found element of type {type(size).__name__} at "
                    f"pos {i}"
                )
        self.dim = dim
        self.unflattened_size = sizes

    def extra_repr(self) -> str:
        """The dimension and the sizes."""
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"

    def forward(self, input: Tensor) -> Tensor:
        """A view."""
        return input.unflatten(self.dim, self.unflattened_size)


class Unfold(Layer):
    """Every window of (N, C, H, W) as a column: (N, C k k, windows).

    Args:
        kernel_size: the size of a window: one int, or one for each dimension.
        dilation: the distance between neighbouring elements of a window.
        padding: what is added on both sides: one int, or one for each dimension.
        stride: the step from window to window: one int, or one for each dimension.

    Shape:
        (N, C, H, W) or (C, H, W) to (N, C k k, windows) or (C k k, windows).

    >>> import flambeau
    >>> flambeau.nn.Unfold(2)(flambeau.ones(1, 3, 4, 5)).shape
    flambeau.Size([1, 12, 12])
    """

    __constants__ = ["kernel_size", "dilation", "padding", "stride"]

    def __init__(self, kernel_size: Sizes, dilation: Sizes = 1, padding: Sizes = 0, stride: Sizes = 1) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        """Images to columns."""
        return functional.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)


class Fold(Layer):
    """Columns added up where the windows of `Unfold` come from.

    Args:
        output_size: height and width of the result.
        kernel_size: the size of a window: one int, or one for each dimension.
        dilation: the distance between neighbouring elements of a window.
        padding: what is added on both sides: one int, or one for each dimension.
        stride: the step from window to window: one int, or one for each dimension.

    Shape:
        (N, C k k, windows) or (C k k, windows) to (N, C, *output_size) or (C, *output_size).

    >>> import flambeau
    >>> flambeau.nn.Fold((4, 5), 2)(flambeau.ones(1, 12, 12)).shape
    flambeau.Size([1, 3, 4, 5])
    """

    __constants__ = ["output_size", "kernel_size", "dilation", "padding", "stride"]

    def __init__(
        self, output_size: Sizes, kernel_size: Sizes, dilation: Sizes = 1, padding: Sizes = 0, stride: Sizes = 1
    ) -> None:
        super().__init__()
        self.output_size = output_size
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        """Columns to images."""
        return functional.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)


class PixelShuffle(Layer):
    """(N, C r^2, H, W) to (N, C, H r, W r): Shi et al. (2016).

    Args:
        upscale_factor: by how much height and width grow.

    Shape:
        (..., C r r, H, W) to (..., C, H r, W r).

    >>> import flambeau
    >>> flambeau.nn.PixelShuffle(2)(flambeau.ones(1, 4, 3, 3)).shape
    flambeau.Size([1, 1, 6, 6])
    """

    __constants__ = ["upscale_factor"]

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        """Channels become places."""
        return functional.pixel_shuffle(input, self.upscale_factor)


class PixelUnshuffle(Layer):
    """(N, C, H r, W r) to (N, C r^2, H, W).

    Args:
        downscale_factor: by how much height and width shrink.

    Shape:
        (..., C, H r, W r) to (..., C r r, H, W).

    >>> import flambeau
    >>> flambeau.nn.PixelUnshuffle(2)(flambeau.ones(1, 1, 6, 6)).shape
    flambeau.Size([1, 4, 3, 3])
    """

    __constants__ = ["downscale_factor"]

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        """Places become channels."""
        return functional.pixel_unshuffle(input, self.downscale_factor)


class ChannelShuffle(Layer):
    """Channels of all groups in turn: Zhang et al. (2017).

    Args:
        groups: into how many groups channels are divided.

    Shape:
        (N, C, ...); it stays.

    >>> import flambeau
    >>> flambeau.nn.ChannelShuffle(2)(flambeau.arange(4.0).reshape(1, 4, 1, 1)).flatten()
    tensor([0., 2., 1., 3.])
    """

    __constants__ = ["groups"]

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        """The shape stays."""
        return functional.channel_shuffle(input, self.groups)


class Upsample(Module):
    """Another size, given as such or by a factor; see `functional.interpolate` for the modes.

    Args:
        size: the size of the result.
        scale_factor: the result's size divided by the input's.
        mode: "nearest", "linear", "bilinear", "bicubic" or "trilinear".
        align_corners: whether the corners' centres stay where they are; for the linear and cubic modes.
        recompute_scale_factor: whether the factor follows from the rounded sizes.

    Shape:
        (N, C, ...) to the same with other spatial sizes.

    >>> import flambeau
    >>> flambeau.nn.Upsample(scale_factor=2)(flambeau.ones(1, 2, 4, 4)).shape
    flambeau.Size([1, 2, 8, 8])
    """

    __constants__ = ["size", "scale_factor", "mode", "align_corners", "name", "recompute_scale_factor"]

    def __init__(
        self, size: Sizes | None = None, scale_factor: Factors | None = None, mode: str = "nearest",
        align_corners: bool | None = None, recompute_scale_factor: bool | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.name = type(self).__name__
        self.size: Any = tuple(size) if isinstance(size, Sequence) else size
        self.scale_factor: Any = (
            tuple(map(float, scale_factor))
            if isinstance(scale_factor, Sequence)
            else None if scale_factor is None else float(scale_factor)
        )  # fmt: skip
        self.mode = mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        """The spatial dimensions change."""
        return functional.interpolate(
            input, self.size, self.scale_factor, self.mode, self.align_corners, self.recompute_scale_factor
        )

    def extra_repr(self) -> str:
        """The size or factor, and the mode."""
        target = f"size={self.size}" if self.scale_factor is None else f"scale_factor={self.scale_factor}"
        return f"{target}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """`Upsample` with mode nearest.

    Args:
        size: the size of the result.
        scale_factor: the result's size divided by the input's.

    Shape:
        (N, C, H, W) to the same with another H and W.

    >>> import flambeau
    >>> flambeau.nn.UpsamplingNearest2d(scale_factor=2)(flambeau.ones(1, 2, 4, 4)).shape
    flambeau.Size([1, 2, 8, 8])
    """

    def __init__(self, size: Sizes | None = None, scale_factor: Factors | None = None) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """`Upsample` with mode bilinear and corners at corners.

    Args:
        size: the size of the result.
        scale_factor: the result's size divided by the input's.

    Shape:
        (N, C, H, W) to the same with another H and W.

    >>> import flambeau
    >>> flambeau.nn.UpsamplingBilinear2d(scale_factor=2)(flambeau.ones(1, 2, 4, 4)).shape
    flambeau.Size([1, 2, 8, 8])
    """

    def __init__(self, size: Sizes | None = None, scale_factor: Factors | None = None) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)


class CosineSimilarity(Module):
    """The cosine of the angle between vectors along `dim`.

    Args:
        dim: the dimension along which it works.
        eps: a small number that keeps a divisor from zero.

    Shape:
        two of the same shape, to it without `dim`.

    >>> import flambeau
    >>> flambeau.nn.CosineSimilarity()(flambeau.tensor([[1.0, 0.0]]), flambeau.tensor([[1.0, 1.0]]))
    tensor([0.7071])
    """

    __constants__ = ["dim", "eps"]

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim = dim
        self.eps = eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """Without `dim`."""
        return functional.cosine_similarity(x1, x2, self.dim, self.eps)


class PairwiseDistance(Module):
    """The p-norm of the difference of vectors along the last dimension.

    Args:
        p: the p of the p-norm.
        eps: a small number that keeps a divisor from zero.
        keepdim: whether the last dimension stays, with size 1.

    Shape:
        two (N, D) or (D,), to (N,) or ().

    >>> import flambeau
    >>> flambeau.nn.PairwiseDistance()(flambeau.zeros(1, 2), flambeau.tensor([[3.0, 4.0]]))
    tensor([5.0000])
    """

    __constants__ = ["norm", "eps", "keepdim"]

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm = float(p)
        self.eps = eps
        self.keepdim = keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """Without the last dimension."""
        return functional.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)
