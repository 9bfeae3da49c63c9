"""Initial values of parameters. Each function fills its tensor in place and returns it."""

from __future__ import annotations

import math

from flambeau.tensor import dispatch
from flambeau.tensor.tensor import Tensor


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0) -> Tensor:
    """Fill with draws from the uniform distribution on [a, b)."""
    dispatch.call("aten::uniform_", tensor, a, b)
    return tensor


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0) -> Tensor:
    """Fill with draws from the normal distribution."""
    dispatch.call("aten::normal_", tensor, mean, std)
    return tensor


def constant_(tensor: Tensor, value: float) -> Tensor:
    """Fill with one value."""
    dispatch.call("aten::fill_", tensor, value)
    return tensor


def zeros_(tensor: Tensor) -> Tensor:
    """Fill with 0."""
    return constant_(tensor, 0.0)


def ones_(tensor: Tensor) -> Tensor:
    """Fill with 1."""
    return constant_(tensor, 1.0)


def fans(tensor: Tensor) -> tuple[int, int]:
    """How many inputs and outputs one unit of a weight has: (columns, rows), times the receptive field.

    Raises ValueError for a tensor of fewer than two dimensions.
    """
    if tensor.dim() < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


def kaiming_uniform_(tensor: Tensor, a: float = 0.0) -> Tensor:
    """Uniform with variance 2 / ((1 + a^2) fan_in): He et al. (2015), for leaky rectifiers of slope `a`."""
    bound = math.sqrt(6.0 / ((1.0 + a * a) * fans(tensor)[0])) if tensor.numel() else 0.0
    return uniform_(tensor, -bound, bound)


def xavier_uniform_(tensor: Tensor, gain: float = 1.0) -> Tensor:
    """Uniform with variance 2 gain^2 / (fan_in + fan_out): Glorot and Bengio (2010)."""
    bound = gain * math.sqrt(6.0 / sum(fans(tensor)))
    return uniform_(tensor, -bound, bound)
