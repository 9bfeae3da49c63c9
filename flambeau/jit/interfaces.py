"""`interface`: a class of signatures. Values of every class that has such methods may be used as it.

>>> import flambeau
>>> @interface
... class Shape:
...     def area(self) -> float:
...         pass
>>> Shape.__name__
'Shape'
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar

from flambeau.frontend.compile import declared_schema
from flambeau.frontend.convert import get_tree
from flambeau.frontend.python_source import NameScope, parameter_defaults
from flambeau.frontend.resolver import Resolver
from flambeau.frontend.tree_views import Def, Dots, ExprStmt, Pass, StringLiteral
from flambeau.jit.registry import REGISTRY, ScriptRegistry
from flambeau.jit.resolver import PythonResolver
from flambeau.jit.script import CLASSES
from flambeau.nn.module import Module
from flambeau.program.classes import InterfaceDefinition
from flambeau.schema.function import FunctionSchema
from flambeau.util.errors import CompileError
from flambeau.util.names import qualified_name

C = TypeVar("C", bound=type)

INHERITS = (
    "Interface '{name}' inherits from '{base}': interfaces does not support inheritance yet. Please directly inherit "
    "from 'object' or 'nn.Module', and write all methods out"
)
NO_RETURN = "interface declarations must have a return type annotated: write `-> T` behind the parameters"
BODY = "the body of an interface's method must be `pass`: what it does is up to the classes that have the method"
NOT_A_CLASS = "interface takes a class, not a {kind}: write @interface above a class whose methods only say their types"


def interface(cls: C) -> C:
    """Let a class of signatures be an interface: a type that admits every class with such methods.

    Methods have annotations and the body `pass`; docstrings are permitted. An interface that inherits from
    `flambeau.nn.Module` admits modules only. The class itself comes back.

    Raises:
        CompileError: a base that is no `object` or `nn.Module`, a body, or a type that programs do not have.

    >>> import flambeau
    >>> @interface
    ... class Step:
    ...     def step(self, n: int) -> int:
    ...         pass
    >>> class Double:
    ...     def __init__(self) -> None:
    ...         pass
    ...     def step(self, n: int) -> int:
    ...         return 2 * n
    >>> @flambeau.script
    ... def twice(s: Step, n: int) -> int:
    ...     return s.step(s.step(n))
    >>> twice(Double(), 5)
    20
    """
    if not isinstance(cls, type):
        raise TypeError(NOT_A_CLASS.format(kind=type(cls).__name__))
    with REGISTRY.lock:
        define_interface(cls, REGISTRY, lambda scope, name: PythonResolver(scope, CLASSES, name))
    return cls


def define_interface(
    cls: type, registry: ScriptRegistry, resolver_for: Callable[[Callable[[str], Any], str], Resolver]
) -> InterfaceDefinition:
    """The interface that a class of signatures is."""
    if cls.__bases__ not in ((object,), (Module,)):
        raise CompileError(INHERITS.format(name=cls.__name__, base=cls.__bases__[0].__name__))
    name = registry.unit.unique_name(qualified_name(cls))
    definition = InterfaceDefinition(name, is_module=issubclass(cls, Module), python=cls)
    registry.interfaces[cls] = definition
    try:
        for method, function in vars(cls).items():
            if isinstance(function, FunctionType):
                resolver = resolver_for(_scope(cls, function), f"{cls.__name__}.{method}")
                definition.methods[method] = _signature(definition, function, resolver)
    except BaseException:
        del registry.interfaces[cls]
        raise
    registry.unit.register_type(definition.type)
    return definition


def _scope(cls: type, function: FunctionType) -> Callable[[str], Any]:
    inner = NameScope.of_function(function)
    outer = NameScope({cls.__name__: cls}, vars(sys.modules.get(cls.__module__, inspect)))
    return lambda name: inner(name) if name != cls.__name__ and name in inner else outer(name)


def _signature(definition: InterfaceDefinition, function: FunctionType, resolver: Resolver) -> FunctionSchema:
    tree = get_tree(function, self_name=definition.name)
    _check_body(tree)
    if tree.decl.returns is None:
        raise CompileError(NO_RETURN, tree.ident.range)
    defaults = parameter_defaults(function)
    schema = declared_schema(tree, resolver, defaults=defaults, self_type=definition.type)
    assert schema is not None
    return schema


def _check_body(tree: Def) -> None:
    for statement in tree.body:
        is_text = isinstance(statement, ExprStmt) and isinstance(statement.value, StringLiteral | Dots)
        if not isinstance(statement, Pass) and not is_text:
            raise CompileError(BODY, statement.range)
