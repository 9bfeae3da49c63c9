"""Objects among the arguments of a call: blocks that stand for them while it runs.

    class Node:
        key: int                     header, 3, 1, the address of the block of the node behind it
        next: Optional["Node"]

Each object has one block, whatever refers to it, and so has each list and dict in an attribute. When the call is over,
or fails, what it changed is done to the objects themselves (`changed_objects`).
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, Final, NamedTuple

from flambeau.codegen.graph.containers.dict_tables import FEW
from flambeau.codegen.graph.containers.dict_words import fill_dict
from flambeau.codegen.graph.entry.python_blocks import new_block, new_list
from flambeau.codegen.graph.native_values import CannotCompileError, describe
from flambeau.codegen.graph.objects.class_fields import FIRST, python_fields
from flambeau.codegen.graph.representation import (
    Array,
    Bool,
    Complex,
    Fixed,
    Float,
    Int,
    Listed,
    Mapped,
    Object,
    Optional,
    Representation,
    Text,
    Tupled,
    word_count,
)
from flambeau.codegen.graph.texts.text_words import text_words
from flambeau.codegen.layouts import BLOCK, BLOCK_DATA, DICT, FOREVER, LIST, WORD
from flambeau.program.classes import ClassDefinition
from flambeau.util.kept_on import KeptOn
from flambeau.util.record import dataclass

Put = Callable[["ArgumentObjects", Any, list[Any]], None]
"""Appends what is packed of a value to a list."""
HEADER: Final = (FOREVER,) + (0,) * (FIRST - 1)
"""The words of an object before its first attribute."""
_LEAST: Final = 1 << 13
"""Bytes of the first piece of memory for objects."""


class NotNativeError(Exception):
    """An argument that native code does not take: the machine serves the call."""


@dataclass(frozen=True, slots=True)
class Record:
    """How objects of a class are read and packed."""

    python: type
    values_of: Callable[[Any], tuple[Any, ...]]
    packed: struct.Struct
    put: tuple[Put, ...]
    fields: tuple[tuple[str, Representation, int, int], ...]
    """Of each attribute its name, how it looks, and from which byte to which its words are."""


class StandIn(NamedTuple):
    """The memory of an object."""

    value: Any
    record: Record
    memory: bytearray
    start: int
    address: int

    def bytes(self) -> bytearray:
        """What is in it now."""
        return self.memory[self.start : self.start + self.record.packed.size]


@dataclass(frozen=True, slots=True)
class Container:
    """The block of a list or a dict in an attribute."""

    value: Any
    rep: Listed | Mapped
    block: int
    before: bytes

    def bytes(self) -> bytes:
        """What is in it now."""
        item = self.rep.entry if isinstance(self.rep, Mapped) else self.rep.item
        size = WORD * word_count(item) * LIST.read(self.block, "length")
        return ctypes.string_at(LIST.read(self.block, "items") + BLOCK_DATA, size)


class ArgumentObjects:
    """The blocks of one call."""

    def __init__(self, context: int) -> None:
        self._context = context
        self._blocks: dict[int, int] = {}
        """By the identity of objects, lists and dicts, which their owners keep alive."""
        self._records: dict[ClassDefinition, Record] = {}
        self._texts: dict[str, list[int]] = {}
        self._unfilled: list[StandIn] = []
        self._memory: bytearray = bytearray()
        self._used = self._address = 0
        self._exported: list[Any] = []
        self.stand_ins: list[tuple[StandIn, bytes]] = []
        """Of each object its memory, and what was in it when the call began."""
        self.containers: list[Container] = []

    def object(self, value: Any, rep: Object) -> int:
        """The block of an object. Raises `NotNativeError` for one of another class."""
        known = self._blocks.get(id(value))
        if known is not None:
            return known
        record = self._records.get(rep.definition)
        if record is None:
            record = self._records[rep.definition] = record_of(rep.definition)
        if type(value) is not record.python:
            raise NotNativeError
        start = self._room(record.packed.size)
        block = self._blocks[id(value)] = self._address + start
        self._unfilled.append(StandIn(value, record, self._memory, start, block))
        return block

    @property
    def known(self) -> dict[int, Any]:
        """The objects by their blocks."""
        return {one.address: one.value for one, _ in self.stand_ins}

    def _room(self, size: int) -> int:
        """Where in the memory there is room for so many bytes."""
        if self._used + size > len(self._memory):
            self._memory = bytearray(max(_LEAST, size, 2 * len(self._memory)))
            exported = ctypes.c_char.from_buffer(self._memory)
            self._exported.append(exported)
            self._address, self._used = ctypes.addressof(exported), 0
        start = self._used
        self._used += size
        return start

    def fill(self) -> None:
        """Put the attributes of all objects into their blocks, and those of the objects that these refer to. Raises
        `NotNativeError` for values that another thread has put in the place of those that were looked at.
        """
        while self._unfilled:
            one = self._unfilled.pop()
            record = one.record
            try:
                values = record.values_of(one.value)
            except AttributeError:
                raise NotNativeError from None
            packed = [*HEADER]
            for put, value in zip(record.put, values, strict=True):
                put(self, value, packed)
            try:
                before = record.packed.pack(*packed)
            except struct.error:
                raise NotNativeError from None
            one.memory[one.start : one.start + len(before)] = before
            self.stand_ins.append((one, before))

    def text(self, value: str) -> list[int]:
        """The words of a text."""
        if value not in self._texts:
            words = self._texts[value] = text_words(value, lambda size: new_block(self._context, size))
            BLOCK.write(words[0], "references", FOREVER)
        return self._texts[value]

    def container(self, value: Any, rep: Listed | Mapped) -> int:
        """The block of a list or a dict."""
        known = self._blocks.get(id(value))
        if known is not None:
            return known
        packed: list[Any] = []
        items, item = value, rep.item if isinstance(rep, Listed) else rep.entry
        if isinstance(rep, Mapped):
            items = [(1, k, v) for k, v in value.items()]
        block = self._blocks[id(value)] = self._empty(rep, len(items))
        put = _put(item)
        for one in items:
            put(self, one, packed)
        before = struct.pack("=" + struct_format(item) * len(items), *packed)
        ctypes.memmove(LIST.read(block, "items") + BLOCK_DATA, before, len(before))
        self.containers.append(Container(value, rep, block, before))
        return block

    def _empty(self, rep: Listed | Mapped, count: int) -> int:
        """The block of a list, or of a dict, with so many items that are still to be written."""
        if isinstance(rep, Listed):
            block = new_list(self._context, (), count, word_count(rep.item))
        else:
            capacity = max(FEW, count)
            items = new_block(self._context, WORD * word_count(rep.entry) * capacity)
            block = new_block(self._context, WORD * (DICT.words - LIST.words))
            fill_dict(block, items, count, capacity)
        BLOCK.write(block, "references", FOREVER)
        return block


def refuse_unpacked(reps: Sequence[Representation]) -> None:
    """Raise `CannotCompileError` where values hold objects that native code does not take from outside."""
    seen: set[ClassDefinition] = set()
    waiting = [rep for rep in reps if not (isinstance(rep, Mapped) and rep.is_set)]
    while waiting:
        match waiting.pop():
            case Object(definition) if definition not in seen:
                seen.add(definition)
                waiting += [rep for _, rep, _, _ in record_of(definition).fields]
            case Mapped(is_set=True):
                raise CannotCompileError("a set in an object from outside, whose order Python would see")
            case Listed(inner) | Mapped(value=inner) | Optional(inner):
                waiting.append(inner)
            case Tupled(items=items):
                waiting += items


_records: KeptOn[ClassDefinition, Record] = KeptOn()


def record_of(definition: ClassDefinition) -> Record:
    """How objects of a class are packed. Raises `CannotCompileError` for one that holds what stays Python's."""
    known = _records.get(definition)
    if known is None:
        fields = python_fields(definition)
        packed = struct.Struct("=" + "q" * len(HEADER) + "".join(map(struct_format, fields.values())))
        ends, end = [], WORD * len(HEADER)
        for rep in fields.values():
            ends.append((end, end + WORD * word_count(rep)))
            end = ends[-1][1]
        layout = tuple([(name, rep, *span) for (name, rep), span in zip(fields.items(), ends, strict=True)])
        put = tuple(map(_put, fields.values()))
        known = _records[definition] = Record(definition.python, _reader(tuple(fields)), packed, put, layout)
    return known


