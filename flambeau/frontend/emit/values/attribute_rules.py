"""Attributes of values of the graph, by their types: what `x.shape`, `items.append`, `d.keys` and `obj.field` mean.

x.shape    →    prim::shape(%x)        items.sort    →    the operator aten::sort, with its first argument bound
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from flambeau.frontend.emit.numpy.array_promotion import array_of_number, dtype_of
from flambeau.frontend.emit.numpy.dtype_values import dtype_attribute, known_dtype
from flambeau.frontend.emit.numpy.element_arithmetic import as_python, part_of
from flambeau.frontend.emit.numpy.element_functions import scalar_class
from flambeau.frontend.emit.numpy.ndarray_methods import array_attribute
from flambeau.frontend.emit.numpy.unsigned_elements import is_unsigned
from flambeau.frontend.emit.values import set_values as sets
from flambeau.frontend.emit.values.container_methods import ContainerMethod, named_tuple_attribute
from flambeau.frontend.emit.values.future_methods import future_method
from flambeau.frontend.emit.values.module_containers import frozen
from flambeau.frontend.emit.values.object_methods import (
    find_method,
    find_property,
)
from flambeau.frontend.emit.values.operator_value import ConversionValue, OperatorValue, ToListValue
from flambeau.frontend.emit.values.simple_value import MethodValue, SimpleValue, read_attribute, tuple_item
from flambeau.frontend.emit.values.special_methods import SEARCHES, GetItemMethod, SearchMethod, TupleMethod
from flambeau.frontend.emit.values.sugared import Emitter, FormValue, Given, Sugared
from flambeau.frontend.emit.values.tensor_attributes import CONVERSIONS, PROPERTIES
from flambeau.frontend.emit.values.tensor_methods import OTHER_NAMES, tensor_method
from flambeau.frontend.scopes.name_resolution import ObjectResolver
from flambeau.ir.graph import Value
from flambeau.program.classes import ClassDefinition
from flambeau.schema import registry
from flambeau.schema.array_type import ArrayType
from flambeau.schema.device import CPU
from flambeau.schema.element_type import holds_elements, is_element
from flambeau.schema.match import fits
from flambeau.schema.opaque_type import OpaqueType
from flambeau.schema.set_type import SetType
from flambeau.schema.types import (
    DEVICE,
    INT,
    STRING,
    AwaitType,
    BoolType,
    ComplexType,
    DeviceType,
    DictType,
    EnumType,
    FloatType,
    FutureType,
    IntType,
    ListType,
    NamedType,
    OptionalType,
    StringType,
    TensorType,
    TupleType,
    Type,
    is_number,
)
from flambeau.tensor.opaque_objects import METHODS
from flambeau.util.source import SourceRange

PYTHON_METHODS = {
    StringType: ("removeprefix", "removesuffix", "casefold", "isascii"),
    ListType: ("index", "remove", "count"),
    ComplexType: ("conjugate",),
    IntType: ("bit_length", "bit_count", "conjugate"),
    FloatType: ("is_integer", "conjugate"),
}
"""Methods that TorchScript does not have, or not for every type of element."""
CONTAINER_METHODS = {ListType: ("extend", "sort"), DictType: ("update",)}
"""Methods that take more than the operators do."""
OF_SCALARS = frozenset({
    "astype", "dtype", "round", "sum", "prod", "mean", "std", "var", "max", "min", "any", "all", "clip", "copy", "ndim",
    "shape", "size", "cumsum", "argmax", "argmin", "squeeze", "ravel", "flatten", "reshape",
})  # fmt: skip
"""Attributes of arrays that NumPy's scalars have, too."""
Rule = Callable[[Emitter, SourceRange, Value, str], Sugared | None]
_rules: list[tuple[type[Type], Rule]] = []
_asked: dict[type[Type], tuple[Rule, ...]] = {}
_COMPLETE = (SetType, NamedType, FutureType)
"""Types whose attributes are all said by rules: operators are no methods of theirs."""


def attribute(e: Emitter, where: SourceRange, value: Value, name: str) -> Sugared | None:
    """The attribute `name` of a value; None if it has none."""
    type_ = value.static_type
    for rule in _asked.get(type(type_)) or _rules_of(type(type_)):
        meaning = rule(e, where, value, name)
        if meaning is not None:
            return meaning
    return None if isinstance(type_, _COMPLETE) else _operator(where, value, name)


