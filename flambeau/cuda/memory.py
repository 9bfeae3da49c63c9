"""The memory of devices: how much is held, by whom, and how much may be.

Figures are of the allocator that tensors and CuPy's temporaries have their memory from (`flambeau.cuda.allocator`);
another program's are in `mem_get_info` alone.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from flambeau.cuda import allocator, library
from flambeau.cuda.allocator.chunks import Chunk
from flambeau.cuda.allocator.foreign import Allocator, CUDAPluggableAllocator, CupyAllocator
from flambeau.cuda.allocator.shortage import OutOfMemoryError
from flambeau.cuda.devices import AnyDevice, index_of, mem_get_info
from flambeau.cuda.memory_page import page_of, summary_of

__all__ = [
    "CUDAPluggableAllocator", "CupyAllocator", "MemPool", "OutOfMemoryError", "change_current_allocator", "empty_cache",
    "get_allocator_backend", "get_per_process_memory_fraction", "is_initialized", "max_memory_allocated",
    "max_memory_reserved", "memory_allocated", "memory_reserved", "memory_snapshot", "memory_stats", "memory_summary",
    "page", "record_memory_history", "reset_accumulated_memory_stats", "reset_peak_memory_stats",
    "set_per_process_memory_fraction", "use_mem_pool",
]  # fmt: skip


def is_initialized() -> bool:
    """Whether a device has been in use.

    >>> import flambeau
    >>> x = flambeau.ones(2, device="cuda")
    >>> flambeau.cuda.is_initialized()
    True
    """
    return library.was_used()


def _of(device: AnyDevice) -> Any:
    memory = allocator.of_device(index_of(device))
    memory.settle()
    return memory


def empty_cache() -> None:
    """Give memory that no tensor has back to the devices. Raises RuntimeError without one.

    >>> import flambeau
    >>> x = flambeau.ones(1 << 20, device="cuda")
    >>> del x
    >>> before = flambeau.cuda.memory_reserved()
    >>> flambeau.cuda.empty_cache()
    >>> flambeau.cuda.memory_reserved() < before
    True
    """
    pool = library.cupy().get_default_memory_pool()
    for device_allocator in allocator.in_use():
        device_allocator.free_unused()
    pool.free_all_blocks()


def memory_allocated(device: AnyDevice = None) -> int:
    """Bytes that tensors and temporaries on a device hold, each rounded to 512. Raises RuntimeError without one.

    >>> import flambeau
    >>> before = flambeau.cuda.memory_allocated()
    >>> x = flambeau.ones(100, device="cuda")  # 400 bytes
    >>> flambeau.cuda.memory_allocated() - before
    512
    """
    return int(_of(device).usage.allocated.bytes)


def max_memory_allocated(device: AnyDevice = None) -> int:
    """The most that `memory_allocated` was since `reset_peak_memory_stats`. Raises RuntimeError without a device.

    >>> import flambeau
    >>> flambeau.cuda.reset_peak_memory_stats()
    >>> before = flambeau.cuda.memory_allocated()
    >>> x = flambeau.ones(1 << 20, device="cuda")
    >>> del x
    >>> flambeau.cuda.max_memory_allocated() - before
    4194304
    """
    return int(_of(device).usage.allocated.peak_bytes)


def memory_reserved(device: AnyDevice = None) -> int:
    """Bytes that this process has of a device, in use or kept for later. Raises RuntimeError without one.

    >>> import flambeau
    >>> x = flambeau.ones(100, device="cuda")
    >>> flambeau.cuda.memory_reserved() >= flambeau.cuda.memory_allocated()
    True
    """
    return int(_of(device).usage.reserved.bytes)


def max_memory_reserved(device: AnyDevice = None) -> int:
    """The most that `memory_reserved` was since `reset_peak_memory_stats`. Raises RuntimeError without a device.

    >>> import flambeau
    >>> x = flambeau.ones(100, device="cuda")
    >>> flambeau.cuda.max_memory_reserved() >= flambeau.cuda.memory_reserved()
    True
    """
    return int(_of(device).usage.reserved.peak_bytes)


def memory_stats(device: AnyDevice = None) -> dict[str, int]:
    """All figures by name: `"allocated_bytes.all.peak"`, `"segment.small_pool.current"`, `"num_ooms"` and others.

    Bytes and numbers of blocks (`allocation`), of segments of the device (`reserved_bytes`, `segment`), of what is in
    use or waited for (`active`), and what was asked for before rounding (`requested_bytes`); each `current`, `peak`,
    `allocated` and `freed` in total. Raises RuntimeError without a device.

    >>> import flambeau
    >>> x = flambeau.ones(100, device="cuda")
    >>> stats = flambeau.cuda.memory_stats()
    >>> stats["allocated_bytes.all.current"] == flambeau.cuda.memory_allocated()
    True
    """
    memory = _of(device)
    table: dict[str, int] = memory.usage.table()
    inactive = [c for _, chunks in memory.snapshot() if len(chunks) > 1 for c in chunks if c.is_free]
    table["inactive_split.all.current"] = len(inactive)
    table["inactive_split_bytes.all.current"] = sum(c.size for c in inactive)
    return dict(sorted(table.items()))


def reset_peak_memory_stats(device: AnyDevice = None) -> None:
    """Begin anew to look for what is held at most. Raises RuntimeError without a device.

    >>> import flambeau
    >>> flambeau.cuda.reset_peak_memory_stats()
    >>> flambeau.cuda.max_memory_allocated() == flambeau.cuda.memory_allocated()
    True
    """
    _of(device).usage.reset_peaks()


def reset_accumulated_memory_stats(device: AnyDevice = None) -> None:
    """Begin anew to count what is taken and given back. Raises RuntimeError without a device.

    >>> import flambeau
    >>> flambeau.cuda.reset_accumulated_memory_stats()
    >>> flambeau.cuda.memory_stats()["allocated_bytes.all.freed"]
    0
    """
    _of(device).usage.reset_totals()


def set_per_process_memory_fraction(fraction: float, device: AnyDevice = None) -> None:
    """Let this process have a part of a device's memory only; more is an OutOfMemoryError.

    Raises ValueError for a fraction that is not between 0 and 1, RuntimeError without a device.

    >>> import flambeau
    >>> flambeau.cuda.set_per_process_memory_fraction(0.5)
    >>> flambeau.cuda.get_per_process_memory_fraction()
    0.5
    >>> flambeau.cuda.set_per_process_memory_fraction(1.0)
    """
    if not 0.0 <= fraction <= 1.0:
        raise ValueError(f"expected a fraction of the device's memory, from 0 to 1, got {fraction}")
    memory, (_, total) = _of(device), mem_get_info(device)
    memory.fraction, memory.limit = float(fraction), None if fraction == 1.0 else int(total * fraction)


def get_per_process_memory_fraction(device: AnyDevice = None) -> float:
    """The part of a device's memory that this process may have. Raises RuntimeError without a device.

    >>> import flambeau
    >>> flambeau.cuda.get_per_process_memory_fraction()  # all of it, unless somebody said otherwise
    1.0
    """
    return float(_of(device).fraction)


def record_memory_history(enabled: bool = True, device: AnyDevice = None) -> None:
    """Record for small allocations too which line of the program asked; for those over 1 MiB it always is.

    Raises RuntimeError without a device.

    >>> import flambeau
    >>> flambeau.cuda.record_memory_history()
    >>> x = flambeau.ones(100, device="cuda")  # `memory_summary` has this line now
    >>> flambeau.cuda.record_memory_history(False)
    """
    _of(device).records_all_lines = enabled


def memory_snapshot(device: AnyDevice = None) -> list[dict[str, Any]]:
    """Every segment of a device's memory with its blocks: addresses, sizes, streams, lines of the program.

    Of the device in use if None. Raises RuntimeError without one.

    >>> import flambeau
    >>> x = flambeau.ones(100, device="cuda")
    >>> blocks = [b for segment in flambeau.cuda.memory_snapshot() for b in segment["blocks"]]
    >>> [b["requested_size"] for b in blocks if b["address"] == x.data_ptr()]
    [400]
    """
    memory = _of(device)
    return [
        {
            "device": memory.device, "address": segment.address, "total_size": segment.size, "stream": segment.stream,
            "segment_type": "small" if segment.is_small else "large", "segment_pool_id": (0, segment.pool.number),
            "allocated_size": sum(c.size for c in chunks if _state(c) == "active_allocated"),
            "active_size": sum(c.size for c in chunks if not c.is_free),
            "blocks": [_described(c) for c in chunks],
        }
        for segment, chunks in memory.snapshot()
    ]  # fmt: skip


def _state(chunk: Chunk) -> str:
    if chunk.is_waiting:
        return "active_awaiting_free"
    return "inactive" if chunk.is_free else "active_allocated"


def _described(chunk: Chunk) -> dict[str, Any]:
    line = chunk.line
    frames = [] if line is None else [{"filename": line[0].co_filename, "line": line[1], "name": line[0].co_name}]
    return {
        "address": chunk.address, "size": chunk.size, "requested_size": chunk.asked, "state": _state(chunk),
        "frames": frames,
    }  # fmt: skip


def memory_summary(device: AnyDevice = None) -> str:
    """What is held, what was at most, and by which lines of the program, as a table. Raises RuntimeError without a
    device.

    >>> import flambeau
    >>> print(flambeau.cuda.memory_summary().splitlines()[0])
    memory of cuda:0
    """
    return summary_of(index_of(device), memory_stats(device), memory_snapshot(device))


def page(path: str | os.PathLike[str], device: AnyDevice = None) -> None:
    """Write a page with a picture of every segment, its blocks and the lines of the program that hold them.

    Raises OSError where that is not possible, RuntimeError without a device.

    >>> import flambeau
    >>> from tempfile import NamedTemporaryFile
    >>> with NamedTemporaryFile(suffix=".html") as file:
    ...     flambeau.cuda.memory.page(file.name)
    ...     print(file.read(15).decode())
    <!doctype html>
    """
    text = page_of(index_of(device), memory_stats(device), memory_snapshot(device))
    Path(path).write_text(text, encoding="utf-8")


def change_current_allocator(chosen: Allocator | None) -> None:
    """Ask another allocator for memory from now on: `CUDAPluggableAllocator`, `CupyAllocator`, or any object with
    `allocate` and `free`; None for flambeau's own. What there is goes back to where it came from.

    Raises TypeError for an object without these methods.

    >>> import flambeau
    >>> class Counting:
    ...     def allocate(self, nbytes, device, stream):
    ...         print(nbytes, "bytes")
    ...         return flambeau.cuda.library.cupy().cuda.runtime.malloc(nbytes)
    ...     def free(self, address, nbytes, device, stream):
    ...         flambeau.cuda.library.cupy().cuda.runtime.free(address)
    >>> flambeau.cuda.change_current_allocator(Counting())
    >>> x = flambeau.empty(100, device="cuda")
    400 bytes
    >>> del x
    >>> flambeau.cuda.change_current_allocator(None)
    """
    if chosen is not None and not (callable(getattr(chosen, "allocate", 0)) and callable(getattr(chosen, "free", 0))):
        raise TypeError(
            f"expected an object with allocate(nbytes, device, stream) and free(address, nbytes, device, stream), got "
            f"{type(chosen).__name__}; write CupyAllocator(function) for a function that gives CuPy's MemoryPointer"
        )
    allocator.change(chosen)


def get_allocator_backend() -> str:
    """`"native"` for flambeau's allocator, `"pluggable"` for another.

    >>> get_allocator_backend()
    'native'
    """
    return "native" if allocator.current() is None else "pluggable"


class MemPool:
    """Memory of its own for what is made within `use_mem_pool`; given to everybody when the pool is dropped.

    Raises RuntimeError without a device.

    >>> import flambeau
    >>> pool = flambeau.cuda.MemPool()
    >>> with flambeau.cuda.use_mem_pool(pool):
    ...     x = flambeau.ones(100, device="cuda")
    >>> [segment["segment_type"] for segment in pool.snapshot()]
    ['small']
    """

    def __init__(self, device: AnyDevice = None) -> None:
        self.device = index_of(device)
        self.id = allocator.new_handle()
        self._pool = allocator.of_device(self.device).private_pool(self.id)

    def use_count(self) -> int:
        """How many hold the pool: this object, and graphs captured into it."""
        allocator.of_device(self.device).settle()
        return self._pool.users

    def snapshot(self) -> list[dict[str, Any]]:
        """The segments of this pool, as `memory_snapshot` has them."""
        return [s for s in memory_snapshot(self.device) if s["segment_pool_id"] == self.id]

    def __del__(self) -> None:
        if hasattr(self, "_pool"):
            allocator.of_device(self.device).release_pool(self.id)


@contextmanager
def use_mem_pool(pool: MemPool) -> Iterator[None]:
    """Within the block, what this thread makes on the pool's device lies in the pool.

    >>> import flambeau
    >>> pool = flambeau.cuda.MemPool()
    >>> with flambeau.cuda.use_mem_pool(pool):
    ...     x = flambeau.ones(100, device="cuda")
    >>> sum(segment["allocated_size"] for segment in pool.snapshot())
    512
    """
    with allocator.asking(allocator.of_device(pool.device).private[pool.id], pool.device):
        yield
