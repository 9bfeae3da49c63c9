"""What names mean inside a class: as in Python, and the class itself, which has no name yet while it is made."""

from __future__ import annotations

import sys
import typing
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any

from flambeau.frontend.source.python_source import NameScope


def class_scope(cls: type, fn: FunctionType | None, around: Mapping[str, Any]) -> Callable[[str], Any]:
    """The scope of a method, or of the class body for None. Raises KeyError for unknown names.

    `around` has classes that are local to the functions around the class.
    """
    if fn is not None:
        scopes = [NameScope.of_function(fn, _annotated_classes(fn), around)]
    else:
        methods = [m for m in vars(cls).values() if isinstance(m, FunctionType)]
        home = vars(sys.modules.get(cls.__module__, typing))
        scopes = [NameScope(around, home), *map(NameScope.of_function, methods)]

    def find(name: str) -> Any:
        value = look_up(name)
        return cls if value is typing.Self else value

    def look_up(name: str) -> Any:
        if name == cls.__name__:
            value = _outside(scopes, name)
            is_older = isinstance(value, type) and (value.__module__, value.__qualname__) == _place(cls)
            return cls if is_older or value is None else value
        for scope in scopes:
            if name in scope:
                return scope(name)
        for base in cls.__mro__:
            if base.__name__ == name:
                return base
        raise KeyError(name)

    return find


def _place(cls: type) -> tuple[str, str]:
    return cls.__module__, cls.__qualname__


def _outside(scopes: list[NameScope], name: str) -> Any:
    return next((scope(name) for scope in scopes if name in scope), None)


def _annotated_classes(fn: FunctionType) -> dict[str, Any]:
    """Classes that the annotations of a function hold, by name: the scope of their definition may not be in reach."""
    classes: dict[str, Any] = {}
    waiting = [a for a in fn.__annotations__.values() if not isinstance(a, str)]
    while waiting:
        annotation = waiting.pop()
        waiting += typing.get_args(annotation)
        if isinstance(annotation, type) and typing.get_origin(annotation) is None:
            classes[annotation.__name__] = annotation
    return classes