def _rules_of(kind: type[Type]) -> tuple[Rule, ...]:
    """The rules for a class of types, in the order in which they are asked; from now on kept for it."""
    rules = _asked[kind] = tuple(rule for of, rule in _rules if issubclass(kind, of))
    return rules


def _of(*kinds: type[Type]) -> Callable[[Rule], Rule]:
    """Register what is decorated behind the other rules of these classes of types."""

    def register(rule: Rule) -> Rule:
        _rules.extend((kind, rule) for kind in kinds)
        return rule

    return register


@_of(ArrayType)
def _of_array(e: Emitter, where: SourceRange, value: Value, name: str) -> Sugared | None:
    return array_attribute(e, where, SimpleValue, value, name)


@_of(TensorType)
def _of_tensor(e: Emitter, where: SourceRange, value: Value, name: str) -> Sugared | None:
    """Properties, conversions, and methods that are no operators."""
    if name in PROPERTIES:
        kind, result = PROPERTIES[name]
        return SimpleValue(e.emit(kind, (value,), result))
    if name in CONVERSIONS:
        return ConversionValue(value, CONVERSIONS[name].code, INT)
    if name == "cpu":
        return ConversionValue(value, CPU, DEVICE)
    method = tensor_method(SimpleValue, value, name)
    if method is not None:
        return method
    if name == "tolist":
        return ToListValue(value)
    return GetItemMethod(SimpleValue, value) if name == "__getitem__" else None


@_of(ListType, DictType)
def _of_container(e: Emitter, where: SourceRange, value: Value, name: str) -> Sugared | None:
    """Methods that take more than the operators do."""
    if name not in CONTAINER_METHODS.get(type(value.static_type), ()):
        return None
    return ContainerMethod(SimpleValue, OperatorValue(f"aten::{name}", Given(value, where)), value, name)


@_of(SetType)
def _of_set(e: Emitter, where: SourceRange, value: Value, name: str) -> Sugared | None:
    return sets.method(SimpleValue, value, name, where)


@_of(StringType)
def _of_text(e: Emitter, where: SourceRange, value: Value, name: str) -> Sugared | None:
    return SearchMethod(SimpleValue, value, name) if name in SEARCHES else None


@_of(IntType)
def _of_dtype(e: Emitter, where: SourceRange, value: Value, name: str) -> Sugared | None:
    dtype = known_dtype(value) if name == "type" else None
    return dtype_attribute(e, where, SimpleValue, value, name) if dtype is None else scalar_class(e, dtype)


@_of(FloatType, IntType, BoolType, ComplexType)
def _of_scalar(e: Emitter, where: SourceRange, value: Value, name: str) -> Sugared | None:
    """What NumPy's scalars have of arrays: `x[0].item()`, which is a number of Python, `x.mean().round(2)`."""
    if not is_element(value.static_type) or is_unsigned(value):
        return None
    if name in ("item", "tolist"):
        return FormValue(name, lambda e, tree, hint: SimpleValue(as_python(e, value)))
    if name not in OF_SCALARS:
        return None
    array = array_of_number(e, value, dtype_of(where, np.asarray, value))
    return array_attribute(e, where, SimpleValue, array, name)


@_of(ComplexType)
def _of_complex(e: Emitter, where: SourceRange, value: Value, name: str) -> Sugared | None:
    return SimpleValue(part_of(e, where, value, name)) if name in ("real", "imag") else None


@_of(FloatType, IntType)
def _of_real(e: Emitter, where: SourceRange, value: Value, name: str) -> Sugared | None:
    """The parts of a number that has no imaginary one."""
    if name == "imag":
        return SimpleValue(e.constant(0.0 if isinstance(value.static_type, FloatType) else 0))
    return SimpleValue(value) if name == "real" else None


@_of(FutureType)
def _of_future(e: Emitter, where: SourceRange, value: Value, name: str) -> Sugared | None:
    return future_method(SimpleValue, value, name, where)


@_of(AwaitType)
def _of_awaited(e: Emitter, where: SourceRange, value: Value, name: str) -> Sugared | None:
    """The attribute of what is waited for."""
    assert isinstance(value.static_type, AwaitType)
    waited = e.emit("prim::awaitable_wait", (value,), value.static_type.element)
    return SimpleValue(waited).attribute(e, where, name)


