"""Calls of which each operator is put on the tape, but for regions that are one node each, compiled there and back.

A function that prints, or writes to arguments that ask, cannot run again when gradients come, so that a
call of it is no single node. What lies between such operators can: it is gathered into `prim::DifferentiableGraph`
nodes (`passes.create_autodiff_subgraphs`), each a function with plans and derivatives of its own. The first calls of a
function without loops are recorded as they are: so little is not worth the time of compiling it.

>>> import flambeau
>>> @flambeau.script
... def noted(x):
...     y = (x * 2.0).sin() * x.exp()
...     print("half way")
...     y = y + 1.0
...     return (y * y).cos().sum()
>>> x = flambeau.ones(3, requires_grad=True)
>>> for _ in range(3):
...     noted(x).backward()
half way
half way
half way
>>> [code] = noted._executor.derivatives.recorded_codes
>>> [len(list(region.function.graph.nodes())) for region in code.regions]
[5, 7]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

from flambeau.executor.gradients import Asking
from flambeau.executor.inlined_graph import cast_graph, inlined_graph
from flambeau.interpreter.code import Code
from flambeau.interpreter.compile import code_of
from flambeau.interpreter.liveness import KERNEL
from flambeau.ir.clone import clone_graph
from flambeau.ir.graph import Graph, Node
from flambeau.ir.printer import SUBGRAPH
from flambeau.passes import check_inplace, create_autodiff_subgraphs, propagate_requires_grad
from flambeau.passes.create_autodiff_subgraphs import GROUP
from flambeau.program.function import Function
from flambeau.program.origin import Provenance
from flambeau.program.signature import schema_of
from flambeau.schema.types import TensorType
from flambeau.tensor import dispatch
from flambeau.util.record import dataclass

CALLS_BEFORE_REGIONS: Final = 2
"""Calls of a function without loops for which no regions are made."""
SMALLEST: Final = 4
"""Operators in a region: a call of a compiled function takes as long as a few that are put on the tape."""


class RegionExecutor(Protocol):
    """What runs a region."""

    function: Function

    def __call__(self, *arguments: Any) -> Any: ...


@dataclass(frozen=True, slots=True)
class RecordedCode:
    """A function for calls that are recorded."""

    function: Function
    """With its regions as nodes."""
    regions: tuple[RegionExecutor, ...]

    @property
    def code(self) -> Code:
        """What the interpreter runs."""
        return code_of(self.function)


def recorded_code(
    function: Function, asks: Asking, attach: Callable[[Function], RegionExecutor], *, verify: bool
) -> RecordedCode:
    """The code of a function for arguments of which certain ones ask; the function itself where it has no regions.
    `attach` gives a function what runs it."""
    graph = clone_graph(cast_graph(function))
    for value, asked in zip(graph.parameters, asks, strict=True):
        if isinstance(value.static_type, TensorType):
            value.set_type(value.static_type.refine(requires_grad=asked is not False))
    propagate_requires_grad.do(graph)
    if not create_autodiff_subgraphs.do(graph, SMALLEST):
        return RecordedCode(function, ())
    if verify:
        check_inplace.do(graph)
    nodes = graph.find_all(GROUP)
    if len(nodes) == 1 and all(n.op == "prim::Constant" for n in graph.nodes() if n is not nodes[0]):
        return RecordedCode(function, ())  # a region that is all of the function would be recorded by regions again
    origin = None if function.provenance is None else function.provenance.part("recorded", repr(asks))
    regions = tuple([_attached(function, n, node, attach, origin) for n, node in enumerate(nodes)])
    return RecordedCode(Function(function.name, graph, function.schema), regions)


def has_loop(function: Function) -> bool:
    """Whether a function, or what it calls, has a loop."""
    return any(node.op == "prim::Loop" for node in inlined_graph(function).listed_nodes())


def _attached(
    function: Function,
    number: int,
    node: Node,
    attach: Callable[[Function], RegionExecutor],
    origin: Provenance | None,
) -> RegionExecutor:
    """Say what runs a region, and what it follows from."""
    graph: Graph = node.attribute(SUBGRAPH)
    name = f"{function.name}_region_{number}"
    part = Function(name, graph, schema_of(name, graph))
    part.provenance = None if origin is None else origin.part(number)
    region = attach(part)
    node.attributes[KERNEL] = RegionCall(region)
    return region


class RegionCall:
    """The call of a region amid operators that are intercepted to be recorded: it is one itself."""

    __slots__ = ("_region",)

    def __init__(self, region: RegionExecutor) -> None:
        self._region = region

    def __call__(self, *arguments: Sequence[Any]) -> Any:
        with dispatch.uninterrupted():
            return self._region(*arguments)
