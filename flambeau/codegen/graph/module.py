"""What the functions of one native module share: a graph's own, and those of functions that call themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flambeau.codegen.graph.objects.class_fields import LearnedFields
from flambeau.codegen.graph.parts import Parts
from flambeau.codegen.graph.representation import Representation
from flambeau.ir.graph import Graph, Node
from flambeau.program.function import Function
from flambeau.schema.types import Type
from flambeau.util.record import dataclass, field, replace

Prepare = Callable[[Function, Sequence[Type]], Graph]
"""Gives the graph of a function made ready for arguments of these types."""
MOST_CALLEES = 24
"""Functions in a module, each for one way in which its arguments look."""


class NewCalleeError(Exception):
    """A function is called that is not in the module yet."""

    def __init__(self, callee: Callee) -> None:
        super().__init__(callee.symbol)
        self.callee = callee


class UnknownResultError(Exception):
    """A function is called of which nothing tells what it gives."""


class NewFieldError(Exception):
    """What is in an attribute of a class was learned, so that objects lie otherwise than in all code so far."""


Key = tuple[Function, tuple[Representation, ...]]


@dataclass(slots=True, eq=False)
class Callee:
    """A function of the program that native code calls, for arguments that look in one way."""

    key: Key
    symbol: str
    graph: Graph
    parameters: tuple[Representation, ...]
    results: tuple[Representation, ...] | None
    """None as long as nobody knows: it calls itself before it has given anything."""
    origins: tuple[int, ...] = ()
    """By address among the words of the parameters: 0 for memory of which nothing is known, else a number that is the
    same where it may be the same tensor, which the caller made."""
    is_begun: bool = False
    """Whether anybody has begun to emit it: one that was met by a walk which began again is new to the next walk."""
    is_open: bool = True
    """Whether it is being emitted, or has to be once more is known."""

    @property
    def function(self) -> Function:
        """What it is called in the program."""
        return self.key[0]


@dataclass(slots=True, eq=False)
class Outlined:
    """The body of a loop as a function."""

    function: Function
    kept: list[int]
    """Which of the variables that the loop carries it gives."""
    kinds: list[str]
    """What becomes of each variable that the loop carries."""


@dataclass(slots=True)
class Module:
    """What has been emitted so far, of functions that are complete."""

    prepare: Prepare | None = None
    callees: dict[Key, Callee] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)
    parts: Parts = field(default_factory=Parts)
    learned: LearnedFields = field(default_factory=dict)
    """How tensors in attributes of objects look."""
    outlined: dict[tuple[Node, tuple[int, ...]], Outlined | None] = field(default_factory=dict)
    """The bodies of loops over `prange` as functions, by the origins of their operands."""

    def copied(self) -> Module:
        """The module as it is now."""
        return replace(self, callees=dict(self.callees), texts=[*self.texts])

    def restore(self, other: Module) -> None:
        """Forget what came after a copy was made."""
        self.callees, self.texts, self.parts = dict(other.callees), [*other.texts], other.parts
