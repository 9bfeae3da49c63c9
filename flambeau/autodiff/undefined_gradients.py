"""A way back for results of which only some have gradients: what goes back from the others alone is left out.

```
graph(%g : Float(*), %h : Float(*), %c : Float(*)):        graph(%g : Float(*), %c : Float(*)):
  %a : Float(*) = aten::mul(%g, %c)                          %a : Float(*) = aten::mul(%g, %c)
  %b : Float(*) = aten::neg(%h)                        →     return (%a)
  %s : Float(*) = prim::AutogradAdd(%a, %b)
  return (%s, %b)
```

Gradients are linear in those they come from: what depends on gradients that are not there, and on no other, is not
there either. That is told from what the values depend on, through branches, loops and writes.
"""

from __future__ import annotations

from collections.abc import Collection

from flambeau.autodiff import presence_flags
from flambeau.autodiff.activity import dependent
from flambeau.autodiff.presence import Presence
from flambeau.ir.clone import clone_graph
from flambeau.ir.graph import Graph, Node, Value
from flambeau.passes import dce, specialize_autogradzero
from flambeau.passes.specialize_autogradzero import ADD, undefined
from flambeau.util.record import dataclass


@dataclass(frozen=True, slots=True)
class WayBack:
    """The part of a way back that goes back from some results."""

    graph: Graph
    seeds: tuple[int, ...]
    """Which of the gradients of results it takes: zeros for those that are not there."""
    gradients: tuple[int, ...]
    """Which of the gradients it gives; the others are not there."""
    flags: tuple[int | None, ...]
    """Which result says of each of these whether it is there; None of those that surely are."""


def without(graph: Graph, seeds: int, missing: Collection[int]) -> WayBack:
    """The way back of a graph whose first parameters are so many gradients, of which those numbered in `missing` are
    not there. The graph itself stays as it is."""
    copy = clone_graph(graph)
    seeded = copy.parameters[:seeds]
    if missing:
        _replace(copy, [seeded[n] for n in missing], [v for n, v in enumerate(seeded) if n not in missing])
    specialize_autogradzero.do(copy)
    presences, flags = presence_flags.add(copy, [v for n, v in enumerate(seeded) if n not in missing])
    returned = [n for n, presence in enumerate(presences) if presence is not Presence.NEVER]
    fewer = len(presences) - len(returned)
    for number in reversed(range(len(presences))):
        if number not in returned:
            copy.body.remove_return(number)
    dce.do(copy)
    unused = [n for n in missing if not seeded[n].is_used]
    for number in sorted(unused, reverse=True):
        copy.body.remove_parameter(number)
    flag_indices = [None if flag is None else flag - fewer for flag in (flags[n] for n in returned)]
    return WayBack(copy, tuple(n for n in range(seeds) if n not in unused), tuple(returned), tuple(flag_indices))


def _replace(graph: Graph, missing: list[Value], present: list[Value]) -> None:
    """Put `prim::AutogradZero` in the place of what comes from missing gradients, where it is added to what comes from
    others, or given. Sums of nothing else stay: other operators may take them, which know of numbers alone."""
    gone = dependent(graph, missing) - dependent(graph, present)
    sums: list[Node] = [n for n in graph.listed_nodes() if n.op == ADD and n.result() not in gone]
    for node in [*sums, graph.body.return_node]:
        for number, value in enumerate(node.operands):
            if value in gone:
                with graph.inserting(node):
                    node.replace_operand(number, undefined(graph))
