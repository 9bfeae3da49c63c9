"""The derivative of a graph: the same graph, and behind it the way back.

```
graph(%x : Float(*)):                      graph(%x : Float(*), %grad_0 : Float(*)):
  %y : Float(*) = aten::sin(%x)              %y : Float(*) = aten::sin(%x)
  return (%y)                         →      %c : Float(*) = aten::cos(%x)
                                             %g : Float(*) = aten::mul(%grad_0, %c)
                                             return (%y, %g)
```
"""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.analysis.alias import AliasAnalysis
from flambeau.autodiff import list_gradients, picked_gradients, structural_gradients  # noqa: F401  (register rules)
from flambeau.autodiff.activity import relevant
from flambeau.autodiff.graph_operators import Builder
from flambeau.autodiff.list_values import gradient_type
from flambeau.autodiff.lists import Lists
from flambeau.autodiff.memory import Memory
from flambeau.autodiff.reverse import Reverse
from flambeau.autodiff.scope import Saved
from flambeau.autodiff.symbolic_sizes import SymbolicSizes
from flambeau.autodiff.writes import Writes
from flambeau.ir.graph import Graph, Node, Value
from flambeau.util.record import dataclass, field


@dataclass(slots=True)
class Derivative:
    """A graph with the way back behind it."""

    graph: Graph
    """Further parameters are the gradients of results; its returns are what they were."""
    forward: list[Node]
    """The nodes of the way there."""
    seeds: list[Value]
    """The further parameters."""
    gradients: list[Value | None]
    """Those of the values that were asked for; None where no result depends on one."""
    sums: list[Node] = field(default_factory=list)
    """The nodes that add up what comes to one value along several ways."""


def differentiate(
    graph: Graph,
    sources: Sequence[Value],
    results: Sequence[Value],
    seeds: Sequence[Value] | None = None,
) -> Derivative:
    """Put the way back behind a graph whose types say what is known of its tensors.

    Args:
        graph: without calls; it is changed.
        sources: what the gradients are asked of.
        results: values of the body that gradients come from.
        seeds: their gradients; new parameters, by default.

    Raises NotDifferentiableError, with the reason, for what has no derivative as a graph.
    """
    alias = AliasAnalysis(graph, apart=True)
    sizes = SymbolicSizes(graph)
    values = relevant(graph, sources, results, alias=alias)
    writes = Writes(alias)
    saved = Saved(graph, writes, sizes)
    builder = Builder(graph, sizes, saved.use)
    forward = list(graph.nodes())
    if seeds is None:
        seeds = [graph.add_parameter(gradient_type(v), f"grad_{n}") for n, v in enumerate(results)]
    for value, seed in zip(results, seeds, strict=True):
        sizes.set(seed, sizes.of(value))
    memory = Memory(builder, saved, writes, values)
    lists = Lists(builder, saved, writes, values)
    reverse = Reverse(builder, saved, values, memory, lists)
    with graph.inserting(graph.body):
        memory.start = lists.start = saved.mark()
        for value, seed in zip(results, seeds, strict=True):
            reverse.add(value, seed)
        reverse.block(forward)
        gradients = [reverse.gradient(v) if v in values else None for v in sources]
    saved.finish()
    kept = set(forward)
    boundary = [n for n in graph.nodes() if n in kept or _is_of_forward(n, forward)]
    return Derivative(graph, boundary, list(seeds), gradients, reverse.sums)


def _is_of_forward(node: Node, forward: Sequence[Node]) -> bool:
    """Whether a node was put among those of the way there: stacks and counters."""
    return bool(forward) and node.is_before(forward[-1])
