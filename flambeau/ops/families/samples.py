"""Small tensors for the samples of declarations."""

from __future__ import annotations

from math import prod

from flambeau.tensor.array_library import np
from flambeau.tensor.tensor import Tensor, wrap


def sample(*shape: int) -> Tensor:
    """0, 1, 2, ... as a float32 tensor of that shape."""
    return wrap(np.arange(prod(shape), dtype=np.float32).reshape(shape))


def longs(*values: int) -> Tensor:
    """An int64 vector."""
    return wrap(np.array(values, np.int64))
