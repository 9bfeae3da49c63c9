"""Devices by number: which there are, which is in use, what they are like."""

from __future__ import annotations

from typing import Any

from flambeau.cuda import blame, capturing, late_errors, library
from flambeau.schema.device import Device
from flambeau.util.record import dataclass

AnyDevice = Device | str | int | None
"""How a device is named; None is the one in use."""
NO_SUCH_DEVICE = "there is no CUDA device {index}: {count} can be used here, numbered from 0"
NOT_CUDA = "expected a CUDA device ('cuda', 'cuda:1' or a number), got {device!r}"


@dataclass(frozen=True, slots=True)
class DeviceProperties:
    """What a device is like.

    Args:
        name: what its maker calls it.
        major: the first number of its compute capability.
        minor: the second one.
        total_memory: bytes of its memory.
        multi_processor_count: how many multiprocessors it has.
        shared_memory_per_block: bytes that a block of threads may share without asking for more.
        l2_cache_size: bytes of the cache that all multiprocessors share.

    >>> import flambeau
    >>> flambeau.cuda.get_device_properties().total_memory > 2**20
    True
    """

    name: str
    major: int
    minor: int
    total_memory: int
    multi_processor_count: int
    shared_memory_per_block: int
    l2_cache_size: int


def device_count() -> int:
    """How many devices tensors can be put on; 0 without CuPy, a driver or a card.

    >>> import flambeau
    >>> flambeau.cuda.device_count() > 0
    True
    """
    return 0 if library.unavailable() else int(library.cupy().cuda.runtime.getDeviceCount())


def is_available() -> bool:
    """Whether tensors can be put on a CUDA device.

    >>> is_available() == (device_count() > 0)
    True
    """
    return device_count() > 0


def index_of(device: AnyDevice) -> int:
    """The number of a device; of the one in use where none is named.

    Raises ValueError for a device that is none of CUDA's and RuntimeError for one that there is not.
    """
    if isinstance(device, str):
        device = Device(device)
    if isinstance(device, Device):
        if device.type != "cuda":
            raise ValueError(NOT_CUDA.format(device=str(device)))
        device = device.index
    if device is None:
        return current_device()
    if not 0 <= device < (count := library.cupy().cuda.runtime.getDeviceCount()):
        raise RuntimeError(NO_SUCH_DEVICE.format(index=device, count=count))
    return device


def numbered(device: Device) -> Device:
    """A CUDA device with its number. Raises RuntimeError if there is no such device."""
    return Device("cuda", index_of(device))


def current_device() -> int:
    """The number of the device in use in this thread. Raises RuntimeError without any.

    >>> import flambeau
    >>> flambeau.cuda.current_device()
    0
    """
    return int(library.cupy().cuda.runtime.getDevice())


def set_device(device: Device | str | int) -> None:
    """Use a device in this thread from now on. Raises RuntimeError if there is no such device.

    >>> import flambeau
    >>> flambeau.cuda.set_device("cuda:0")
    >>> flambeau.ones(2, device="cuda").device
    device(type='cuda', index=0)
    """
    library.cupy().cuda.runtime.setDevice(index_of(device))


class device:  # noqa: N801  (as programs write it)
    """A block in which this thread uses a device.

    Args:
        device: which one; None and numbers below 0 change nothing.

    >>> import flambeau
    >>> with flambeau.cuda.device(0):
    ...     x = flambeau.ones(2, device="cuda")
    >>> x.device
    device(type='cuda', index=0)
    """

    __slots__ = ("_before", "_chosen")

    def __init__(self, device: Device | str | int | None) -> None:
        self._chosen = device
        self._before: list[int] = []

    def __enter__(self) -> None:
        chosen = self._chosen
        if chosen is None or (type(chosen) is int and chosen < 0):
            self._before.append(-1)
            return
        runtime = library.cupy().cuda.runtime
        before = runtime.getDevice()
        if chosen == before:
            self._before.append(-1)
            return
        runtime.setDevice(index_of(chosen))
        self._before.append(before)

    def __exit__(self, *_: object) -> None:
        before = self._before.pop()
        if before >= 0:
            library.cupy().cuda.runtime.setDevice(before)


def synchronize(chosen: AnyDevice = None) -> None:
    """Wait until a device, the one in use if None, has done all that it was given.

    Raises RuntimeError without any, and within a capture; and the errors that kernels have found meanwhile.

    >>> import flambeau
    >>> y = flambeau.ones(1000, device="cuda") + 1  # the device may still be at it
    >>> flambeau.cuda.synchronize()
    """
    capturing.refuse_waiting("synchronize()")
    with device(index_of(chosen)), blame.telling():
        library.cupy().cuda.runtime.deviceSynchronize()
    late_errors.tell()


def get_device_properties(chosen: AnyDevice = None) -> DeviceProperties:
    """What a device is like, the one in use if None. Raises RuntimeError if there is no such device.

    >>> import flambeau
    >>> found = flambeau.cuda.get_device_properties(0)
    >>> (found.major, found.minor) == flambeau.cuda.get_device_capability(0)
    True
    """
    known: dict[str, Any] = library.cupy().cuda.runtime.getDeviceProperties(index_of(chosen))
    name = known["name"]
    return DeviceProperties(
        name=name.decode() if isinstance(name, bytes) else name,
        major=known["major"],
        minor=known["minor"],
        total_memory=known["totalGlobalMem"],
        multi_processor_count=known["multiProcessorCount"],
        shared_memory_per_block=known["sharedMemPerBlock"],
        l2_cache_size=known["l2CacheSize"],
    )


def get_device_name(chosen: AnyDevice = None) -> str:
    """What the maker of a device calls it. Raises RuntimeError if there is no such device.

    >>> import flambeau
    >>> flambeau.cuda.get_device_name() == flambeau.cuda.get_device_properties().name
    True
    """
    return get_device_properties(chosen).name


def get_device_capability(chosen: AnyDevice = None) -> tuple[int, int]:
    """The compute capability of a device. Raises RuntimeError if there is no such device.

    >>> import flambeau
    >>> major, minor = flambeau.cuda.get_device_capability()
    >>> major >= 5
    True
    """
    known = get_device_properties(chosen)
    return known.major, known.minor


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether bfloat16 can be computed with on the current device: False without one.

    Args:
        including_emulation: count devices that compute it in float32, too; else those that have it in hardware.

    >>> import flambeau
    >>> flambeau.cuda.is_bf16_supported() == flambeau.cuda.is_available()
    True
    """
    return is_available() and (including_emulation or get_device_capability()[0] >= 8)


def mem_get_info(chosen: AnyDevice = None) -> tuple[int, int]:
    """Free and all bytes of a device's memory. Raises RuntimeError if there is no such device.

    >>> import flambeau
    >>> free, total = flambeau.cuda.mem_get_info()
    >>> 0 < free <= total
    True
    """
    with device(index_of(chosen)):
        free, total = library.cupy().cuda.runtime.memGetInfo()
        return int(free), int(total)
