"""Put small `prim::DifferentiableGraph` nodes back into the graph that they were made of.

```
%b = prim::DifferentiableGraph_0(%x)
with prim::DifferentiableGraph_0 = graph(%x):     →     %b = aten::exp(%x)
  %b = aten::exp(%x)
  return (%b)
```

Nodes onto which a derivative was packed stay.
"""

from __future__ import annotations

from flambeau.ir.clone import insert_graph
from flambeau.ir.constants import CONSTANT
from flambeau.ir.graph import Graph, Node
from flambeau.ir.printer import SUBGRAPH
from flambeau.passes.create_autodiff_subgraphs import GROUP

REVERSE = "ReverseSubgraph"
"""The attribute of a node with a packed derivative that holds the way back."""


def do(graph: Graph, threshold: int | None = None, kind: str = GROUP) -> bool:
    """Inline the groups that have fewer than `threshold` nodes, all without one; whether there was one.

    Groups of another kind have no derivatives: `kind` says which are meant.
    """
    groups = [n for n in graph.find_all(kind) if REVERSE not in n.attributes]
    small = [n for n in groups if threshold is None or _size(n) < threshold]
    for node in small:
        _inline(node)
    return bool(small)


def _size(node: Node) -> int:
    subgraph: Graph = node.attribute(SUBGRAPH)
    return sum(n.op != CONSTANT for n in subgraph.all_nodes())


def _inline(node: Node) -> None:
    graph = node.graph
    with graph.inserting(node):
        values = insert_graph(graph, node.attribute(SUBGRAPH), node.operands)
    for old, new in zip(node.results, values, strict=True):
        old.replace_uses_with(new)
    node.erase()
