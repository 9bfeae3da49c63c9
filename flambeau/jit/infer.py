"""The types of Python values where nobody declared one: of attributes of modules, of items that Python shares.

>>> inference = TypeInference(lambda value: None)
>>> str(inference.type_of([1, None])), str(inference.type_of({"a": (1, 2.5)}))
('int?[]', 'Dict(str, (int, float))')

What kinds of values there are is said once, by `frontend.scopes.python_constants` for constants and here for the rest.
Who asks says what objects of classes are, and whether an empty container holds tensors or is refused.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from flambeau.frontend.scopes.name_resolution import Names, Resolver
from flambeau.frontend.scopes.python_constants import constant_type
from flambeau.frontend.scopes.type_annotations import try_type_of
from flambeau.nn.module import Module
from flambeau.program.instances import definition_or_compiled
from flambeau.schema.opaque_type import OpaqueType
from flambeau.schema.set_type import SetType
from flambeau.schema.subtype import unify_all
from flambeau.schema.types import GENERATOR, STRING, TENSOR, DictType, ListType, TupleType, Type
from flambeau.tensor.opaque_objects import OpaqueObject
from flambeau.tensor.random import Generator
from flambeau.tensor.tensor import Tensor

NO_TYPE = "Cannot infer concrete type of {module}.{name}"
NO_COMMON = "the {what} of a {kind} have different types: {types}. Declare the type, or give values of one type"
HOLDS_ITSELF = "a {kind} that holds itself has no type"
NO_SUBMODULE = (
    "Cannot infer concrete type of flambeau.nn.Module: modules must be registered as submodules; "
    "several go into nn.ModuleList or nn.ModuleDict"
)
EMPTY = (
    "an empty {kind} tells nothing of its elements' type; annotate the attribute in the class body, for example "
    "`{name}: {example}`"
)
_EXAMPLES: Final = {
    "list": ("items", "list[int]"), "dict": ("table", "dict[str, int]"), "set": ("names", "set[str]"),
}  # fmt: skip

ObjectType = Callable[[Any], Type | None]
"""The type of what is no number, text, tensor or container of Python's; None for what programs cannot have."""


class NoTypeError(TypeError):
    """A value that no type of the language describes; the text says why."""


class TypeInference:
    """Infers types. Raises NoTypeError for what has none, and CompileError for a class that cannot be compiled."""

    def __init__(self, object_type: ObjectType, *, is_empty_of_tensors: bool = False) -> None:
        """With `is_empty_of_tensors` empty lists and sets are of tensors, empty dicts from str to Tensor."""
        self._object_type = object_type
        self._is_empty_of_tensors = is_empty_of_tensors
        self._outer: list[object] = []
        """The containers around the value that is looked at."""

    def type_of(self, value: Any) -> Type:
        """The type of a value."""
        match value:
            case Tensor():
                return TENSOR
            case list() | dict() | set() | tuple():
                return self._container(value)
            case Module():
                raise NoTypeError(NO_SUBMODULE)
            case enum.Enum():
                return _enum_type(value)
            case OpaqueObject():
                return OpaqueType(value.type_name)
        try:
            return constant_type(value)
        except TypeError:
            return self._object(value)

    def _object(self, value: Any) -> Type:
        type_ = self._object_type(value)
        if type_ is None:
            raise NoTypeError(NO_TYPE.format(module=type(value).__module__, name=type(value).__qualname__))
        return type_

    def _container(self, value: Collection[Any]) -> Type:
        if any(value is outer for outer in self._outer):
            raise NoTypeError(HOLDS_ITSELF.format(kind=type(value).__name__))
        self._outer.append(value)
        try:
            match value:
                case dict():
                    return self._dict(value)
                case tuple():
                    return self._tuple(value)
                case set():
                    return SetType(self._element([*value], "elements", "set") or TENSOR)
            return ListType(self._element([*value], "elements", "list") or TENSOR)
        finally:
            self._outer.pop()

    def _dict(self, value: dict[Any, Any]) -> Type:
        key = self._element([*value], "keys", "dict")
        item = self._element([*value.values()], "values", "dict")
        return DictType(key or STRING, item or TENSOR)

    def _tuple(self, value: tuple[Any, ...]) -> Type:
        """One whose class is annotated is of that class; what `namedtuple` makes says nothing of its fields."""
        is_named = hasattr(value, "_fields") and "__annotations__" in vars(type(value))
        named = self._object_type(value) if is_named else None
        return named or TupleType(tuple([self.type_of(item) for item in value]))

    def _element(self, items: Sequence[Any], what: str, kind: str) -> Type | None:
        """The type that all items have; None where there are no items, if that is allowed."""
        if not items:
            if self._is_empty_of_tensors:
                return None
            name, example = _EXAMPLES[kind]
            raise NoTypeError(EMPTY.format(kind=kind, name=name, example=example))
        try:
            types = [self.type_of(item) for item in items]
        except NoTypeError as error:
            raise NoTypeError(f"Could not infer type of {kind} element: {error}") from None
        element = unify_all(types)
        if element is None:
            shown = ", ".join(dict.fromkeys(type_.annotation for type_ in types))
            raise NoTypeError(NO_COMMON.format(what=what, kind=kind, types=shown))
        return element


def _enum_type(member: enum.Enum) -> Type:
    try:
        return constant_type(member)
    except TypeError as error:  # its members are not all ints, all floats or all texts
        raise NoTypeError(str(error)) from None


def shared_type(value: Any, resolver: Resolver | None = None) -> Type:
    """The type of a list or dict that Python and programs share; `resolver` knows the names in annotations of named
    tuples that their modules do not have. Raises TypeError for what has none."""
    return TypeInference(partial(_shared_object_type, resolver or Names()), is_empty_of_tensors=True).type_of(value)


def _shared_object_type(resolver: Resolver, value: Any) -> Type | None:
    """Arrays are converted to tensors, numbers of NumPy to Python's; classes are compiled now if they are not."""
    if isinstance(value, np.ndarray):
        return TENSOR
    if isinstance(value, np.number | np.bool_):
        return constant_type(value.item())
    if isinstance(value, Generator):
        return GENERATOR
    if isinstance(value, tuple):
        return try_type_of(type(value), resolver, None)
    definition = definition_or_compiled(getattr(value, "script_object", value))
    return None if definition is None else definition.type
