"""CUDA devices through CuPy (`pip install flambeau[cuda]`): which there are, their memory, tensors on them.

Without CuPy, a driver or a card everything imports, `device_count()` is 0, and what needs a device says so. See
`docs/cuda.md`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING as _TYPE_CHECKING

from flambeau.cuda import amp
from flambeau.cuda.devices import (
    DeviceProperties,
    current_device,
    device,
    device_count,
    get_device_capability,
    get_device_name,
    get_device_properties,
    is_available,
    is_bf16_supported,
    mem_get_info,
    set_device,
    synchronize,
)
from flambeau.cuda.graphs import (
    CUDAGraph,
    graph,
    graph_pool_handle,
    is_current_stream_capturing,
    make_graphed_callables,
)
from flambeau.cuda.memory import (
    CUDAPluggableAllocator,
    CupyAllocator,
    MemPool,
    OutOfMemoryError,
    change_current_allocator,
    empty_cache,
    get_allocator_backend,
    get_per_process_memory_fraction,
    is_initialized,
    max_memory_allocated,
    max_memory_reserved,
    memory_allocated,
    memory_reserved,
    memory_snapshot,
    memory_stats,
    memory_summary,
    record_memory_history,
    reset_accumulated_memory_stats,
    reset_peak_memory_stats,
    set_per_process_memory_fraction,
    use_mem_pool,
)
from flambeau.cuda.random import (
    get_rng_state,
    get_rng_state_all,
    initial_seed,
    manual_seed,
    manual_seed_all,
    seed,
    seed_all,
    set_rng_state,
    set_rng_state_all,
)
from flambeau.cuda.streams import Event, ExternalStream, Stream, current_stream, default_stream, set_stream, stream
from flambeau.util.absent_names import refuse as _refuse

if not _TYPE_CHECKING:  # for checkers of types, there is what there is
    __getattr__ = _refuse(__name__)

__all__ = [
    "CUDAGraph", "CUDAPluggableAllocator", "CupyAllocator", "DeviceProperties", "Event", "ExternalStream",
    "MemPool", "OutOfMemoryError", "Stream", "amp", "change_current_allocator", "current_device",
    "current_stream", "default_stream", "device", "device_count", "empty_cache", "get_allocator_backend",
    "get_device_capability", "get_device_name", "get_device_properties", "get_per_process_memory_fraction",
    "get_rng_state", "get_rng_state_all", "graph", "graph_pool_handle", "initial_seed", "is_available",
    "is_bf16_supported", "is_current_stream_capturing", "is_initialized", "make_graphed_callables",
    "manual_seed", "manual_seed_all", "max_memory_allocated", "max_memory_reserved", "mem_get_info",
    "memory_allocated", "memory_reserved", "memory_snapshot", "memory_stats", "memory_summary",
    "record_memory_history", "reset_accumulated_memory_stats", "reset_peak_memory_stats", "seed", "seed_all",
    "set_device", "set_per_process_memory_fraction", "set_rng_state", "set_rng_state_all", "set_stream",
    "stream", "synchronize", "use_mem_pool",
]  # fmt: skip
