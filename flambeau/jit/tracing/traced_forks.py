"""Tasks in a trace: what a forked function did becomes the graph of a `prim::fork`, and each wait an `aten::wait`.

```
prim::EnterFork()
%y = aten::mul(%x, %two)                                %f : Future(Tensor) = prim::fork_0(%x)
%f : Future(Tensor) = prim::ExitFork(%y)       →        %z : Tensor = aten::wait(%f)
%z : Tensor = aten::wait(%f)                            with prim::fork_0 = graph(%x): ...
```

While tracing a task runs where it is forked. What it made reaches the rest through its result alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flambeau.interpreter.future import Future
from flambeau.ir.constants import CONSTANT
from flambeau.ir.graph import Graph, Node
from flambeau.ir.printer import SUBGRAPH
from flambeau.ir.walk import nodes_within
from flambeau.jit.tracing.traced_values import READ
from flambeau.passes.outline import outline
from flambeau.schema.types import FutureType

ENTER_FORK, EXIT_FORK, FORK = "prim::EnterFork", "prim::ExitFork", "prim::fork"
LEAKED = (
    "what a forked function computed did not have observable data dependence with trace inputs; this probably "
    "indicates your program cannot be understood by the tracer. It is used ({place}) without having been waited for: "
    "have the function return it, and take it from the future"
)


class TracedFuture(Future):
    """The future of a task that was recorded; `on_wait` records that somebody waits, and gives what waiting gives."""

    __slots__ = ("_on_wait",)
    _on_wait: Callable[[Any], Any]

    @classmethod
    def recorded(cls, result: Any, on_wait: Callable[[Any], Any]) -> TracedFuture:
        """A future that is done."""
        future = cls.of(lambda: result)
        assert isinstance(future, TracedFuture)
        future._on_wait = on_wait
        return future

    def wait(self) -> Any:
        """The result, which depends on the wait from now on."""
        return self._on_wait(super().wait())


def between(enter: Node, exit: Node) -> list[Node]:
    """The nodes between two markers."""
    nodes = []
    node = enter.next
    while node is not None and node is not exit:
        nodes.append(node)
        node = node.next
    return nodes


def outline_fork(graph: Graph, enter: Node, exit: Node) -> None:
    """Make a fork of what stands between the markers. Raises RuntimeError where the rest uses more than its result."""
    for node in between(enter, exit):
        if node.op in (READ, CONSTANT):  # what is read of a module goes in as an argument
            node.move_before(enter)
    nodes, result = between(enter, exit), exit.operand(0)
    inside = {inner for node in nodes for inner in nodes_within(node)}
    for node in nodes:
        for use in (u for v in node.results for u in v.uses()):
            if use.user not in inside and use.user is not exit:
                raise RuntimeError(LEAKED.format(place=use.user.range or enter.range))
    if result.defining_node in inside:
        fork = outline(nodes, FORK)
    else:  # the task gives what it was given
        body = Graph()
        body.add_return(body.add_parameter(result.static_type))
        fork = graph.create(FORK, [result], [result.static_type], **{SUBGRAPH: body})
        fork.insert_before(enter)
        for node in reversed(nodes):
            node.erase()
    fork.copy_metadata(enter)
    future = fork.result()
    exit.result().replace_uses_with(future)
    exit.erase()
    enter.erase()
    future.set_type(FutureType(future.static_type))


def settle_types(graph: Graph) -> None:
    """Parameters of forks are of the types of what they are given, which has become known."""
    for node in graph.all_nodes():
        if node.op == FORK:
            body: Graph = node.attribute(SUBGRAPH)
            for parameter, operand in zip(body.parameters, node.operands, strict=True):
                parameter.set_type(operand.static_type)
            settle_types(body)
