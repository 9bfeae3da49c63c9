"""Types whose instances CPython calls through a machine address of their own: made through ctypes, without a compiler.

``NativeBase`` is the base of classes written in Python. Its instances start without an address, and then calls go to
the class's ``__call__`` as always; once ``direct`` has given them one, a call jumps there and ``__call__`` is what it
falls back to. Where CPython does not look as expected (another implementation, a build without the GIL), ``NativeBase``
is an empty class and nothing ever gets an address.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Callable
from typing import Any, Final

HEAD: Final = object.__basicsize__
VECTORCALL, CELL, SLOW, FIRST, _SIZE = (HEAD + 8 * k for k in range(5))
"""Fields of an instance of ``NativeBase``: the address that calls go to, and what the code there reads."""
_HAS_VECTORCALL, _IS_BASE = 1 << 11, 1 << 10
_CALL, _MEMBERS = 50, 72
"""Numbers of a type's slots, fixed by Python's stable interface."""
_SSIZE, _READ_ONLY = 19, 1


class Slot(ctypes.Structure):
    """``PyType_Slot``."""

    _fields_ = (("number", ctypes.c_int), ("pointer", ctypes.c_void_p))


class _Spec(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p), ("basicsize", ctypes.c_int), ("itemsize", ctypes.c_int), ("flags", ctypes.c_uint),
        ("slots", ctypes.POINTER(Slot)),
    )  # fmt: skip


class Member(ctypes.Structure):
    """``PyMemberDef``."""

    _fields_ = (
        ("name", ctypes.c_char_p), ("type", ctypes.c_int), ("offset", ctypes.c_ssize_t), ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )  # fmt: skip


_keep: list[Any] = []
"""Structures that types point into."""


def address_of(function: Any) -> int:
    """The address of a C function."""
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def word(address: int) -> int:
    """The machine word at an address."""
    return ctypes.c_size_t.from_address(address).value


def make_type(name: str, size: int, flags: int, slots: list[Slot], members: list[Member]) -> type:
    """A type with a vectorcall word right after its head."""
    everything = [Member(b"__vectorcalloffset__", _SSIZE, VECTORCALL, _READ_ONLY, None), *members, Member()]
    described = (Member * len(everything))(*everything)
    all_slots = [
        Slot(_CALL, address_of(ctypes.pythonapi.PyVectorcall_Call)),
        Slot(_MEMBERS, ctypes.addressof(described)),
        *slots,
        Slot(),
    ]
    table = (Slot * len(all_slots))(*all_slots)
    spec = _Spec(name.encode(), size, 0, flags | _HAS_VECTORCALL, table)
    _keep.extend([described, table, spec])
    create = ctypes.pythonapi.PyType_FromSpec
    create.restype, create.argtypes = ctypes.py_object, [ctypes.POINTER(_Spec)]
    new_type: type = create(ctypes.byref(spec))
    return new_type


@functools.cache
def is_supported() -> bool:
    """Whether objects look as native entries need them: CPython with the GIL and words of 64 bits."""
    has_gil = "free-threading" not in sys.version
    return sys.implementation.name == "cpython" and has_gil and ctypes.sizeof(ctypes.c_void_p) == 8 and HEAD == 16


def _flags_offset(known: type) -> int | None:
    """The offset of the flags in a type object: the one at which several types have their ``__flags__``."""
    types = (int, str, list, type, object, known)
    candidates = [{at for at in range(HEAD, 400, 8) if word(id(t) + at) == t.__flags__} for t in types]
    offsets = set.intersection(*candidates)
    return offsets.pop() if len(offsets) == 1 else None


def _base() -> tuple[type, int] | None:
    if not is_supported():
        return None
    base = make_type("flambeau.codegen.callable_type.NativeBase", _SIZE, _IS_BASE, [], [])
    at = _flags_offset(base)
    return None if at is None else (base, at)


_made = _base()


class _Plain:
    """The base where there is no native one."""


NativeBase: Any = _Plain if _made is None else _made[0]
"""Base of classes whose instances may be called natively."""


def let_instances_be_native(cls: type) -> None:
    """Make calls of instances of a subclass of `NativeBase` look for an address; they keep their ``__call__``.

    CPython takes this property from a class that defines ``__call__``, and on 3.11 from every class made by Python.
    """
    if _made is not None:
        flags = ctypes.c_ulong.from_address(id(cls) + _made[1])
        flags.value |= _HAS_VECTORCALL


def tell(instance: Any, cell: int, slow: Callable[..., Any], first: object | None = None) -> None:
    """Put into an instance of `NativeBase` what native code reads there; the caller keeps all of it alive.

    Args:
        instance: the callable.
        cell: an address that the code knows what to do with.
        slow: a callable for all that native code does not serve.
        first: an object that goes before the arguments, if any.
    """
    if _made is not None:
        ctypes.c_void_p.from_address(id(instance) + CELL).value = cell
        ctypes.c_void_p.from_address(id(instance) + SLOW).value = id(slow)
        ctypes.c_void_p.from_address(id(instance) + FIRST).value = 0 if first is None else id(first)


def direct(instance: Any, address: int) -> None:
    """From now on, calls of the instance go to an address, which stays valid."""
    if _made is not None:
        ctypes.c_void_p.from_address(id(instance) + VECTORCALL).value = address
