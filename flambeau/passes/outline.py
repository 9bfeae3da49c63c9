"""Put neighbouring nodes into the subgraph of one new node.

```
%a = aten::mul(%x, %y)                        %b = prim::FusionGroup_0(%x, %y)
%b = aten::relu(%a)                     →     with prim::FusionGroup_0 = graph(%x, %y):
                                                %a = aten::mul(%x, %y)
                                                %b = aten::relu(%a)
                                                return (%b)
```
"""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.ir.clone import Copies, clone_node
from flambeau.ir.constants import CONSTANT
from flambeau.ir.graph import Graph, Node, Value
from flambeau.ir.literals import is_tensor
from flambeau.ir.printer import SUBGRAPH
from flambeau.ir.walk import operands_within


def outline(nodes: Sequence[Node], kind: str, inputs: Sequence[Value] | None = None) -> Node:
    """Replace a run of nodes of one block by a node of this kind.

    Constants other than tensors are copied into the subgraph. `inputs` gives the order of what comes from outside, in
    the place of that in which the nodes use it.
    """
    graph = nodes[0].graph
    inside = set(nodes)
    inner = Graph()
    copies: Copies = {}
    inputs = _inputs(nodes, inside, inner, copies, inputs)
    for node in nodes:
        inner.insert_node(clone_node(node, inner, copies))
    outputs = [v for node in nodes for v in node.results if any(not _is_within(u.user, inside) for u in v.uses())]
    for value in outputs:
        inner.add_return(copies[value])
    group = graph.create(kind, inputs, [v.static_type for v in outputs], **{SUBGRAPH: inner})
    group.copy_metadata(nodes[-1])
    group.insert_after(nodes[-1])
    for old, new in zip(outputs, group.results, strict=True):
        old.replace_uses_with(new)
        if old.has_name:
            graph.rename(new, old.name)
    for node in reversed(nodes):
        node.erase()
    return group


def _inputs(
    nodes: Sequence[Node], inside: set[Node], inner: Graph, copies: Copies, order: Sequence[Value] | None
) -> list[Value]:
    """The values from outside that nodes use, each now a parameter of the subgraph or a constant in it."""
    inputs: list[Value] = []
    for value in order or dict.fromkeys(v for node in nodes for v in operands_within(node)):
        maker = value.defining_node
        if maker in inside or _is_defined_within(value, inside):
            continue
        if maker is not None and maker.op == CONSTANT and not is_tensor(maker.attributes.get("value")):
            inner.insert_node(clone_node(maker, inner, copies))
        else:
            copies[value] = inner.add_parameter(value.static_type, value.name if value.has_name else "")
            inputs.append(value)
    return inputs


def _is_within(node: Node, inside: set[Node]) -> bool:
    current: Node | None = node
    while current is not None:
        if current in inside:
            return True
        current = current.owner_block.owner_node
    return False


def _is_defined_within(value: Value, inside: set[Node]) -> bool:
    owner = value.owner_block.owner_node
    return owner is not None and _is_within(owner, inside)
