"""What nested functions take along to where they are called: the variables that they, and the functions that they use,
read and assign around them.

A nested function that is called in another function than the one it was defined in finds its variables there under
names that say whose they are: `CapturedName("x", "outer3")` for the x of `outer`, which begins in line 3.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol, runtime_checkable

from flambeau.frontend.emit.frames import Variable
from flambeau.frontend.emit.values.carried_values import slots_of, take_along, things_in
from flambeau.frontend.emit.values.sugared import Emitter, Sugared
from flambeau.frontend.scopes.captured_names import CapturedName, Name
from flambeau.frontend.scopes.scope_tree import Capture, Scope
from flambeau.frontend.trees.tree_views import Def
from flambeau.ir.value import Value
from flambeau.util.record import dataclass, field
from flambeau.util.source import SourceRange


@runtime_checkable
class Closure(Protocol):
    """A function that sees variables of the function it was defined in."""

    home: str
    """The function it was defined in."""
    symbols: Scope
    """What its names are."""

    @property
    def captured(self) -> Sequence[Capture]:
        """What it uses of the functions around it."""


@dataclass(slots=True)
class Captured:
    """A variable that goes along, and the names it has where it arrives."""

    variable: Variable
    names: list[Name]
    is_assigned: bool = False


@dataclass(slots=True)
class Captures:
    """All that goes along with a call."""

    variables: dict[str, Captured] = field(default_factory=dict)
    """By the slot here."""
    constants: dict[Name, Sugared] = field(default_factory=dict)
    """What is no value, by the name where it arrives."""
    values: dict[str, Value] = field(default_factory=dict)
    """What that is made of, by the name where it arrives."""


def closures_in(things: Iterable[Sugared]) -> list[Closure]:
    """The nested functions among, and inside of, these."""
    return [part for thing in things for part in things_in(thing) if isinstance(part, Closure)]


def homes_of(names: Iterable[Name], things: Iterable[Sugared]) -> set[str]:
    """The functions that names are of, and that nested functions among things were defined in."""
    homes = {closure.home for closure in closures_in(things)}
    return homes | {name.home for name in names if isinstance(name, CapturedName)}


def unused_home(tree: Def, homes: set[str]) -> str:
    """What to call a function in the names of its variables elsewhere: by none of these, to which it is added."""
    plain = home = f"{tree.name}{tree.range.file_line_col()[1]}"
    number = 1
    while home in homes:
        number += 1
        home = f"{plain}_{number}"
    homes.add(home)
    return home


def name_at(closure: Closure, name: str, home: str) -> Name:
    """What a name of a nested function is called in the function `home`."""
    return name if closure.home == home else CapturedName(name, closure.home)


def captures(e: Emitter, where: SourceRange, called: Closure | None, passed: Iterable[Sugared]) -> Captures:
    """What goes along when `called` is called with functions as arguments."""
    result = Captures()
    pending = [*([] if called is None else [called]), *closures_in(passed)]
    seen: set[int] = set()
    while pending:
        closure = pending.pop(0)
        if id(closure) in seen:
            continue
        seen.add(id(closure))
        for capture in closure.captured:
            name = capture.name
            meaning = e.scope.find(name_at(closure, name, e.scope.home))
            names: list[Name] = [*([name] if closure is called else []), CapturedName(name, closure.home)]
            if isinstance(meaning, Variable):
                captured = result.variables.setdefault(meaning.slot, Captured(meaning, []))
                captured.names += [n for n in names if n not in captured.names]
                captured.is_assigned |= capture.is_assigned
            elif isinstance(meaning, Sugared):
                meaning, values = take_along(meaning, str(names[-1]), where)
                result.values.update(values)
                result.constants.update(dict.fromkeys(names, meaning))
                pending += closures_in([meaning])
                for slot in () if values else slots_of(meaning):
                    variable = e.scope.find(slot)
                    assert isinstance(variable, Variable)
                    captured = result.variables.setdefault(variable.slot, Captured(variable, []))
                    captured.names += [slot] if slot not in captured.names else []
    return result


def names_needed(e: Emitter, value: Sugared) -> Mapping[Name, bool]:
    """The names here that a function needs when it is called, and whether it assigns them."""
    needed: dict[Name, bool] = dict.fromkeys(slots_of(value), False)
    pending = closures_in([value])
    seen: set[int] = set()
    while pending:
        closure = pending.pop(0)
        if id(closure) in seen:
            continue
        seen.add(id(closure))
        for capture in closure.captured:
            here = name_at(closure, capture.name, e.scope.home)
            needed[here] = needed.get(here, False) or capture.is_assigned
            meaning = e.scope.find(here)
            if isinstance(meaning, Sugared):
                needed.update(dict.fromkeys(slots_of(meaning), False))
                pending += closures_in([meaning])
    return needed
