"""Do without values that have gradients of their own, once gradients have gone back through them: in plans.

%y : Tensor = prim::OwnGradient(%r, %x)     →     %r is used
"""

from __future__ import annotations

from flambeau.ir.graph import Graph
from flambeau.program.own_gradients import OWN_GRADIENT


def do(graph: Graph) -> bool:
    """Let what was computed stand for all of them; whether there were any."""
    nodes = graph.find_all(OWN_GRADIENT)
    for node in nodes:
        for result, computed in zip(node.results, node.operands, strict=False):
            result.replace_uses_with(computed)
        node.erase()
    return bool(nodes)
