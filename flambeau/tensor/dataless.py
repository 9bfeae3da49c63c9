"""Memory that is only addresses: what tensors without data show.

A tensor without data has sizes, strides and a dtype as any other, so that views and rules need not know. Its array lies
over pages that the system promises and never provides: reading gives zeros, writing is refused by NumPy. Nobody reads:
operators on such tensors go to those who know that there is no data (`flambeau.tensor.below`).

>>> storage = DatalessStorage(Device("meta"), 1 << 31)
>>> storage.nbytes() == 1 << 31, storage.device
(True, device(type='meta'))
"""

from __future__ import annotations

import functools
import mmap
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from flambeau.schema.device import Device
from flambeau.schema.dtype import DType
from flambeau.tensor import layout
from flambeau.tensor.storage import Storage
from flambeau.tensor.tensor import Array

LARGEST: Final = (1 << 46, 1 << 43, 1 << 40, 1 << 36, 1 << 32)
"""Bytes to ask the system for: as many as it promises."""
TOO_LARGE: Final = (
    "a tensor of {nbytes:,} bytes is too large, though it has no data: the system promises this process addresses for "
    "{most:,} bytes. A limit on these, as `ulimit -v` sets, can be lifted with `ulimit -v unlimited`"
)


@functools.cache
def _reserved() -> Array:
    """Pages for all tensors without data."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0x4000)
    for size in LARGEST:
        try:
            return np.frombuffer(mmap.mmap(-1, size, flags=flags, prot=mmap.PROT_READ), np.uint8)
        except OSError:
            continue
    raise MemoryError("the system promises no addresses for tensors without data")


class DatalessStorage(Storage):
    """An extent without memory, on a device that need not exist."""

    __slots__ = ("_device",)
    has_data = False

    def __init__(self, device: Device, nbytes: int) -> None:
        pages = _reserved()
        if nbytes > pages.size:
            raise RuntimeError(TOO_LARGE.format(nbytes=nbytes, most=pages.size))
        super().__init__(pages[:nbytes])
        self._device = device

    @property
    def device(self) -> Device:
        """The device that its tensors name."""
        return self._device

    def data_ptr(self) -> int:
        """0: there is no data."""
        return 0

    def __reduce__(self) -> Any:
        return (DatalessStorage, (self._device, self.nbytes()))

    def __deepcopy__(self, memo: dict[int, Any]) -> Storage:
        result = memo[id(self)] = DatalessStorage(self._device, self.nbytes())
        return result


def window(
    sizes: Sequence[int], strides: Sequence[int] | None, dtype: DType, device: Device, offset: int = 0
) -> tuple[Array, Storage]:
    """An array with these sizes and strides (in elements; row-major if None) over a storage without memory.

    Raises RuntimeError for more bytes than there are addresses.
    """
    steps = layout.contiguous_strides(sizes) if strides is None else strides
    item = dtype.itemsize
    storage = DatalessStorage(device, (offset + layout.min_storage_elements(sizes, steps)) * item)
    byte_strides = [s * item for s in steps]
    if 0 in sizes:
        return np.ndarray(tuple(sizes), dtype.numpy, bytearray(), 0, byte_strides), storage
    return np.ndarray(tuple(sizes), dtype.numpy, storage.base, offset * item, byte_strides), storage
