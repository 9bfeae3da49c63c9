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
import threading
from collections.abc import Callable
from typing import Any, Final

from flambeau.tensor.observer import watchers

MISSED: Final = object()
"""What a quick callable gives for a call that must be made the long way."""



def missed(*arguments: Any) -> object:
    """A quick callable that serves nothing."""
    return MISSED


HEAD: Final = object.__basicsize__
_VECTORCALL, _SWITCH, _SLOW, _FIRST, _SIZE = (HEAD + 8 * k for k in range(5))
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
    everything = [Member(b"__vectorcalloffset__", _SSIZE, _VECTORCALL, _READ_ONLY, None), *members, Member()]
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
    made: type = create(ctypes.byref(spec))
    return made


@functools.cache
def is_supported() -> bool:
    """Whether objects look as native entries need them: CPython with the GIL and words of 64 bits."""
    has_gil = "free-threading" not in sys.version
    return sys.implementation.name == "cpython" and has_gil and ctypes.sizeof(ctypes.c_void_p) == 8 and HEAD == 16


def _flags_offset(known: type) -> int | None:
    """Where a type object has its flags: the one place that agrees with ``__flags__`` in several types."""
    types = (int, str, list, type, object, known)
    places = [{at for at in range(HEAD, 400, 8) if word(id(t) + at) == t.__flags__} for t in types]
    found = set.intersection(*places)
    return found.pop() if len(found) == 1 else None


class Switch:
    """The quick callables of the moment, where native code finds them: they may change at any time between calls."""

    MOST = 4
    """How many are kept: those that became the target last."""

    def __init__(self) -> None:
        self.cell = (ctypes.c_int64 * (self.MOST + 1))()
        """Their addresses, in the order in which they are tried, then 0."""
        self._targets: list[Callable[..., Any]] = []
        self._lock = threading.Lock()

    @property
    def target(self) -> Callable[..., Any] | None:
        """Called first, with positional arguments; gives `MISSED` for what it does not serve. None forgets all."""
        return self._targets[0] if self._targets else None

    @target.setter
    def target(self, target: Callable[..., Any] | None) -> None:
        if target is self.target:
            return
        with self._lock:
            before = self._targets  # alive until the cell has forgotten them
            others = [t for t in before if t is not target]
            self._targets = [] if target is None else [target, *others][: self.MOST]
            for place in range(self.MOST):
                self.cell[place] = id(self._targets[place]) if place < len(self._targets) else 0
            del before


def _base() -> tuple[type, int] | None:
    if not is_supported():
        return None
    made = make_type("flambeau.codegen.callable_type.NativeBase", _SIZE, _IS_BASE, [], [])
    at = _flags_offset(made)
    return None if at is None else (made, at)


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


def prepare(instance: Any, switch: Switch, slow: Callable[..., Any], first: object | None = None) -> None:
    """Tell an instance of `NativeBase` what it is called with; the caller keeps all of it alive as long as that.

    Args:
        instance: the callable.
        switch: has the quick callable.
        slow: a function of the instance and the arguments, for all that the quick callable does not serve.
        first: what goes before the arguments of each quick call, if anything.
    """
    if _made is not None:
        ctypes.c_void_p.from_address(id(instance) + _SWITCH).value = ctypes.addressof(switch.cell)
        ctypes.c_void_p.from_address(id(instance) + _SLOW).value = id(slow)
        ctypes.c_void_p.from_address(id(instance) + _FIRST).value = 0 if first is None else id(first)


def direct(instance: Any, address: int) -> None:
    """From now on, calls of the instance go to an address, which stays valid."""
    if _made is not None:
        ctypes.c_void_p.from_address(id(instance) + _VECTORCALL).value = address


def forward_parts() -> tuple[tuple[int, int, int], dict[str, int]]:
    """What the code that such instances jump to must know: offsets of switch, slow and first; addresses of objects."""
    addresses = {"flambeau_missed": id(MISSED), "flambeau_watchers": ctypes.addressof(watchers.count)}
    return (_SWITCH, _SLOW, _FIRST), addresses
