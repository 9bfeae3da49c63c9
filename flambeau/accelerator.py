"""The device that programs compute on, whichever it is: here CUDA devices, where there are any.

>>> import flambeau
>>> device = current_accelerator() if is_available() else flambeau.device("cpu")
>>> device.type in ("cpu", "cuda")
True

Everything but `is_available`, `device_count` and `current_accelerator` raises RuntimeError where there is no device.
"""

from __future__ import annotations

from types import TracebackType
from typing import Any, Final

from flambeau import cuda
from flambeau.schema.device import Device

NO_ACCELERATOR: Final = (
    "Cannot access accelerator device when none is available. Ask accelerator.is_available() first: without a device "
    "tensors are on the CPU, where there is nothing to choose or to wait for"
)

AnyDevice = Device | str | int | None

__all__ = [
    "current_accelerator", "current_device_idx", "current_device_index", "current_stream", "device_count",
    "device_index", "empty_cache", "get_memory_info", "is_available", "max_memory_allocated", "max_memory_reserved",
    "memory_allocated", "memory_reserved", "memory_stats", "reset_accumulated_memory_stats",
    "reset_peak_memory_stats", "set_device_idx", "set_device_index", "set_stream", "synchronize",
]  # fmt: skip


def is_available() -> bool:
    """Whether there is a device beside the CPU that tensors can be put on.

    >>> is_available() == (device_count() > 0)
    True
    """
    return cuda.is_available()


def device_count() -> int:
    """How many such devices there are.

    >>> device_count() == cuda.device_count()
    True
    """
    return cuda.device_count()


def current_accelerator(check_available: bool = False) -> Device | None:
    """The kind of device, without a number; None where there is none.

    Args:
        check_available: accepted; what is not available is never named.

    >>> (current_accelerator() is None) == (not is_available())
    True
    """
    return Device("cuda") if is_available() else None


def _present() -> Any:
    if not is_available():
        raise RuntimeError(NO_ACCELERATOR)
    return cuda


def _number(device: AnyDevice) -> int:
    """The number of a device; of the one in use for None, or without a number. Raises ValueError for the CPU."""
    _present()
    if isinstance(device, int):
        return device
    chosen = Device(device) if isinstance(device, str) else device
    if chosen is not None and chosen.type != "cuda":
        raise ValueError(f"{chosen.type} doesn't match the current accelerator cuda.")
    return cuda.current_device() if chosen is None or chosen.index is None else chosen.index


def current_device_index() -> int:
    """The number of the device in use in this thread.

    >>> if is_available():
    ...     number = current_device_index()
    """
    number: int = _present().current_device()
    return number


def set_device_index(device: AnyDevice, /) -> None:
    """Use a device in this thread from now on.

    Args:
        device: which.

    >>> if is_available():
    ...     set_device_index(current_device_index())
    """
    _present().set_device(_number(device))


current_device_idx, set_device_idx = current_device_index, set_device_index
"""Their older names."""


class device_index:  # noqa: N801
    """Within the block, a device is in use; None changes nothing.

    >>> with device_index(None):
    ...     pass
    """

    def __init__(self, device: int | None, /) -> None:
        self.idx = device
        self._before = -1

    def __enter__(self) -> None:
        if self.idx is not None:
            self._before = current_device_index()
            set_device_index(self.idx)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.idx is not None:
            set_device_index(self._before)


def synchronize(device: AnyDevice = None, /) -> None:
    """Wait until a device has done all that it was given.

    Args:
        device: which; the one in use if None.

    >>> if is_available():
    ...     synchronize()
    """
    _present().synchronize(_number(device))


def current_stream(device: AnyDevice = None, /) -> Any:
    """The stream in use on a device.

    Args:
        device: which; the one in use if None.

    >>> if is_available():
    ...     current_stream().query()
    """
    return _present().current_stream(_number(device))


def set_stream(stream: Any) -> None:
    """Use a stream in this thread from now on.

    Args:
        stream: which.

    >>> if is_available():
    ...     set_stream(current_stream())
    """
    _present().set_stream(stream)


def empty_cache() -> None:
    """Give memory back that is kept for tensors to come.

    >>> if is_available():
    ...     empty_cache()
    """
    _present().empty_cache()


def get_memory_info(device: AnyDevice = None, /) -> tuple[int, int]:
    """Bytes that are free on a device, and how many it has.

    Args:
        device: which; the one in use if None.

    >>> if is_available():
    ...     free, whole = get_memory_info()
    """
    free: tuple[int, int] = _present().mem_get_info(_number(device))
    return free


def memory_allocated(device: AnyDevice = None, /) -> int:
    """Bytes that tensors of a device take.

    >>> if is_available():
    ...     taken = memory_allocated()
    """
    return int(_present().memory_allocated(_number(device)))


def max_memory_allocated(device: AnyDevice = None, /) -> int:
    """The most bytes that they took at a time.

    >>> if is_available():
    ...     most = max_memory_allocated()
    """
    return int(_present().max_memory_allocated(_number(device)))


def memory_reserved(device: AnyDevice = None, /) -> int:
    """Bytes that are kept for tensors of a device, used or not.

    >>> if is_available():
    ...     kept = memory_reserved()
    """
    return int(_present().memory_reserved(_number(device)))


def max_memory_reserved(device: AnyDevice = None, /) -> int:
    """The most bytes that were kept at a time.

    >>> if is_available():
    ...     most = max_memory_reserved()
    """
    return int(_present().max_memory_reserved(_number(device)))


def memory_stats(device: AnyDevice = None, /) -> Any:
    """What is known of the memory of a device, by name.

    >>> if is_available():
    ...     known = memory_stats()
    """
    return _present().memory_stats(_number(device))


def reset_peak_memory_stats(device: AnyDevice = None, /) -> None:
    """Count the most bytes from here on.

    >>> if is_available():
    ...     reset_peak_memory_stats()
    """
    _present().reset_peak_memory_stats(_number(device))


def reset_accumulated_memory_stats(device: AnyDevice = None, /) -> None:
    """Count what was allocated in all from here on.

    >>> if is_available():
    ...     reset_accumulated_memory_stats()
    """
    _present().reset_accumulated_memory_stats(_number(device))
