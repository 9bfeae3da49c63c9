"""Scopes: what each name of a program means at a place, and why it means nothing there.

A variable lives in the graph as stores and loads of its name (`prim::Store`, `prim::Load`), which `to_ssa` turns into
values. A frame knows the type of each variable. Names that stand for no value (modules, functions) are held as such.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

from flambeau.frontend.scopes.captured_names import Name
from flambeau.ir.graph import Value
from flambeau.schema.types import Type
from flambeau.util.record import dataclass, field
from flambeau.util.source import SourceRange

S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class Variable:
    """A name that the graph stores. Its type is what the last store promised."""

    type: Type
    slot: str
    """What the graph stores it under: the name, or another where a comprehension shadows one."""
    declared: Type | None = None
    """What it may be assigned, as far as that is more than its type; None if nothing says."""
    value: Value | None = None
    """What it holds in all of the graph: `self` of a module's method is the parameter itself, as in TorchScript."""


@dataclass(frozen=True, slots=True)
class Absent:
    """A name that cannot be used here, and the reason."""

    message: str
    where: SourceRange | None


@dataclass(slots=True)
class Frame(Generic[S]):
    """One scope. A branch or a loop body has its own, whose names go away with it unless they are merged back."""

    parent: Frame[S] | None = None
    names: dict[Name, Variable | Absent | S] = field(default_factory=dict)
    hides: bool = False
    """Whether names bound here are others than those of the same name outside, as in a comprehension."""

    def find(self, name: Name) -> Variable | Absent | S | None:
        """What a name means here; None when no scope of the program has it."""
        frame: Frame[S] | None = self
        while frame is not None:
            meaning = frame.names.get(name)
            if meaning is not None:
                return meaning
            frame = frame.parent
        return None

    def find_outside(self, name: Name) -> Variable | Absent | S | None:
        """What a name that is bound here for the first time means around this scope, if that is the same name."""
        return None if self.parent is None or self.hides else self.parent.find(name)

    def all_variables(self) -> Iterator[tuple[Name, Variable]]:
        """The variables of this scope and of those around it, the innermost first."""
        frame: Frame[S] | None = self
        while frame is not None:
            yield from frame.variables()
            frame = frame.parent

    def variables(self) -> Iterator[tuple[Name, Variable]]:
        """The variables that were stored in this scope itself."""
        for name, meaning in self.names.items():
            if isinstance(meaning, Variable):
                yield name, meaning
