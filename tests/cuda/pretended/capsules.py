"""DLPack's capsules for arrays of a device."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

CUDA = 2
_KINDS = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}


class _Device(ctypes.Structure):
    _fields_ = (("kind", ctypes.c_int32), ("index", ctypes.c_int32))


class _DType(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p), ("device", _Device), ("ndim", ctypes.c_int32), ("dtype", _DType),
        ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )  # fmt: skip


class _Managed(ctypes.Structure):
    _fields_ = (("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p))


_new = ctypes.pythonapi.PyCapsule_New
_new.restype, _new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
_rename = ctypes.pythonapi.PyCapsule_SetName
_rename.argtypes = [ctypes.py_object, ctypes.c_char_p]
_kept: dict[int, Any] = {}


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def _dropped(address: int) -> None:
    _kept.pop(address, None)


def capsule_of(array: Any) -> Any:
    """A capsule that keeps the array until its consumer is done."""
    kind = 4 if array.dtype.name == "bfloat16" else _KINDS[array.dtype.kind]
    shape = (ctypes.c_int64 * max(array.ndim, 1))(*array.shape)
    strides = (ctypes.c_int64 * max(array.ndim, 1))(*(s // array.itemsize for s in array.strides))
    managed = _Managed(
        _Tensor(
            array.data.ptr, _Device(CUDA, array.data.device_id), array.ndim, _DType(kind, array.itemsize * 8, 1),
            shape, strides, 0,
        ),
        None,
        ctypes.cast(_dropped, ctypes.c_void_p),
    )  # fmt: skip
    address = ctypes.addressof(managed)
    _kept[address] = (managed, shape, strides, array)
    return _new(address, b"dltensor", None)


def array_of(capsule: Any) -> Any:
    """The array of a capsule, on the same memory."""
    from tests.cuda.pretended.allocation import MemoryPointer, UnownedMemory
    from tests.cuda.pretended.arrays import ndarray

    managed = _Managed.from_address(_pointer(capsule, b"dltensor"))
    tensor = managed.tensor
    name = {v: k for k, v in _KINDS.items()}.get(tensor.dtype.code)
    if tensor.dtype.code == 4:
        import ml_dtypes

        dtype = np.dtype(ml_dtypes.bfloat16)
    else:
        dtype = np.dtype("?" if name == "b" else f"{name}{tensor.dtype.bits // 8}")
    shape = tuple(tensor.shape[: tensor.ndim])
    strides = tuple(s * dtype.itemsize for s in tensor.strides[: tensor.ndim]) if tensor.strides else None
    _rename(capsule, b"used_dltensor")
    start = (tensor.data or 0) + tensor.byte_offset
    reach = sum((n - 1) * s for n, s in zip(shape, strides or (), strict=False)) + dtype.itemsize
    if strides is None:
        reach = int(np.prod(shape)) * dtype.itemsize
    owner = _Owner(managed)
    return ndarray(shape, dtype, MemoryPointer(UnownedMemory(start, reach, owner), 0), strides)


class _Owner:
    """Whose end is the end of what the capsule kept."""

    def __init__(self, managed: Any) -> None:
        self.managed = managed

    def __del__(self) -> None:
        if self.managed.deleter:
            ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self.managed.deleter)(ctypes.addressof(self.managed))
