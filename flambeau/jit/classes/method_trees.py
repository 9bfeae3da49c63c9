"""Trees of methods that are compiled a little different from how they are written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from flambeau.frontend.trees.tree_views import Def, Expr, Param, Var
from flambeau.util.record import replace

COMPARISONS: Final = ("__eq__", "__ne__")
"""Methods that Python may call with anything: type checkers want their parameter to be an `object`."""


def compared_with_any(tree: Def) -> Def:
    """A comparison that takes `Any` where it says `object`."""
    return replace(tree, decl=replace(tree.decl, params=tuple(map(_open, tree.decl.params))))


def _open(param: Param) -> Param:
    annotation: Expr | None = param.annotation
    if isinstance(annotation, Var) and annotation.name == "object":
        return replace(param, annotation=replace(annotation, ident=replace(annotation.ident, name="Any")))
    return param


def bound_to_class(tree: Def, scope: Callable[[str], Any], cls: type) -> tuple[Def, Callable[[str], Any]]:
    """A class method without its first parameter, which means the class."""
    first = tree.decl.params[0].name
    decl = replace(tree.decl, params=tree.decl.params[1:])
    bound = Def(tree.range, tree.ident, decl, tree.body)
    return bound, lambda name: cls if name == first else scope(name)
