"""Memory of a device, as the storage behind tensors.

The array of a tensor on a device has the device's addresses: sizes, strides and views are as everywhere, but nobody on
the host may read what is there. Tensors on a device have a class of their own (`flambeau.cuda.tensors`), so that
calls go to those who know.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from flambeau.cuda import blame, capturing, late_errors, library
from flambeau.cuda.allocator import allocate
from flambeau.cuda.devices import device as using
from flambeau.cuda.devices import index_of
from flambeau.schema.device import Device
from flambeau.tensor.storage import Storage

Array = np.ndarray[Any, Any]
TO_DEVICE, TO_HOST, WITHIN = 1, 2, 3
"""Directions of copies, as CUDA numbers them."""


class Extent:
    """An array interface over addresses of a device, which keeps their owner alive."""

    __slots__ = ("__array_interface__", "owner")

    def __init__(self, address: int, nbytes: int, owner: Any) -> None:
        self.owner = owner
        self.__array_interface__ = {"data": (address, False), "shape": (nbytes,), "typestr": "|u1", "version": 3}


def extent(address: int, nbytes: int, owner: Any) -> Array:
    """A row of bytes at addresses of a device; it keeps `owner` alive and must not be read."""
    return np.asarray(Extent(address, nbytes, owner)) if nbytes else np.empty(0, np.uint8)


class CudaStorage(Storage):
    """An extent of a device's memory, freed with the last tensor that looks at it."""

    __slots__ = ("_device", "block")

    block: Any
    """What owns the memory."""

    def __init__(self, device: Device, nbytes: int, block: Any = None, address: int = 0) -> None:
        """`block` is memory that somebody has, at an address; without one, memory is allocated."""
        if block is None and nbytes:
            block = allocate(nbytes, index_of(device))
            address = block.address
        super().__init__(extent(address, nbytes, block))
        self._bytes = self.base
        self._device = device
        self.block = block

    @property
    def device(self) -> Device:
        """The device, with its number."""
        return self._device

    def host_bytes(self) -> Any:
        """The whole extent, copied to the host when the device has done what it was given before."""
        copied = np.empty(self.nbytes(), np.uint8)
        copy(copied.ctypes.data, self.address, self.nbytes(), TO_HOST, self._device)
        return copied.tobytes()

    def __reduce__(self) -> Any:
        return (_restored, (str(self._device), self.host_bytes()))

    def __deepcopy__(self, memo: dict[int, Any]) -> Storage:
        result = memo[id(self)] = CudaStorage(self._device, self.nbytes())
        copy(result.address, self.address, self.nbytes(), WITHIN, self._device)
        return result


def _restored(device: str, content: bytes) -> CudaStorage:
    """The storage that was pickled, on the device of that name."""
    result = CudaStorage(Device(device), len(content))
    copy(result.address, np.frombuffer(content, np.uint8).ctypes.data, len(content), TO_DEVICE, result.device)
    return result


def copy(target: int, source: int, nbytes: int, direction: int, device: Device, *, waits: bool = True) -> None:
    """Copy bytes between addresses, in the order of a device's current stream; `waits` for the end of it, but for
    copies that stay on the device."""
    if not nbytes:
        return
    if waits and direction != WITHIN and capturing.underway:
        capturing.refuse_waiting("a copy between host and device")
    with using(device.index):
        cuda = library.cupy().cuda
        stream = cuda.get_current_stream()
        with blame.telling():
            cuda.runtime.memcpyAsync(target, source, nbytes, direction, stream.ptr)
            if waits and direction != WITHIN:
                stream.synchronize()
                late_errors.tell()
