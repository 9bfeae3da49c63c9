"""Values of programs as pickles. The declared type of a value says what its containers hold.

Whatever is reached twice is written once: tensors, lists, dicts and objects stay shared.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from flambeau.ir.constants import type_of
from flambeau.ir.literals import EnumMember
from flambeau.program import instances
from flambeau.program.classes import ClassDefinition
from flambeau.schema.device import Device
from flambeau.schema.dtype import DType
from flambeau.schema.opaque_type import OpaqueType
from flambeau.schema.types import (
    ANY,
    DictType,
    EnumType,
    FloatType,
    ListType,
    OptionalType,
    TupleType,
    Type,
    UnionType,
)
from flambeau.serialize.archive_format import PICKLE_MODULE, RESTORE_TYPE, TAGGED_LISTS
from flambeau.serialize.archive_writer.opcodes import PickleStream
from flambeau.serialize.archive_writer.pickled_objects import has_own_state, members_of, own_state
from flambeau.serialize.archive_writer.storage_writer import StorageRecords, write_tensor
from flambeau.tensor.opaque_objects import OpaqueObject
from flambeau.tensor.tensor import Tensor

_BUILDERS = {text: name for name, text in TAGGED_LISTS.items()}
NO_FORM = (
    "cannot save {where}: a value of type {kind} has no form in an archive. Archives hold tensors, numbers, bools, "
    "texts, devices, None, enums, lists, dicts, tuples, modules and objects of scripted classes"
)
CYCLE = "cannot save {where}: the {kind} there is reached from itself, which archives have no form for"


class Names(Protocol):
    """What types are called in the archive."""

    def renamed(self, type_: Type) -> Type:
        """A type with the archive's names for what is named in it."""


