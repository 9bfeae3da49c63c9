"""Types that signatures use and `typing` does not have.

>>> def area(sizes: BroadcastingList2[int]) -> int:
...     return sizes[0] * sizes[1]
>>> import flambeau
>>> flambeau.CompilationUnit("def f(n: int): return area(n)").f(3)
9
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from flambeau.frontend.scopes.type_annotations import try_type_of, type_of, type_of_tree
from flambeau.frontend.source.python_source import NameScope
from flambeau.frontend.trees.function_conversion import get_tree
from flambeau.frontend.trees.tree_views import Expr
from flambeau.ir.torchscript.types import Type as ScriptType
from flambeau.jit.resolver import PythonResolver
from flambeau.jit.script import CLASSES
from flambeau.schema.types import NONE, TENSOR, Type
from flambeau.util.broadcasting import (
    BroadcastingList1,
    BroadcastingList2,
    BroadcastingList3,
    BroadcastingList4,
    BroadcastingList5,
    BroadcastingList6,
)
from flambeau.util.source import SourceRange

__all__ = [
    "Any",
    "BroadcastingList1",
    "BroadcastingList2",
    "BroadcastingList3",
    "BroadcastingList4",
    "BroadcastingList5",
    "BroadcastingList6",
    "ann_to_type",
    "get_param_names",
    "get_signature",
    "is_vararg",
    "try_ann_to_type",
]


def get_signature(
    fn: Callable[..., Any], rcb: Callable[[str], Any] | None = None, loc: Any = None, is_method: bool = False
) -> tuple[list[ScriptType], ScriptType] | None:
    """The types of parameters and result that annotations or type comments give a function; None if it has none.

    What has no annotation is a Tensor. `rcb` gives the values of names, and None for unknown ones; without it they are
    looked up where the function was written. A method's `self` is left out. `loc` is not used: errors, CompileError or
    FrontendError, tell the place themselves.

    >>> def scaled(x, by: float):
    ...     return x
    >>> parameters, result = get_signature(scaled)
    >>> parameters, result
    ([Tensor, float], Tensor)
    """
    declared = get_tree(fn).decl
    params = declared.params[1:] if is_method else declared.params
    if declared.returns is None and all(p.annotation is None for p in params):
        return None
    scope = NameScope.of_function(fn) if rcb is None else _strict(rcb)
    resolver = PythonResolver(scope, CLASSES, getattr(fn, "__name__", ""))

    def type_at(annotation: Expr | None) -> ScriptType:
        return ScriptType.of(TENSOR if annotation is None else type_of_tree(annotation, resolver))

    return [type_at(p.annotation) for p in params], type_at(declared.returns)


def try_ann_to_type(ann: Any, loc: Any = None, rcb: Callable[[str], Any] | None = None) -> ScriptType | None:
    """The type that an annotation means; None for one that means none.

    Args:
        ann: the annotation; None means NoneType.
        loc: where it stands, for errors.
        rcb: what gives the values of names in annotations that are text.

    >>> from typing import List, Optional
    >>> try_ann_to_type(List[int]), try_ann_to_type(Optional[float]), try_ann_to_type(3)
    (List[int], Optional[float], None)
    """
    meant = _meaning(ann, loc, rcb)
    return None if meant is None else ScriptType.of(meant)


def _meaning(ann: Any, loc: Any, rcb: Callable[[str], Any] | None) -> Type | None:
    if ann is None:
        return NONE
    resolver = PythonResolver(NameScope({}) if rcb is None else _strict(rcb), CLASSES, "")
    return try_type_of(ann, resolver, loc if isinstance(loc, SourceRange) else None)


def ann_to_type(ann: Any, loc: Any = None, rcb: Callable[[str], Any] | None = None) -> ScriptType:
    """The type that an annotation means. Raises ValueError for one that means none.

    Args:
        ann: the annotation; None means NoneType.
        loc: where it stands, for errors.
        rcb: what gives the values of names in annotations that are text.

    >>> ann_to_type(dict[str, int])
    Dict[str, int]
    """
    meant = _meaning(ann, loc, rcb)
    return ScriptType.of(type_of(ann) if meant is None else meant)


def is_vararg(the_callable: Any) -> bool:
    """Whether a function, or what calls of an object run, takes any number of arguments.

    >>> is_vararg(lambda *rest: rest), is_vararg(lambda one: one)
    (True, False)
    """
    function = the_callable if inspect.isroutine(the_callable) else the_callable.__call__
    return inspect.getfullargspec(function).varargs is not None


def get_param_names(fn: Any, n_args: int) -> list[str]:
    """The names of a function's parameters; numbers where they are not known.

    Args:
        fn: a function, or an object that is called.
        n_args: how many names there are where they are not known.

    >>> get_param_names(lambda a, b: a, 2), get_param_names(print, 1)
    (['a', 'b'], ['0'])
    """
    function = fn if inspect.isroutine(fn) else getattr(fn, "__call__", fn)  # noqa: B004
    try:
        is_known = inspect.isfunction(inspect.unwrap(function))
        return inspect.getfullargspec(function).args if is_known else _numbers(n_args)
    except TypeError:
        return _numbers(n_args)


def _numbers(count: int) -> list[str]:
    return [str(number) for number in range(count)]


def _strict(rcb: Callable[[str], Any]) -> Callable[[str], Any]:
    def find(name: str) -> Any:
        value = rcb(name)
        if value is None:
            raise KeyError(name)
        return value

    return find
