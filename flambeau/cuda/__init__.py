"""What programs ask about CUDA devices before they use one: eager tensors are on the CPU.

Kernels for GPUs are made by `fn.ptx(*args)` and run on arrays of CuPy; see `docs/native-code.md`.
"""

from __future__ import annotations

from flambeau.cuda import amp

__all__ = ["amp", "current_device", "device_count", "empty_cache", "is_available", "is_initialized", "synchronize"]
_NO_DEVICE = "tensors cannot be put on a CUDA device here: ask flambeau.cuda.is_available() first"


def is_available() -> bool:
    """Whether tensors can be put on a CUDA device: never.

    >>> is_available(), device_count()
    (False, 0)
    """
    return False


def device_count() -> int:
    """How many devices tensors can be put on: none."""
    return 0


def is_initialized() -> bool:
    """Whether a device is in use: never."""
    return False


def current_device() -> int:
    """The index of the device in use. Raises RuntimeError: there is none."""
    raise RuntimeError(_NO_DEVICE)


def synchronize() -> None:
    """Wait for the device. Raises RuntimeError: there is none."""
    raise RuntimeError(_NO_DEVICE)


def empty_cache() -> None:
    """Give memory of the device back. Raises RuntimeError: there is none."""
    raise RuntimeError(_NO_DEVICE)
