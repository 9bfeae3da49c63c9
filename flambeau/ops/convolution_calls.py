"""Convolutions that were called before: with arrays that lie as those did, nothing needs to be checked again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Generic, TypeVar

from flambeau.cuda.cudnn.convolutions import convolution
from flambeau.ops.families.arrays import Array
from flambeau.tensor.array_library import np
from flambeau.util.inversions import CONVOLUTION

Ints = Sequence[int]
Fill = Callable[[Array, Array, Array | None, Array], None]
"""Fills a result, the last array, from input, weight and bias."""
MOST: Final = 256
"""Calls that are remembered; the oldest goes first."""


def look(*arrays: Array | None) -> tuple[Any, ...]:
    """What native code and checks depend on of arrays, of NumPy or a device."""
    return tuple([None if a is None else (type(a), a.dtype, a.shape, a.strides) for a in arrays])


def fill_for(
    x: Array, weight: Array, result: Array, stride: Ints, padding: Ints, dilation: Ints, groups: int, transposed: bool
) -> Fill | None:
    """What fills a result for arrays that lie as these: native code, or cuDNN for arrays of a device; None if there is
    no such thing."""
    find = CONVOLUTION.implementation if type(x) is np.ndarray else convolution
    fill: Fill | None = find(x, weight, result, stride, padding, dilation, groups, transposed)
    return fill


class Known:
    """A call that runs natively and gives a row-major result."""

    __slots__ = ("_dtype", "_fill", "_sizes")

    def __init__(self, sizes: tuple[int, ...], dtype: np.dtype[Any], fill: Fill) -> None:
        self._sizes, self._dtype, self._fill = sizes, dtype, fill

    def run(self, input: Array, weight: Array, bias: Array | None) -> Array:
        """The result for arrays that look as those of the first call."""
        result = np.empty(self._sizes, self._dtype)
        self._fill(input, weight, bias, result)
        return result


T = TypeVar("T")


class KnownCalls(Generic[T]):
    """Calls by how their arrays look and what else they are given; the oldest goes when there are too many."""

    def __init__(self) -> None:
        self._calls: dict[tuple[Any, ...], T] = {}
        self.get = self._calls.get

    def put(self, key: tuple[Any, ...], call: T) -> None:
        """Remember a call."""
        while len(self._calls) >= MOST:
            self._calls.pop(next(iter(self._calls)), None)
        self._calls[key] = call


KNOWN: Final = KnownCalls[Known]()
"""Convolutions, forward and transposed."""


def learn(key: tuple[Any, ...], input: Array, bias: Array | None, result: Array, fill: Fill | None) -> None:
    """Remember a convolution that `fill` ran, if later ones need no more than that."""
    is_plain = result.dtype == input.dtype and result.ndim == input.ndim and result.flags.c_contiguous
    if fill is not None and is_plain and (bias is None or bias.flags.c_contiguous):
        KNOWN.put(key, Known(result.shape, result.dtype, fill))
