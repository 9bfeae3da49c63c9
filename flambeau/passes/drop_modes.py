"""Do without blocks that say whether gradients are recorded, where nothing asks for any: in plans.

```
%c : Any = ^no_grad()
%e : Any = prim::Enter(%c)
%y : Tensor = aten::mul(%x, %w)            →      %y : Tensor = aten::mul(%x, %w)
 = prim::Exit(%c)
```

A plan gets plain tensors, so that a block changes what the mode is until its end, and nothing that could be seen. Left
as they are: blocks in a graph that looks at the mode, makes a tensor that asks, or runs what the graph does not show.
"""

from __future__ import annotations

from typing import Final

from flambeau.analysis.gradients import is_about_tensor, is_open
from flambeau.analysis.modes import is_about_mode
from flambeau.ir.graph import Graph, Node
from flambeau.passes.lower_no_grad import makes_leaf
from flambeau.schema.opdef import Effect

_MODE: Final = "aten::is_grad_enabled"
KINDS: Final = ("prim::Enter", "prim::Exit")
"""What is in every graph with a block."""


def do(graph: Graph) -> bool:
    """Drop all blocks of a graph, in place, or none; whether there were any."""
    nodes = graph.listed_nodes()
    dropped = [node for node in nodes if is_about_mode(node)]
    if not dropped or any(map(_tells, set(nodes).difference(dropped))):
        return False
    for node in reversed(dropped):
        node.erase()
    return True


def _tells(node: Node) -> bool:
    """Whether a node may tell within which block it is."""
    definition = node.definition
    if definition is None:
        return is_open(node)
    changes = definition.schema.is_mutable or definition.effect is not Effect.NONE
    return node.op == _MODE or makes_leaf(node) or (is_about_tensor(node) and changes)
