"""The graph of a plan with its groups' kernels and its bytecode: what native code is made from, and what runs where
there is none. A plan whose native function is in the cache on disk needs none of it before something asks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flambeau.codegen.choices import USUAL, Choices
from flambeau.codegen.launch_image import LaunchMemory
from flambeau.executor.fused import FusedKernel, Shared
from flambeau.executor.kept_kernels import KeptKernels
from flambeau.executor.lowered_groups import LoweredGroups
from flambeau.interpreter.code import Code
from flambeau.ir.graph import Graph, Node
from flambeau.util.locks import Lock
from flambeau.util.record import dataclass

FUSION = "prim::FusionGroup"


@dataclass(slots=True)
class PlanBody:
    """What a plan consists of beside native code for the whole."""

    graph: Graph
    """Optimised for the spec."""
    code: Code
    kernels: list[FusedKernel]


class Body:
    """The body of a plan, made when something first asks."""

    def __init__(self, make: Callable[[], PlanBody]) -> None:
        self._make = make
        self._lock = Lock()
        self.known: PlanBody | None = None
        """None before something asked."""

    @classmethod
    def of(cls, graph: Graph, code: Code, kernels: list[FusedKernel]) -> Body:
        """One that there is already."""
        known = PlanBody(graph, code, kernels)
        body = cls(lambda: known)
        body.known = known
        return body

    def __call__(self) -> PlanBody:
        """Make it, if there is none."""
        if self.known is None:
            with self._lock:
                self.known = self.known or self._make()
        return self.known

    def graph(self) -> Graph:
        """The graph alone."""
        return self().graph


def name_of_group(number: int) -> str:
    """What a group is called by its place among those of a plan."""
    return f"group_{number}"


def attach_kernels(
    graph: Graph, choices: Choices = USUAL, lowered: LoweredGroups | None = None, kept: KeptKernels | None = None,
    launches: LaunchMemory | None = None,
) -> list[FusedKernel]:  # fmt: skip
    """Give each fused group its kernel; `lowered` has those that are lowered already, `kept` those on disk.

    `launches` are those that there were before there was the graph.
    """
    return new_kernels(graph.find_all(FUSION), choices, {}, lowered, kept=kept, launches=launches)


def new_kernels(
    nodes: Sequence[Node], choices: Choices, shared: Shared, lowered: LoweredGroups | None, first: int = 0,
    kept: KeptKernels | None = None, launches: LaunchMemory | None = None,
) -> list[FusedKernel]:  # fmt: skip
    """The kernels of some groups, which are counted from `first`."""
    kernels = []
    for number, node in enumerate(nodes, first):
        name = name_of_group(number)
        known = None if launches is None else launches.find(name)
        kernel = FusedKernel(name, node.attribute("Subgraph"), choices, shared, lowered, kept, known)
        node.attributes["kernel"] = kernel.entry()
        kernels.append(kernel)
    return kernels