@_of(DeviceType)
def _of_device(e: Emitter, where: SourceRange, value: Value, name: str) -> Sugared | None:
    if name not in ("type", "index"):
        return None
    return SimpleValue(e.emit(f"prim::{name}", (value,), STRING if name == "type" else OptionalType(INT)))


@_of(TupleType)
def _of_tuple(e: Emitter, where: SourceRange, value: Value, name: str) -> Sugared | None:
    """The fields and methods of named tuples; `count` and `index` of others."""
    type_ = value.static_type
    assert isinstance(type_, TupleType)
    if type_.name is None and name in ("count", "index"):
        return TupleMethod(SimpleValue, value, name)
    if name in type_.fields:
        return SimpleValue(tuple_item(e, value, type_.fields.index(name)))
    return named_tuple_attribute(e, SimpleValue, value, name) if type_.fields and name.startswith("_") else None


@_of(EnumType)
def _of_enum_member(e: Emitter, where: SourceRange, value: Value, name: str) -> Sugared | None:
    assert isinstance(value.static_type, EnumType)
    if name not in ("name", "value"):
        return None
    kind = f"prim::Enum{name.capitalize()}"
    return SimpleValue(e.emit(kind, (value,), STRING if name == "name" else value.static_type.value_type))


@_of(EnumType, TupleType)
def _of_python_class(e: Emitter, where: SourceRange, value: Value, name: str) -> Sugared | None:
    """What the class of a named tuple or an enumeration defines."""
    if not isinstance(e.scope.resolver, ObjectResolver):
        return None
    method = e.scope.resolver.object_attribute(value, name, where)
    if isinstance(method, Sugared):
        return method.call(e, where, (), ()) if getattr(method, "is_property", False) else method
    return None if method is None else e.wrap(method, where)


@_of(NamedType)
def _of_object(e: Emitter, where: SourceRange, value: Value, name: str) -> Sugared | None:
    """A field, constant, property or method of an object, or what its module says."""
    type_ = value.static_type
    assert isinstance(type_, NamedType)
    resolver, definition = e.scope.resolver, type_.definition
    if isinstance(definition, ClassDefinition):
        stored = definition.attribute(name)
        if stored is not None:
            return SimpleValue(read_attribute(e, value, name, stored.type))
        if name in definition.constants:
            return e.wrap(frozen(definition.constants[name]), where)
        accessor = find_property(e, type_, name, where)
        if accessor is not None:
            return MethodValue(value, accessor[0].short_name, accessor[0]).call(e, where, (), ())
    if isinstance(resolver, ObjectResolver):
        attribute_value = resolver.object_attribute(value, name, where)
        if attribute_value is not None:
            return e.wrap(attribute_value, where)
    generator = e.rules.generator_method(e, value, name, where)
    if generator is not None:
        return generator
    method = find_method(e, type_, name, where)
    if method is None:
        return None
    if isinstance(definition, ClassDefinition) and name in definition.properties:  # compiled just now
        return MethodValue(value, name, method).call(e, where, (), ())
    others = getattr(getattr(getattr(definition, "python", None), name, None), "other_methods", ())
    return MethodValue(value, name, method, others)


@_of(OpaqueType)
def _of_opaque_object(e: Emitter, where: SourceRange, value: Value, name: str) -> Sugared | None:
    """The operator that is a method of a class without code."""
    type_ = value.static_type
    assert isinstance(type_, OpaqueType)
    operator = METHODS.get((type_.name, name))
    return None if operator is None else OperatorValue(operator, Given(value, where))


def _operator(where: SourceRange, value: Value, name: str) -> Sugared | None:
    """The operator of that name whose first argument the value is."""
    kind = f"aten::{OTHER_NAMES.get(name, name)}"
    type_ = value.static_type
    if any(_takes(definition.schema.arguments, type_) for definition in registry.overloads(kind)):
        return OperatorValue(kind, Given(value, where))
    if name == "conj" and is_number(type_) and holds_elements(type_):  # a method of NumPy's numbers alone
        name = "conjugate"
    if any(name in names for kind, names in PYTHON_METHODS.items() if isinstance(type_, kind)):
        return OperatorValue(f"python::{name}", Given(value, where))
    return None


def _takes(arguments: Sequence[Any], type_: Type) -> bool:
    """Whether the first argument accepts the type. Optionals must be refined before their methods are used."""
    return bool(arguments) and not isinstance(type_, OptionalType) and fits(arguments[0].type, type_, {})
