"""What passes over graphs have in common.

>>> from flambeau import fx
>>> legalize_graph(fx.symbolic_trace(lambda x: x + 1))(1)
2
"""

from __future__ import annotations

from flambeau.fx.graph import Graph
from flambeau.fx.graph_module import GraphModule
from flambeau.fx.node import Node


def legalize_graph(gm: GraphModule) -> GraphModule:
    """Bring the nodes of a module's graph into an order in which values come before their uses, and give the module.

    Raises RuntimeError where values need each other.

    >>> from flambeau import fx
    >>> traced = fx.symbolic_trace(lambda x: (x + 1).neg())
    >>> x, add, neg, _ = traced.graph.nodes
    >>> neg.append(add)
    >>> [node.name for node in legalize_graph(traced).graph.nodes]
    ['x', 'add', 'neg', 'output']
    """
    missing = {node: len(node.all_input_nodes) for node in gm.graph.nodes}
    ready = [node for node, count in missing.items() if count == 0]
    graph = Graph(gm)
    values: dict[Node, Node] = {}
    while ready:
        node = ready.pop(0)
        values[node] = graph.node_copy(node, lambda one: values[one])
        for user in node.users:
            missing[user] -= 1
            if missing[user] == 0:
                ready.append(user)
    if len(values) < len(missing):
        waiting = next(node for node in missing if node not in values)
        raise RuntimeError(f"Input graph has cycles, unable to add {waiting} to the sorted graph")
    gm.graph = graph
    return gm
