"""Objects with slots that are made very often: callables that fill the slots, in Python until native code is there.

>>> class Pair:
...     __slots__ = ("first", "second", "third")
>>> make = Maker(Pair, ("first", "second"), {"third": None})
>>> pair = make(1, 2)
>>> pair.first, pair.second, pair.third
(1, 2, None)
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import Any, Final
from weakref import WeakSet

from flambeau.util.native_type import HEAD, NativeBase, direct, let_instances_be_native, tell, word
from flambeau.util.weak_sets import members

ARGUMENTS, CONSTANTS, CLASS, FIRST = range(4)
"""Words of a table: how many slots get arguments and how many constants, the class, where the slots begin."""


class Maker(NativeBase):  # type: ignore[misc]  # made at run time
    """Makes an object of a class: arguments go into the slots of these names, constants into the others.

    `__init__` is not called. Raises TypeError for another number of arguments.
    """

    __slots__ = ("__weakref__", "_cls", "_constants", "_names", "_slow", "_table")

    def __init__(self, cls: type, names: Sequence[str], constants: Mapping[str, Any]) -> None:
        self._cls = cls
        self._names = tuple(names)
        self._constants = dict(constants)
        self._slow = self._made
        self._table: Any = None
        _makers.add(self)
        if _native.address:
            self.go_native(_native.address)

    def __call__(self, *arguments: Any) -> Any:
        return self._made(*arguments)

    def _made(self, *arguments: Any) -> Any:
        if len(arguments) != len(self._names):
            raise TypeError(f"{self._cls.__name__} is made of {', '.join(self._names)}: got {len(arguments)} values")
        object_: Any = object.__new__(self._cls)
        for name, value in zip(self._names, arguments, strict=True):
            setattr(object_, name, value)
        for name, value in self._constants.items():
            setattr(object_, name, value)
        return object_

    def go_native(self, address: int) -> None:
        """Calls go to native code at an address from now on."""
        offsets = slot_offsets(self._cls)
        words = [len(self._names), len(self._constants), id(self._cls), *[offsets[name] for name in self._names]]
        for name, value in self._constants.items():
            words += [offsets[name], id(value)]
        self._table = (ctypes.c_int64 * len(words))(*words)
        tell(self, ctypes.addressof(self._table), self._slow)
        direct(self, address)


let_instances_be_native(Maker)


class _Native:
    address = 0


_native: Final = _Native()
_makers: Final[WeakSet[Maker]] = WeakSet()


def make_natively(address: int) -> None:
    """From now on, all makers run native code at an address, which stays valid."""
    _native.address = address
    for maker in members(_makers):
        maker.go_native(address)


def slot_offsets(cls: type) -> dict[str, int]:
    """Where instances hold what was put into the slots of a class and of those before it, in bytes."""
    instance: Any = object.__new__(cls)
    names = [n for c in cls.__mro__ for n in c.__dict__.get("__slots__", ()) if n not in ("__weakref__", "__dict__")]
    marks = {name: object() for name in names}
    for name, mark in marks.items():
        _member(cls, name).__set__(instance, mark)
    words = {word(id(instance) + at): at for at in range(HEAD, cls.__basicsize__, 8)}
    return {name: words[id(mark)] for name, mark in marks.items() if id(mark) in words}


def _member(cls: type, name: str) -> Any:
    """The descriptor of a slot, which properties of the class may hide."""
    return next(c.__dict__[name] for c in cls.__mro__ if name in c.__dict__.get("__slots__", ()))
