"""What nested functions take along to where they are called: the variables that they, and the functions that they use,
read and assign around them.

A nested function that is called in another function than the one it was defined in finds its variables there under
names that say whose they are: `x__outer3` for the x of `outer`, which begins in line 3.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from flambeau.frontend.emit.environment import Variable
from flambeau.frontend.values.function_groups import ChosenFunction, FunctionsValue, PartialCall
from flambeau.frontend.values.keywords import KeywordsValue
from flambeau.frontend.values.sugared import Sugared
from flambeau.util.errors import CompileError
from flambeau.util.record import dataclass, field
from flambeau.util.source import SourceRange

if TYPE_CHECKING:
    from flambeau.frontend.emit.emission import Emission

CHOSEN = (
    "a function that is chosen, or given arguments, when the program runs can be called, not passed on. Pass on what "
    "it is made of, or write a lambda"
)


@runtime_checkable
class Closure(Protocol):
    """A function that sees variables of the function it was defined in."""

    free: tuple[str, ...]
    """Names it reads and does not bind."""
    nonlocals: frozenset[str]
    """Those of them that it assigns."""
    home: str
    """The function it was defined in."""


@dataclass(slots=True)
class Captured:
    """A variable that goes along, and the names it has where it arrives."""

    variable: Variable
    names: list[str]
    is_assigned: bool = False


@dataclass(slots=True)
class Captures:
    """All that goes along with a call."""

    variables: dict[str, Captured] = field(default_factory=dict)
    """By the slot here."""
    constants: dict[str, Sugared] = field(default_factory=dict)
    """What is no value, by the name where it arrives."""


def closures_in(values: Iterable[Sugared], where: SourceRange) -> list[Closure]:
    """The nested functions among, and inside of, these. Raises CompileError for one chosen at run time."""
    found: list[Closure] = []
    for value in values:
        if isinstance(value, ChosenFunction | PartialCall):
            raise CompileError(CHOSEN, where)
        if isinstance(value, FunctionsValue):
            found += closures_in(value.items, where)
        elif isinstance(value, Closure):
            found.append(value)
    return found


def name_at(closure: Closure, name: str, home: str) -> str:
    """What a name of a nested function is called in the function `home`."""
    return name if closure.home == home else f"{name}__{closure.home}"


def captures(e: Emission, where: SourceRange, called: Closure | None, passed: Iterable[Sugared]) -> Captures:
    """What goes along when `called` is called with functions as arguments."""
    result = Captures()
    pending = [*([] if called is None else [called]), *closures_in(passed, where)]
    seen: set[int] = set()
    while pending:
        closure = pending.pop(0)
        if id(closure) in seen:
            continue
        seen.add(id(closure))
        for name in closure.free:
            found = e.frame.find(name_at(closure, name, e.home))
            names = [*([name] if closure is called else []), f"{name}__{closure.home}"]
            if isinstance(found, Variable):
                captured = result.variables.setdefault(found.slot, Captured(found, []))
                captured.names += [n for n in names if n not in captured.names]
                captured.is_assigned |= name in closure.nonlocals
            elif isinstance(found, Sugared):
                result.constants.update(dict.fromkeys(names, found))
                pending += closures_in([found], where)
                for slot in found.slots.values() if isinstance(found, KeywordsValue) else ():
                    held = e.frame.find(slot)
                    assert isinstance(held, Variable)
                    result.variables.setdefault(held.slot, Captured(held, [])).names.append(slot)
    return result


def names_needed(e: Emission, where: SourceRange, value: Sugared) -> Mapping[str, bool]:
    """The names here that a function needs when it is called, and whether it assigns them."""
    needed: dict[str, bool] = {}
    pending = closures_in([value], where)
    seen: set[int] = set()
    while pending:
        closure = pending.pop(0)
        if id(closure) in seen:
            continue
        seen.add(id(closure))
        for name in closure.free:
            here = name_at(closure, name, e.home)
            needed[here] = needed.get(here, False) or name in closure.nonlocals
            found = e.frame.find(here)
            if isinstance(found, KeywordsValue):
                needed.update(dict.fromkeys(found.slots.values(), False))
            if isinstance(found, Sugared):
                pending += closures_in([found], where)
    return needed
