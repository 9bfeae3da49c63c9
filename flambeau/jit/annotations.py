"""Types that signatures use and `typing` does not have.

>>> def area(sizes: BroadcastingList2[int]) -> int:
...     return sizes[0] * sizes[1]
>>> import flambeau
>>> flambeau.CompilationUnit("def f(n: int): return area(n)").f(3)
9
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flambeau.frontend.scopes.type_annotations import type_of_tree
from flambeau.frontend.source.python_source import NameScope
from flambeau.frontend.trees.function_conversion import get_tree
from flambeau.frontend.trees.tree_views import Expr
from flambeau.jit.resolver import PythonResolver
from flambeau.jit.script import CLASSES
from flambeau.schema.types import TENSOR, Type
from flambeau.util.broadcasting import (
    BroadcastingList1,
    BroadcastingList2,
    BroadcastingList3,
    BroadcastingList4,
    BroadcastingList5,
    BroadcastingList6,
)

__all__ = [
    "Any",
    "BroadcastingList1",
    "BroadcastingList2",
    "BroadcastingList3",
    "BroadcastingList4",
    "BroadcastingList5",
    "BroadcastingList6",
    "get_signature",
]


def get_signature(
    fn: Callable[..., Any], rcb: Callable[[str], Any] | None = None, loc: Any = None, is_method: bool = False
) -> tuple[list[Type], Type] | None:
    """The types of parameters and result that annotations or type comments give a function; None if it has none.

    What has no annotation is a Tensor. `rcb` gives the values of names, and None for unknown ones; without it they are
    looked up where the function was written. A method's `self` is left out. `loc` is not used: errors, CompileError or
    FrontendError, tell the place themselves.

    >>> def scaled(x, by: float):
    ...     return x
    >>> parameters, result = get_signature(scaled)
    >>> [str(p) for p in parameters], str(result)
    (['Tensor', 'float'], 'Tensor')
    """
    declared = get_tree(fn).decl
    params = declared.params[1:] if is_method else declared.params
    if declared.returns is None and all(p.annotation is None for p in params):
        return None
    scope = NameScope.of_function(fn) if rcb is None else _strict(rcb)
    resolver = PythonResolver(scope, CLASSES, getattr(fn, "__name__", ""))

    def type_at(annotation: Expr | None) -> Type:
        return TENSOR if annotation is None else type_of_tree(annotation, resolver)

    return [type_at(p.annotation) for p in params], type_at(declared.returns)


def _strict(rcb: Callable[[str], Any]) -> Callable[[str], Any]:
    def find(name: str) -> Any:
        value = rcb(name)
        if value is None:
            raise KeyError(name)
        return value

    return find
