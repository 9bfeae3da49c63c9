"""What the functions of one native module add to it while they are emitted, one after the other."""

from __future__ import annotations

from flambeau.codegen.graph.entry.foreign_code import ForeignCode
from flambeau.codegen.graph.exit_points import ExitPoint
from flambeau.codegen.graph.loops.teams import ParallelLoop
from flambeau.codegen.graph.tensors.tensor_constants import TensorConstant
from flambeau.codegen.llvm.late_functions import LateText
from flambeau.ir.graph import Node
from flambeau.program.classes import ClassDefinition
from flambeau.util.record import dataclass, field, replace


@dataclass(slots=True)
class Parts:
    """Exit points, symbols and helper functions, in the order in which they were added."""

    exit_points: list[ExitPoint] = field(default_factory=list)
    operators: list[ExitPoint] = field(default_factory=list)
    """Exit points whose nodes Python runs in every iteration of a loop, or in every call where there are no loops."""
    groups: list[ExitPoint] = field(default_factory=list)
    tensors: list[TensorConstant] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """What loops say to LLVM of themselves."""
    functions: dict[str, str] = field(default_factory=dict)
    """Text of helper functions, by name."""
    classes: dict[str, ClassDefinition] = field(default_factory=dict)
    """Classes of the objects that the code makes, by name, which is part of the names of functions."""
    declarations: dict[str, None] = field(default_factory=dict)
    late: dict[str, LateText] = field(default_factory=dict)
    """Functions whose bodies LLVM gets behind its passes, by symbol."""
    libm: dict[str, None] = field(default_factory=dict)
    foreign: dict[str, ForeignCode] = field(default_factory=dict)
    lanes: list[Node] = field(default_factory=list)
    """Counted loops that run several iterations at a time."""
    parallel: list[ParallelLoop] = field(default_factory=list)
    """Loops whose iterations run at the same time."""
    allocating: list[Node | None] = field(default_factory=list)
    """The nodes that ask for memory, by how far the code of their failure lies below `abi.NO_MEMORY_AT`."""
    record_words: int = 1
    tight_loops: int = 0
    element_loops: int = 0
    """Loops over elements, written by lowerings, for which LLVM's passes are worth their time."""
    walks: int = 0
    """Loops that lowerings wrote, of whatever kind."""
    nodes: int = 0
    """How many nodes of the graph the code is for."""
    fresh: int = 0
    """Tensors made by code that are told apart: see `LaneEmitter.make_fresh`."""
    routines: dict[str, None] = field(default_factory=dict)
    """Routines over tensors that the code calls, by symbol."""
    repeats_loads: bool = False
    """Whether an innermost loop loads elements that its next iteration loads again."""
    reads_what_it_wrote: bool = False
    """Whether an iteration of an innermost loop loads what the one before it stored."""
    asks: bool = False
    """Whether the code calls Python."""

    def copied(self) -> Parts:
        """The parts as they are now, for another function to add to."""
        copy = replace(self)
        for name in self.__slots__:
            part = getattr(self, name)
            if isinstance(part, list | dict):
                setattr(copy, name, part.copy())
        return copy
