"""cuDNN's C functions: found, called, and their errors.

The functions and constants are those of NVIDIA's cuDNN API reference, version 9: libraries `cudnn_ops` and
`cudnn_cnn`.
"""

from __future__ import annotations

import ctypes
import functools
import threading
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from flambeau.cuda import library
from flambeau.cuda.shared_libraries import load
from flambeau.util.inversions import CUDNN_VERSION

FAILED: Final = "cuDNN: {function} gives {error} (version {version})"
DTYPES: Final = {"float32": 0, "float64": 1, "float16": 2, "bfloat16": 9}
"""What cuDNN calls element types, by their names here."""


@functools.cache
def loaded() -> Any:
    """The library; None where there is none that can be loaded."""
    return load("cudnn", "libcudnn.so.9", "libcudnn.so")


def is_available() -> bool:
    """Whether convolutions on devices can go to cuDNN: on a real device, with the library.

    >>> is_available() == (version() is not None)
    True
    """
    return library.is_real() and loaded() is not None


@CUDNN_VERSION.provide
def version() -> int | None:
    """The version, 91002 for 9.10.2; None without the library or a device."""
    cudnn = loaded() if library.is_real() else None
    return None if cudnn is None else int(cudnn.cudnnGetVersion())


def call(function: str, *arguments: Any) -> None:
    """Call a C function that gives a status. Raises RuntimeError with the text of any but success."""
    cudnn: Any = loaded()
    status = getattr(cudnn, function)(*arguments)
    if status:
        cudnn.cudnnGetErrorString.restype = ctypes.c_char_p
        text = cudnn.cudnnGetErrorString(status).decode()
        raise RuntimeError(FAILED.format(function=function, error=text, version=version()))


class Descriptor:
    """What describes something to cuDNN, destroyed with this object: `kind` is "Tensor", "Filter" or "Convolution"."""

    __slots__ = ("_kind", "pointer")

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self.pointer = ctypes.c_void_p()
        call(f"cudnnCreate{kind}Descriptor", ctypes.byref(self.pointer))

    def __del__(self) -> None:
        if self.pointer:
            call(f"cudnnDestroy{self._kind}Descriptor", self.pointer)


def ints(values: Sequence[int]) -> Any:
    """A C array of ints."""
    return (ctypes.c_int * len(values))(*values)


def scalar(value: float, dtype: np.dtype[Any]) -> Any:
    """A factor as cuDNN takes it: double for doubles, float for all others, by reference."""
    kind = ctypes.c_double if dtype.name == "float64" else ctypes.c_float
    return ctypes.byref(kind(value))


class _Handles(threading.local):
    """The handles of a thread, by device: a handle is for one thread at a time."""

    def __init__(self) -> None:
        self.by_device: dict[int, ctypes.c_void_p] = {}


_handles = _Handles()


def handle() -> ctypes.c_void_p:
    """This thread's handle for the device in use, on its current stream."""
    cuda = library.cupy().cuda
    device = int(cuda.runtime.getDevice())
    known = _handles.by_device.get(device)
    if known is None:
        known = ctypes.c_void_p()
        call("cudnnCreate", ctypes.byref(known))
        _handles.by_device[device] = known
    call("cudnnSetStream", known, ctypes.c_void_p(cuda.get_current_stream().ptr))
    return known
