"""What a class of signatures says: the methods that an interface asks for, with their types."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any, Generic, Protocol

from flambeau.frontend.compile_function import declared_schema
from flambeau.frontend.scopes.name_resolution import Resolver
from flambeau.frontend.source.class_source import class_range
from flambeau.frontend.source.python_source import NameScope, parameter_defaults
from flambeau.frontend.trees.function_conversion import get_tree
from flambeau.frontend.trees.tree_views import Def, Dots, ExprStmt, Pass, StringLiteral
from flambeau.jit.script_registry import ScriptRegistry
from flambeau.nn.module import Module
from flambeau.program.classes import InterfaceDefinition
from flambeau.schema.function import FunctionSchema
from flambeau.util.errors import CompileError
from flambeau.util.names import qualified_name

INTERFACE = "__flambeau_interface__"
"""What marks a class as an interface."""
INHERITS = (
    "Interface '{name}' inherits from '{base}': interfaces does not support inheritance yet. Please directly inherit "
    "from 'object' or 'nn.Module', and write all methods out"
)
NO_RETURN = "interface declarations must have a return type annotated: write `-> T` behind the parameters"
BODY = (
    "interfaces declarations should contain 'pass' statement and no more: what a method does is up to the classes that "
    "have it"
)


def is_interface(cls: type) -> bool:
    """Whether a class is marked as an interface, or is a protocol."""
    return INTERFACE in vars(cls) or Protocol in cls.__bases__


def find_interface(
    cls: type, registry: ScriptRegistry, resolver_for: Callable[[Callable[[str], Any], str], Resolver]
) -> InterfaceDefinition | None:
    """The interface that a class is, defined now if the registry was cleared; None for other classes."""
    known = registry.interfaces.get(cls)
    if known is None and is_interface(cls):
        return define_interface(cls, registry, resolver_for)
    return known


def define_interface(
    cls: type, registry: ScriptRegistry, resolver_for: Callable[[Callable[[str], Any], str], Resolver]
) -> InterfaceDefinition:
    """The interface that a class of signatures is."""
    if cls.__bases__ not in ((object,), (Module,), (Protocol, Generic), (Protocol,)):
        raise CompileError(INHERITS.format(name=cls.__name__, base=cls.__bases__[0].__name__), class_range(cls))
    name = registry.unit.unique_name(qualified_name(cls))
    definition = InterfaceDefinition(name, is_module=issubclass(cls, Module), python=cls)
    registry.interfaces[cls] = definition
    try:
        for method, function in vars(cls).items():
            if isinstance(function, FunctionType) and function.__module__ == cls.__module__ and method != "__init__":
                resolver = resolver_for(_scope(cls, function), f"{cls.__name__}.{method}")
                definition.methods[method] = _signature(definition, function, resolver)
    except BaseException:
        registry.interfaces.pop(cls)
        raise
    registry.unit.register_type(definition.type)
    return definition


def _scope(cls: type, function: FunctionType) -> Callable[[str], Any]:
    inner = NameScope.of_function(function)
    outer = NameScope({cls.__name__: cls}, vars(sys.modules.get(cls.__module__, inspect)))
    return lambda name: inner(name) if name != cls.__name__ and name in inner else outer(name)


def _signature(definition: InterfaceDefinition, function: FunctionType, resolver: Resolver) -> FunctionSchema:
    tree = get_tree(function, self_name=definition.name)
    if tree.decl.returns is None:
        raise CompileError(NO_RETURN, tree.ident.range)
    _check_body(tree)
    defaults = parameter_defaults(function)
    schema = declared_schema(tree, resolver, defaults=defaults, self_type=definition.type)
    assert schema is not None
    return schema


def _check_body(tree: Def) -> None:
    for statement in tree.body:
        is_text = isinstance(statement, ExprStmt) and isinstance(statement.value, StringLiteral | Dots)
        if not isinstance(statement, Pass) and not is_text:
            raise CompileError(BODY, statement.range)
