"""What lowerings see of the function that is being emitted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from flambeau.analysis.alias import AliasAnalysis
from flambeau.codegen.graph.loops.lanes_emitter import LaneEmitter
from flambeau.codegen.graph.module import Module
from flambeau.codegen.graph.parts import Parts
from flambeau.codegen.graph.scope import DrawSlot, Scope
from flambeau.codegen.graph.side_exits import SideExits
from flambeau.codegen.graph.slots import Slots
from flambeau.codegen.graph.value_table import ValueTable
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.ir.graph import Block, Graph, Node, Value


class EmittedFunction(Protocol):
    """A function that is being emitted."""

    e: LaneEmitter
    """Where instructions go."""
    alias: AliasAnalysis
    values: ValueTable
    """What each value of the graph has become."""
    slots: Slots
    """Stack slots for values that control flow merges."""
    exits: SideExits
    """Ways out of the function."""
    scope: Scope
    """Where code is being put."""
    parts: Parts
    """What the function adds to its module."""
    module: Module
    poll_counter: Register
    """The slot with how many iterations are left until the next look at the clock."""
    draws: DrawSlot | None
    """Where the function has NumPy's generator, if it draws numbers from it."""
    can_share: bool
    """Whether loops over `prange` may run on several threads."""
    graph: Graph
    has_arguments: bool
    """Whether the parameters of its graph are what Python passed, and not what another function did."""
    has_unknown: bool
    """Whether a way was left out that calls a function of which nothing tells yet what it gives."""

    def block(self, block: Block, own: Sequence[Value]) -> list[Value]:
        """Emit the nodes of a block; gives the values that end with it. `own` are parameters it has references of."""

    def lower(self, node: Node) -> None:
        """Emit a node that is neither a branch nor a loop."""
