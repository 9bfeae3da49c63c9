"""What the functions of one native module share: a graph's own, and those of functions that call themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from flambeau.codegen.graph.foreign import ForeignCode
from flambeau.codegen.graph.representation import Representation
from flambeau.codegen.graph.side_exits import ExitPoint
from flambeau.codegen.graph.tensor_constants import TensorConstant
from flambeau.ir.graph import Graph
from flambeau.ir.node import Node
from flambeau.program.function import Function
from flambeau.schema.types import Type
from flambeau.util.record import dataclass, field, replace

if TYPE_CHECKING:
    from flambeau.codegen.graph.function import FunctionEmitter

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
    is_open: bool = True
    """Whether it is being emitted, or has to be once more is known."""

    @property
    def function(self) -> Function:
        """What it is called in the program."""
        return self.key[0]


@dataclass(slots=True)
class Module:
    """What has been emitted so far, of functions that are complete."""

    prepare: Prepare | None = None
    callees: dict[Key, Callee] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)
    exit_points: list[ExitPoint] = field(default_factory=list)
    operators: list[ExitPoint] = field(default_factory=list)
    groups: list[ExitPoint] = field(default_factory=list)
    tensors: list[TensorConstant] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    functions: dict[str, str] = field(default_factory=dict)
    declarations: dict[str, None] = field(default_factory=dict)
    libm: dict[str, None] = field(default_factory=dict)
    foreign: dict[str, ForeignCode] = field(default_factory=dict)
    lanes: list[Node] = field(default_factory=list)
    allocating: list[Node | None] = field(default_factory=list)
    record_words: int = 1
    tight_loops: int = 0
    fresh: int = 0
    asks: bool = False

    def copied(self) -> Module:
        """The module as it is now."""
        return replace(self, callees=dict(self.callees), texts=[*self.texts])

    def restore(self, other: Module) -> None:
        """Forget what came after a copy was made."""
        for name in self.__slots__:
            setattr(self, name, getattr(other, name))
        self.callees, self.texts = dict(other.callees), [*other.texts]

    def lend(self, fn: FunctionEmitter) -> None:
        """Have a function begin where the others ended."""
        fn.exit_points, fn.operators, fn.groups = [*self.exit_points], [*self.operators], [*self.groups]
        fn.tensors, fn.notes, fn.lanes = [*self.tensors], [*self.notes], [*self.lanes]
        fn.allocating = [*self.allocating]
        fn.functions, fn.foreign = dict(self.functions), dict(self.foreign)
        fn.e.declarations, fn.e.libm = dict(self.declarations), dict(self.libm)
        fn.record_words, fn.tight_loops, fn.asks = self.record_words, self.tight_loops, self.asks

    def take(self, fn: FunctionEmitter) -> None:
        """Keep what a function that is complete has added."""
        self.exit_points, self.operators, self.groups = fn.exit_points, fn.operators, fn.groups
        self.tensors, self.notes, self.lanes = fn.tensors, fn.notes, fn.lanes
        self.allocating = fn.allocating
        self.functions, self.foreign = fn.functions, fn.foreign
        self.declarations, self.libm = fn.e.declarations, fn.e.libm
        self.record_words, self.tight_loops, self.asks = fn.record_words, fn.tight_loops, fn.asks
        self.fresh = max(self.fresh, fn.e.fresh)
