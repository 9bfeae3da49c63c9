"""CUDA devices through CuPy (`pip install flambeau[cuda]`): which there are, their memory, tensors on them.

Without CuPy, a driver or a card everything imports, `device_count()` is 0, and what needs a device says so. See
`docs/cuda.md`.
"""

from __future__ import annotations

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
    mem_get_info,
    set_device,
    synchronize,
)
from flambeau.cuda.memory import empty_cache, is_initialized

__all__ = [
    "DeviceProperties", "amp", "current_device", "device", "device_count", "empty_cache", "get_device_capability",
    "get_device_name", "get_device_properties", "is_available", "is_initialized", "mem_get_info", "set_device",
    "synchronize",
]  # fmt: skip
