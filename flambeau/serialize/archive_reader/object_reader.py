"""The objects of an archive: made when their pickle names their class, then given their attributes.

Values are checked against the types that the class declares: what runs the code relies on them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection
from typing import Any, Final

from flambeau.nn.parameter import as_parameter
from flambeau.program.classes import ClassDefinition
from flambeau.program.named_tuples import tuple_class
from flambeau.program.object import ScriptObject
from flambeau.schema import types as t
from flambeau.schema.device import Device
from flambeau.schema.opaque_type import OpaqueType
from flambeau.serialize.archive_reader.code_unit import CodeUnit
from flambeau.serialize.archive_reader.pickle_machine import KEY_SIZE, PickleError, is_expandable, shown
from flambeau.tensor.grad_mode import is_grad_enabled, set_grad_enabled
from flambeau.tensor.opaque_objects import OpaqueObject, set_state, without_state
from flambeau.tensor.tensor import Tensor
from flambeau.util.errors import ArchiveError, InternalError

_PYTHON: dict[type[t.Type], tuple[type, ...]] = {
    t.TensorType: (Tensor,), t.IntType: (int,), t.FloatType: (float, int), t.BoolType: (bool,),
    t.ComplexType: (complex, float, int), t.StringType: (str,), t.NoneType: (type(None),), t.DeviceType: (Device,),
    t.NumberType: (int, float, complex, bool),
}  # fmt: skip

_AS_THEY_ARE: Final[dict[type[t.Type], tuple[type, ...]]] = {**_PYTHON, t.FloatType: (float,)}
"""What values of a type are that need no look."""
FAILURES: Final = 10_000
"""Values that may be found to be of another member of a union than the one they are looked at as."""


class Objects:
    """Makes the objects of one archive."""

    def __init__(self, unit: CodeUnit) -> None:
        self.unit = unit
        self._given: dict[int, tuple[Any, t.Type]] = {}
        """The lists and dicts that objects have, and the types that they are looked at as."""
        self._fitted: dict[tuple[int, int], tuple[Any, t.Type, Any]] = {}
        """What was made of lists, dicts and tuples as some type, by both: they may be named any number of times."""
        self._failures = 0
        self.are_as_written = True
        """Whether all attributes are what the pickles say, and none is what code or C++ made of that."""

    def named(self, name: str) -> t.Type:
        """A class or enum. Raises ArchiveError."""
        return self.unit.needed(name)

    def new(self, kind: Any) -> ScriptObject | OpaqueObject:
        """An object without attributes. Raises PickleError for what is no class."""
        if isinstance(kind, OpaqueType):
            return without_state(kind.name)
        if not isinstance(kind, t.ClassType):
            raise PickleError(f"expected a class, got {kind}")
        return ScriptObject(kind)

    def member(self, kind: Any, value: Any) -> Any:
        """The member of an enum with a value. Raises PickleError."""
        if not isinstance(kind, t.EnumType) or kind.python is None:
            raise PickleError(f"expected an enum, got {kind}")
        if is_expandable(value, KEY_SIZE):
            with contextlib.suppress(ValueError):
                return kind.python(value)
        raise PickleError(f"{shown(value)} is not a valid {kind.name}")

    def is_given(self, container: Any) -> bool:
        """Whether an object has this list or dict already."""
        return id(container) in self._given

    def build(self, instance: Any, state: Any) -> None:
        """Give an object its attributes, or its state to its own `__setstate__`. Raises PickleError."""
        if isinstance(instance, OpaqueObject):
            self.are_as_written = False
            try:
                set_state(instance, state)
            except ValueError as error:
                raise PickleError(str(error)) from None
            return
        if not isinstance(instance, ScriptObject):
            raise PickleError("expected an object of the archive's code to give attributes to")
        definition: ClassDefinition = instance.type.definition
        restore = definition.methods.get("__setstate__")
        if restore is not None and "__getstate__" in definition.methods:
            self.are_as_written = False
            arguments = restore.schema.arguments
            if len(arguments) != 2:
                raise PickleError(f"__setstate__ of {definition.name} takes something besides a state")
            fitting = self._fitting(state, arguments[1].type, f"the state of {definition.name}")
            is_recording = is_grad_enabled()
            try:
                restore(instance, fitting)
            except (ArchiveError, InternalError):
                raise
            except Exception as error:  # whatever the archive's code raises
                raise PickleError(f"__setstate__ of {definition.name} failed: {error}") from None
            finally:
                set_grad_enabled(is_recording)
            return
        if not isinstance(state, dict):
            raise PickleError(f"expected the attributes of {definition.name} as a dict, got {type(state).__name__}")
        values = []
        for attribute in definition.attributes:
            if attribute.name not in state:
                raise PickleError(f"object of {definition.name} has no attribute '{attribute.name}'")
            value = state[attribute.name]
            if type(value) not in _AS_THEY_ARE.get(type(attribute.type), ()):
                value = self._fitting(value, attribute.type, f"attribute '{attribute.name}' of {definition.name}")
            if attribute.is_parameter and isinstance(value, Tensor):
                as_parameter(value)  # for everybody who has it: lists of weights have the parameters themselves
            values.append(value)
        instance.values[:] = values

    def _fitting(self, value: Any, type_: t.Type, what: str) -> Any:
        """The value as its type says; lists and dicts stay the objects that they are. Raises PickleError."""
        python = _PYTHON.get(type(type_))
        if python is not None:
            if type(value) in python or (isinstance(value, python) and not isinstance(value, bool)):
                return value if not isinstance(type_, t.FloatType) else 1.0 * value
            raise _wrong(value, type_, what)
        key = id(value), id(type_)
        if key in self._fitted:
            return self._fitted[key][2]
        fitted, given_before = len(self._fitted), len(self._given)
        try:
            composed = self._composed(value, type_, what)
        except PickleError:  # another member of a union may make something else of what is in it
            self._failures += 1
            _shorten(self._fitted, fitted)
            _shorten(self._given, given_before)
            raise
        if isinstance(value, list | dict | tuple):
            self._fitted[key] = value, type_, composed
        return composed

    def _give(self, container: Any, type_: t.Type, what: str) -> None:
        """Note the type of a list or dict that an object gets. Raises PickleError if another one has it otherwise."""
        _, known = self._given.setdefault(id(container), (container, type_))
        if known is not type_ and known != type_:
            was, wanted = known.annotation, type_.annotation
            raise PickleError(f"{what} is a {wanted}, and the same object is a {was} elsewhere")

    def _composed(self, value: Any, type_: t.Type, what: str) -> Any:
        fit = _COMPOSED.get(type(type_))
        return value if fit is None else fit(self, value, type_, what)

    def _optional(self, value: Any, type_: t.OptionalType, what: str) -> Any:
        return None if value is None else self._fitting(value, type_.element, what)

    def _list(self, value: Any, type_: t.ListType, what: str) -> Any:
        if type(value) is not list:
            raise _wrong(value, type_, what)
        self._give(value, type_, what)
        if not self._are_plain(value, type_.element):
            value[:] = [self._fitting(item, type_.element, what) for item in value]
        return value

    def _dict(self, value: Any, type_: t.DictType, what: str) -> Any:
        if not isinstance(value, dict):
            raise _wrong(value, type_, what)
        self._give(value, type_, what)
        if not (self._are_plain(value, type_.key) and self._are_plain(value.values(), type_.value)):
            for name, item in value.items():
                self._fitting(name, type_.key, what)
                value[name] = self._fitting(item, type_.value, what)
        return value

    def _tuple(self, value: Any, type_: t.TupleType, what: str) -> Any:
        if not isinstance(value, tuple) or len(value) != len(type_.elements):
            raise _wrong(value, type_, what)
        items = [self._fitting(v, e, what) for v, e in zip(value, type_.elements, strict=True)]
        return tuple(items) if type_.name is None else tuple_class(type_)(*items)

    def _union(self, value: Any, type_: t.UnionType, what: str) -> Any:
        return self._one_of(value, type_.members, type_, what)

    def _object(self, value: Any, type_: t.ClassType, what: str) -> Any:
        if not isinstance(value, ScriptObject) or value.type != type_:
            raise _wrong(value, type_, what)
        return value

    def _opaque(self, value: Any, type_: OpaqueType, what: str) -> Any:
        if not isinstance(value, OpaqueObject) or value.type_name != type_.name:
            raise _wrong(value, type_, what)
        return value

    def _with_interface(self, value: Any, type_: t.InterfaceType, what: str) -> Any:
        if not isinstance(value, ScriptObject) or type_.definition.why_not(value.type) is not None:
            raise _wrong(value, type_, what)
        return value

    def _enum_member(self, value: Any, type_: t.EnumType, what: str) -> Any:
        if type_.python is None or not isinstance(value, type_.python):
            raise _wrong(value, type_, what)
        return value

    def _are_plain(self, values: Collection[Any], type_: t.Type) -> bool:
        """Whether values, of which there may be very many, are all what the type says, and need no conversion."""
        plain = (float,) if isinstance(type_, t.FloatType) else _PYTHON.get(type(type_), ())
        return set(map(type, values)) <= set(plain)

    def _one_of(self, value: Any, members: tuple[t.Type, ...], type_: t.Type, what: str) -> Any:
        if self._failures > FAILURES:
            raise PickleError(f"its values are of the wrong member of a union more than {FAILURES:,} times")
        for member in members:
            if isinstance(member, t.FloatType) and not isinstance(value, float):
                continue
            try:
                return self._fitting(value, member, what)
            except PickleError:
                continue
        raise _wrong(value, type_, what)


_COMPOSED: Final[dict[type[t.Type], Callable[[Objects, Any, Any, str], Any]]] = {
    t.OptionalType: Objects._optional, t.ListType: Objects._list, t.DictType: Objects._dict,
    t.TupleType: Objects._tuple, t.UnionType: Objects._union, t.ClassType: Objects._object,
    t.InterfaceType: Objects._with_interface, OpaqueType: Objects._opaque, t.EnumType: Objects._enum_member,
}  # fmt: skip
"""How values are fitted to each type that has parts or a definition; a list or dict stays the object that it is."""


def _shorten(entries: dict[Any, Any], length: int) -> None:
    while len(entries) > length:
        entries.popitem()


def _wrong(value: Any, type_: t.Type, what: str) -> PickleError:
    return PickleError(f"expected {what} to be of type {type_.annotation}, got {type(value).__name__}")