class ValuePickler:
    """Writes the values of one pickle."""

    is_program = True
    """Whether they are those of a program."""

    def __init__(self, names: Names) -> None:
        self.stream = PickleStream()
        self.storages = StorageRecords()
        self._names = names
        self._written: list[Any] = []
        """What the memo knows by identity, kept alive for that."""
        self._open: set[int] = set()
        self._path: list[str] = []

    def finish(self) -> bytes:
        """The pickle."""
        return self.stream.finish()

    # -- any value -----------------------------------------------------------------------------------------------------

    def write(self, value: Any, type_: Type = ANY) -> None:
        """Write a value. Raises RuntimeError for what has no form, naming where it is."""
        match value:
            case enum.Enum() | EnumMember():
                self._enum(value, type_)
            case bool() | None | float() | str():
                self.stream.plain(value)
            case int():
                self.stream.plain(float(value) if isinstance(type_, FloatType) else value)
            case complex():
                self._call("builtins", "complex", (value.real, value.imag))
            case DType():
                self.stream.plain(value.code)
            case Device():
                self._call("torch", "device", (str(value),))
            case tuple():
                self._tuple(value, type_)
            case _:
                self._shared(value, type_)

    def _call(self, module: str, name: str, arguments: tuple[Any, ...]) -> None:
        self.stream.name(module, name)
        for argument in arguments:
            self.stream.plain(argument)
        self.stream.close_tuple(len(arguments))
        self.stream.reduce()

    def _tuple(self, value: tuple[Any, ...], type_: Type) -> None:
        known = _pick(type_, TupleType, value)
        elements = known.elements if isinstance(known, TupleType) and len(known.elements) == len(value) else None
        if not value:
            self.stream.empty_tuple()
            return
        self.stream.begin_tuple()
        for index, item in enumerate(value):
            with self._at(f"[{index}]"):
                self.write(item, ANY if elements is None else elements[index])
        self.stream.end_tuple()

    def _enum(self, value: Any, type_: Type) -> None:
        known = _pick(type_, EnumType, value)
        if not isinstance(known, EnumType):
            raise self.without_form(value)
        self._class(self._names.renamed(known))
        self.write(dict(known.members)[value.name] if isinstance(value, EnumMember) else value.value)
        self.stream.reduce()

    def _class(self, renamed: Type) -> None:
        name = getattr(renamed, "name", "")
        module, _, short = name.rpartition(".")
        self.stream.name(module, short)

    # -- what may be shared --------------------------------------------------------------------------------------------

    def _shared(self, value: Any, type_: Type) -> None:
        if self.stream.get(id(value)):
            return
        if id(value) in self._open:
            raise RuntimeError(CYCLE.format(where=self.where(), kind=type(value).__name__))
        self._open.add(id(value))
        try:
            self._anew(value, type_)
        finally:
            self._open.remove(id(value))
        self._written.append(value)
        self.stream.put(id(value))

    def _anew(self, value: Any, type_: Type) -> None:
        if isinstance(value, Tensor):
            write_tensor(self.stream, value, self.storages, is_program=self.is_program)
        elif isinstance(value, list):
            self._list(value, self.type_within(type_, ListType, value))
        elif isinstance(value, dict):
            self._dict(value, self.type_within(type_, DictType, value))
        elif isinstance(value, OpaqueObject):
            self._class(OpaqueType(value.type_name))
            self.stream.new_object()
            with self._at(".__getstate__()"):
                self.write(value.state())
            self.stream.build()
        else:
            definition = instances.definition_or_compiled(value)
            if definition is None:
                raise self.without_form(value)
            self._object(value, definition)

    def _list(self, value: list[Any], type_: Type) -> None:
        element = type_.element if isinstance(type_, ListType) else ANY
        text = self._names.renamed(type_).annotation
        builder = _BUILDERS.get(text)
        if builder is not None:
            self.stream.name(PICKLE_MODULE, builder)
            self.stream.begin_tuple()
            self._items(value, element)
            self.stream.end_tuple()
        else:
            self.stream.name(PICKLE_MODULE, RESTORE_TYPE)
            self._items(value, element)
            self.stream.plain(text)
            self.stream.close_tuple(2)
        self.stream.reduce()

    def _items(self, items: Iterable[Any], element: Type) -> None:
        self.stream.begin_list()
        for index, item in enumerate(items):
            with self._at(f"[{index}]"):
                self.write(item, element)
        self.stream.end_list()

    def _dict(self, value: dict[Any, Any], type_: Type) -> None:
        known = type_ if isinstance(type_, DictType) else DictType(ANY, ANY)
        self.stream.name(PICKLE_MODULE, RESTORE_TYPE)
        self.stream.empty_dict()
        self.stream.begin_items()
        self._pairs(value.items(), known.key, known.value)
        self.stream.end_dict()
        self.stream.plain(self._names.renamed(type_).annotation)
        self.stream.close_tuple(2)
        self.stream.reduce()

    def _pairs(self, pairs: Iterable[tuple[Any, Any]], key: Type, value: Type) -> None:
        for name, item in pairs:
            with self._at(f"[{name!r}]"):
                self.write(name, key)
                self.write(item, value)

    def _object(self, value: Any, definition: ClassDefinition) -> None:
        self._class(self._names.renamed(definition.type))
        self.stream.new_object()
        if has_own_state(definition):
            with self._at(".__getstate__()"):
                self.write(*own_state(value, definition))
        else:
            self.stream.empty_dict()
            self.stream.begin_items()
            for name, type_, item in members_of(value, definition):
                self.stream.plain(name)
                with self._at(f".{name}"):
                    self.write(item, type_)
            self.stream.end_dict()
        self.stream.build()

    # -- where ---------------------------------------------------------------------------------------------------------

    @contextmanager
    def _at(self, step: str) -> Iterator[None]:
        self._path.append(step)
        yield
        self._path.pop()

    def type_within(self, type_: Type, kind: type[Type], value: Any) -> Type:
        """The type that a list or dict is written with."""
        return _pick(type_, kind, value)

    hint = ""
    """What to do with a value that has no form."""

    def without_form(self, value: Any) -> RuntimeError:
        """The refusal of a value."""
        return RuntimeError(NO_FORM.format(where=self.where(), kind=type(value).__name__) + self.hint)

    def where(self) -> str:
        """The value that is being written, as its way from the root."""
        return "".join(self._path).removeprefix(".") or "it"


def _pick(type_: Type, kind: type[Type], value: Any) -> Type:
    """The part of a declared type that a value of this kind has; the value's own type where it does not say."""
    if isinstance(type_, kind):
        return type_
    if isinstance(type_, OptionalType | UnionType):
        writer = [t for t in type_.contained if isinstance(t, kind)]
        if len(writer) == 1:
            return writer[0]
    try:
        return type_of(value)
    except TypeError:
        return _type_of_objects(value, kind)


def _type_of_objects(value: Any, kind: type[Type]) -> Type:
    """The type of a list or dict of objects of one class; of others, one that says nothing of what they hold."""
    items = value if isinstance(value, list) else list(value.values()) if isinstance(value, dict) else ()
    definitions = {id(d): d for d in map(instances.definition_or_compiled, items)}
    only = next(iter(definitions.values())) if len(definitions) == 1 else None
    element: Type = ANY if only is None else only.type
    if kind is DictType and isinstance(value, dict):
        return DictType(type_of(list(value)).contained[0], element)
    return ListType(element)

