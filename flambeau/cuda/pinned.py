"""Memory of the host that stays where it is, so that devices copy to and from it while the host goes on."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from flambeau.cuda import capturing, library
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


_copied: Final[list[tuple[Any, Any]]] = []
"""Events behind copies that nobody waits for, with the memory that they read."""


def keep_until_copied(tensor: Tensor) -> None:
    """Keep the memory of a tensor that the stream in use copies from until it has done so: nobody gets it before."""
    if not is_pinned(tensor):
        return  # the driver has taken what it needs
    owner, cuda = tensor._storage.owner, library.cupy().cuda
    capture = None
    if capturing.underway:
        capture = capturing.capture_of(int(cuda.runtime.getDevice()), cuda.get_current_stream())
    if capture is not None:
        capture.kept.append(owner)  # each replay reads it
        return
    event = cuda.Event(disable_timing=True)
    event.record()
    while _copied and _copied[0][0].done:
        del _copied[0]
    _copied.append((event, owner))


def is_pinned(tensor: Tensor) -> bool:
    """Whether a tensor's memory stays where it is.

    >>> is_pinned(wrap(np.ones(2)))
    False
    """
    return isinstance(tensor._storage.owner, _PinnedExtent)
