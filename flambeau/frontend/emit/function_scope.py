"""The names of a function that is being emitted: its own, in frames, and those around it, through a resolver."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

from flambeau.frontend.emit.frames import Absent, Frame, Variable
from flambeau.frontend.scopes.captured_names import Name
from flambeau.frontend.scopes.name_resolution import Resolver
from flambeau.frontend.scopes.scope_tree import Scope
from flambeau.program.classes import ClassDefinition
from flambeau.schema.types import OptionalType, TupleType, Type
from flambeau.util.record import dataclass, field
from flambeau.util.source import SourceRange

S = TypeVar("S")


@dataclass(slots=True)
class Receiver:
    """The object that an `__init__` fills."""

    definition: ClassDefinition
    name: str
    """What the function calls it: `self`."""
    unassigned: set[str]
    """Attributes that are declared and may not be assigned."""


@dataclass(frozen=True, slots=True)
class Inherited:
    """A method that is compiled for a class that inherits it."""

    own: Type
    """The type of `self`."""
    base: Type
    """The class that the method was written in."""

    def as_written(self, type_: Type) -> Type:
        """A type as the source of the method has it: `self` is an object of the base."""
        if type_ == self.own:
            return self.base
        if not isinstance(type_, TupleType | OptionalType):
            return type_
        return type_.with_contained(tuple(map(self.as_written, type_.contained)))


@dataclass(kw_only=True, slots=True)
class FunctionScope(Generic[S]):
    """What names mean in one function; a function that is inlined has a scope of its own."""

    name: str
    resolver: Resolver
    symbols: Scope
    """The function in the scope tree."""
    frame: Frame[S] = field(default_factory=Frame)
    unique_name: str = ""
    """The function, told apart from others of its name, in the names of variables that are captured of it."""
    suffix: str = ""
    """What the slots of variables end in: those of a function that is inlined."""
    expanding: tuple[int, ...] = ()
    """The functions that are being inlined, by the identity of their trees."""
    has_self: bool = False
    """Whether it is a method: its first parameter cannot be assigned."""
    receiver: Receiver | None = None
    """The object that the function initialises: `self` of an `__init__`."""
    left_behind: dict[Name, Type] = field(default_factory=dict)
    """Variables that loops bound which have ended."""
    perhaps_unset: dict[Name, tuple[Variable, Variable]] = field(default_factory=dict)
    """Variables that a loop may leave without a value, each with the variable that says whether it has one."""
    inherited: Inherited | None = None
    annotated: dict[int, SourceRange] = field(default_factory=dict)
    """Where names are declared that were met already: a loop that is unrolled comes there again."""

    def find(self, name: Name) -> Variable | Absent | S | None:
        """What a name means here; None when no scope of the program has it."""
        return self.frame.find(name)

    def variable(self, name: Name) -> Variable:
        """The variable of that name, which surely is one."""
        variable = self.frame.find(name)
        assert isinstance(variable, Variable), name
        return variable

    def as_written(self, type_: Type) -> Type:
        """A type as the source of an inherited method has it."""
        return type_ if self.inherited is None else self.inherited.as_written(type_)

    @contextmanager
    def within(self, frame: Frame[S]) -> Iterator[Frame[S]]:
        """Look names up in that frame."""
        before, self.frame = self.frame, frame
        try:
            yield frame
        finally:
            self.frame = before

    @contextmanager
    def nested(self) -> Iterator[None]:
        """A scope in the same block, whose names are others than those of the same name outside: of a comprehension."""
        before, self.frame = self.frame, Frame(self.frame, hides=True)
        try:
            yield
        finally:
            self.frame = before
