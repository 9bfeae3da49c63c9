"""What nested functions capture: the variables around them that they, and the functions that they use, read and assign.

A nested function that is called in another function than the one it was defined in finds its variables there under
names that say whose they are: `CapturedName("x", "outer3")` for the x of `outer`, which begins in line 3.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol, runtime_checkable

from flambeau.frontend.emit.frames import Variable
from flambeau.frontend.emit.values.carried_values import carry, slots_of, things_in
from flambeau.frontend.emit.values.sugared import Emitter, Sugared
from flambeau.frontend.scopes.captured_names import CapturedName, Name
from flambeau.frontend.scopes.scope_tree import Capture, Scope
from flambeau.ir.graph import Value
from flambeau.util.record import dataclass, field
from flambeau.util.source import SourceRange


@runtime_checkable
class Closure(Protocol):
    """A function that sees variables of the function it was defined in."""

    defining_scope: str
    """The unique name of the function it was defined in."""
    symbols: Scope
    """What its names are."""

    @property
    def captured(self) -> Sequence[Capture]:
        """What it uses of the functions around it."""


@dataclass(slots=True)
class Captured:
    """A captured variable, and the names it has in the function that is called."""

    variable: Variable
    names: list[Name]
    is_assigned: bool = False


@dataclass(slots=True)
class Captures:
    """All that a call passes for what is captured."""

    variables: dict[str, Captured] = field(default_factory=dict)
    """By the slot here."""
    constants: dict[Name, Sugared] = field(default_factory=dict)
    """What is no value, by the name in the function that is called."""
    values: dict[str, Value] = field(default_factory=dict)
    """What that is made of, by the name in the function that is called."""


def closures_in(things: Iterable[Sugared]) -> list[Closure]:
    """The nested functions among these, and in what these are made of."""
    return [part for thing in things for part in things_in(thing) if isinstance(part, Closure)]


def defining_scopes(names: Iterable[Name], things: Iterable[Sugared]) -> set[str]:
    """The unique names of the functions that captured names are of, and that nested functions were defined in."""
    scopes = {closure.defining_scope for closure in closures_in(things)}
    return scopes | {name.defining_scope for name in names if isinstance(name, CapturedName)}


def name_at(closure: Closure, name: str, scope: str) -> Name:
    """What a name of a nested function is called in another function, whose unique name is `scope`."""
    return name if closure.defining_scope == scope else CapturedName(name, closure.defining_scope)


def captures(e: Emitter, where: SourceRange, called: Closure | None, passed: Iterable[Sugared]) -> Captures:
    """What a call of `called` passes beside its arguments: what it captures, and what functions among these capture."""
    result = Captures()
    pending = [*([] if called is None else [called]), *closures_in(passed)]
    for closure, capture in _captures_of(pending):
        name = capture.name
        meaning = e.scope.find(name_at(closure, name, e.scope.unique_name))
        names: list[Name] = [*([name] if closure is called else []), CapturedName(name, closure.defining_scope)]
        if isinstance(meaning, Variable):
            captured = result.variables.setdefault(meaning.slot, Captured(meaning, []))
            captured.names += [n for n in names if n not in captured.names]
            captured.is_assigned |= capture.is_assigned
        elif isinstance(meaning, Sugared):
            meaning, values = carry(meaning, str(names[-1]), where)
            result.values.update(values)
            result.constants.update(dict.fromkeys(names, meaning))
            pending += closures_in([meaning])
            for slot in () if values else slots_of(meaning):
                variable = e.scope.find(slot)
                assert isinstance(variable, Variable)
                captured = result.variables.setdefault(variable.slot, Captured(variable, []))
                captured.names += [slot] if slot not in captured.names else []
    return result


def _captures_of(pending: list[Closure]) -> Iterator[tuple[Closure, Capture]]:
    """What functions capture, each function once; those that are added to the list meanwhile too."""
    seen: set[int] = set()
    while pending:
        closure = pending.pop(0)
        if id(closure) not in seen:
            seen.add(id(closure))
            yield from ((closure, capture) for capture in closure.captured)


def names_needed(e: Emitter, value: Sugared) -> Mapping[Name, bool]:
    """The names here that a function needs when it is called, and whether it assigns them."""
    needed: dict[Name, bool] = dict.fromkeys(slots_of(value), False)
    pending = closures_in([value])
    for closure, capture in _captures_of(pending):
        here = name_at(closure, capture.name, e.scope.unique_name)
        needed[here] = needed.get(here, False) or capture.is_assigned
        meaning = e.scope.find(here)
        if isinstance(meaning, Sugared):
            needed.update(dict.fromkeys(slots_of(meaning), False))
            pending += closures_in([meaning])
    return needed
