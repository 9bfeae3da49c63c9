"""CuPy's objects for memory: what owns it, pointers into it, pools."""

from __future__ import annotations

import ctypes
import threading
from contextlib import contextmanager
from typing import Any

from tests.cuda.pretended import runtime
from tests.cuda.pretended.arena import ALIGNMENT, arena
from tests.cuda.pretended.engine import engine
from tests.cuda.pretended.errors import CUDARuntimeError, OutOfMemoryError
from tests.cuda.pretended.streams import current


class BaseMemory:
    """Memory of a device."""

    ptr: int
    size: int
    device_id: int


class Memory(BaseMemory):
    """Memory that is given back when nobody has this object."""

    def __init__(self, size: int) -> None:
        self.ptr, self.size, self.device_id = 0, size, engine.device
        if size:
            self.ptr = runtime.malloc(size)

    def __del__(self) -> None:
        if getattr(self, "ptr", 0) and runtime is not None:  # at the end of the process modules go
            runtime.free(self.ptr)
            self.ptr = 0


class UnownedMemory(BaseMemory):
    """Memory that somebody else has, kept alive by this object."""

    def __init__(self, ptr: int, size: int, owner: object, device_id: int = -1) -> None:
        found = arena.device_of(ptr)
        if device_id < 0:
            device_id = engine.device if found is None else found
        self.ptr, self.size, self.owner, self.device_id = ptr, size, owner, device_id


class MemoryPointer:
    """A place in memory."""

    def __init__(self, mem: BaseMemory, offset: int) -> None:
        self.mem, self.ptr, self.device_id = mem, mem.ptr + offset, mem.device_id

    def __int__(self) -> int:
        return self.ptr

    def __add__(self, offset: int) -> MemoryPointer:
        return MemoryPointer(self.mem, self.ptr - self.mem.ptr + offset)

    def memset(self, value: int, size: int) -> None:
        runtime.memset(self.ptr, value, size)

    def memset_async(self, value: int, size: int, stream: Any = None) -> None:
        runtime.memsetAsync(self.ptr, value, size, (current() if stream is None else stream).ptr)

    def copy_from_device_async(self, src: MemoryPointer, size: int, stream: Any = None) -> None:
        runtime.memcpyAsync(self.ptr, src.ptr, size, 3, (current() if stream is None else stream).ptr)

    def copy_from_host(self, mem: Any, size: int) -> None:
        runtime.memcpy(self.ptr, mem.value if isinstance(mem, ctypes.c_void_p) else int(mem), size, 1)

    def copy_from_host_async(self, mem: Any, size: int, stream: Any = None) -> None:
        address = mem.value if isinstance(mem, ctypes.c_void_p) else int(mem)
        runtime.memcpyAsync(self.ptr, address, size, 1, (current() if stream is None else stream).ptr)

    def copy_to_host(self, mem: Any, size: int) -> None:
        runtime.memcpy(mem.value if isinstance(mem, ctypes.c_void_p) else int(mem), self.ptr, size, 2)


class _Pooled(BaseMemory):
    """Memory of a pool, which it goes back to."""

    def __init__(self, memory: Memory, pool: MemoryPool, key: tuple[int, int, int]) -> None:
        self.memory, self.pool, self.key = memory, pool, key
        self.ptr, self.size, self.device_id = memory.ptr, memory.size, memory.device_id

    def __del__(self) -> None:
        pool = getattr(self, "pool", None)
        if pool is not None:
            pool.take_back(self.memory, self.key)


