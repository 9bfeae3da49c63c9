"""Run forked tasks where they are forked, as part of the graph.

```
%f : Future(Tensor) = prim::fork_0(%x)
%y : Tensor = aten::wait(%f)                            →     %y : Tensor = aten::relu(%x)
with prim::fork_0 = graph(%x): aten::relu(%x)
```

A future that anything but a wait takes stays one. What a task raises is raised where it is forked, no longer where it
is waited for.
"""

from __future__ import annotations

from flambeau.ir.clone import insert_graph
from flambeau.ir.graph import Graph, Node
from flambeau.ir.printer import SUBGRAPH
from flambeau.ir.walk import subgraphs


def do(graph: Graph) -> bool:
    """Inline every task that is only waited for, those within tasks first."""
    changed = False
    for one in list(subgraphs(graph))[::-1]:
        for node in one.listed_nodes():
            if node.op == "prim::fork":
                changed = _inline(node) or changed
    return changed


def _inline(fork: Node) -> bool:
    waits = [use.user for use in fork.result().uses()]
    body = fork.attribute(SUBGRAPH)
    if len(body.returns) != 1 or any(w.op != "aten::wait" for w in waits):
        return False
    with fork.graph.inserting(fork):
        (result,) = insert_graph(fork.graph, body, fork.operands)
    for wait in waits:
        wait.result().replace_uses_with(result)
        wait.erase()
    fork.erase()
    return True
