"""Methods that users wrote for their enums and named tuples: functions of a member or tuple, compiled when reached.

class Color(Enum):                        %t : bool = prim::CallFunction(%is_warm, %c)
    def is_warm(self) -> bool: ...   →
"""

from __future__ import annotations

import collections
import enum
import inspect
import typing
from collections.abc import Callable
from types import FunctionType
from typing import Any, Final

from flambeau.frontend.compile_function import compile_def
from flambeau.frontend.scopes.name_resolution import Resolver
from flambeau.frontend.source.python_source import parameter_defaults
from flambeau.frontend.trees.function_conversion import get_tree
from flambeau.ir.graph import Value
from flambeau.jit.classes.class_scope import class_scope
from flambeau.jit.classes.class_values import BoundFunction
from flambeau.jit.classes.method_trees import bound_to_class
from flambeau.jit.compiling import compiling, tidy
from flambeau.jit.script_registry import ScriptRegistry
from flambeau.program.function import Function
from flambeau.program.named_tuples import user_class
from flambeau.schema.types import EnumType, TupleType, Type
from flambeau.util.names import qualified_name

_LIBRARY: Final = ("<string>", collections.__file__, enum.__file__, typing.__file__)
"""Where Python's own methods of enums and named tuples come from."""


ResolverFor = Callable[[Callable[[str], Any], str], Resolver]


def value_method(
    owner: Value | type, name: str, registry: ScriptRegistry, resolver_for: ResolverFor
) -> BoundFunction | Function | None:
    """A method or property of a member or tuple, or a static or class method of it or of its class.

    None if the class has none of that name in its source.
    """
    cls = owner if isinstance(owner, type) else _class_of(owner.static_type)
    member = None if cls is None else inspect.getattr_static(cls, name, None)
    is_static = isinstance(member, staticmethod | classmethod)
    is_property = isinstance(member, property)
    fn = member.fget if isinstance(member, property) else member.__func__ if is_static else member  # type: ignore[union-attr]
    if cls is None or not isinstance(fn, FunctionType) or fn.__code__.co_filename in _LIBRARY:
        return None
    if is_static:
        return _compiled(None, cls, fn, isinstance(member, classmethod), registry, resolver_for)
    if isinstance(owner, type):
        return None
    return BoundFunction(_compiled(owner.static_type, cls, fn, False, registry, resolver_for), owner, is_property)


def _class_of(type_: Type) -> type | None:
    if isinstance(type_, EnumType):
        python: type = type_.python
        return python
    return user_class(type_) if isinstance(type_, TupleType) and type_.name is not None else None


def _compiled(
    self_type: Type | None,
    cls: type,
    fn: FunctionType,
    bind_class: bool,
    registry: ScriptRegistry,
    resolver_for: ResolverFor,
) -> Function:
    known = registry.find(fn)
    if known is not None:
        return known
    shown = f"{cls.__name__}.{fn.__name__}"
    with compiling(fn, shown, None), registry.lock:
        scope = class_scope(cls, fn, {})
        tree = get_tree(fn, self_name=None if self_type is None else cls.__name__)
        if bind_class:
            tree, scope = bound_to_class(tree, scope, cls)
        name = f"{qualified_name(cls)}.{fn.__name__}"
        resolver = resolver_for(scope, shown)
        function = compile_def(tree, resolver, name=name, defaults=parameter_defaults(fn), self_type=self_type)
        function.doc = inspect.getdoc(fn) or ""
    tidy(function)
    return registry.keep(fn, function)
