"""Give operators a kernel of their own that can share none, because a kernel would need an operand in two orders.

```
%y = aten::bmm(%x, %x)                        %y = prim::FusionGroup_0(%x, %x)
                                      →       with prim::FusionGroup_0 = graph(%a, %b):
                                                %y = aten::bmm(%a, %b)
                                                return (%y)
```

A product of a tensor with itself, and a lookup in a tensor that others read as it lies: each operand is an input of its
own, so that the kernel may walk them apart.
"""

from __future__ import annotations

from flambeau.ir.clone import Copies, clone_node
from flambeau.ir.constants import CONSTANT
from flambeau.ir.graph import Graph, Node
from flambeau.ir.literals import is_tensor
from flambeau.ir.printer import SUBGRAPH
from flambeau.passes.fuse import GROUP
from flambeau.passes.fusible import Fusible


def do(graph: Graph) -> bool:
    """Make a group of each such operator that is in none; whether there was any."""
    fusible = Fusible(graph)
    alone = [n for n in graph.listed_nodes() if fusible.is_alone(n)]
    for node in alone:
        _outline(graph, node)
    return bool(alone)


def _outline(graph: Graph, node: Node) -> None:
    """Put one node into a subgraph that has a parameter for every operand but constants."""
    inner, inputs = Graph(), []
    copy = clone_node(node, inner, {})
    for index, value in enumerate(node.operands):
        maker = value.defining_node
        if maker is not None and maker.op == CONSTANT and not is_tensor(maker.attributes.get("value")):
            copies: Copies = {}
            inner.insert_node(clone_node(maker, inner, copies))
            copy.replace_operand(index, copies[value])
        else:
            copy.replace_operand(index, inner.add_parameter(value.static_type))
            inputs.append(value)
    inner.insert_node(copy)
    for value in copy.results:
        inner.add_return(value)
    group = graph.create(GROUP, inputs, [v.static_type for v in node.results], **{SUBGRAPH: inner})
    group.copy_metadata(node)
    group.insert_after(node)
    for old, new in zip(node.results, group.results, strict=True):
        name = old.name if old.has_name else ""
        old.replace_uses_with(new)
        if name:
            graph.rename(new, name)
    node.erase()