def _reader(names: Sequence[str]) -> Callable[[Any], tuple[Any, ...]]:
    if len(names) > 1:
        return attrgetter(*names)
    return lambda value: tuple([getattr(value, name) for name in names])


def struct_format(rep: Representation) -> str:
    """The words of a value as `struct` packs them."""
    match rep:
        case Float():
            return "d"
        case Complex():
            return "dd"
        case Tupled():
            return "".join(map(struct_format, rep.items))
        case Optional():
            return "q" + struct_format(rep.inner)
        case Int() | Bool() | Text() | Array() | Listed() | Mapped() | Object() | Fixed():
            return "q" * word_count(rep)
        case _:
            raise CannotCompileError(f"{describe(rep)} in an object")


def _put(rep: Representation) -> Put:
    match rep:
        case Int() | Float() | Bool():
            return lambda state, value, packed: packed.append(value)
        case Complex():
            return lambda state, value, packed: packed.extend((value.real, value.imag))
        case Text():
            return lambda state, value, packed: packed.extend(state.text(value))
        case Listed() | Mapped():
            return lambda state, value, packed: packed.append(state.container(value, rep))
        case Object():
            return lambda state, value, packed: packed.append(state.object(value, rep))
        case Optional():
            return _put_optional(rep)
        case Tupled():
            return _put_items(tuple(map(_put, rep.items)))
        case _:
            return lambda state, value, packed: None


def _put_optional(rep: Optional) -> Put:
    inner, absent = _put(rep.inner), (0,) * word_count(rep)

    def put(state: ArgumentObjects, value: Any, packed: list[Any]) -> None:
        if value is None:
            packed.extend(absent)
        else:
            packed.append(1)
            inner(state, value, packed)

    return put


def _put_items(items: Sequence[Put]) -> Put:
    def put(state: ArgumentObjects, value: Any, packed: list[Any]) -> None:
        for item, part in zip(items, value, strict=True):
            item(state, part, packed)

    return put
