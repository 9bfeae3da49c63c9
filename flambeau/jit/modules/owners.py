"""What a module's class lives as long as: one that is made inside a function does not outlive all use of it.

`nn.Sequential(Block())` is a class of its own, kept for the next one. It knows `Block`; kept on `nn.Sequential`, which
never goes, it would keep every `Block` that there was.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import FunctionType
from typing import Any

from flambeau.program.classes import ClassDefinition
from flambeau.schema.types import EnumType, NamedType, Type


def owner_of(cls: type, functions: Iterable[Any], types: Iterable[Type]) -> Any:
    """A Python class of modules, or what else is part of one of its classes in programs and is made inside a function.

    >>> class Outer: ...
    >>> owner_of(Outer, (), ()) is Outer
    True
    """
    parts = (part for root in types for part in root.walk())
    candidates = (cls, *functions, *_definitions(parts))
    return next((c for c in candidates if _is_local(c)), cls)


def _definitions(parts: Iterable[Type]) -> Iterator[Any]:
    for part in parts:
        if isinstance(part, NamedType):
            yield part.definition
        elif isinstance(part, EnumType):
            yield part.python


def _is_local(owner: Any, seen: frozenset[Any] = frozenset()) -> bool:
    if isinstance(owner, ClassDefinition):  # objects may have attributes of their own class
        inside = (d for d in _definitions(p for a in owner.attributes for p in a.type.walk()) if d not in seen)
        return _is_local(owner.python) or any(_is_local(d, seen | {owner}) for d in inside)
    return isinstance(owner, FunctionType | type) and "<locals>" in owner.__qualname__