class MemoryPool:
    """Memory that is used again by the stream that gave it back."""

    def __init__(self, allocator: Any = None) -> None:
        self.free_memory: dict[tuple[int, int, int], list[Memory]] = {}
        self.used = 0
        self.lock = threading.RLock()

    def malloc(self, size: int) -> MemoryPointer:
        if size == 0:
            return MemoryPointer(Memory(0), 0)
        size = -(-size // ALIGNMENT) * ALIGNMENT
        key = (engine.device, current().ptr, size)
        with self.lock:
            again = self.free_memory.get(key)
            memory = again.pop() if again else self._new(size)
            self.used += size
        return MemoryPointer(_Pooled(memory, self, key), 0)

    def _new(self, size: int) -> Memory:
        try:
            return Memory(size)
        except CUDARuntimeError as error:
            if error.status != 2:
                raise
        self.free_all_blocks()
        try:
            return Memory(size)
        except CUDARuntimeError as error:
            if error.status != 2:
                raise
            raise OutOfMemoryError(size, self.total_bytes()) from None

    def take_back(self, memory: Memory, key: tuple[int, int, int]) -> None:
        with self.lock:
            self.used -= key[2]
            self.free_memory.setdefault(key, []).append(memory)

    def free_all_blocks(self, stream: Any = None) -> None:
        with self.lock:
            self.free_memory.clear()

    def used_bytes(self) -> int:
        return self.used

    def free_bytes(self) -> int:
        return sum(key[2] * len(found) for key, found in self.free_memory.items())

    def total_bytes(self) -> int:
        return self.used_bytes() + self.free_bytes()

    def n_free_blocks(self) -> int:
        return sum(map(len, self.free_memory.values()))


class PythonFunctionAllocator:
    """Memory by two functions: `malloc(nbytes, device)` gives an address, `free(address, device)` takes it back."""

    def __init__(self, malloc_func: Any, free_func: Any) -> None:
        self.malloc_func, self.free_func = malloc_func, free_func

    def malloc(self, size: int) -> MemoryPointer:
        return MemoryPointer(_ByFunctions(size, self), 0)


class _ByFunctions(BaseMemory):
    def __init__(self, size: int, by: PythonFunctionAllocator) -> None:
        self.ptr, self.size, self.device_id, self.by = 0, size, engine.device, by
        if size:
            self.ptr = by.malloc_func(size, self.device_id)

    def __del__(self) -> None:
        if getattr(self, "ptr", 0):
            self.by.free_func(self.ptr, self.device_id)


pool = MemoryPool()
_default: list[Any] = [pool.malloc]
_local = threading.local()


def get_allocator() -> Any:
    return getattr(_local, "allocator", None) or _default[0]


def set_allocator(allocator: Any = None) -> None:
    if getattr(_local, "allocator", None) is not None:
        raise ValueError("Can't change the global allocator inside `using_allocator` context manager")
    _default[0] = allocator or _raw


def _raw(size: int) -> MemoryPointer:
    return MemoryPointer(Memory(size), 0)


@contextmanager
def using_allocator(allocator: Any = None) -> Any:
    before = getattr(_local, "allocator", None)
    _local.allocator = allocator or _raw
    try:
        yield
    finally:
        _local.allocator = before


def alloc(size: int) -> MemoryPointer:
    """Memory by the allocator in use."""
    return get_allocator()(size)


class PinnedMemory:
    """Memory of the host that copies go to and from while it does other work."""

    def __init__(self, size: int, flags: int = 0) -> None:
        self.ptr, self.size = runtime.hostAlloc(size, flags), size

    def __del__(self) -> None:
        if runtime is not None:  # the interpreter may have ended
            runtime.freeHost(self.ptr)


class PinnedMemoryPointer:
    """A place in it, which NumPy takes as a buffer."""

    def __init__(self, mem: PinnedMemory, offset: int) -> None:
        self.mem, self.ptr = mem, mem.ptr + offset
        self.offset = offset
        self.__array_interface__ = {"data": (self.ptr, False), "shape": (self.size(),), "typestr": "|u1", "version": 3}

    def size(self) -> int:
        return self.mem.size - self.offset


def alloc_pinned_memory(size: int) -> PinnedMemoryPointer:
    return PinnedMemoryPointer(PinnedMemory(size), 0)
