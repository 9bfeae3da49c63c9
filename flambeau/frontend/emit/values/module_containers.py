"""What the resolver says of containers of modules and parameters, and constants of classes as programs have them."""

from __future__ import annotations

from typing import Any

from flambeau.frontend.emit.values.sugared import Emitter
from flambeau.frontend.scopes.name_resolution import ObjectResolver
from flambeau.ir.graph import Value
from flambeau.schema.types import NamedType
from flambeau.util.source import SourceRange


def module_keys(e: Emitter, where: SourceRange, value: Value) -> list[str] | None:
    """The keys of a container of modules or parameters that is reached by name; None for what is none."""
    if not isinstance(value.static_type, NamedType) or not isinstance(e.scope.resolver, ObjectResolver):
        return None
    return e.scope.resolver.object_keys(value, where)


def module_count(e: Emitter, where: SourceRange, value: Value) -> int | None:
    """How many modules or parameters a container holds; None for what is none."""
    keys = module_keys(e, where, value)
    if keys is None and isinstance(e.scope.resolver, ObjectResolver):
        items = e.scope.resolver.object_items(value, where)
        return None if items is None else len(items)
    return None if keys is None else len(keys)


def frozen(constant: Any) -> Any:
    """A constant as programs have it: lists are tuples."""
    return tuple(map(frozen, constant)) if isinstance(constant, list) else constant
