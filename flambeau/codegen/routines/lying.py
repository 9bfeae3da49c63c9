"""How arrays lie in memory: what launches of routines are made from, without an element to look at."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from flambeau.util.record import dataclass


@dataclass(frozen=True, slots=True)
class Lying:
    """The dtype, sizes and strides of an array. Sizes and strides may be numbers of a recording.

    >>> a = Lying.of(np.zeros((2, 3), np.float32))
    >>> a.shape, a.strides, a.ndim, a.is_dense()
    ((2, 3), (12, 4), 2, True)
    """

    dtype: np.dtype[Any]
    shape: tuple[Any, ...]
    strides: tuple[Any, ...]

    @classmethod
    def of(cls, array: np.ndarray[Any, Any]) -> Lying:
        """How an array lies."""
        return cls(array.dtype, array.shape, array.strides)

    @classmethod
    def dense(cls, dtype: np.dtype[Any], shape: Sequence[Any]) -> Lying:
        """What lies row-major."""
        steps = tuple([dtype.itemsize * prod(shape[k + 1 :]) for k in range(len(shape))])
        return cls(dtype, tuple(shape), steps)

    def key(self) -> tuple[Any, ...]:
        """What tells it from others that lie differently."""
        return self.dtype, self.shape, self.strides

    @property
    def ndim(self) -> int:
        """How many dimensions it has."""
        return len(self.shape)

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self.dtype.itemsize

    @property
    def size(self) -> Any:
        """How many elements it has."""
        return prod(self.shape)

    def first(self, dims: int = 1) -> Lying:
        """The first part along the first dimensions."""
        return Lying(self.dtype, self.shape[dims:], self.strides[dims:])

    def expanded(self, dims: int, at: int = 0) -> Lying:
        """With so many dimensions of one element more at a place."""
        ones, steps = (1,) * dims, (0,) * dims
        return Lying(
            self.dtype, self.shape[:at] + ones + self.shape[at:], self.strides[:at] + steps + self.strides[at:]
        )

    def transposed(self, *order: int) -> Lying:
        """With its dimensions in another order."""
        return Lying(self.dtype, tuple([self.shape[k] for k in order]), tuple([self.strides[k] for k in order]))

    def sized(self, count: Any) -> Lying:
        """As many elements of the first dimension, from wherever."""
        return Lying(self.dtype, (count, *self.shape[1:]), self.strides)

    def is_dense(self) -> bool:
        """Whether elements follow each other row by row."""
        if any(n == 0 for n in self.shape):
            return True
        step: Any = self.itemsize
        for n, own in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if n != 1 and own != step:
                return False
            step = step * n
        return True


def is_channels_last(a: Lying) -> bool:
    """Whether channels are innermost in memory, and not merely by having one size."""
    return not a.is_dense() and a.transposed(0, *range(2, a.ndim), 1).is_dense()
