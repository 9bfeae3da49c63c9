"""The runtime's functions, as CuPy has them in `cupy.cuda.runtime`."""

from __future__ import annotations

import ctypes
from typing import Any

from tests.cuda.pretended.arena import DEVICES, arena
from tests.cuda.pretended.engine import engine
from tests.cuda.pretended.errors import (
    CAPTURE_UNSUPPORTED,
    INVALID_DEVICE,
    INVALID_VALUE,
    CUDARuntimeError,
)

is_hip = False
memcpyHostToHost, memcpyHostToDevice, memcpyDeviceToHost, memcpyDeviceToDevice, memcpyDefault = range(5)  # noqa: N816
streamNonBlocking, streamDefault, streamLegacy, streamPerThread = 1, 0, 1, 2  # noqa: N816
streamCaptureModeGlobal, streamCaptureModeThreadLocal, streamCaptureModeRelaxed = 0, 1, 2  # noqa: N816
eventDefault, eventBlockingSync, eventDisableTiming = 0, 1, 2  # noqa: N816
hostAllocDefault, hostAllocPortable, hostAllocMapped, hostAllocWriteCombined = 0, 1, 2, 4  # noqa: N816
_PROPERTIES = {
    "major": 9, "minor": 0, "multiProcessorCount": 132, "sharedMemPerBlock": 49152, "l2CacheSize": 52428800,
    "sharedMemPerBlockOptin": 232448, "sharedMemPerMultiprocessor": 233472, "warpSize": 32, "maxThreadsPerBlock": 1024,
    "maxThreadsPerMultiProcessor": 2048, "regsPerBlock": 65536, "clockRate": 1785000, "memoryClockRate": 2619000,
    "memoryBusWidth": 5120, "maxGridSize": (2147483647, 65535, 65535), "maxThreadsDim": (1024, 1024, 64),
    "concurrentKernels": 1, "asyncEngineCount": 3, "pciBusID": 0, "pciDeviceID": 0, "uuid": bytes(16),
}  # fmt: skip


def getDeviceCount() -> int:  # noqa: N802
    return DEVICES


def getDevice() -> int:  # noqa: N802
    return engine.device


def setDevice(device: int) -> None:  # noqa: N802
    engine.use(device)


def getDeviceProperties(device: int) -> dict[str, Any]:  # noqa: N802
    if not 0 <= device < DEVICES:
        raise CUDARuntimeError(INVALID_DEVICE)
    return {"name": b"Pretended H100", "totalGlobalMem": arena.regions[device].total, **_PROPERTIES}


def driverGetVersion() -> int:  # noqa: N802
    return 13000


def runtimeGetVersion() -> int:  # noqa: N802
    return 13000


def deviceSynchronize() -> None:  # noqa: N802
    engine.synchronise()


def deviceCanAccessPeer(device: int, peer: int) -> int:  # noqa: N802
    return 0


def memGetInfo() -> tuple[int, int]:  # noqa: N802
    region = arena.regions[engine.device]
    return region.total - region.allocated, region.total


def malloc(size: int) -> int:
    with engine.lock:
        if any(q.capture is not None and q.capture.mode != streamCaptureModeRelaxed for q in engine.queues.values()):
            raise CUDARuntimeError(CAPTURE_UNSUPPORTED)
        return arena.allocate(size, engine.device) if size else 0


def free(ptr: int) -> None:
    """Give memory back, when the device has done all that it was given."""
    if not ptr:
        return
    with engine.lock:
        engine.check_no_capture()
        device = arena.device_of(ptr)
        for queue in list(engine.queues.values()):
            if queue.device == device:
                queue.run()
        arena.free(ptr)


def hostAlloc(size: int, flags: int = 0) -> int:  # noqa: N802
    memory = ctypes.create_string_buffer(max(size, 1))
    _pinned[ctypes.addressof(memory)] = memory
    return ctypes.addressof(memory)


def freeHost(ptr: int) -> None:  # noqa: N802
    if _pinned.pop(ptr, None) is None:
        raise CUDARuntimeError(INVALID_VALUE)


_pinned: dict[int, Any] = {}


def is_pinned(address: int) -> bool:
    return any(start <= address < start + len(memory) for start, memory in _pinned.items())


def _copy(dst: int, src: int, size: int, kind: int) -> None:
    for address, is_device in ((dst, kind in (1, 3)), (src, kind in (2, 3))):
        if (arena.device_of(address) is not None) != is_device and kind != memcpyDefault:
            arena.mistakes.append(f"a copy of kind {kind} from {src:#x} to {dst:#x}")
            raise CUDARuntimeError(INVALID_VALUE)
        if arena.device_of(address) is not None:
            arena.check(address, size)
    ctypes.memmove(arena.on_host(dst), arena.on_host(src), size)


def memcpy(dst: int, src: int, size: int, kind: int) -> None:
    """Copy, in the order of the default stream, and wait for it."""
    queue = engine.queue(0)
    engine.submit(queue, lambda: _copy(dst, src, size, kind))
    if kind != memcpyDeviceToDevice:
        engine.synchronise(queue)


def memcpyAsync(dst: int, src: int, size: int, kind: int, stream: int) -> None:  # noqa: N802
    """Copy in the order of a stream. Of the host's memory only that which is pinned is read and written later."""
    queue = engine.queue(stream)
    if kind == memcpyHostToDevice and queue.capture is None and not is_pinned(src):
        staged = ctypes.create_string_buffer(ctypes.string_at(src, size), max(size, 1))
        engine.submit(queue, lambda: _copy(dst, ctypes.addressof(staged), size, kind))
        return
    engine.submit(queue, lambda: _copy(dst, src, size, kind))
    if kind == memcpyDeviceToHost and queue.capture is None and not is_pinned(dst):
        engine.synchronise(queue)


def memcpyPeerAsync(dst: int, dst_device: int, src: int, src_device: int, size: int, stream: int) -> None:  # noqa: N802
    engine.submit(engine.queue(stream), lambda: _copy(dst, src, size, 3))


def memcpyPeer(dst: int, dst_device: int, src: int, src_device: int, size: int) -> None:  # noqa: N802
    memcpyPeerAsync(dst, dst_device, src, src_device, size, 0)


def _set(ptr: int, value: int, size: int) -> None:
    arena.check(ptr, size)
    ctypes.memset(arena.on_host(ptr), value, size)


def memset(ptr: int, value: int, size: int) -> None:
    engine.submit(engine.queue(0), lambda: _set(ptr, value, size))


def memsetAsync(ptr: int, value: int, size: int, stream: int) -> None:  # noqa: N802
    engine.submit(engine.queue(stream), lambda: _set(ptr, value, size))


def streamCreate() -> int:  # noqa: N802
    return engine.new_queue(True).pointer


def streamCreateWithFlags(flags: int) -> int:  # noqa: N802
    return engine.new_queue(flags != streamNonBlocking).pointer


def streamDestroy(stream: int) -> None:  # noqa: N802
    engine.drop(engine.queue(stream))


def streamSynchronize(stream: int) -> None:  # noqa: N802
    engine.synchronise(engine.queue(stream))


def streamIsCapturing(stream: int) -> int:  # noqa: N802
    return int(engine.queue(stream).capture is not None)


def streamQuery(stream: int) -> int:  # noqa: N802
    return 600 if engine.queue(stream).pending else 0
