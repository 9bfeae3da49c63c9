"""Objects on their way into a program: they go in as they are, once their attributes have been looked at.

An attribute that is nearly of its type (an int where a float is expected, an array where a tensor is) is given the
converted value. Lists and dicts in attributes stay the same objects, so that both sides see what is done to them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from flambeau.frontend.library.queues import item_of
from flambeau.jit.classes.exact_objects import INT_MAX, INT_MIN, inexact_objects
from flambeau.program import instances
from flambeau.program.classes import Attribute, ClassDefinition
from flambeau.program.object import ScriptObject
from flambeau.schema import types as t
from flambeau.schema.subtype import is_subtype
from flambeau.tensor.tensor import Tensor
from flambeau.util.errors import CompileError

Converter = Callable[[Any], Any]
NO_OBJECT = (
    "Assigning the object {value} to an interface fails because the value is not a TorchScript compatible type, did "
    "you forget to turn it into a user defined TorchScript class? It has not the methods of '{name}'"
)
NOT_COMPATIBLE = "Object of type {found} is not compatible with interface {wanted}: {why}"
A_QUEUE = "a deque stays in the program that makes it: declare a list, pass list(...) of it, and make a deque inside"
NO_INSTANCE = "{value} is no instance of {name}{missing}"
SUBCLASS = (
    "{value} is an instance of '{found}', a subclass of '{wanted}', which was compiled when it had no subclasses, for "
    "its own objects alone. Define '{found}' before the first program that uses '{wanted}' is compiled, or declare "
    "the parameter as '{found}' or as an interface"
)
MOST_NESTED = 100
"""Objects up to which a message names the attributes by which one was reached."""
WRONG = "Could not cast attribute '{name}' to type {type}: {reason}"
MISSING = "missing attribute {name}: class {type} assigns it in __init__, this object does not have it"


class MismatchError(Exception):
    """A value that its type does not admit; the text says which part and why."""


class _Admitted(threading.local):
    """The objects looked at by the conversion that is under way on this thread."""

    seen: set[int] | None = None


_admitted = _Admitted()


def object_converter(type_: t.NamedType, converter_of: Callable[[t.Type], Converter]) -> Converter:
    """What takes Python values to objects of a class or interface, or raises `MismatchError`."""

    def convert(value: Any) -> Any:
        instance = getattr(value, "script_object", value)
        definition = instances.definition_of(instance)
        if definition is None and (isinstance(type_, t.InterfaceType) or _is_subclass(instance, type_)):
            definition = _compiled(instance)
        if definition is None or not is_subtype(definition.type, type_):
            raise MismatchError(_why_not(value, type_, definition))
        if not isinstance(instance, ScriptObject) and (_admitted.seen is None or id(instance) not in _admitted.seen):
            _convert_attributes(instance, definition, converter_of)
        return instance

    return convert


def _compiled(value: Any) -> ClassDefinition | None:
    try:
        return instances.definition_or_compiled(value)
    except CompileError as error:
        raise MismatchError(f"class {type(value).__name__} cannot be compiled: {error}") from None


def _is_subclass(value: Any, type_: t.NamedType) -> bool:
    """Whether a value is an instance of a subclass, where those are admitted."""
    definition = type_.definition
    return isinstance(definition, ClassDefinition) and definition.is_open and isinstance(value, definition.python)


def _why_not(value: Any, type_: t.NamedType, definition: ClassDefinition | None) -> str:
    wanted = type_.definition
    shown = object.__repr__(value) if definition is not None else repr(value)
    shown = shown if len(shown) <= 60 else shown[:57] + "..."
    if isinstance(type_, t.InterfaceType) and definition is not None:
        return NOT_COMPATIBLE.format(found=definition.name, wanted=type_.name, why=wanted.why_not(definition.type))
    if isinstance(type_, t.InterfaceType):
        return NO_OBJECT.format(value=f"{shown} ({type(value).__name__})", name=type_.name)
    python = getattr(wanted, "python", None)
    if python is not None and item_of(python) is not None:
        return A_QUEUE
    if isinstance(python, type) and isinstance(value, python):
        if definition is not None and wanted.is_open:
            return f"{shown} is an instance of '{type(value).__name__}': {wanted.no_subclass_because(definition)}"
        return SUBCLASS.format(value=shown, found=type(value).__name__, wanted=python.__name__)
    lacks = [a.name for a in getattr(wanted, "attributes", ()) if not hasattr(value, a.name)]
    missing = f": missing attribute {lacks[0]}" if lacks else ""
    return NO_INSTANCE.format(value=f"{shown} ({type(value).__name__})", name=type_.name, missing=missing)


def _convert_attributes(value: Any, definition: ClassDefinition, converter_of: Callable[[t.Type], Converter]) -> None:
    """Check and convert the attributes of an object and of those in it, unless all are of their types: one by one where
    there are more than Python's stack has room for.
    """
    inexact, seen = inexact_objects(value, definition)
    if inexact and (_admitted.seen is not None or len(seen) <= MOST_NESTED):
        _look_at(value, definition, converter_of)
    elif inexact:
        _admitted.seen = seen
        try:
            for one, class_ in inexact:
                seen.discard(id(one))
                _look_at(one, class_, converter_of)
        finally:
            _admitted.seen = None


def _look_at(value: Any, definition: ClassDefinition, converter_of: Callable[[t.Type], Converter]) -> None:
    """Check and convert the attributes of an object, and of those in them."""
    outermost = _admitted.seen is None
    seen = _admitted.seen = set() if _admitted.seen is None else _admitted.seen
    try:
        if id(value) not in seen:
            seen.add(id(value))
            for attribute in definition.attributes:
                if not _is_exact(getattr(value, attribute.name, None), attribute.type):
                    _attribute(value, definition, attribute, converter_of(attribute.type))
    finally:
        if outermost:
            _admitted.seen = None


_EXACT: dict[type[t.Type], type] = {
    t.FloatType: float, t.BoolType: bool, t.StringType: str, t.ComplexType: complex, t.TensorType: Tensor,
}  # fmt: skip


def _is_exact(value: Any, type_: t.Type) -> bool:
    """Whether a value surely needs no conversion; quick for long lists."""
    if isinstance(type_, t.ListType) and type(value) is list:
        if type_.element == t.INT:
            return set(map(type, value)) == {int} and min(value) >= INT_MIN and max(value) <= INT_MAX
        return {_EXACT.get(type(type_.element))}.issuperset(map(type, value))
    return type(value) is _EXACT.get(type(type_))


def _attribute(value: Any, definition: ClassDefinition, attribute: Attribute, convert: Converter) -> None:
    name = attribute.name
    try:
        value_before = getattr(value, name)
    except AttributeError:
        if name in getattr(definition.source, "optional", ()):
            return
        raise MismatchError(MISSING.format(name=name, type=definition.name)) from None
    try:
        converted = convert(value_before)
    except MismatchError as error:
        raise MismatchError(WRONG.format(name=name, type=attribute.type.annotation, reason=error)) from None
    if not _is_same(value_before, converted):
        object.__setattr__(value, name, converted)


def _is_same(a: Any, b: Any) -> bool:
    """Whether a conversion changed nothing: it copies containers, also those whose elements it leaves alone."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(_is_same, a, b))
    if isinstance(a, set):
        return a == b and set(map(type, a)) == set(map(type, b))
    if isinstance(a, dict):
        return len(a) == len(b) and all(map(_is_same, a, b)) and all(map(_is_same, a.values(), b.values()))
    return not isinstance(a, Tensor) and type(a) in (int, float, bool, complex, str) and a == b
