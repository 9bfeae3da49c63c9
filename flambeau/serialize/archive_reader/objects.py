"""The objects of an archive: made when their pickle names their class, then given their attributes.

Values are checked against the types that the class declares: what runs the code relies on them.
"""

from __future__ import annotations

from typing import Any

from flambeau.nn.parameter import Parameter
from flambeau.program.classes import ClassDefinition
from flambeau.program.named_tuples import tuple_class
from flambeau.program.object import ScriptObject
from flambeau.schema import types as t
from flambeau.schema.device import Device
from flambeau.serialize.archive_reader.code_unit import CodeUnit
from flambeau.serialize.archive_reader.pickle_machine import PickleError
from flambeau.tensor.tensor import Tensor
from flambeau.util.errors import ScriptError

_PYTHON: dict[type[t.Type], tuple[type, ...]] = {
    t.TensorType: (Tensor,), t.IntType: (int,), t.FloatType: (float, int), t.BoolType: (bool,),
    t.ComplexType: (complex, float, int), t.StringType: (str,), t.NoneType: (type(None),), t.DeviceType: (Device,),
    t.NumberType: (int, float, complex, bool),
}  # fmt: skip


class Objects:
    """Makes the objects of one archive."""

    def __init__(self, unit: CodeUnit) -> None:
        self.unit = unit
        self._parameters: dict[int, tuple[Tensor, Parameter]] = {}

    def named(self, name: str) -> t.Type:
        """A class or enum. Raises ArchiveError."""
        return self.unit.needed(name)

    def new(self, kind: Any) -> ScriptObject:
        """An object without attributes. Raises PickleError for what is no class."""
        if not isinstance(kind, t.ClassType):
            raise PickleError(f"expected a class, got {kind}")
        return ScriptObject(kind)

    def member(self, kind: Any, value: Any) -> Any:
        """The member of an enum with a value. Raises PickleError."""
        if not isinstance(kind, t.EnumType) or kind.python is None:
            raise PickleError(f"expected an enum, got {kind}")
        try:
            return kind.python(value)
        except ValueError as error:
            raise PickleError(str(error)) from None

    def build(self, instance: Any, state: Any) -> None:
        """Give an object its attributes, or its state to its own `__setstate__`. Raises PickleError."""
        if not isinstance(instance, ScriptObject):
            raise PickleError("expected an object of the archive's code to give attributes to")
        definition: ClassDefinition = instance.type.definition
        restore = definition.methods.get("__setstate__")
        if restore is not None and "__getstate__" in definition.methods:
            arguments = restore.schema.arguments
            if len(arguments) != 2:
                raise PickleError(f"__setstate__ of {definition.name} takes something besides a state")
            given = self._fitting(state, arguments[1].type, f"the state of {definition.name}")
            try:
                restore(instance, given)
            except (RuntimeError, ScriptError) as error:
                raise PickleError(f"__setstate__ of {definition.name} failed: {error}") from None
            return
        if not isinstance(state, dict):
            raise PickleError(f"expected the attributes of {definition.name} as a dict, got {type(state).__name__}")
        for attribute in definition.attributes:
            if attribute.name not in state:
                raise PickleError(f"object of {definition.name} has no attribute '{attribute.name}'")
            value = state[attribute.name]
            shown = f"attribute '{attribute.name}' of {definition.name}"
            value = self._fitting(value, attribute.type, shown)
            if attribute.is_parameter and isinstance(value, Tensor):
                value = self._parameter(value)
            instance.set(attribute.name, value)

    def _parameter(self, tensor: Tensor) -> Parameter:
        """A tensor as a parameter: the same one for the same tensor."""
        known = self._parameters.get(id(tensor))
        if known is None:
            known = self._parameters[id(tensor)] = (tensor, Parameter(tensor, tensor.requires_grad))
        return known[1]

    def _fitting(self, value: Any, type_: t.Type, what: str) -> Any:
        """The value as its type says; lists and dicts stay the objects that they are. Raises PickleError."""
        python = _PYTHON.get(type(type_))
        if python is not None:
            if type(value) in python or (isinstance(value, python) and not isinstance(value, bool)):
                return value if not isinstance(type_, t.FloatType) else 1.0 * value
            raise _wrong(value, type_, what)
        match type_:
            case t.OptionalType(element):
                return None if value is None else self._fitting(value, element, what)
            case t.ListType(element):
                if type(value) is not list:
                    raise _wrong(value, type_, what)
                for i, item in enumerate(value):
                    value[i] = self._fitting(item, element, what)
            case t.DictType(key, item_type):
                if not isinstance(value, dict):
                    raise _wrong(value, type_, what)
                for name, item in value.items():
                    self._fitting(name, key, what)
                    value[name] = self._fitting(item, item_type, what)
            case t.TupleType(elements):
                if not isinstance(value, tuple) or len(value) != len(elements):
                    raise _wrong(value, type_, what)
                items = [self._fitting(v, e, what) for v, e in zip(value, elements, strict=True)]
                return tuple(items) if type_.name is None else tuple_class(type_)(*items)
            case t.UnionType(members):
                return self._one_of(value, members, type_, what)
            case t.ClassType():
                if not isinstance(value, ScriptObject) or value.type != type_:
                    raise _wrong(value, type_, what)
            case t.InterfaceType():
                if not isinstance(value, ScriptObject) or type_.definition.why_not(value.type) is not None:
                    raise _wrong(value, type_, what)
            case t.EnumType():
                if type_.python is None or not isinstance(value, type_.python):
                    raise _wrong(value, type_, what)
        return value

    def _one_of(self, value: Any, members: tuple[t.Type, ...], type_: t.Type, what: str) -> Any:
        for member in members:
            if isinstance(member, t.FloatType) and not isinstance(value, float):
                continue
            try:
                return self._fitting(value, member, what)
            except PickleError:
                continue
        raise _wrong(value, type_, what)


def _wrong(value: Any, type_: t.Type, what: str) -> PickleError:
    return PickleError(f"expected {what} to be of type {type_.annotation}, got {type(value).__name__}")
