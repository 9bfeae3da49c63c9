"""A cache for functions of types, which keeps no class of the user's alive.

>>> from flambeau.schema.types import INT, ListType
>>> @remembered(maxsize=8)
... def text(type_):
...     return str(type_)
>>> text(ListType(INT)), text(ListType(INT)), text.cache_info().hits
('int[]', 'int[]', 1)
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, update_wrapper
from typing import Any, TypeVar

from flambeau.schema.types import (
    BoolType,
    EnumType,
    FloatType,
    IntType,
    NamedType,
    NoneType,
    NumberType,
    StringType,
    TensorType,
    TupleType,
    Type,
)

F = TypeVar("F", bound=Callable[..., Any])


def remembered(maxsize: int) -> Callable[[F], F]:
    """`functools.lru_cache` for calls whose types belong to nobody; others are computed each time."""

    def decorate(function: F) -> F:
        cached = lru_cache(maxsize=maxsize)(function)

        def call(*args: Any) -> Any:
            return function(*args) if any(map(_is_owned, args)) else cached(*args)

        update_wrapper(call, function)
        call.cache_info = cached.cache_info  # type: ignore[attr-defined]
        return call  # type: ignore[return-value]

    return decorate


_NOBODYS = frozenset({
    str, bool, int, type(None), IntType, FloatType, BoolType, StringType, NoneType, TensorType, NumberType
})  # fmt: skip
"""What most arguments are."""
_OWNED = (NamedType, EnumType)


def _is_owned(argument: Any) -> bool:
    """Whether a class of the user's is part of an argument: a type, or several."""
    if argument.__class__ in _NOBODYS:
        return False
    if isinstance(argument, tuple):
        return any(map(_is_owned, argument))
    if not isinstance(argument, Type):
        return False
    if isinstance(argument, _OWNED) or (isinstance(argument, TupleType) and argument.defaults):
        return True
    return any(map(_is_owned, argument.contained))
