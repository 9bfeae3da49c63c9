"""A module as the compiler sees it: a class with parameters, buffers, submodules, constants, and methods.

Two modules share a class when everything a program could tell apart is equal: the Python class, names and types of
attributes, values of constants, classes of submodules. The values live in a `ScriptObject` that shares its tensors with
the module.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Hashable, Mapping
from typing import Any

from flambeau.frontend.annotations import type_of
from flambeau.frontend.constants import constant_type, constant_value
from flambeau.jit.convert import MismatchError, converter
from flambeau.jit.registry import ScriptRegistry
from flambeau.nn.container import ModuleList, Sequential
from flambeau.nn.module import Module
from flambeau.program.classes import ClassDefinition
from flambeau.program.object import ScriptObject
from flambeau.schema.subtype import unify_all
from flambeau.schema.types import (
    BOOL,
    TENSOR,
    ClassType,
    DictType,
    ListType,
    OptionalType,
    TupleType,
    Type,
)
from flambeau.tensor.tensor import Tensor
from flambeau.util.names import qualified_name

CONTAINERS = (ModuleList, Sequential)
_OWN = frozenset(("_parameters", "_buffers", "_modules", "_transient", "training", *Module.HOOKS))
EMPTY = (
    "an empty {kind} tells nothing of its elements' type; annotate the attribute in the class body, for example "
    "`{name}: {example}`"
)
NOT_INITIALISED = "{name} has not been initialized: call super().__init__() in its __init__"
EXPORTED = "__flambeau_export__"
"""What marks a method that is compiled although nothing compiled calls it."""


class NoTypeError(Exception):
    """A value that no type of the language describes; the text says why."""


def infer_type(value: Any) -> Type:
    """The type of an attribute's value. Raises NoTypeError."""
    if isinstance(value, Tensor):
        return TENSOR
    if isinstance(value, list):
        if not value:
            raise NoTypeError(EMPTY.format(kind="list", name="items", example="list[int]"))
        element = unify_all([infer_type(v) for v in value])
        if element is None:
            found = ", ".join(sorted({type(v).__name__ for v in value}))
            raise NoTypeError(f"its elements have different types: {found}")
        return ListType(element)
    if isinstance(value, dict):
        if not value:
            raise NoTypeError(EMPTY.format(kind="dict", name="table", example="dict[str, int]"))
        key, item = unify_all([infer_type(k) for k in value]), unify_all([infer_type(v) for v in value.values()])
        if key is None or item is None:
            raise NoTypeError("its keys or values have different types")
        return DictType(key, item)
    if type(value) is tuple:
        return TupleType(tuple(map(infer_type, value)))
    try:
        return constant_type(value)
    except TypeError:
        cls = type(value)
        raise NoTypeError(f"Cannot infer concrete type of {cls.__module__}.{cls.__qualname__}") from None


class ModuleClasses:
    """The classes and objects made for modules so far."""

    def __init__(self, registry: ScriptRegistry) -> None:
        self.registry = registry
        self._classes: dict[Hashable, ClassDefinition] = {}
        self._examples: dict[ClassDefinition, Module] = {}
        self._failed: dict[ClassDefinition, dict[str, str]] = {}

    def object_of(self, module: Module, made: dict[int, ScriptObject] | None = None) -> ScriptObject:
        """A module's object; the same module inside another gives one object."""
        made = {} if made is None else made
        if id(module) in made:
            return made[id(module)]
        scripted = vars(module).get("script_object")
        if isinstance(scripted, ScriptObject):
            made[id(module)] = scripted
            return scripted
        if "_modules" not in vars(module):
            raise RuntimeError(NOT_INITIALISED.format(name=type(module).__name__))
        children = {n: self.object_of(c, made) for n, c in module._modules.items() if c is not None}
        facts = _Facts(module, children)
        definition = self._classes.get(facts.key())
        if definition is None:
            definition = self._classes[facts.key()] = self._define(module, facts)
        made[id(module)] = found = ScriptObject(definition.type)
        for name, value in facts.values.items():
            found.set(name, value)
        return found

    def _define(self, module: Module, facts: _Facts) -> ClassDefinition:
        name = qualified_name(type(module))
        definition = self.registry.unit.create_class(name, is_module=True, should_mangle=True, python=type(module))
        for attribute, type_ in facts.types.items():
            definition.add_attribute(
                attribute,
                type_,
                is_parameter=attribute in module._parameters,
                is_buffer=attribute in module._buffers,
            )
        for constant, value in facts.constants.items():
            definition.add_constant(constant, value)
        self._examples[definition] = module
        self._failed[definition] = facts.failed
        return definition

    def example(self, definition: ClassDefinition) -> Module | None:
        """A module of the class, for what is looked up on Python's side."""
        return self._examples.get(definition)

    def why_missing(self, definition: ClassDefinition, name: str) -> str | None:
        """Why an attribute that the Python module has is not in the class; None if it does not have it."""
        module = self._examples.get(definition)
        if module is None:
            return None
        owner = type(module).__name__
        reason = self._failed[definition].get(name)
        if reason is not None:
            value = getattr(module, name)
            return (
                f"Module '{owner}' has no attribute '{name}' (This attribute exists on the Python module, but we "
                f"failed to convert Python type: '{type(value).__name__}' to a TorchScript type. {reason})"
            )
        if name in dir(type(module)) and not callable(getattr(type(module), name, None)):
            return (
                f"Module '{owner}' has no attribute '{name}': it is an attribute of the class. List it in "
                "__constants__, or assign it in __init__"
            )
        return f"Module '{owner}' has no attribute '{name}'"


