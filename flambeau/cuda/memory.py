"""The memory that tensors on devices have."""

from __future__ import annotations

from flambeau.cuda import library


def is_initialized() -> bool:
    """Whether a device has been in use."""
    return library.was_used()


def empty_cache() -> None:
    """Give memory that no tensor has back to the device. Raises RuntimeError without one."""
    library.cupy().get_default_memory_pool().free_all_blocks()
