"""Objects of native code as instances of their classes: each as one instance, whatever refers to it."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from flambeau.codegen.graph.objects.class_fields import FIRST, LearnedFields, is_learned, python_fields
from flambeau.codegen.graph.objects.object_arguments import struct_format
from flambeau.codegen.graph.representation import (
    Bool,
    Complex,
    Float,
    Int,
    Object,
    Optional,
    Representation,
    Tupled,
    word_count,
)
from flambeau.codegen.layouts import WORD
from flambeau.program import instances
from flambeau.program.classes import ClassDefinition
from flambeau.util.kept_on import KeptOn
from flambeau.util.record import dataclass

Read = Callable[[Representation, Iterator[int]], Any]
"""Gives the value of words, as an object of Python's."""
Get = Callable[["SeenObjects", Sequence[Any], Read], Any]
"""Gives a value of what was unpacked of an object."""


@dataclass(frozen=True, slots=True)
class _Attributes:
    """How the attributes of a class are read."""

    names: tuple[str, ...]
    packed: struct.Struct
    get: tuple[Get, ...]
    are_numbers: bool
    """Whether what is unpacked are their values."""
    are_plain: bool
    """Whether instances have them in a dict of their own, and the class has no say in it."""


class SeenObjects:
    """The instances so far, by their addresses. New ones have no attributes until they are filled, since objects may
    refer to each other in circles, and in chains longer than Python's stack.
    """

    def __init__(self, learned: LearnedFields | None = None) -> None:
        """`learned`: how tensors in attributes look."""
        self._learned = learned or {}
        self._instances: dict[int, Any] = {}
        self._unfilled: list[tuple[ClassDefinition, int, Any]] = []

    def know(self, objects: Mapping[int, Any]) -> None:
        """Have blocks that stand for objects be these objects."""
        self._instances.update(objects)

    def instance(self, definition: ClassDefinition, address: int) -> Any:
        """The instance of an object; None where a variable was never set."""
        if not address:
            return None
        known = self._instances.get(address)
        if known is None:
            known = self._instances[address] = object.__new__(definition.python)
            self._unfilled.append((definition, address, known))
        return known

    def fill(self, read: Read) -> None:
        """Give new instances their attributes, and those that these refer to."""
        known: dict[ClassDefinition, _Attributes] = {}
        while self._unfilled:
            definition, address, instance = self._unfilled.pop()
            attributes = known.get(definition)
            if attributes is None:
                attributes = known[definition] = self._attributes_of(definition)
            words = ctypes.string_at(address + WORD * FIRST, attributes.packed.size)
            unpacked = attributes.packed.unpack(words)
            values: Sequence[Any] = unpacked
            if not attributes.are_numbers:
                values = [get(self, unpacked, read) for get in attributes.get]
            if attributes.are_plain:
                instance.__dict__.update(zip(attributes.names, values, strict=True))
                continue
            for name, value in zip(attributes.names, values, strict=True):
                instances.writer(name)(instance, value)

    def _attributes_of(self, definition: ClassDefinition) -> _Attributes:
        """How attributes of a class are read, which is kept unless there are tensors in them."""
        known = _attributes.get(definition)
        if known is None:
            known = _read_by(definition, self._learned)
            if not any(is_learned(a.type) for a in definition.attributes):
                _attributes[definition] = known
        return known


_attributes: KeptOn[ClassDefinition, _Attributes] = KeptOn()


def _read_by(definition: ClassDefinition, learned: LearnedFields) -> _Attributes:
    fields = python_fields(definition, learned)
    packed = struct.Struct("=" + "".join(map(struct_format, fields.values())))
    get, start = [], 0
    for rep in fields.values():
        get.append(_get(rep, start))
        start += word_count(rep)
    python = definition.python
    has_say = any(hasattr(getattr(python, name, None), "__set__") for name in fields)
    are_numbers = all(isinstance(rep, Int | Float) for rep in fields.values())
    return _Attributes(tuple(fields), packed, tuple(get), are_numbers, bool(python.__dictoffset__) and not has_say)


def _get(rep: Representation, at: int) -> Get:
    """What gives the value whose words begin at an index."""
    match rep:
        case Int() | Float():
            return lambda seen, words, read: words[at]
        case Bool():
            return lambda seen, words, read: words[at] & 1 == 1
        case Complex():
            return lambda seen, words, read: complex(words[at], words[at + 1])
        case Object(definition):
            return lambda seen, words, read: seen.instance(definition, words[at])
        case Optional(inner):
            present = _get(inner, at + 1)
            return lambda seen, words, read: present(seen, words, read) if words[at] & 1 else None
        case Tupled():
            return _get_items(rep, at)
        case _:
            end = at + word_count(rep)
            return lambda seen, words, read: read(rep, iter(words[at:end]))


def _get_items(rep: Tupled, at: int) -> Get:
    items = []
    for item in rep.items:
        items.append(_get(item, at))
        at += word_count(item)
    return lambda seen, words, read: rep.container([get(seen, words, read) for get in items])
