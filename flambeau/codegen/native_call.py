"""Callables with a native entry: a type made at run time whose instances jump straight into machine code.

Field offsets of arrays and the callable's own slots are found by looking at live objects; where anything looks
different from what the entry needs (another Python implementation, a debug build), ``make`` gives None and callers
use the Python path.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from flambeau.codegen.llvm.engine import NativeCode, engine
from flambeau.codegen.llvm.entry import DEALLOC_IMPORTS, IMPORTS, Offsets, dealloc_text, entry_text

_HEAD = object.__basicsize__
_VECTORCALL, _CELL, _SLOW, _KEPT, _SIZE = (_HEAD + 8 * k for k in range(5))
"""Fields of a native callable. ``_KEPT`` owns a tuple of all that the others point to; nothing in it leads back
here, so no cycle can pass through a callable."""
_NEW_FROM_DESCR, _NDARRAY, _SET_BASE = 94, 2, 282
"""Places in NumPy's table of C functions, fixed since NumPy 1.7."""


class _Slot(ctypes.Structure):
    _fields_ = (("number", ctypes.c_int), ("pointer", ctypes.c_void_p))


class _Spec(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p), ("basicsize", ctypes.c_int), ("itemsize", ctypes.c_int), ("flags", ctypes.c_uint),
        ("slots", ctypes.POINTER(_Slot)),
    )  # fmt: skip


class _Member(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p), ("type", ctypes.c_int), ("offset", ctypes.c_ssize_t), ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )  # fmt: skip


def _word(address: int) -> int:
    return ctypes.c_size_t.from_address(address).value


def _probe() -> Offsets | None:
    """Offsets of an array's fields, each checked against what NumPy says of two arrays."""
    if sys.implementation.name != "cpython" or ctypes.sizeof(ctypes.c_void_p) != 8:
        return None
    probe = np.arange(6, dtype=np.float32).reshape(2, 3)
    other = np.zeros((4, 5, 6), np.int64)[:, ::2]
    types = [k for k in range(8, _HEAD, 8) if _word(id(probe) + k) == id(np.ndarray)]
    if len(types) != 1:
        return None
    data = _HEAD
    offsets = Offsets(
        type=types[0], data=data, rank=data + 8, dims=data + 16, strides=data + 24, descr=data + 40, flags=data + 48,
        cell=_CELL, slow=_SLOW,
    )  # fmt: skip
    return offsets if all(_agrees(offsets, a) for a in (probe, other)) else None


def _agrees(o: Offsets, a: np.ndarray[Any, Any]) -> bool:
    if a.__sizeof__() < o.flags + 4 or _word(id(a) + o.data) != a.ctypes.data:
        return False
    if ctypes.c_int.from_address(id(a) + o.rank).value != a.ndim or _word(id(a) + o.descr) != id(a.dtype):
        return False
    aligned = ctypes.c_int.from_address(id(a) + o.flags).value & 0x100
    numbers = ctypes.c_ssize_t * a.ndim
    dims = tuple(numbers.from_address(_word(id(a) + o.dims)))
    strides = tuple(numbers.from_address(_word(id(a) + o.strides)))
    return bool(aligned) == a.flags.aligned and dims == a.shape and strides == a.strides


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def _numpy_functions() -> dict[str, int] | None:
    """Addresses from NumPy's C interface."""
    from numpy._core import _multiarray_umath as umath  # type: ignore[attr-defined]

    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = ctypes.cast(get(umath._ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p))
    if table[_NDARRAY] != id(np.ndarray):
        return None
    return {
        "flambeau_new_array": table[_NEW_FROM_DESCR] or 0,
        "flambeau_set_base": table[_SET_BASE] or 0,
        "flambeau_ndarray": id(np.ndarray),
        "flambeau_bytes_descr": id(np.dtype(np.uint8)),
    }


@functools.cache
def _type(offset_of_type: int) -> type:
    """A type with a vectorcall slot and native fields."""
    members = (_Member * 2)(_Member(b"__vectorcalloffset__", 19, _VECTORCALL, 1, None), _Member(None, 0, 0, 0, None))
    imports = {"flambeau_" + name: _address(getattr(ctypes.pythonapi, name)) for name in DEALLOC_IMPORTS}
    code = engine().link(dealloc_text(offset_of_type, _KEPT), ("dealloc",), imports)
    call, dealloc, member_slot, has_vectorcall, not_from_python = 50, 52, 72, 1 << 11, 1 << 7
    slots = (_Slot * 4)(
        _Slot(dealloc, code.addresses["dealloc"]),
        _Slot(call, _address(ctypes.pythonapi.PyVectorcall_Call)),
        _Slot(member_slot, ctypes.cast(members, ctypes.c_void_p).value),
        _Slot(0, None),
    )
    spec = _Spec(b"flambeau.NativeCallable", _SIZE, 0, has_vectorcall | not_from_python, slots)
    _keep.extend([members, slots, spec, code])
    create = ctypes.pythonapi.PyType_FromSpec
    create.restype, create.argtypes = ctypes.py_object, [ctypes.POINTER(_Spec)]
    made: type = create(ctypes.byref(spec))
    return made


_keep: list[Any] = []
"""Structures that the type points into."""


@functools.cache
def _support() -> tuple[type, NativeCode] | None:
    """The type and the entry; None where objects do not look as they must."""
    offsets, functions = _probe(), _numpy_functions()
    if offsets is None or functions is None:
        return None
    imports = dict(functions)
    for name in IMPORTS:
        imports["flambeau_" + name] = _address(getattr(ctypes.pythonapi, name))
    return _type(offsets.type), engine().link(entry_text(offsets), ("entry",), imports)


def make(cell: ctypes.c_void_p, slow: Callable[..., Any]) -> Callable[..., Any] | None:
    """A callable that tries the plans chained from ``cell`` and else calls ``slow``; None where it cannot be made."""
    support = _support()
    if support is None:
        return None
    cls, code = support
    allocate = ctypes.pythonapi.PyType_GenericAlloc
    allocate.restype, allocate.argtypes = ctypes.py_object, [ctypes.py_object, ctypes.c_ssize_t]
    made: Any = allocate(cls, 0)
    kept = (slow, cell, code)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))
    ctypes.c_void_p.from_address(id(made) + _KEPT).value = id(kept)
    ctypes.c_void_p.from_address(id(made) + _SLOW).value = id(slow)
    ctypes.c_void_p.from_address(id(made) + _CELL).value = ctypes.addressof(cell)
    ctypes.c_void_p.from_address(id(made) + _VECTORCALL).value = code.addresses["entry"]
    callable_: Callable[..., Any] = made
    return callable_