class _Facts:
    """What a program can see of one module."""

    def __init__(self, module: Module, children: Mapping[str, ScriptObject]) -> None:
        self.python = type(module)
        self.types: dict[str, Type] = {}
        self.values: dict[str, Any] = {}
        self.constants: dict[str, Any] = {}
        self.failed: dict[str, str] = {}
        annotations = _annotations(type(module))
        for holder in (module._parameters, module._buffers):
            for name, tensor in holder.items():
                self._tensor(name, tensor, annotations)
        for name, child in children.items():
            self.types[name], self.values[name] = child.type, child
        for name, sub in module._modules.items():
            if sub is None:
                self.constants[name] = None
        self.types["training"], self.values["training"] = BOOL, module.training
        constant_names = set(getattr(type(module), "__constants__", ()))
        constant_names |= {n for n, a in annotations.items() if typing.Final in (a, typing.get_origin(a))}
        for name, value in vars(module).items():
            if name not in _OWN and not name.startswith("__"):
                self._plain(name, value, name in constant_names, annotations)
        for name in constant_names - vars(module).keys() - self.types.keys() - self.constants.keys():
            if hasattr(type(module), name):
                self._constant(name, getattr(type(module), name))

    def _tensor(self, name: str, tensor: Tensor | None, annotations: Mapping[str, Any]) -> None:
        if tensor is not None:
            self.types[name], self.values[name] = TENSOR, tensor
        else:
            self.constants[name] = None
        declared = annotations.get(name)
        if declared is not None and tensor is not None and isinstance(_declared(declared), OptionalType):
            self.types[name] = OptionalType(TENSOR)

    def _plain(self, name: str, value: Any, is_constant: bool, annotations: Mapping[str, Any]) -> None:
        if is_constant:
            self._constant(name, value)
            return
        if value is None and name not in annotations:
            self.constants[name] = None
            return
        if inspect.isroutine(value) or isinstance(value, type):
            self.constants[name] = value
            return
        try:
            type_ = _declared(annotations[name]) if name in annotations else infer_type(value)
            self.values[name] = converter(type_)(constant_value(value))
            self.types[name] = type_
        except (NoTypeError, MismatchError, ValueError, OverflowError) as error:
            self.failed[name] = str(error)

    def _constant(self, name: str, value: Any) -> None:
        try:
            if not isinstance(value, list):
                constant_type(value)
        except TypeError:
            raise TypeError(
                f"'{type(value).__name__}' object in attribute '{self.python.__name__}.{name}' is not a valid "
                "constant: constants are numbers, strings, bools, None, dtypes, devices, and tuples of those"
            ) from None
        self.constants[name] = value

    def key(self) -> Hashable:
        """Equal for modules that share a class."""
        constants = tuple((n, _hashable(v)) for n, v in sorted(self.constants.items()))
        return (self.python, tuple(self.types.items()), constants, tuple(sorted(self.failed.items())))


def _hashable(value: Any) -> Hashable:
    try:
        hash(value)
    except TypeError:
        return repr(value)
    return (type(value), value)


def _annotations(cls: type) -> dict[str, Any]:
    """The annotations in class bodies, base classes first; empty where a name in them cannot be resolved."""
    try:
        return typing.get_type_hints(cls)
    except (NameError, TypeError):
        return {}


def _declared(annotation: Any) -> Type:
    return type_of(annotation)


def method_source(module: Module, name: str) -> Callable[..., Any] | None:
    """The Python function of a method as this instance has it; None if it has none."""
    found = inspect.getattr_static(module, name, None)
    if isinstance(found, staticmethod):
        return None
    if isinstance(found, property):
        return found.fget
    if inspect.ismethod(found) or inspect.isfunction(found):
        return typing.cast("Callable[..., Any]", getattr(found, "__func__", found))
    return None


def export(method: Any) -> Any:
    """Mark a method of a module to be compiled by `script` although `forward` does not call it.

    >>> from flambeau import nn
    >>> class Doubler(nn.Module):
    ...     @export
    ...     def double(self, n: int) -> int:
    ...         return 2 * n
    """
    setattr(method, EXPORTED, True)
    return method


def exported_methods(module: Module) -> list[str]:
    """The methods that scripting a module compiles: `forward`, if it has one, and those marked with `export`."""
    marked = [n for n in dir(type(module)) if getattr(inspect.getattr_static(type(module), n), EXPORTED, False)]
    return [n for n in dict.fromkeys(("forward", *marked)) if method_source(module, n) is not None]


def child_types(definition: ClassDefinition) -> list[tuple[str, ClassType]]:
    """The submodules of a class, in order."""
    return [
        (a.name, a.type)
        for a in definition.attributes
        if isinstance(a.type, ClassType) and a.type.definition is not None and a.type.definition.is_module
    ]
