"""The memory behind tensors: `allocate` gives blocks, which go back by themselves.

Memory of a device is asked for in segments, kept when nobody has a part of it, and given out again in the order of
streams, so that neither asking nor giving back waits for the device. `cupy_allocator` gives CuPy's temporaries memory
of the same.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from flambeau.cuda import capturing, library
from flambeau.cuda.allocator import foreign
from flambeau.cuda.allocator.chunks import Block, Pool
from flambeau.cuda.allocator.device_allocator import DeviceAllocator
from flambeau.util.locks import Lock

Handle = tuple[int, int]
"""What names a pool of memory that graphs share."""


class _State:
    """The allocators of this process."""

    def __init__(self) -> None:
        self.of_devices: dict[tuple[int, int], DeviceAllocator] = {}
        """By library and device."""
        self.foreign: foreign.Allocator | None = None
        self.lock = Lock()


class _ChosenPools(threading.local):
    """The pools that this thread asks, by device."""

    def __init__(self) -> None:
        self.by_device: dict[int, Pool] = {}


_state = _State()
_chosen = _ChosenPools()
_numbers = itertools.count(1)


def of_device(device: int) -> DeviceAllocator:
    """The allocator of a device."""
    key = library.which(), device
    allocator = _state.of_devices.get(key)
    if allocator is None:
        with _state.lock:
            allocator = _state.of_devices.setdefault(key, DeviceAllocator(device))
    return allocator


def in_use() -> list[DeviceAllocator]:
    """The allocators of devices that somebody asked for memory."""
    used = library.which()
    return [allocator for (of, _), allocator in sorted(_state.of_devices.items()) if of == used]


def allocate(nbytes: int, device: int, stream: Any = None) -> Block | foreign.ForeignBlock:
    """Memory of a device for work of a stream.

    Args:
        nbytes: how many bytes; for 0 there is an address, too.
        device: the device's number.
        stream: CuPy's object for the stream, the one in use there if None.

    Raises OutOfMemoryError where there is too little.
    """
    if stream is None:
        stream = library.cupy().cuda.get_current_stream(device)
    if _state.foreign is not None:
        foreign.free_passed()
        return foreign.ForeignBlock(_state.foreign, nbytes or 1, device, stream.ptr)
    pool: Pool | None = None
    if capturing.underway and (capture := capturing.capture_of(device, stream)) is not None:
        pool = capture.pool
    elif _chosen.by_device:
        pool = _chosen.by_device.get(device)
    return of_device(device).allocate(nbytes, stream.ptr, pool)


def cupy_allocator(nbytes: int) -> Any:
    """Memory of the device in use as CuPy has it, for `cupy.cuda.using_allocator`."""
    cuda = library.cupy().cuda
    device = cuda.runtime.getDevice()
    block = allocate(nbytes, device)
    return cuda.MemoryPointer(cuda.UnownedMemory(block.address, nbytes or 1, block, device), 0)


def temporaries() -> AbstractContextManager[None]:
    """Within the block, CuPy's functions have their memory of `allocate` in this thread."""
    block: AbstractContextManager[None] = library.cupy().cuda.using_allocator(cupy_allocator)
    return block


def used_by(address: int, device: int, stream: int) -> None:
    """A stream (by its handle) uses memory: it is given out again when that has got past.

    Raises ValueError for an address in no block.
    """
    streams = foreign.allocations.get(address)
    if streams is not None:
        streams.add(stream)
    else:
        of_device(device).used_by(address, stream)


def change(allocator: foreign.Allocator | None) -> None:
    """Blocks are asked of another allocator from now on; None for this one. Those that there are go back to theirs."""
    _state.foreign = allocator


def current() -> foreign.Allocator | None:
    """The allocator of others that is in use; None for this one."""
    return _state.foreign


def new_handle() -> Handle:
    """A name for a pool that does not exist yet."""
    return 0, next(_numbers)


@contextmanager
def asking(pool: Pool, device: int) -> Iterator[None]:
    """Within the block, this thread's allocations on a device are of a pool."""
    before = _chosen.by_device.get(device)
    _chosen.by_device[device] = pool
    try:
        yield
    finally:
        if before is None:
            del _chosen.by_device[device]
        else:
            _chosen.by_device[device] = before
