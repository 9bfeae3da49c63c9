"""The types of named tuples: fields with their annotations, which are resolved where the class was written."""

from __future__ import annotations

import sys
import threading
from collections import ChainMap
from collections.abc import Callable, Mapping
from typing import Any

from flambeau.frontend.scopes.name_resolution import MISSING, Resolver
from flambeau.frontend.source.class_source import field_range
from flambeau.frontend.source.enclosing import enclosing_types
from flambeau.program.named_tuples import register_class
from flambeau.schema.types import TENSOR, TupleType, Type
from flambeau.util.errors import CompileError
from flambeau.util.names import qualified_name
from flambeau.util.source import SourceRange

TypeOf = Callable[[Any, "Resolver | None", "SourceRange | None"], "Type | None"]
"""The type that an annotation means."""

TENSOR_DEFAULT = (
    "Tensors are not supported as default NamedTuple fields: field '{field}' of {name}. Pass the tensor where the "
    "tuple is made"
)
UNKNOWN_FIELD = "Unknown type annotation: '{annotation}' in NamedTuple field {field} of {name}: {reason}."
CONTAINS_ITSELF = "NamedTuple {name} contains itself: only classes can, in an Optional attribute"


class FieldTypeError(CompileError, ValueError):
    """The type of a named tuple's field cannot be resolved."""


class _Active(threading.local):
    """The classes whose fields are being resolved on this thread."""

    classes: tuple[type, ...] = ()


_active = _Active()


def named_tuple_type(
    cls: Any, type_of: TypeOf, resolver: Resolver | None, where: SourceRange | None
) -> TupleType | None:
    """The type of a NamedTuple class, whose values programs give back; fields without annotation are tensors.

    Raises CompileError for a default that is a tensor, or a second class of one name with other fields.
    """
    if cls in _active.classes:
        raise CompileError(CONTAINS_ITSELF.format(name=cls.__name__), where)
    before, _active.classes = _active.classes, (*_active.classes, cls)
    try:
        elements = [_field_type(cls, field, type_of, resolver, where) for field in cls._fields]
    finally:
        _active.classes = before
    types = tuple(t for t in elements if t is not None)
    if len(types) != len(elements):
        return None
    defaults = tuple(getattr(cls, "_field_defaults", {}).items())
    for field, value in defaults:
        if type(value).__name__ == "Tensor":
            raise CompileError(TENSOR_DEFAULT.format(field=field, name=cls.__name__), where)
    type_ = TupleType(types, qualified_name(cls), tuple(cls._fields), defaults)
    try:
        register_class(type_, cls)
    except RuntimeError as error:
        raise CompileError(str(error), where) from None
    return type_


class _Home:
    """Resolves names in the module of a class first; everything else as around the program."""

    def __init__(self, cls: type, outer: Resolver) -> None:
        module = vars(sys.modules[cls.__module__]) if cls.__module__ in sys.modules else {}
        self._names: Mapping[str, Any] = ChainMap(enclosing_types(cls), module)
        self._outer = outer

    def __getattr__(self, name: str) -> Any:
        return getattr(self._outer, name)

    def resolve(self, name: str) -> Any:
        """The module's own name, or the program's."""
        value = self._names.get(name, MISSING)
        return self._outer.resolve(name) if value is MISSING else value


def _field_type(
    cls: type, field: str, type_of: TypeOf, resolver: Resolver | None, where: SourceRange | None
) -> Type | None:
    annotation = getattr(cls, "__annotations__", {}).get(field, TENSOR)
    home: Any = None if resolver is None else _Home(cls, resolver)
    try:
        return type_of(annotation, home, where)
    except CompileError as error:
        position = field_range(cls, field)
        shown = "" if position is None else f" Issue occurred at {position.highlight()}"
        text = UNKNOWN_FIELD.format(annotation=annotation, field=field, name=cls.__name__, reason=error.message)
        raise FieldTypeError(text + shown, where) from None
