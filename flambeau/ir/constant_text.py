"""Text of constants and other attributes, as TorchScript writes it.

>>> from flambeau.schema.type_parser import parse_type
>>> attribute_text(True), literal_text([1.0, 0.1, 1e20]), literal_text([], parse_type("int[]"))
('1', '[1., 0.10000000000000001, 1e+20]', 'annotate(List[int], [])')
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable
from typing import Any

from flambeau.ir.literals import EnumMember, Opaque, TensorLiteral, is_tensor
from flambeau.schema.device import Device
from flambeau.schema.lexer import escape
from flambeau.schema.type_text import float_text
from flambeau.schema.types import (
    AnyType,
    DictType,
    EnumType,
    FutureType,
    InterfaceType,
    ListType,
    NumberType,
    OptionalType,
    RRefType,
    TupleType,
    Type,
    UnionType,
)

_SHOWN_ELEMENTS = 10
"""Larger tensors print as `<Tensor>`."""
_BARE_INTEGRAL = 1e10
"""Integral floats from here on have no trailing point."""


def type_text(type_: Type) -> str:
    """A type as nodes show it: as `str`, but futures take square brackets, except inside dicts."""
    match type_:
        case FutureType(element) | RRefType(element):
            return f"{type_.kind.removesuffix('Type')}[{type_text(element)}]"
        case ListType(element):
            return f"{type_text(element)}[]"
        case OptionalType(element):
            return f"{type_text(element)}?"
        case TupleType(elements, None):
            return f"({', '.join(map(type_text, elements))})"
    return str(type_)


def attribute_text(value: Any, type_: Type | None = None) -> str:
    """An attribute of a node; `type_` is that of a constant's result."""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, Device):
        return quoted(str(value))
    return literal_text(value, type_)


def literal_text(value: Any, type_: Type | None = None) -> str:
    """A value inside an attribute. Empty containers and those whose element type does not show are annotated."""
    match value:
        case bool() | None:
            return str(value)
        case enum.Enum() | EnumMember():
            return enum_text(value, type_)
        case int():
            return str(value)
        case float():
            return graph_float(value)
        case complex():
            return complex_text(value)
        case str():
            return quoted(value)
        case Device():
            return f"torch.device({quoted(str(value))})"
        case list():
            return _list_text(value, _pick(type_, ListType))
        case tuple():
            return _tuple_text(value, _pick(type_, TupleType))
        case dict():
            return _dict_text(value, _pick(type_, DictType))
        case Type():
            return type_text(value)
        case Opaque():
            return value.text
    if is_tensor(value):
        return tensor_text(value)
    return "<Graph>" if hasattr(value, "all_nodes") else f"object({id(value):#x})"


def quoted(text: str) -> str:
    """A string in double quotes with every special character escaped."""
    return escape(text).replace("'", "\\'")


def graph_float(value: float) -> str:
    """A float: 17 digits; integral ones end in a point below 10**10, and have none beyond.

    >>> graph_float(2.0), graph_float(1e10), graph_float(-0.0)
    ('2.', '10000000000', '-0.')
    """
    if math.isfinite(value) and abs(value) >= _BARE_INTEGRAL:
        return f"{value:.17g}"
    return float_text(value)


def complex_text(value: complex) -> str:
    """A complex number: `3.+4.j`."""
    imaginary = float_text(value.imag)
    return f"{float_text(value.real)}{'' if imaginary.startswith('-') else '+'}{imaginary}j"


def enum_text(value: Any, type_: Type | None) -> str:
    """A member of an enum by its qualified name."""
    known = _pick(type_, EnumType)
    if known is not None:
        return f"{known.name}.{value.name}"
    return f"{value.class_name}.{value.name}" if isinstance(value, EnumMember) else str(value)


def tensor_text(value: Any) -> str:
    """A tensor: its element in braces, up to ten elements in columns, `<Tensor>` beyond."""
    if isinstance(value, TensorLiteral):
        return value.text
    count = math.prod(value.shape)
    if count == 1:
        return f"{{{_element_text(value.item())}}}"
    if count > _SHOWN_ELEMENTS or not hasattr(value, "_columns_text"):
        return "<Tensor>"
    return str(value._columns_text()).replace("\n", " ")


def _element_text(element: complex) -> str:
    if isinstance(element, complex):
        return f"({element.real:g},{element.imag:g})"
    return f"{element:g}" if isinstance(element, float) else str(int(element))


def _pick(type_: Type | None, kind: type[Any]) -> Any:
    """The part of an optional or union that is of this kind of type; None when there is none or more than one."""
    if isinstance(type_, kind):
        return type_
    if isinstance(type_, OptionalType | UnionType):
        printer = [t for t in type_.contained if isinstance(t, kind)]
        return printer[0] if len(printer) == 1 else None
    return None


def shows_type(element: Type | None) -> bool:
    """Whether the values in a container tell its element type."""
    return not isinstance(element, UnionType | OptionalType | NumberType | InterfaceType | AnyType)


def _joined(values: Iterable[Any], type_: Type | None) -> str:
    return ", ".join(literal_text(v, type_) for v in values)


def _list_text(value: list[Any], type_: ListType | None) -> str:
    element = None if type_ is None else type_.element
    if value and not isinstance(element, OptionalType) and all(map(is_tensor, value)):
        return "[<Tensors>]"
    text = f"[{_joined(value, element)}]"
    if type_ is not None and (not value or not shows_type(element)):
        return f"annotate({type_.annotation}, {text})"
    return text


def _tuple_text(value: tuple[Any, ...], type_: TupleType | None) -> str:
    if type_ is None or len(type_.elements) != len(value):
        inner = _joined(value, None)
    else:
        inner = ", ".join(map(literal_text, value, type_.elements))
    return f"({inner},)" if len(value) == 1 else f"({inner})"


def _dict_text(value: dict[Any, Any], type_: DictType | None) -> str:
    key, element = (None, None) if type_ is None else (type_.key, type_.value)
    text = "{" + ", ".join(f"{literal_text(k, key)}: {literal_text(v, element)}" for k, v in value.items()) + "}"
    if type_ is not None and (not value or not shows_type(element)):
        return f"annotate({type_.annotation},{text})"
    return text
