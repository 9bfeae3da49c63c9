"""Errors of the runtime, by their numbers, as CuPy raises them."""

from __future__ import annotations

TEXTS = {
    1: ("cudaErrorInvalidValue", "invalid argument"),
    2: ("cudaErrorMemoryAllocation", "out of memory"),
    101: ("cudaErrorInvalidDevice", "invalid device ordinal"),
    400: ("cudaErrorInvalidResourceHandle", "invalid resource handle"),
    401: ("cudaErrorIllegalState", "the operation cannot be performed in the present state"),
    600: ("cudaErrorNotReady", "device not ready"),
    700: ("cudaErrorIllegalAddress", "an illegal memory access was encountered"),
    900: ("cudaErrorStreamCaptureUnsupported", "operation not permitted when stream is capturing"),
    905: ("cudaErrorStreamCaptureIsolation", "dependency created on uncaptured work in another stream"),
    904: ("cudaErrorStreamCaptureUnjoined", "capturing stream has unjoined work"),
}
INVALID_VALUE, MEMORY_ALLOCATION, INVALID_DEVICE, INVALID_HANDLE = 1, 2, 101, 400
ILLEGAL_STATE, NOT_READY, ILLEGAL_ADDRESS, CAPTURE_UNSUPPORTED = 401, 600, 700, 900
CAPTURE_UNJOINED, CAPTURE_ISOLATION = 904, 905


class CUDARuntimeError(RuntimeError):
    """What the runtime answers when it refuses."""

    def __init__(self, status: int) -> None:
        self.status = status
        name, text = TEXTS[status]
        super().__init__(f"{name}: {text}")


class CUDADriverError(RuntimeError):
    """What the driver answers when it refuses."""


class OutOfMemoryError(MemoryError):
    """A pool that gets no more memory from the device."""

    def __init__(self, size: int, total: int) -> None:
        super().__init__(f"Out of memory allocating {size:,} bytes (allocated so far: {total:,} bytes).")
