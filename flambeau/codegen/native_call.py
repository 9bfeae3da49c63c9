"""Callables with a native entry: a type made at run time whose instances jump straight into machine code.

Field offsets of arrays and the callable's own slots are found by looking at live objects; where anything looks
different from what the entry needs (another Python implementation, a debug build), ``make`` gives None and callers
use the Python path.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from flambeau.codegen.callable_type import forward_parts
from flambeau.codegen.inline_cache import InlineCache
from flambeau.codegen.llvm.compiler import NativeError
from flambeau.codegen.llvm.engine import NativeCode, engine
from flambeau.codegen.llvm.entry import IMPORTS, entry_text
from flambeau.codegen.llvm.entry_forward import FORWARD_IMPORTS, forward_text
from flambeau.codegen.llvm.entry_life import LIFE_EXPORTS, LIFE_IMPORTS, life_text
from flambeau.codegen.llvm.entry_plan import Offsets
from flambeau.codegen.llvm.entry_ready import Weak
from flambeau.codegen.llvm.entry_tensors import (
    NEW_STORAGE,
    NEW_TENSOR,
    TENSOR_IMPORTS,
    TENSOR_OBJECTS,
    Slots,
    tensors_text,
)
from flambeau.codegen.llvm.host import is_remembered
from flambeau.codegen.llvm.loops import LOOP_EXPORTS, loops_text
from flambeau.tensor.storage import Storage
from flambeau.tensor.tensor import Tensor
from flambeau.util.native_type import HEAD, Member, Slot, address_of, direct, is_supported, make_type, word

_VECTORCALL, _CELL, _SLOW, _KEPT, _SIZE = (HEAD + 8 * k for k in range(5))
"""Fields of a native callable. ``_KEPT`` owns a tuple of all that the others point to."""
_NEW_FROM_DESCR, _NDARRAY, _SET_BASE = 94, 2, 282
"""Places in NumPy's table of C functions, fixed since NumPy 1.7."""


@functools.cache
def probe() -> Offsets | None:
    """Offsets of an array's fields, each checked against what NumPy says of two arrays."""
    if not is_supported():
        return None
    probe = np.arange(6, dtype=np.float32).reshape(2, 3)
    other = np.zeros((4, 5, 6), np.int64)[:, ::2]
    types = [k for k in range(8, HEAD, 8) if word(id(probe) + k) == id(np.ndarray)]
    if len(types) != 1:
        return None
    data = HEAD
    offsets = Offsets(
        type=types[0], data=data, rank=data + 8, dims=data + 16, strides=data + 24, descr=data + 40, flags=data + 48,
        cell=_CELL, slow=_SLOW,
    )  # fmt: skip
    return offsets if all(_agrees(offsets, a) for a in (probe, other)) else None


def _agrees(o: Offsets, a: np.ndarray[Any, Any]) -> bool:
    if a.__sizeof__() < o.flags + 4 or word(id(a) + o.data) != a.ctypes.data:
        return False
    if ctypes.c_int.from_address(id(a) + o.rank).value != a.ndim or word(id(a) + o.descr) != id(a.dtype):
        return False
    aligned = ctypes.c_int.from_address(id(a) + o.flags).value & 0x100
    numbers = ctypes.c_ssize_t * a.ndim
    dims = tuple(numbers.from_address(word(id(a) + o.dims)))
    strides = tuple(numbers.from_address(word(id(a) + o.strides)))
    return bool(aligned) == a.flags.aligned and dims == a.shape and strides == a.strides


@functools.cache
def numpy_functions() -> dict[str, int] | None:
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
def _callable_type() -> type | None:
    """The type of native callables; None where its code cannot be made."""
    offsets = probe()
    if offsets is None:
        return None
    imports = c_interface(LIFE_IMPORTS)
    try:
        code = engine().link(life_text(offsets.type, _KEPT, _VECTORCALL), LIFE_EXPORTS, imports, is_glue=True)
    except NativeError:  # kernels say so; without an entry they are called from Python
        return None
    clear, dealloc, traverse, has_gc, not_from_python = 51, 52, 71, 1 << 14, 1 << 7
    numbers = {"dealloc": dealloc, "clear": clear, "traverse": traverse}
    slots = [Slot(numbers[name], code.addresses[name]) for name in LIFE_EXPORTS]
    wrapped = Member(b"__wrapped__", 16, _SLOW, 1, b"What is called where native code does not know what to do.")
    keep(code)
    return make_type("flambeau.NativeCallable", _SIZE, has_gc | not_from_python, slots, [wrapped])


_codes: list[NativeCode] = []


def keep(code: NativeCode) -> NativeCode:
    """Code that lives as long as the process: two threads that ask for it first may both make it, and use their own."""
    _codes.append(code)
    return code


def c_interface(names: Iterable[str]) -> dict[str, int]:
    """Addresses of functions of Python's C interface, under the symbols that entries call them by."""
    return {"flambeau_" + name: address_of(getattr(ctypes.pythonapi, name)) for name in names}


