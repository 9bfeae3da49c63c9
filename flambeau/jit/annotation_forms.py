"""What annotations and functions are, as programs around the compiler ask: `is_optional(ann)`, names of parameters.

>>> from typing import List, Optional
>>> is_optional(Optional[int]), is_list(List[int]), is_dict(List[int])
(True, True, False)
"""

from __future__ import annotations

import collections
import inspect
import sys
import types
from collections.abc import Callable
from typing import Any, Final, Union, get_args, get_origin
from typing import Final as FinalAnnotation

from flambeau.frontend.emit.values.python_calls import IGNORE, UNUSED, modifier
from flambeau.frontend.source.python_source import NameScope
from flambeau.interpreter.future import Future

NO_PARAMETERS: Final = (
    "Attempted to use {name} without a contained type. Please add a contained type, e.g. {name}[int]"
)
_BARE: Final = {list: "List", dict: "Dict", tuple: "Tuple", Union: "Union"}


def _check_contained(ann: Any) -> None:
    """Raise RuntimeError for `List` alone: what is in it has to be said."""
    name = getattr(ann, "_name", None) or _BARE.get(ann)
    if name in ("List", "Dict", "Tuple", "Optional", "Union") and not get_args(ann) and ann is not Any:
        raise RuntimeError(NO_PARAMETERS.format(name=name))


def is_optional(ann: Any) -> bool:
    """Whether an annotation is `Optional[T]`, however that is written. Raises RuntimeError for `Optional` alone."""
    _check_contained(ann)
    return is_union(ann) and type(None) in get_args(ann) and len(get_args(ann)) == 2


def is_union(ann: Any) -> bool:
    """Whether an annotation is a union. Raises RuntimeError for `Union` alone."""
    _check_contained(ann)
    return get_origin(ann) in (Union, types.UnionType)


def is_list(ann: Any) -> bool:
    """Whether an annotation is a list of something. Raises RuntimeError for `List` alone."""
    _check_contained(ann)
    return get_origin(ann) is list


def is_tuple(ann: Any) -> bool:
    """Whether an annotation is a tuple of something. Raises RuntimeError for `Tuple` alone."""
    _check_contained(ann)
    return get_origin(ann) is tuple


def is_dict(ann: Any) -> bool:
    """Whether an annotation is a dictionary. Raises RuntimeError for `Dict` alone."""
    _check_contained(ann)
    return get_origin(ann) in (dict, collections.OrderedDict)


def is_future(ann: Any) -> bool:
    """Whether an annotation is a future of something. Raises RuntimeError for `Future` alone."""
    if ann is Future:
        raise RuntimeError(NO_PARAMETERS.format(name="Future"))
    return getattr(ann, "__origin__", None) is Future


def is_final(ann: Any) -> bool:
    """Whether an annotation is `Final`, with a type or without."""
    return ann is FinalAnnotation or get_origin(ann) is FinalAnnotation


def is_ignored_fn(fn: Any) -> bool:
    """Whether a function is marked so that programs leave it to Python, or drop it.

    >>> import flambeau
    >>> is_ignored_fn(flambeau.jit.ignore(lambda x: x)), is_ignored_fn(len)
    (True, False)
    """
    return modifier(fn) in (IGNORE, UNUSED)


def should_drop(fn: Any) -> bool:
    """Whether a function is marked so that a call of it raises in programs.

    >>> import flambeau
    >>> should_drop(flambeau.jit.unused(lambda x: x)), should_drop(flambeau.jit.ignore(lambda x: x))
    (True, False)
    """
    return modifier(fn) == UNUSED


def get_callable_argument_names(fn: Callable[..., Any]) -> list[str]:
    """The names of parameters that calls may give by position or name; none if a parameter is of another kind.

    >>> get_callable_argument_names(lambda a, b=2: a), get_callable_argument_names(lambda a, *, b: a)
    (['a', 'b'], [])
    """
    try:
        parameters = inspect.signature(fn).parameters.values()
    except (TypeError, ValueError):
        return []
    names = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    return names if len(names) == len(parameters) else []


def createResolutionCallbackFromFrame(frames_up: int = 0) -> Callable[[str], Any]:  # noqa: N802
    """What names mean where this is called, or so many callers further up: a function that gives their values, None
    for unknown ones.

    >>> here = 3
    >>> createResolutionCallbackFromFrame()("here")
    3
    """
    frame = sys._getframe(1 + frames_up)
    local, outer = frame.f_locals, frame.f_globals

    def find(name: str) -> Any:
        return local.get(name, outer.get(name))

    return find


def createResolutionCallbackFromClosure(fn: Callable[..., Any]) -> Callable[[str], Any]:  # noqa: N802
    """What names mean in a function, from outside of it: a function that gives their values, None for unknown ones.

    >>> createResolutionCallbackFromClosure(is_final)("FinalAnnotation") is FinalAnnotation
    True
    """
    scope = NameScope.of_function(fn)

    def find(name: str) -> Any:
        try:
            return scope(name)
        except KeyError:
            return None

    return find
