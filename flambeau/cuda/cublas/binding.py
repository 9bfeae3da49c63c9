"""cuBLAS's C functions: found, called, and their errors.

The functions and constants are those of NVIDIA's cuBLAS reference, version 12 and later.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any, Final

from flambeau.backends import cuda as switches
from flambeau.cuda import capturing, library
from flambeau.cuda.allocator import allocate
from flambeau.cuda.shared_libraries import load
from flambeau.util.locks import Lock
from flambeau.util.record import dataclass

FAILED: Final = "cuBLAS: {function} gives status {status}"
DTYPES: Final = {"float32": 0, "float64": 1, "float16": 2, "bfloat16": 14}
"""What CUDA calls element types, by their names here."""
IN_FLOAT32, IN_TF32, IN_FLOAT64 = 68, 77, 70
"""In what products are computed."""
USUAL_MATH, NO_REDUCED_SUMS = 0, 16
_WORD, _INT, _STEP = ctypes.c_void_p, ctypes.c_int, ctypes.c_longlong
_FIRST: Final = [_WORD, _INT, _INT, _INT, _INT, _INT, _WORD]
"""The handle, two ways to read matrices, three sizes, a factor."""
ARGUMENTS: Final = {
    "cublasGemmEx": [*_FIRST, *[_WORD, _INT, _INT] * 2, _WORD, _WORD, _INT, _INT, _INT, _INT],
    "cublasGemmStridedBatchedEx": [
        *_FIRST, *[_WORD, _INT, _INT, _STEP] * 2, _WORD, _WORD, _INT, _INT, _STEP, _INT, _INT, _INT
    ],
}  # fmt: skip
"""What the functions take that every product calls."""
WORKSPACE: Final = 8 << 20
"""Bytes that products may use: as many within graphs as outside, so that both choose the same way."""


@functools.cache
def loaded() -> Any:
    """The library; None where there is none that can be loaded."""
    cublas = load("cublas", "libcublas.so.13", "libcublas.so.12", "libcublas.so")
    for name, arguments in ARGUMENTS.items() if cublas is not None else ():
        getattr(cublas, name).argtypes = arguments
    return cublas


def is_available() -> bool:
    """Whether products on devices can go to cuBLAS: on a real device, with the library."""
    return library.is_real() and loaded() is not None


def call(function: str, *arguments: Any) -> None:
    """Call a C function that gives a status. Raises RuntimeError for any but success."""
    status = getattr(loaded(), function)(*arguments)
    if status:
        raise RuntimeError(FAILED.format(function=function, status=status))


@dataclass(slots=True)
class Handle:
    """What calls are made with on one device, by one thread at a time."""

    pointer: Any
    bound_to: tuple[int, int]
    """The stream that it was given last, and the number of the capture it was in; 0 for none."""
    workspaces: dict[int, Any]
    """Memory by stream."""
    math: int = USUAL_MATH


_idle: Final[dict[tuple[int, int], list[Handle]]] = {}
"""Handles that no thread uses, by library and device: making one takes as long as thousands of calls."""
_making: Final = Lock()


class handle:  # noqa: N801  (a block)
    """Within the block, a handle for the device in use, on the current stream, with memory to work in."""

    __slots__ = ("_idle", "_known")

    def __enter__(self) -> Any:
        device = int(library.cupy().cuda.runtime.getDevice())
        key = library.which(), device
        idle = _idle.get(key)
        if idle is None:
            idle = _idle.setdefault(key, [])
        known = _taken(idle) or _new(idle)
        try:
            _prepare(known, device)
        except BaseException:
            idle.append(known)
            raise
        self._idle, self._known = idle, known
        return known.pointer

    def __exit__(self, *_: object) -> None:
        self._idle.append(self._known)


def _taken(idle: list[Handle]) -> Handle | None:
    try:
        return idle.pop()
    except IndexError:  # all are in use
        return None


def _new(idle: list[Handle]) -> Handle:
    """A new handle, or one that was given back while another thread made its own: one is made at a time."""
    with _making:
        known = _taken(idle)
        if known is None:
            pointer = ctypes.c_void_p()
            call("cublasCreate_v2", ctypes.byref(pointer))
            known = Handle(pointer, (-1, 0), {})
        return known


def _prepare(known: Handle, device: int) -> None:
    """Have a handle compute on the current stream, as the switches say."""
    cuda = library.cupy().cuda
    stream = cuda.get_current_stream()
    capture = capturing.capture_of(device, stream) if capturing.underway else None
    current = (stream.ptr, 0 if capture is None else capture.number)
    if current != known.bound_to:
        call("cublasSetStream_v2", known.pointer, ctypes.c_void_p(stream.ptr))
        memory = known.workspaces.get(stream.ptr) if capture is None else allocate(WORKSPACE, device)
        if memory is None:
            memory = known.workspaces[stream.ptr] = allocate(WORKSPACE, device)
        if capture is not None:
            capture.kept.append(memory)
        call("cublasSetWorkspace_v2", known.pointer, ctypes.c_void_p(memory.address), ctypes.c_size_t(WORKSPACE))
        known.bound_to = current
    math = USUAL_MATH if switches.matmul.allow_fp16_reduced_precision_reduction else NO_REDUCED_SUMS
    if math != known.math:
        call("cublasSetMathMode", known.pointer, math)
        known.math = math


def computed_in(dtype: str) -> int:
    """In what a product of a dtype is computed, as `flambeau.backends.cuda.matmul` says."""
    if dtype == "float64":
        return IN_FLOAT64
    return IN_TF32 if dtype == "float32" and switches.matmul.allow_tf32 else IN_FLOAT32
