"""Types as text: as graphs and schemas have them, and as annotations in source code. `type_parser` reads them.

>>> from flambeau.schema.types import INT, ListType, OptionalType
>>> str(OptionalType(ListType(INT))), OptionalType(ListType(INT)).annotation
('int[]?', 'Optional[List[int]]')
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flambeau.schema.lexer import escape
from flambeau.schema.opaque_type import OpaqueType
from flambeau.schema.set_type import SetType
from flambeau.schema.types import (
    AwaitType,
    DictType,
    EnumType,
    FutureType,
    InterfaceType,
    ListType,
    NamedType,
    OptionalType,
    RRefType,
    SimpleType,
    TensorType,
    TupleType,
    Type,
    UnionType,
    VarType,
    union_order,
)
from flambeau.util.inversions import TYPE_TEXT

_CONTAINER_SPELLINGS: Mapping[type[Type], tuple[str, str]] = {
    OptionalType: ("{}?", "Optional[{}]"),
    ListType: ("{}[]", "List[{}]"),
    DictType: ("Dict({}, {})", "Dict[{}, {}]"),
    SetType: ("Set({})", "Set[{}]"),
    FutureType: ("Future({})", "Future[{}]"),
    AwaitType: ("Await({})", "Await[{}]"),
    RRefType: ("RRef({})", "RRef[{}]"),
}
"""How types that only hold others are spelled: in graphs, in source."""


@TYPE_TEXT.provide
def print_type(type_: Type, annotation: bool) -> str:
    """The text of a type: graph spelling, or source spelling when `annotation`."""
    return _spelled(type_, annotation, by_name=annotation)


def print_in_schema(type_: Type) -> str:
    """The text of a type in a schema: that in graphs, but for named tuples, which have their qualified names."""
    return _spelled(type_, annotation=False, by_name=True)


def _spelled(type_: Type, annotation: bool, by_name: bool) -> str:
    spellings = _CONTAINER_SPELLINGS.get(type(type_))
    if spellings is not None:
        return spellings[annotation].format(*[_spelled(inner, annotation, by_name) for inner in type_.contained])
    match type_:
        case SimpleType():
            return type_.spelling if annotation else type_.text
        case TensorType():
            return "Tensor" if annotation else _tensor_text(type_)
        case UnionType(members):
            return _union_text(members, annotation, by_name)
        case TupleType():
            return _tuple_text(type_, annotation, by_name)
        case EnumType(name):
            return name if annotation else f"Enum<{name}>"
        case InterfaceType(name):
            return name if annotation else f"InterfaceType<{name.rpartition('.')[2]}>"
        case NamedType(name) | VarType(name) | OpaqueType(name):
            return name
    raise TypeError(f"no text for {type(type_).__name__}")


def _tensor_text(t: TensorType) -> str:
    name = t.dtype.display if t.dtype is not None else "Tensor"
    parts: list[str] = []
    if t.sizes is None:
        name = name if t.dtype is None else f"{name}Tensor"
    else:
        parts += map(_size_text, t.sizes)
        if t.sizes and t.strides is not None and len(t.strides) == len(t.sizes) and None not in t.strides:
            parts.append(f"strides=[{', '.join(map(str, t.strides))}]")
    if t.requires_grad is not None:
        parts.append(f"requires_grad={int(t.requires_grad)}")
    if t.device is not None:
        parts.append(f"device={t.device}")
    text = name if not parts and t.sizes is None else f"{name}({', '.join(parts)})"
    return text + ("[Undefined]" if t.undefined else "")


def _size_text(size: int | None) -> str:
    """A size of a tensor's type: a star if it is unknown, a negative number if it only has a name (`SS(-2)`)."""
    if size is None:
        return "*"
    return str(size) if size >= 0 else f"SS({size})"


def _union_text(members: tuple[Type, ...], annotation: bool, by_name: bool) -> str:
    # Each member's text is made once: where unions are nested, a text of texts doubles the work at every level.
    texts = {member: _spelled(member, False, by_name) for member in members}
    ordered = sorted(members, key=lambda member: union_order(member, texts[member]))
    inner = ", ".join(print_type(m, True) if annotation else texts[m] for m in ordered)
    return f"Union[{inner}]" if annotation else f"Union({inner})"


def _tuple_text(t: TupleType, annotation: bool, by_name: bool) -> str:
    if t.name is not None and by_name and "." in t.name:
        return t.name
    if t.name is not None and not annotation:
        known = dict(t.defaults)
        shown = [
            f"{n} : {print_type(e, False)}" + (f" = {default_text(known[n])}" if n in known else "")
            for n, e in zip(t.fields, t.elements, strict=True)
        ]
        return f"NamedTuple({', '.join(shown)})"
    inner = ", ".join(_spelled(e, annotation, by_name) for e in t.elements)
    return f"Tuple[{inner or '()'}]" if annotation else f"({inner})"


def default_text(value: Any) -> str:
    """A default value as schemas and named tuples show it."""
    if isinstance(value, str):
        return escape(value)
    if isinstance(value, float):
        return float_text(value)
    if isinstance(value, list | tuple):
        inner = ", ".join(default_text(v) for v in value)
        return f"[{inner}]" if isinstance(value, list) else f"({inner}{',' * (len(value) == 1)})"
    return str(value)


def float_text(value: float) -> str:
    """A float as TorchScript writes it: 17 significant digits, a trailing point where it is integral (`1.`, `1e+20`).

    >>> float_text(1.0), float_text(0.1), float_text(float("-inf"))
    ('1.', '0.10000000000000001', '-inf')
    """
    text = f"{value:.17g}"
    return text if any(c in text for c in ".en") else text + "."
