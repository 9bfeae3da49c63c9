"""What a program finds when it asks an object that is a module for something that is no stored value."""

from __future__ import annotations

import inspect
from typing import Any

from flambeau.ir.value import Value
from flambeau.jit.modules.classes import IGNORED, KEYED, ORDERED, ModuleClasses, child_types, held_attributes
from flambeau.jit.modules.hooks import HookedCall, HookTable
from flambeau.jit.modules.methods import (
    is_ignored,
    is_of_base,
    is_unused_property,
    method_source,
    python_method,
    static_function,
)
from flambeau.jit.modules.overloads import OverloadedMethod
from flambeau.jit.modules.values import TABLES, WALKS, Contains, FunctionAttribute, PythonMethod, TableMethod, Walk
from flambeau.nn.module import Module
from flambeau.program.classes import ClassDefinition
from flambeau.schema.types import NamedType, Type
from flambeau.util.errors import CompileError
from flambeau.util.source import SourceRange


def definition_of(owner: Value) -> ClassDefinition | None:
    """The class of an object, if that is known."""
    found = owner.static_type.definition if isinstance(owner.static_type, NamedType) else None
    return found if isinstance(found, ClassDefinition) else None


def attribute(classes: ModuleClasses, owner: Value, name: str, where: SourceRange) -> Any:
    """The Python value or `Sugared` of an attribute that is neither stored nor a compiled method; None for those.

    Raises CompileError for an attribute that the Python module has and the program cannot have, saying why.
    """
    definition = definition_of(owner)
    origin = classes.origin(definition)
    if origin is None or definition is None:
        return None
    module = origin.module
    if name in origin.functions:
        function = origin.functions[name]
        plain = inspect.isfunction(function) and not hasattr(function, "operator_name")
        return FunctionAttribute(type(module).__name__, name, function) if plain else function
    overloads = origin.source.overloads(name)
    if overloads:
        return OverloadedMethod(owner, overloads)
    if name in definition.constants or name in definition.methods or name in origin.source.text_methods():
        return None
    python = python_method(module, name)
    if python is not None and static_function(module, name) is None:
        return PythonMethod(owner, name, python)
    if method_source(module, name) is not None and not is_unused_property(module, name):
        return None
    if is_ignored(module, name):
        raise CompileError(IGNORED.format(owner=type(module).__name__, name=name), where)
    special = _of_every_module(module, origin.keys, owner, name)
    if special is not None:
        return special
    bound = origin.source.static(name)
    if bound is not None:
        return bound
    static = static_function(module, name)
    if static is not None:
        return static
    reason = classes.why_missing(definition, name)
    if reason is not None:
        raise CompileError(reason, where)
    return None


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
        return held_attributes(origin, definition)
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
