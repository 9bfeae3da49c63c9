"""Exit points: where a compiled graph asks Python to run nodes, or leaves for good."""

from __future__ import annotations

from flambeau.codegen.graph.representation import Representation
from flambeau.ir.graph import Node, Value
from flambeau.util.record import dataclass
from flambeau.util.source import SourceRange

RARE = "!prof !20"
"""What a branch to an exit says to LLVM: it is hardly ever taken."""
Call = tuple[str, SourceRange | None]
"""A function that was called, and where."""


@dataclass(slots=True)
class ExitPoint:
    """A place that Python may have to run: nodes, and the values they take from and give to native code."""

    number: int
    nodes: tuple[Node, ...]
    inputs: tuple[Value, ...]
    input_reps: tuple[Representation, ...]
    outputs: tuple[Value, ...] = ()
    output_reps: tuple[Representation, ...] = ()
    cell: str = ""
    """For a fused group: the symbol of its chain of launches."""
    changed: tuple[int, ...] = ()
    """Inputs that are lists, and that the nodes change."""
    is_called: bool = False
    """Whether Python runs the nodes whenever they are reached, not only where something is out of the ordinary."""
    is_embedded: bool = False
    """For a fused group: whether the function has code of its own for it, so that its launches serve the rest only."""
    reason: str = ""
    """Why it is Python that does, where that is about the node's operands and not about its kind."""
    call_chain: tuple[Call, ...] = ()
    """Calls of functions through which a failure came here, the outermost first."""
    plain: ExitPoint | None = None
    """For one with such calls: the exit point itself."""
