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

from flambeau.frontend.compile import compile_def
from flambeau.frontend.convert.functions import get_tree
from flambeau.frontend.resolver import Resolver
from flambeau.frontend.source.python_source import parameter_defaults
from flambeau.ir.value import Value
from flambeau.jit.classes.scope import class_scope
from flambeau.jit.classes.values import BoundFunction
from flambeau.jit.compiling import compiling, tidy
from flambeau.jit.registry import ScriptRegistry
from flambeau.program.function import Function
from flambeau.program.named_tuples import user_class
from flambeau.schema.types import EnumType, TupleType

_LIBRARY: Final = ("<string>", collections.__file__, enum.__file__, typing.__file__)
"""Where Python's own methods of enums and named tuples come from."""


def value_method(
    owner: Value, name: str, registry: ScriptRegistry, resolver_for: Callable[[Callable[[str], Any], str], Resolver]
) -> BoundFunction | None:
    """A method or property of a member or tuple; None if its class has none of that name in its source."""
    type_ = owner.type
    if isinstance(type_, EnumType):
        cls: Any = type_.python
    else:
        cls = user_class(type_) if isinstance(type_, TupleType) and type_.name is not None else None
    found = inspect.getattr_static(cls, name, None) if isinstance(cls, type) else None
    is_property = isinstance(found, property)
    fn = found.fget if isinstance(found, property) else found
    if not isinstance(fn, FunctionType) or fn.__code__.co_filename in _LIBRARY:
        return None
    assert isinstance(type_, EnumType | TupleType)
    return BoundFunction(_compiled(type_, cls, fn, registry, resolver_for), owner, is_property)


def _compiled(
    type_: EnumType | TupleType,
    cls: type,
    fn: FunctionType,
    registry: ScriptRegistry,
    resolver_for: Callable[[Callable[[str], Any], str], Resolver],
) -> Function:
    known = registry.find(fn)
    if known is not None:
        return known
    shown = f"{cls.__name__}.{fn.__name__}"
    with compiling(fn, shown, None), registry.lock:
        resolver = resolver_for(class_scope(cls, fn, {}), shown)
        tree = get_tree(fn, self_name=cls.__name__)
        name = f"{type_.name}.{fn.__name__}"
        function = compile_def(tree, resolver, name=name, defaults=parameter_defaults(fn), self_type=type_)
        function.doc = inspect.getdoc(fn) or ""
    tidy(function)
    return registry.keep(fn, function)
