"""The memory of the pretended devices, at addresses that the host cannot read, and beside them ones that it can."""

from __future__ import annotations

import bisect
import ctypes
import os
from typing import Any

import numpy as np

from tests.cuda.pretended.errors import (
    ILLEGAL_ADDRESS,
    INVALID_VALUE,
    MEMORY_ALLOCATION,
    CUDARuntimeError,
)

DEVICES = 2
SIZE = 512 << 20
"""Bytes of each device."""
ALIGNMENT = 512
GARBAGE_UP_TO = 1 << 20
"""New memory up to this size is full of garbage."""
_NONE, _READ, _WRITE, _SHARED = 0, 1, 2, 1


def _mapped(descriptor: int, protection: int) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    address = libc.mmap(None, DEVICES * SIZE, protection, _SHARED, descriptor, 0)
    if address in (None, ctypes.c_void_p(-1).value):
        raise OSError(ctypes.get_errno(), "mmap")
    return int(address)


class Region:
    """The memory of one device."""

    def __init__(self, start: int) -> None:
        self.start = start
        self.total = SIZE
        self.sizes: dict[int, int] = {}
        """Bytes of what is allocated, by address."""
        self.order: list[int] = []
        """Their addresses, sorted."""
        self.holes = [(start, SIZE)]

    @property
    def allocated(self) -> int:
        return sum(self.sizes.values())

    def allocate(self, nbytes: int) -> int:
        """The address of new memory; raises as the runtime does if there is too little."""
        size = -(-max(nbytes, 1) // ALIGNMENT) * ALIGNMENT
        if self.allocated + size <= self.total:
            for number, (address, space) in enumerate(self.holes):
                if space >= size:
                    self.holes[number : number + 1] = [(address + size, space - size)] if space > size else []
                    self.sizes[address] = size
                    bisect.insort(self.order, address)
                    return address
        raise CUDARuntimeError(MEMORY_ALLOCATION)

    def free(self, address: int) -> None:
        """Give memory back; raises as the runtime does for what is not allocated."""
        size = self.sizes.pop(address, None)
        if size is None:
            raise CUDARuntimeError(INVALID_VALUE)
        self.order.remove(address)
        holes = sorted([*self.holes, (address, size)])
        self.holes = [holes[0]]
        for start, space in holes[1:]:
            before, length = self.holes[-1]
            if before + length == start:
                self.holes[-1] = (before, length + space)
            else:
                self.holes.append((start, space))

    def holds(self, address: int, nbytes: int) -> bool:
        """Whether these bytes lie in one allocation."""
        place = bisect.bisect_right(self.order, address) - 1
        if place < 0:
            return False
        start = self.order[place]
        return address + nbytes <= start + self.sizes[start]


class Arena:
    """The memory of all devices."""

    def __init__(self) -> None:
        descriptor = os.memfd_create("devices")
        os.ftruncate(descriptor, DEVICES * SIZE)
        self.first = _mapped(descriptor, _NONE)
        self.readable = _mapped(descriptor, _READ | _WRITE)
        os.close(descriptor)
        self.distance = self.readable - self.first
        self.regions = [Region(self.first + k * SIZE) for k in range(DEVICES)]
        memory = (ctypes.c_uint8 * (DEVICES * SIZE)).from_address(self.readable)
        self.bytes: Any = np.frombuffer(memory, np.uint8)
        self.mistakes: list[str] = []
        """What was done wrong, also where nobody could be told."""

    def device_of(self, address: int) -> int | None:
        """Whose memory an address is; None for the host's."""
        place = address - self.first
        return place // SIZE if 0 <= place < DEVICES * SIZE else None

    def allocate(self, nbytes: int, device: int) -> int:
        address = self.regions[device].allocate(nbytes)
        self.view(address, min(nbytes, GARBAGE_UP_TO)).fill(0xA5)
        return address

    def free(self, address: int) -> None:
        device = self.device_of(address)
        try:
            if device is None:
                raise CUDARuntimeError(INVALID_VALUE)
            nbytes = self.regions[device].sizes.get(address, 0)
            self.regions[device].free(address)
        except CUDARuntimeError:
            self.mistakes.append(f"freed {address:#x}, which is not allocated")
            raise
        self.view(address, min(nbytes, GARBAGE_UP_TO)).fill(0x5A)

    def check(self, address: int, nbytes: int) -> None:
        """Raise as the runtime does if these bytes of a device are not allocated."""
        device = self.device_of(address)
        if nbytes and (device is None or not self.regions[device].holds(address, nbytes)):
            self.mistakes.append(f"used {nbytes} bytes at {address:#x}, which are not allocated")
            raise CUDARuntimeError(ILLEGAL_ADDRESS)

    def view(self, address: int, nbytes: int) -> Any:
        """Bytes of a device, as the host can read and write them."""
        at = address - self.first
        return self.bytes[at : at + nbytes]

    def on_host(self, address: int) -> int:
        """Where the host can read an address; the same for an address of the host."""
        return address if self.device_of(address) is None else address + self.distance

    def on_device(self, address: int) -> int | None:
        """The device's address of what the host reads here; None for other memory of the host."""
        found = address - self.distance
        return None if self.device_of(found) is None else found


arena = Arena()
"""All tests of a process share it: what caches keep stays good."""
