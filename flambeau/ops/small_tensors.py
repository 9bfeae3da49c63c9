"""Small tensors for samples of operators."""

from __future__ import annotations

from math import prod

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


def ramp(*sizes: int) -> Tensor:
    """A tensor of float32 that counts from 0.

    >>> ramp(2, 2)
    tensor([[0., 1.],
            [2., 3.]])
    """
    return wrap(np.arange(prod(sizes), dtype=np.float32).reshape(sizes))


def mixed(*sizes: int) -> Tensor:
    """A tensor of float32 with numbers from 0 to 2.75 in no order, of which the first 23 are different.

    >>> mixed(4)
    tensor([0.0000, 1.7500, 0.6250, 2.3750])
    """
    return wrap(((np.arange(prod(sizes), dtype=np.float32) * 37 % 23) / 8).reshape(sizes))


def signed(*sizes: int) -> Tensor:
    """A tensor of float32 with numbers of both signs in no order: those of `mixed` less 1.

    >>> signed(4)
    tensor([-1.0000,  0.7500, -0.3750,  1.3750])
    """
    return wrap(((np.arange(prod(sizes), dtype=np.float32) * 37 % 23) / 8 - 1).reshape(sizes))


def evenly(*sizes: int) -> Tensor:
    """A tensor of float32 with numbers from -1 to 1, evenly apart.

    >>> evenly(5)
    tensor([-1.0000, -0.5000,  0.0000,  0.5000,  1.0000])
    """
    return wrap(np.linspace(-1, 1, prod(sizes), dtype=np.float32).reshape(sizes))
