"""What a program finds when it asks an object that is a module for something that is no stored value."""

from __future__ import annotations

import inspect
from typing import Any, Final

from flambeau.ir.graph import Value
from flambeau.jit.modules.module_classes import (
    IGNORED,
    KEYED,
    ORDERED,
    ModuleClasses,
    Origin,
    child_types,
    item_attributes,
)
from flambeau.jit.modules.module_hooks import HookedCall, HookTable
from flambeau.jit.modules.module_methods import (
    is_ignored,
    is_of_base,
    is_unused_property,
    method_source,
    python_method,
    static_function,
)
from flambeau.jit.modules.module_overloads import OverloadedMethod
from flambeau.jit.modules.module_values import (
    TABLES,
    WALKS,
    Contains,
    FunctionAttribute,
    PythonMethod,
    TableMethod,
    Walk,
)
from flambeau.nn.module import Module
from flambeau.program.classes import ClassDefinition
from flambeau.schema.types import NamedType, Type
from flambeau.util.errors import CompileError
from flambeau.util.source import SourceRange


def definition_of(owner: Value) -> ClassDefinition | None:
    """The class of an object, if that is known."""
    definition = owner.static_type.definition if isinstance(owner.static_type, NamedType) else None
    return definition if isinstance(definition, ClassDefinition) else None


def attribute(classes: ModuleClasses, owner: Value, name: str, where: SourceRange) -> Any:
    """The Python value or `Sugared` of an attribute that is neither stored nor a compiled method; None for those.

    Raises CompileError for an attribute that the Python module has and the program cannot have, saying why.
    """
    definition = definition_of(owner)
    origin = classes.origin(definition)
    if origin is None or definition is None:
        return None
    for rule in _RULES:
        value = rule(origin, definition, owner, name)
        if value is not _NOT_HERE:
            return value
    if is_ignored(origin.module, name):
        raise CompileError(IGNORED.format(owner=type(origin.module).__name__, name=name), where)
    special = _of_every_module(origin.module, origin.keys, owner, name)
    if special is None:
        special = origin.source.static(name) or static_function(origin.module, name)
    reason = classes.why_missing(definition, name) if special is None else None
    if reason is not None:
        raise CompileError(reason, where)
    return special


def _function(origin: Origin, definition: ClassDefinition, owner: Value, name: str) -> Any:
    """A function or class that the instance has as an attribute."""
    if name not in origin.functions:
        return _NOT_HERE
    function = origin.functions[name]
    is_plain = inspect.isfunction(function) and not hasattr(function, "operator_name")
    return FunctionAttribute(type(origin.module).__name__, name, function) if is_plain else function


def _overloads(origin: Origin, definition: ClassDefinition, owner: Value, name: str) -> Any:
    overloads = origin.source.overloads(name)
    return OverloadedMethod(owner, overloads) if overloads else _NOT_HERE


def _of_definition(origin: Origin, definition: ClassDefinition, owner: Value, name: str) -> Any:
    """None for what the compiled class has."""
    is_there = name in definition.constants or name in definition.methods or name in origin.source.text_methods()
    return None if is_there else _NOT_HERE


def _python_method(origin: Origin, definition: ClassDefinition, owner: Value, name: str) -> Any:
    """A method that stays Python."""
    python = python_method(origin.module, name)
    is_method = python is not None and static_function(origin.module, name) is None
    return PythonMethod(owner, name, python) if python is not None and is_method else _NOT_HERE


def _to_compile(origin: Origin, definition: ClassDefinition, owner: Value, name: str) -> Any:
    """None for a method or property that is compiled when it is asked for."""
    module = origin.module
    is_source = method_source(module, name) is not None and not is_unused_property(module, name)
    return None if is_source else _NOT_HERE


_NOT_HERE: Final = object()
_RULES: Final = (_function, _overloads, _of_definition, _python_method, _to_compile)
"""What an attribute may be, in the order in which it is looked for; each gives `_NOT_HERE` for what is not its own."""


def _of_every_module(module: Module, keys: list[str] | None, owner: Value, name: str) -> Any:
    """The walks that modules and containers have by themselves, unless a class has a method of that name."""
    own = inspect.getattr_static(type(module), name, None)
    if own is not None and not (inspect.isfunction(own) and is_of_base(own, name)):
        return None
    if keys is not None and name in TABLES:
        return TableMethod(owner, keys, name)
    if keys is not None and name == "__contains__":
        return Contains(keys)
    return Walk(owner, module, name) if name in WALKS else None


def items(classes: ModuleClasses, owner: Value) -> list[tuple[str, Type]] | None:
    """What a container holds, by attribute, in order; None for what is no container."""
    definition = definition_of(owner)
    if definition is None:
        return None
    origin = classes.origin(definition)
    if origin is not None:
        return item_attributes(origin, definition)
    is_container = isinstance(definition.python, type) and issubclass(definition.python, (*ORDERED, *KEYED))
    return child_types(definition) if is_container else None


def keys(classes: ModuleClasses, owner: Value) -> list[str] | None:
    """The keys of a container that is reached by name; None for what is none."""
    origin = classes.origin(definition_of(owner))
    return None if origin is None else origin.keys


def hooked_call(owner: Value, definition: ClassDefinition) -> HookedCall | None:
    """The call of a module without a Python class, with the hooks that it has; None if it has none."""
    before, after = (tuple([definition.methods[name] for name in names]) for names in definition.hooks)
    forward = definition.methods.get("forward")
    return HookedCall(owner, forward, HookTable(before, after)) if (before or after) and forward is not None else None
