"""Every operator by name. The registry imports none of its registrants: `ops` registers, everybody looks up.

>>> from flambeau.schema import registry
>>> registry.overloads("aten::no_such_operator")
()
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator
from typing import Final

from flambeau.schema.opdef import Effect, OpDef
from flambeau.schema.types import Type

_by_name: dict[str, dict[str, OpDef]] = {}
_by_spelling: dict[str, str] = {}
_spellings: dict[str, str] = {}
_implicit_casts: dict[Type, str] = {}
_reaching_world: set[str] = set()


class _Registrations:
    """How often operators were added and taken away: what was looked up holds while this stays."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0


registrations: Final = _Registrations()
"""For callers that are too frequent for a call of `version`."""


def register(definition: OpDef) -> OpDef:
    """Add an overload. Raises ValueError if that name and overload exist already."""
    overloads_ = _by_name.setdefault(definition.name, {})
    if definition.schema.overload in overloads_:
        raise ValueError(f"operator {definition.full_name} is declared twice")
    overloads_[definition.schema.overload] = definition
    if definition.traits.spelling:
        _by_spelling.setdefault(definition.traits.spelling, definition.name)
        _spellings.setdefault(definition.name, definition.traits.spelling)
    if definition.traits.is_implicit_cast:
        _implicit_casts[definition.schema.returns[0].type] = definition.name
    if definition.effect is Effect.WORLD:
        _reaching_world.add(definition.name)
    registrations.count += 1
    return definition


def unregister(definition: OpDef) -> None:
    """Take an overload away that a user registered; nothing happens if it is gone already."""
    overloads_ = _by_name.get(definition.name, {})
    if overloads_.get(definition.schema.overload) is definition:
        del overloads_[definition.schema.overload]
        if not overloads_:
            del _by_name[definition.name]
        registrations.count += 1


def spelled(text: str) -> str:
    """The name of the operator that Python writes as `+`, `+=`, `is not` or `hex`. Raises KeyError if there is none."""
    return _by_spelling[text]


def is_spelled(text: str) -> bool:
    """Whether there is an operator that Python writes as `text`: `@=` is none, for a product is a new tensor."""
    return text in _by_spelling


def spelling(name: str) -> str:
    """How Python writes an operator, `+`, `+=` or `is not`; empty if it is called by its name.

    >>> import flambeau.ops
    >>> spelling("aten::add"), spelling("aten::__ixor__"), spelling("aten::relu")
    ('+', '^=', '')
    """
    return _spellings.get(name, "")


def implicit_cast(type_: Type) -> str | None:
    """The operator that makes a number of this type of a tensor with one element where it is not written; or None."""
    return _implicit_casts.get(type_)


def version() -> int:
    """A number that grows with each registration, for caches of lookups."""
    return registrations.count


def overloads(name: str) -> tuple[OpDef, ...]:
    """All overloads of `aten::add`, in order of declaration; empty when there is none."""
    return tuple(_by_name.get(name, {}).values())


def is_operator(name: str) -> bool:
    """Whether there is an overload of `aten::add`.

    >>> is_operator("prim::GetAttr")
    False
    """
    return bool(_by_name.get(name))


def find(full_name: str) -> OpDef | None:
    """The overload `aten::add.Tensor`, or None."""
    name, _, overload = full_name.partition(".")
    return _by_name.get(name, {}).get(overload)


def get(full_name: str) -> OpDef:
    """The overload `aten::add.Tensor`. Raises KeyError with similar names."""
    definition = find(full_name)
    if definition is None:
        raise KeyError(f"no operator {full_name}; similar: {', '.join(similar(full_name.partition('.')[0])) or 'none'}")
    return definition


def all_definitions() -> Iterator[OpDef]:
    """Every overload of every operator, in order of declaration."""
    for same_name in _by_name.values():
        yield from same_name.values()


def reaching_world() -> frozenset[str]:
    """The names of operators of which an overload reaches the world, or did before its user took it away."""
    return frozenset(_reaching_world)


def names() -> tuple[str, ...]:
    """Every operator name."""
    return tuple(_by_name)


def similar(name: str, accept: Callable[[str], bool] = lambda _: True) -> list[str]:
    """Registered names that look like `name`, best first."""
    return difflib.get_close_matches(name, [n for n in _by_name if accept(n)], n=5, cutoff=0.7)


def out_of_place(name: str) -> str:
    """The name of the operator that computes what one in place writes.

    >>> out_of_place("aten::add_"), out_of_place("aten::__ixor__")
    ('aten::add', 'aten::__xor__')
    """
    return name.replace("::__i", "::__") if name.endswith("__") else name.removesuffix("_")