def new_callable(code: int, cell: int, slow: Callable[..., Any], kept: tuple[Any, ...]) -> Callable[..., Any] | None:
    """A native callable.

    Args:
        code: the address of its entry.
        cell: the address of what the entry reads.
        slow: called for all that the entry does not serve.
        kept: what else must live as long as the callable.
    """
    cls = _callable_type()
    if cls is None:
        return None
    allocate = ctypes.pythonapi.PyType_GenericAlloc
    allocate.restype, allocate.argtypes = ctypes.py_object, [ctypes.py_object, ctypes.c_ssize_t]
    made: Callable[..., Any] = allocate(cls, 0)
    held = (slow, *kept)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(held))
    ctypes.c_void_p.from_address(id(made) + _KEPT).value = id(held)
    ctypes.c_void_p.from_address(id(made) + _SLOW).value = id(slow)
    ctypes.c_void_p.from_address(id(made) + _CELL).value = cell
    ctypes.c_void_p.from_address(id(made) + _VECTORCALL).value = code
    return made


def _slots(cls: type) -> dict[str, int]:
    """Offsets of a class's slots: where an instance holds what was put into each of them."""
    instance: Any = object.__new__(cls)
    marks = {name: object() for name in cls.__dict__["__slots__"] if name != "__weakref__"}
    for name, mark in marks.items():
        cls.__dict__[name].__set__(instance, mark)
    words = {word(id(instance) + at): at for at in range(HEAD, cls.__basicsize__, 8)}
    return {name: words[id(mark)] for name, mark in marks.items() if id(mark) in words}


@functools.cache
def tensor_slots() -> Slots | None:
    """Where tensors and storages have their slots; None where they do not look as entries expect."""
    slots = Slots(_slots(Tensor), _slots(Storage))
    as_expected = slots.tensor.keys() == NEW_TENSOR.keys() and slots.storage.keys() == NEW_STORAGE.keys()
    return slots if as_expected else None


_OBJECTS = {
    "tensor_type": Tensor, "storage_type": Storage, "float_type": float, "int_type": int, "tuple_type": tuple,
    "list_type": list, "none": None, "true": True, "false": False, "zero": 0,
}  # fmt: skip


def objects(names: Iterable[str]) -> dict[str, int]:
    """Addresses of objects, under the symbols that entries know them by."""
    return {"flambeau_" + name: id(_OBJECTS[name]) for name in names if name in _OBJECTS}


def _entry_parts(entry: str) -> tuple[str, dict[str, int]] | None:
    """Text and imports of an entry: "entry", "tensors", or "operators", which is the latter with plans by rows. None
    where objects do not look as they must."""
    offsets, imports, slots = probe(), numpy_functions(), tensor_slots()
    if offsets is None or imports is None or slots is None:
        return None
    imports = imports | c_interface(IMPORTS)
    if entry != "entry":
        imports |= objects(TENSOR_OBJECTS) | c_interface(TENSOR_IMPORTS)
    weak = Weak(np.ndarray.__weakrefoffset__, Storage.__weakrefoffset__)
    if entry == "entry":
        return entry_text(offsets), imports
    return tensors_text(offsets, slots, weak, by_rows=entry == "operators"), imports


_SYMBOLS = {"operators": "tensors"}
"""What entries are called in their code, where that is another name."""


@functools.cache
def _support(entry: str) -> NativeCode | None:
    """The code of an entry."""
    parts = _entry_parts(entry)
    if parts is None:
        return None
    try:
        return engine().link(parts[0], (_SYMBOLS.get(entry, entry),), parts[1], is_glue=True, optimise=True)
    except NativeError:
        return None


@functools.cache
def loops_code() -> tuple[NativeCode, int] | None:
    """The kernel that runs NumPy's loops, and the address of the entry for tensors; None where there is none."""
    entry = _support("operators")
    if entry is None:
        return None
    try:
        code = engine().link(loops_text(), LOOP_EXPORTS, {}, is_glue=True, optimise=True)
    except NativeError:
        return None
    return keep(code), keep(entry).addresses["tensors"]


def has_cached_loops() -> bool:
    """Whether making that code takes no compiler: this process has it, or the cache on disk."""
    if not is_remembered():
        return False
    parts = _entry_parts("operators")
    texts = [loops_text(), *([] if parts is None else [parts[0]])]
    return all(engine().is_cached(text, is_glue=True, optimise=True) for text in texts)


def make(inline_cache: InlineCache, slow: Callable[..., Any]) -> Callable[..., Any] | None:
    """A callable of arrays that tries the plans of an inline cache and else calls ``slow``; None where it cannot be
    made.
    """
    return _make("entry", inline_cache, slow)


def make_for_tensors(inline_cache: InlineCache, slow: Callable[..., Any]) -> Callable[..., Any] | None:
    """The same with tensors as arguments and results. `slow` gets the tensors themselves."""
    return _make("tensors", inline_cache, slow)


def _make(entry: str, inline_cache: InlineCache, slow: Callable[..., Any]) -> Callable[..., Any] | None:
    code = _support(entry)
    if code is None:
        return None
    return new_callable(code.addresses[entry], ctypes.addressof(inline_cache.cell), slow, (inline_cache, code))


@functools.cache
def _forward() -> NativeCode | None:
    """The code that calls of scripted functions go to; None where there is none."""
    offsets, imports = forward_parts()
    try:
        code = engine().link(forward_text(*offsets), ("forward",), imports | c_interface(FORWARD_IMPORTS), is_glue=True)
    except NativeError:
        return None
    return keep(code)


def go_native(instance: Any) -> None:
    """From now on, calls of an instance of `NativeBase` that was prepared go through native code."""
    code = _forward() if is_supported() else None
    if code is not None:
        direct(instance, code.addresses["forward"])
