"""Normalisation within a sample: of trailing dimensions (Ba et al., 2016), of groups of channels (Wu and He, 2018)."""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.nn import functional, init
from flambeau.nn.layers import fresh
from flambeau.nn.layers.layer import Affine
from flambeau.nn.module import Module
from flambeau.nn.parameter import Parameter
from flambeau.ops.families.composite import F
from flambeau.schema.device import Device
from flambeau.schema.dtype import DType
from flambeau.tensor.tensor import Tensor


class LayerNorm(Affine):
    """The trailing dimensions `normalized_shape` to mean 0 and variance 1, then times `weight` plus `bias`.

    Args:
        normalized_shape: the sizes of the trailing dimensions over which it works.
        eps: a small number that keeps a divisor from zero.
        elementwise_affine: whether there are weights for every element.
        bias: whether there is a bias.
        device: where its tensors are; "cpu".
        dtype: the dtype of its parameters; the default one if None.

    Shape:
        (..., *normalized_shape); it stays.

    >>> import flambeau
    >>> flambeau.nn.LayerNorm(3)(flambeau.ones(2, 3)).shape
    flambeau.Size([2, 3])
    """

    __constants__ = ["normalized_shape", "eps", "elementwise_affine"]

    def __init__(
        self, normalized_shape: int | Sequence[int], eps: float = 1e-5, elementwise_affine: bool = True,
        bias: bool = True, device: Device | str | None = None, dtype: DType | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.normalized_shape: tuple[int, ...] = fresh.repeated(normalized_shape, 1)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        self._add_parameters(
            self.normalized_shape, elementwise_affine, elementwise_affine and bias, device, dtype
        )
        self.reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        """The shape stays."""
        return functional.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """The settings."""
        shown = f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
        return f"{shown}, bias={self.bias is not None}"


class RMSNorm(Module):
    """The trailing dimensions divided by the root of their mean square, times `weight`: Zhang and Sennrich (2019).

    Args:
        normalized_shape: the sizes of the trailing dimensions over which it works.
        eps: a small number that keeps a divisor from zero.
        elementwise_affine: whether there are weights for every element.
        device: where its tensors are; "cpu".
        dtype: the dtype of its parameters; the default one if None.

    Shape:
        (..., *normalized_shape); it stays.

    >>> import flambeau
    >>> flambeau.nn.RMSNorm(2)(flambeau.tensor([3.0, 4.0]))
    tensor([0.8485, 1.1314], grad_fn=<RmsNormBackward0>)
    """

    __constants__ = ["normalized_shape", "eps", "elementwise_affine"]

    def __init__(
        self, normalized_shape: int | Sequence[int], eps: float | None = None, elementwise_affine: bool = True,
        device: Device | str | None = None, dtype: DType | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.normalized_shape: tuple[int, ...] = fresh.repeated(normalized_shape, 1)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        self.weight: Parameter | None
        weight = fresh.parameter(*self.normalized_shape, dtype=dtype, device=device) if elementwise_affine else None
        self.register_parameter("weight", weight)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Factors 1."""
        if self.weight is not None:
            init.ones_(self.weight)

    def forward(self, input: Tensor) -> Tensor:
        """The shape stays."""
        return functional.rms_norm(input, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        """The settings."""
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class GroupNorm(Affine):
    """Groups of channels of every sample to mean 0 and variance 1, then times `weight` plus `bias` per channel.

    Raises ValueError unless the groups divide the channels.

    Args:
        num_groups: into how many groups channels are divided.
        num_channels: channels of the input.
        eps: a small number that keeps a divisor from zero.
        affine: whether there are a weight and a bias for every channel.
        device: where its tensors are; "cpu".
        dtype: the dtype of its parameters; the default one if None.
        bias: whether there is a bias.

    Shape:
        (N, C, ...); it stays.

    >>> import flambeau
    >>> flambeau.nn.GroupNorm(2, 4)(flambeau.ones(1, 4, 3)).shape
    flambeau.Size([1, 4, 3])
    """

    __constants__ = ["num_groups", "num_channels", "eps", "affine"]

    def __init__(
        self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True,
        device: Device | str | None = None, dtype: DType | None = None, *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        if num_groups <= 0 or num_channels % num_groups:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        self._add_parameters([num_channels], affine, affine and bias, device, dtype)
        self.reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        """(N, num_channels, ...); the shape stays."""
        return functional.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """The settings."""
        shown = f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}"
        return f"{shown}, bias={self.bias is not None}"


class LocalResponseNorm(Module):
    """Every value divided by a power of the mean square of `size` channels around it: Krizhevsky et al. (2012).

    Args:
        size: how many neighbouring channels count.
        alpha: the factor of the mean square.
        beta: the exponent.
        k: what is added before the power is taken.

    Shape:
        (N, C, ...); it stays.

    >>> import flambeau
    >>> flambeau.nn.LocalResponseNorm(2)(flambeau.ones(1, 4, 3)).shape
    flambeau.Size([1, 4, 3])
    """

    __constants__ = ["size", "alpha", "beta", "k"]

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = float(k)

    def forward(self, input: Tensor) -> Tensor:
        """The shape stays."""
        return functional.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        """The settings."""
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class CrossMapLRN2d(LocalResponseNorm):
    """The same for pictures, as older models were trained with it: the squares of `(size - 1) // 2` channels on either
    side are added up, from there on that of the first channel too, and divided by `size`.

    Args:
        size: how many neighbouring channels count.
        alpha: the factor of the mean square.
        beta: the exponent.
        k: what is added before the power is taken.

    Shape:
        (N, C, H, W); it stays.

    >>> import flambeau
    >>> flambeau.nn.CrossMapLRN2d(2)(flambeau.ones(1, 4, 3, 3)).shape
    flambeau.Size([1, 4, 3, 3])
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__(size, alpha, beta, k)
        self.k = k

    def forward(self, input: Tensor) -> Tensor:
        """(batch, channels, height, width), which stays. Raises ValueError for other ranks."""
        if input.dim() != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.dim()}D instead.")
        square, side = input * input, (self.size - 1) // 2
        padded = functional.pad(square, [0, 0, 0, 0, side, side])
        total = padded[:, : input.size(1)]
        for k in range(1, 2 * side + 1):
            total = total + padded[:, k : input.size(1) + k]
        total = F.cat([total[:, : side + 1], total[:, side + 1 :] + square[:, :1]], 1)
        return input / (total * (self.alpha / self.size) + self.k) ** self.beta
