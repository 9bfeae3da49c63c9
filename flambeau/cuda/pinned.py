"""Memory of the host that stays where it is, so that devices copy to and from it while the host goes on."""

from __future__ import annotations

import numpy as np

from flambeau.cuda import library
from flambeau.cuda.storage import Extent
from flambeau.tensor.tensor import Tensor, wrap


class _PinnedExtent(Extent):
    """An extent of such memory."""

    __slots__ = ()


def empty_like(tensor: Tensor) -> Tensor:
    """A tensor of the host in such memory with the sizes and dtype of another, row-major, not initialised.

    Raises RuntimeError where no device can be used.
    """
    array = tensor._array
    block = library.cupy().cuda.alloc_pinned_memory(max(array.nbytes, 1))
    memory = np.asarray(_PinnedExtent(int(block.ptr), max(array.nbytes, 1), block))
    return wrap(np.ndarray(array.shape, array.dtype, memory))


def is_pinned(tensor: Tensor) -> bool:
    """Whether a tensor's memory stays where it is.

    >>> is_pinned(wrap(np.ones(2)))
    False
    """
    return isinstance(tensor._storage.owner, _PinnedExtent)
