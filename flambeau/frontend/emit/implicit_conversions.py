"""Conversions that the compiler inserts where a value is passed on: chosen first, emitted only if the whole call fits.

A tuple becomes a list where one is expected. For builtin operators, in a second attempt, a one-element tensor becomes a
number and a string a device. A number of which only the run tells what it is (`x.item()`) becomes a float, or an int,
which the run makes sure of.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from flambeau.frontend.emit.fresh_containers import retype, written_as
from flambeau.frontend.emit.refusals import raise_unless
from flambeau.frontend.emit.values.sugared import Emitter
from flambeau.ir.graph import Value
from flambeau.schema import registry
from flambeau.schema.device import Device
from flambeau.schema.match import has_variables
from flambeau.schema.subtype import is_subtype
from flambeau.schema.types import (
    BOOL,
    DEVICE,
    FLOAT,
    INT,
    NUMBER,
    STRING,
    AnyType,
    DictType,
    ListType,
    NoneType,
    OptionalType,
    TensorType,
    TupleType,
    Type,
    UnionType,
    is_number,
)

Conversion = Callable[["Emitter"], Value]
"""Emits a value; run only when the call that it belongs to is certain."""
NOT_WHOLE: Final = (
    "expected an int here, and the number is a float or complex: write int(x) to cut its fraction off, or take a float"
)
NO_SUCH_NUMBER: Final = "expected a {wanted} here, and the number is of another kind"
CONTAINERS: Final = (ListType, DictType, TupleType, OptionalType)
"""Types of what may be a new container."""


def keep(value: Value) -> Conversion:
    """The value as it is."""
    return lambda e: value


def conversion_to(value: Value, wanted: Type, *, implicit: bool) -> tuple[Type, Conversion]:
    """The type and conversion of `value`, as near to `wanted` as may be; whether that will do, the caller says."""
    actual = value.static_type
    new = _taken_on(value, wanted) if isinstance(actual, CONTAINERS) else None
    if new is not None:
        return new, lambda e: _retyped(value, new)
    if isinstance(wanted, OptionalType) and not isinstance(actual, OptionalType | NoneType):
        return conversion_to(value, wanted.element, implicit=implicit)
    if is_empty_literal(value) and type(actual) is type(wanted) and not has_variables(wanted):
        return wanted, lambda e: e.emit(_kind_of(value), (), wanted)
    if isinstance(actual, TupleType):
        conversion = _conversion_of_tuple(value, actual, wanted, implicit)
    else:
        conversion = _implicit_conversion(value, wanted) if implicit else None
    return conversion or (actual, keep(value))


def _taken_on(value: Value, wanted: Type) -> Type | None:
    """The type that a new container takes on; None for one that is not new, or fits as it is."""
    return None if is_subtype(value.static_type, wanted) or has_variables(wanted) else written_as(value, wanted)


def _conversion_of_tuple(
    value: Value, actual: TupleType, wanted: Type, implicit: bool
) -> tuple[Type, Conversion] | None:
    """A tuple where a list, another tuple, or one of several types with one list among them is expected."""
    if isinstance(wanted, UnionType) and not is_subtype(actual, wanted):
        lists = [m for m in wanted.members if isinstance(m, ListType)]
        wanted = lists[0] if len(lists) == 1 else wanted
    if isinstance(wanted, ListType):
        is_known = bool(actual.elements) or not has_variables(wanted.element)
        fits = is_known and all(_fits(t, wanted.element) for t in actual.elements)
        return _tuple_to_list(value, actual, wanted) if fits else None
    if not isinstance(wanted, TupleType) or len(actual.elements) != len(wanted.elements):
        return None
    if wanted.name not in (None, actual.name) or is_subtype(actual, wanted) or has_variables(wanted):
        return None
    return _tuple_to_tuple(value, wanted, implicit)


def _implicit_conversion(value: Value, wanted: Type) -> tuple[Type, Conversion] | None:
    """What builtin operators take in a second attempt: tensors and numbers of any kind as numbers, texts as devices."""
    actual = value.static_type
    if isinstance(actual, TensorType):
        cast = registry.implicit_cast(wanted)
        return None if cast is None else (wanted, lambda e: e.emit(cast, (value,), wanted))
    if actual == NUMBER and wanted == FLOAT:
        return FLOAT, lambda e: e.emit("aten::Float", (value,), FLOAT)
    if actual == NUMBER and wanted == INT:
        return INT, lambda e: _whole(e, value)
    if actual == NUMBER and isinstance(wanted, UnionType):
        return _number_among(value, wanted)
    if actual == STRING and wanted == DEVICE:
        return DEVICE, lambda e: to_device(e, value)
    return None


def _number_among(value: Value, wanted: UnionType) -> tuple[Type, Conversion] | None:
    """A number where one of several types is expected: of its own kind, if that is among them."""
    if INT in wanted.members and FLOAT in wanted.members:
        kinds = [m for m in wanted.members if is_number(m)]
        return wanted, lambda e: _checked(e, value, kinds, "prim::unchecked_cast", wanted)
    one = next((m for m in (FLOAT, INT) if m in wanted.members), None)
    return None if one is None else _implicit_conversion(value, one)


def _whole(e: Emitter, value: Value) -> Value:
    """A number that has to be an int, or a bool as one."""
    return _checked(e, value, [INT, BOOL], "aten::Int", INT)


def _checked(e: Emitter, value: Value, kinds: list[Type], kind: str, type_: Type) -> Value:
    """A number as what an operator makes of it. The program raises TypeError where it is of none of the kinds."""
    test = e.insert("prim::isinstance", (value,), BOOL)
    test.attributes["types"] = kinds
    text = NOT_WHOLE if type_ == INT else NO_SUCH_NUMBER.format(wanted=type_.annotation)
    raise_unless(e, test.result(), text, TypeError)
    return e.emit(kind, (value,), type_)


def is_container(type_: Type) -> bool:
    """Whether values of the type may be literals with items."""
    return isinstance(type_, ListType | DictType | TupleType)


def _retyped(value: Value, type_: Type) -> Value:
    retype(value, type_)
    return value


def is_empty_literal(value: Value) -> bool:
    """Whether the value is a `[]` or `{}` that was just written and has no type of its own yet."""
    return _kind_of(value) in ("prim::ListConstruct", "prim::DictConstruct") and not (
        value.has_name or value.is_used or (value.defining_node is not None and value.defining_node.operands)
    )


def _kind_of(value: Value) -> str:
    return "" if value.defining_node is None else value.defining_node.op


def convert(e: Emitter, value: Value, wanted: Type, *, implicit: bool) -> Value:
    """`value` as near to `wanted` as conversions bring it."""
    e.type_variables.unify(value.static_type, wanted)
    is_open = isinstance(wanted, AnyType) or (isinstance(wanted, UnionType) and value.static_type != NUMBER)
    if is_subtype(value.static_type, wanted) or is_open:
        return value
    return conversion_to(value, wanted, implicit=implicit)[1](e)


def to_device(e: Emitter, value: Value) -> Value:
    """A string as a device; a literal at once."""
    if value.defining_node is not None and value.defining_node.op == "prim::Constant":
        return e.constant(Device(value.defining_node.attribute("value")), DEVICE)
    return e.emit("aten::device", (value,), DEVICE)


def unpack_tuple(e: Emitter, value: Value) -> list[Value]:
    """The items of a tuple, without a node when the tuple was just made."""
    assert isinstance(value.static_type, TupleType)
    if value.defining_node is not None and value.defining_node.op == "prim::TupleConstruct":
        return list(value.defining_node.operands)
    return list(e.graph.insert("prim::TupleUnpack", (value,), value.static_type.elements).results)


def pack_tuple(e: Emitter, items: Sequence[Value], type_: TupleType | None = None) -> Value:
    """A tuple of values."""
    return e.emit("prim::TupleConstruct", items, type_ or TupleType(tuple(i.static_type for i in items)))


def pack_list(e: Emitter, items: Sequence[Value], element: Type) -> Value:
    """A list of values."""
    return e.emit("prim::ListConstruct", items, ListType(element))


def _fits(actual: Type, element: Type) -> bool:
    return has_variables(element) or is_subtype(actual, element)


def _tuple_to_list(value: Value, actual: TupleType, wanted: ListType) -> tuple[Type, Conversion]:
    element = wanted.element
    if has_variables(element):
        first = actual.elements[0]
        if any(t != first for t in actual.elements):
            return actual, keep(value)
        element = first
    return ListType(element), lambda e: pack_list(e, unpack_tuple(e, value), element)


def _tuple_to_tuple(value: Value, wanted: TupleType, implicit: bool) -> tuple[Type, Conversion]:
    def build(e: Emitter) -> Value:
        items = unpack_tuple(e, value)
        return pack_tuple(
            e, [convert(e, item, t, implicit=implicit) for item, t in zip(items, wanted.elements, strict=True)]
        )

    assert isinstance(value.static_type, TupleType)
    pairs = zip(value.static_type.elements, wanted.elements, strict=True)
    return (wanted if all(_converts(t, w, implicit) for t, w in pairs) else value.static_type), build


def _converts(actual: Type, wanted: Type, implicit: bool) -> bool:
    """Whether an item of a tuple is or becomes a `wanted`."""
    if is_subtype(actual, wanted):
        return True
    inner = wanted.element if isinstance(wanted, OptionalType) else wanted
    if implicit and actual == NUMBER and not {FLOAT, INT}.isdisjoint(getattr(inner, "members", (inner,))):
        return True
    if isinstance(actual, TupleType) and isinstance(inner, ListType):
        return all(is_subtype(t, inner.element) for t in actual.elements)
    return (
        isinstance(actual, TupleType)
        and isinstance(inner, TupleType)
        and len(actual.elements) == len(inner.elements)
        and all(_converts(t, w, implicit) for t, w in zip(actual.elements, inner.elements, strict=True))
    )
