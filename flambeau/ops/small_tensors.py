"""Vectors for samples of operators."""

from __future__ import annotations

from flambeau.tensor.array_library import np
from flambeau.tensor.tensor import Tensor, wrap


def ints(*values: int) -> Tensor:
    """A vector of int64.

    >>> ints(1, 2)
    tensor([1, 2])
    """
    return wrap(np.array(values))


def floats(*values: float) -> Tensor:
    """A vector of float32.

    >>> floats(1, 2)
    tensor([1., 2.])
    """
    return wrap(np.array(values, np.float32))
