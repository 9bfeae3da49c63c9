"""Allocators of others in place of this one: CuPy's pools, RMM's, functions of a shared library."""

from __future__ import annotations

import ctypes
from collections import deque
from typing import Any, Protocol

from flambeau.cuda import capturing, library
from flambeau.cuda.devices import device as using


class Allocator(Protocol):
    """What `change_current_allocator` takes: two methods, called with the device in use."""

    def allocate(self, nbytes: int, device: int, stream: int) -> int:
        """The address of new memory, for work of a stream."""

    def free(self, address: int, nbytes: int, device: int, stream: int) -> None:
        """Take memory back, in the order of the stream it was asked for."""


class CUDAPluggableAllocator:
    """An allocator of two C functions in a shared library.

    Args:
        path_to_so_file: the library.
        alloc_fn_name: `void* f(ssize_t size, int device, cudaStream_t stream)`.
        free_fn_name: `void f(void* ptr, ssize_t size, int device, cudaStream_t stream)`.

    Raises OSError if the library cannot be loaded, AttributeError if it has no such function.

    >>> import flambeau
    >>> flambeau.cuda.CUDAPluggableAllocator("none.so", "my_malloc", "my_free")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    OSError: none.so: cannot open shared object file: ...
    """

    def __init__(self, path_to_so_file: str, alloc_fn_name: str, free_fn_name: str) -> None:
        shared_object = ctypes.CDLL(path_to_so_file)
        self._allocate, self._free = shared_object[alloc_fn_name], shared_object[free_fn_name]
        self._allocate.restype = ctypes.c_void_p
        self._allocate.argtypes = [ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p]
        self._free.restype = None
        self._free.argtypes = [ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p]

    def allocate(self, nbytes: int, device: int, stream: int) -> int:
        """The address that the function gives. Raises MemoryError for NULL."""
        address = self._allocate(nbytes, device, stream)
        if not address:
            raise MemoryError(f"the allocator gave no memory for {nbytes} bytes on cuda:{device}")
        return int(address)

    def free(self, address: int, nbytes: int, device: int, stream: int) -> None:
        """Call the function."""
        self._free(address, nbytes, device, stream)


class CupyAllocator:
    """An allocator of CuPy's kind: a function of a number of bytes that gives a `cupy.cuda.MemoryPointer`.

    `CupyAllocator(cupy.get_default_memory_pool().malloc)` is CuPy's own pool,
    `CupyAllocator(rmm.allocators.cupy.rmm_cupy_allocator)` is RMM's current resource.

    >>> from flambeau.cuda.library import cupy  # the module; programs write `import cupy`
    >>> own = CupyAllocator(cupy().get_default_memory_pool().malloc)
    >>> address = own.allocate(1000, device=0, stream=0)
    >>> own.free(address, 1000, device=0, stream=0)
    """

    def __init__(self, function: Any) -> None:
        self._function = function
        self._pointers: dict[int, Any] = {}

    def allocate(self, nbytes: int, device: int, stream: int) -> int:
        """The address of what the function gives."""
        pointer = self._function(nbytes)
        address = int(pointer.ptr)
        self._pointers[address] = pointer
        return address

    def free(self, address: int, nbytes: int, device: int, stream: int) -> None:
        """Let it go."""
        del self._pointers[address]


class ForeignBlock:
    """Memory of another allocator that somebody has, given back when nobody has this object any more."""

    __slots__ = ("__weakref__", "_by", "_stream", "_streams", "address", "device", "nbytes")

    def __init__(self, by: Allocator, nbytes: int, device: int, stream: int) -> None:
        self._by, self.nbytes, self.device, self._stream = by, nbytes, device, stream
        self._streams: set[int] = set()
        self.address = 0
        with using(device):
            self.address = by.allocate(nbytes, device, stream)
        allocations[self.address] = self._streams

    def __del__(self) -> None:
        if not self.address:
            return
        allocations.pop(self.address, None)
        if self._streams:
            _given_back.append((self._by, self.address, self.nbytes, self.device, self._stream, self._streams))
        else:
            with using(self.device):
                self._by.free(self.address, self.nbytes, self.device, self._stream)


allocations: dict[int, set[int]] = {}
"""Other streams that use a block, by its address."""
_given_back: deque[Any] = deque()
"""Blocks that other streams may still use."""
_waiting: deque[Any] = deque()


def free_passed() -> None:
    """Give back the blocks that no stream uses any more."""
    if capturing.underway:
        return
    cuda = library.cupy().cuda
    while _given_back:
        *block, streams = _given_back.popleft()
        device = block[3]
        events = []
        with using(device):
            for handle in streams:
                events.append(cuda.Event(disable_timing=True))
                events[-1].record(library.stream_of(handle))
        _waiting.append((block, events))
    while _waiting and all(event.done for event in _waiting[0][1]):
        (by, *arguments), _ = _waiting.popleft()
        with using(arguments[2]):
            by.free(*arguments)
