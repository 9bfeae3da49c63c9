"""The types that values of Python have in programs: of attributes that nobody annotated."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

from flambeau.frontend.scopes.python_constants import constant_type, enum_type
from flambeau.nn.module import Module
from flambeau.schema.set_type import SetType
from flambeau.schema.subtype import unify_all
from flambeau.schema.types import TENSOR, DictType, ListType, TupleType, Type
from flambeau.tensor.tensor import Tensor

EMPTY = (
    "an empty {kind} tells nothing of its elements' type; annotate the attribute in the class body, for example "
    "`{name}: {example}`"
)


class NoTypeError(Exception):
    """A value that no type of the language describes; the text says why."""


ClassType = Callable[[type], Type | None]
"""The type of instances of a user's class; None for a class that programs cannot have."""


def infer_type(value: Any, class_type: ClassType = lambda cls: None) -> Type:
    """The type of an attribute's value. Raises NoTypeError."""
    match value:
        case Tensor():
            return TENSOR
        case list():
            return _list_type(value, class_type)
        case dict():
            return _dict_type(value, class_type)
        case set():
            return SetType(_list_type(list(value), class_type).contained[0])
        case tuple():
            named = class_type(type(value)) if getattr(type(value), "_fields", ()) else None
            if named is not None:
                return named
            return TupleType(tuple([infer_type(v, class_type) for v in value]))
        case enum.Enum():
            try:
                return enum_type(type(value))
            except ValueError as error:
                raise NoTypeError(str(error)) from None
        case Module():
            raise NoTypeError(
                "Cannot infer concrete type of flambeau.nn.Module: modules must be registered as submodules; "
                "several go into nn.ModuleList or nn.ModuleDict"
            )
    try:
        return constant_type(value)
    except TypeError:
        cls = type(value)
        found = class_type(cls)
        if found is not None:
            return found
        raise NoTypeError(f"Cannot infer concrete type of {cls.__module__}.{cls.__qualname__}") from None


def _list_type(value: list[Any], class_type: ClassType) -> Type:
    if not value:
        raise NoTypeError(EMPTY.format(kind="list", name="items", example="list[int]"))
    try:
        element = unify_all([infer_type(v, class_type) for v in value])
    except NoTypeError as error:
        raise NoTypeError(f"Could not infer type of list element: {error}") from None
    if element is None:
        found = ", ".join(sorted({type(v).__name__ for v in value}))
        raise NoTypeError(f"its elements have different types: {found}")
    return ListType(element)


def _dict_type(value: dict[Any, Any], class_type: ClassType) -> Type:
    if not value:
        raise NoTypeError(EMPTY.format(kind="dict", name="table", example="dict[str, int]"))
    try:
        key = unify_all([infer_type(k, class_type) for k in value])
        item = unify_all([infer_type(v, class_type) for v in value.values()])
    except NoTypeError as error:
        raise NoTypeError(f"Could not infer type of dict element: {error}") from None
    if key is None or item is None:
        raise NoTypeError("its keys or values have different types")
    return DictType(key, item)
