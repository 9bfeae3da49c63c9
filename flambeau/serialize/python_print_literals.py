"""Constants in printed code: literals where there is one, places in a table where there is not.

>>> table = ConstantTable()
>>> literal([1.0, 2j, "a\\n", None], None, table)
'[1., 0.+2.j, "a\\\\n", None]'
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import Any

from flambeau.ir.constant_text import complex_text, enum_text, quoted, shows_type
from flambeau.ir.constants import same_constant
from flambeau.ir.literals import EnumMember, TensorLiteral, is_tensor
from flambeau.schema.device import Device
from flambeau.schema.type_text import float_text
from flambeau.schema.types import (
    DictType,
    EnumType,
    ListType,
    OptionalType,
    TupleType,
    Type,
    UnionType,
)

NAMESPACE = "CONSTANTS"


class ConstantNamespace:
    """Constants by the names that code has for them: `namespace.c0`, or all in `const_mapping`.

    >>> constants = ConstantNamespace(["a", "b"])
    >>> constants.c1, constants.const_mapping
    ('b', {'c0': 'a', 'c1': 'b'})
    """

    def __init__(self, values: Iterable[Any]) -> None:
        self.const_mapping: dict[str, Any] = {f"c{index}": value for index, value in enumerate(values)}

    def __getattr__(self, name: str) -> Any:
        mapping = self.__dict__.get("const_mapping", {})
        if name not in mapping:
            raise AttributeError(f"there is no constant '{name}'; there are {', '.join(mapping) or 'none'}")
        return mapping[name]

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.const_mapping]


class ConstantTable:
    """Values without a literal, as `CONSTANTS.c0`, `CONSTANTS.c1`, ... in the order in which code mentions them."""

    def __init__(self) -> None:
        self.values: list[Any] = []

    def place(self, value: Any) -> str:
        """The expression for a value; equal tensors share one."""
        for index, known in enumerate(self.values):
            if known is value or _is_same(known, value):
                return f"{NAMESPACE}.c{index}"
        self.values.append(value)
        return f"{NAMESPACE}.c{len(self.values) - 1}"


def _is_same(a: Any, b: Any) -> bool:
    if isinstance(a, str) or isinstance(b, str):
        return type(a) is type(b) and bool(a == b)
    if isinstance(a, TensorLiteral) or isinstance(b, TensorLiteral):
        return same_constant(a, b)
    if not (is_tensor(a) and is_tensor(b)):
        return False
    return (
        a.dtype == b.dtype
        and tuple(a.shape) == tuple(b.shape)
        and tuple(a.stride()) == tuple(b.stride())
        and a.device == b.device
        and bool(a.requires_grad) == bool(b.requires_grad)
        and a.numpy(force=True).tobytes() == b.numpy(force=True).tobytes()
    )


def literal(value: Any, type_: Type | None, table: ConstantTable) -> str:
    """The expression for a constant of this type."""
    match value:
        case bool() | None:
            return str(value)
        case enum.Enum() | EnumMember():
            return enum_text(value, _pick(type_, EnumType))
        case int():
            return str(value)
        case float():
            return float_text(value)
        case complex():
            return complex_text(value)
        case str():
            return quoted(value) if value.isascii() else table.place(value)
        case Device():
            return f"torch.device({quoted(str(value))})"
        case list():
            known = _pick(type_, ListType)
            element = None if known is None else known.element
            return _annotated(f"[{_joined(value, element, table)}]", known, value, element)
        case tuple():
            return _tuple(value, _pick(type_, TupleType), table)
        case dict():
            return _dict(value, _pick(type_, DictType), table)
    return table.place(value)


def _joined(values: Iterable[Any], element: Type | None, table: ConstantTable) -> str:
    return ", ".join(literal(v, element, table) for v in values)


def _annotated(text: str, type_: Type | None, value: Any, element: Type | None) -> str:
    if type_ is None or (value and shows_type(element)):
        return text
    return f"annotate({type_.annotation}, {text})"


def _tuple(value: tuple[Any, ...], type_: TupleType | None, table: ConstantTable) -> str:
    known = type_ is not None and len(type_.elements) == len(value)
    elements = type_.elements if type_ is not None and known else (None,) * len(value)
    inner = ", ".join(literal(v, t, table) for v, t in zip(value, elements, strict=True))
    name = "" if type_ is None else tuple_name(type_)
    return f"{name}({inner}{',' if len(value) == 1 else ''})"


def tuple_name(type_: TupleType) -> str:
    """What constructs a tuple: the qualified name of a named tuple; nothing for others, operators' results included."""
    return str(type_.name) if type_.name is not None and "." in type_.name else ""


def _dict(value: dict[Any, Any], type_: DictType | None, table: ConstantTable) -> str:
    key, element = (None, None) if type_ is None else (type_.key, type_.value)
    inner = ", ".join(f"{literal(k, key, table)}: {literal(v, element, table)}" for k, v in value.items())
    return _annotated("{" + inner + "}", type_, value, element)


def _pick(type_: Type | None, kind: type[Any]) -> Any:
    """The part of an optional or union that is of this kind of type; None when there is none or more than one."""
    if isinstance(type_, kind):
        return type_
    if isinstance(type_, OptionalType | UnionType):
        candidates = [t for t in type_.contained if isinstance(t, kind)]
        return candidates[0] if len(candidates) == 1 else None
    return None
