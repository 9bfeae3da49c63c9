"""Things that are no values, taken from one function to another: what they are made of goes along as parameters.

def f(n): return apply(partial(g, n), 1)    →    apply compiled for `partial(g, ·)` with a further parameter for the dot
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import Any

from flambeau.frontend.emit.frames import Variable
from flambeau.frontend.emit.values.keyword_values import KeywordsValue
from flambeau.frontend.emit.values.sugared import Emitter, FormValue, Given, Iteration, Sugared
from flambeau.ir.graph import Value
from flambeau.util.errors import CompileError
from flambeau.util.record import dataclass, fields, replace
from flambeau.util.source import SourceRange


@dataclass(slots=True)
class Carried(Sugared):
    """Something of another function; `slots` are the variables here that hold the values it is made of."""

    inner: Sugared
    slots: tuple[str, ...]

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return self.inner.kind

    def here(self, e: Emitter) -> Sugared:
        """The thing itself, made of the values here."""
        values: list[Value] = []
        for slot in self.slots:
            meaning = e.scope.find(slot)
            assert isinstance(meaning, Variable)
            values.append(e.load(slot, meaning))
        remade = rebuilt(self.inner, iter(values))
        assert isinstance(remade, Sugared)
        return remade


def slots_of(meaning: object) -> tuple[str, ...]:
    """The variables that something needs to be around it."""
    if isinstance(meaning, KeywordsValue):
        return tuple(meaning.slots.values())
    return meaning.slots if isinstance(meaning, Carried) else ()


def carry(thing: Sugared, name: str, where: SourceRange) -> tuple[Sugared, dict[str, Value]]:
    """What another function has under that name for a thing of this one, and the values in it, by variable there.

    Raises CompileError for what cannot be had elsewhere.
    """
    values = values_in(thing)
    if isinstance(thing, Carried) or not values:
        if any(isinstance(t, FormValue) and hasattr(t.emit, "__self__") for t in things_in(thing)):
            raise CompileError(f"{thing.kind} cannot be used as a value", where)
        return thing, {}
    slots = [f"{name}__part{index}" for index in range(len(values))]
    return Carried(thing, tuple(slots)), dict(zip(slots, values, strict=True))


def things_in(thing: object, *, here: bool = False) -> Iterator[object]:
    """A thing and all that it is made of; with `here` without what only another function has."""
    parts: Iterable[object] = ()
    if isinstance(thing, Sugared | Given | Iteration | Value):
        yield thing
        parts = () if here and isinstance(thing, Carried) else [part for _, part in _fields(thing)]
    elif isinstance(thing, list | tuple):
        parts = thing
    elif isinstance(thing, dict):
        parts = thing.values()
    for part in parts:
        yield from things_in(part, here=here)


def values_in(thing: object) -> list[Value]:
    """The values that a thing is made of."""
    return [part for part in things_in(thing, here=True) if isinstance(part, Value)]


def rebuilt(thing: Any, values: Iterator[Value]) -> Any:
    """The same of other values, in the order of `values_in`."""
    if isinstance(thing, Value):
        return next(values)
    if isinstance(thing, list | tuple):
        return type(thing)([rebuilt(part, values) for part in thing])
    if isinstance(thing, dict):
        return {name: rebuilt(part, values) for name, part in thing.items()}
    if isinstance(thing, Sugared | Given | Iteration) and values_in(thing):
        record: Any = thing
        return replace(record, **{name: rebuilt(part, values) for name, part in _fields(thing)})
    return thing


def identity(thing: Any) -> Hashable:
    """What tells one thing from another: two of one identity mean the same wherever they are."""
    if isinstance(thing, Value):
        return str(thing.static_type)
    if isinstance(thing, list | tuple):
        return tuple(identity(part) for part in thing)
    if isinstance(thing, dict):
        return tuple((name, identity(part)) for name, part in thing.items())
    if isinstance(thing, Sugared | Given | Iteration) and hasattr(thing, "__record_fields__"):
        return (type(thing), *(identity(part) for _, part in _fields(thing)))
    return (type(thing), thing) if isinstance(thing, str | int | None) else id(thing)


def _fields(thing: Any) -> list[tuple[str, Any]]:
    if isinstance(thing, Value) or not hasattr(thing, "__record_fields__"):
        return []
    return [(field.name, getattr(thing, field.name)) for field in fields(thing) if field.init]
