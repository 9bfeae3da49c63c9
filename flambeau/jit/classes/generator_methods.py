"""Methods that yield, as calls of them write them out."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from types import FunctionType
from typing import Any

from flambeau.frontend.closures.template import Template
from flambeau.frontend.compile_function import compile_def
from flambeau.frontend.emit.values.python_calls import modifier
from flambeau.frontend.scopes.name_resolution import Resolver
from flambeau.frontend.source.python_source import innermost_function
from flambeau.frontend.trees.tree_views import Def, Var
from flambeau.util.record import replace


def yielding(member: Any) -> FunctionType | None:
    """A member of a class that is a method and yields, gathers arguments or may take functions; None for others."""
    if not isinstance(member, FunctionType) or modifier(member) is not None:
        return None
    function = innermost_function(member)
    return member if inspect.isgeneratorfunction(function) or _may_take_functions(function) else None


def _may_take_functions(function: FunctionType) -> bool:
    code, annotations = function.__code__, function.__annotations__
    if code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS):
        return True
    names = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
    return any(name not in annotations or "Callable" in str(annotations[name]) for name in names)


def method_template(tree: Def, resolver: Resolver, defaults: Mapping[str, Any]) -> Template | None:
    """The method with an object of any type as its first argument; None for one that asks for `super()`."""
    if any(isinstance(part, Var) and part.name == "super" for part in tree.walk()):
        return None
    first, *others = tree.decl.params
    params = (replace(first, annotation=None), *others)
    return Template(replace(tree, decl=replace(tree.decl, params=params)), resolver, defaults, compile_def)
