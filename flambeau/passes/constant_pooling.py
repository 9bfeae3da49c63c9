"""One node per constant, all at the top of the graph.

```
%1 : int = prim::Constant[value=2]()       %1 : int = prim::Constant[value=2]()
%2 : int = aten::mul(%n, %1)         →     %2 : int = aten::mul(%n, %1)
%3 : int = prim::Constant[value=2]()       %4 : int = aten::add(%2, %1)
%4 : int = aten::add(%2, %3)
```

Constants are equal if a program cannot tell them apart: `0.` and `-0.` differ, `1` and `True` differ, tensors are
equal only if they are one object, and so are lists and dicts.
"""

from __future__ import annotations

from collections.abc import Hashable

from flambeau.ir.constants import CONSTANT, constant_key, is_mutable
from flambeau.ir.graph import Graph, Node
from flambeau.ir.printer import SUBGRAPH


def do(graph: Graph) -> bool:
    """Move constants to the top and merge equal ones, in subgraphs for themselves."""
    changed = False
    known: dict[Hashable, Node] = {}
    at_top: dict[Node, Hashable] = {}
    last_constant: Node | None = None
    for node in graph.body.own_nodes():
        if node.op != CONSTANT:
            last_constant = node
            break
        at_top[node] = _key(node)
        known.setdefault(at_top[node], node)
    for node in graph.listed_nodes():
        inner = node.attributes.get(SUBGRAPH)
        if isinstance(inner, Graph):
            changed = do(inner) or changed
        if node.op != CONSTANT:
            continue
        key = at_top[node] if node in at_top else _key(node)
        first = known.setdefault(key, node)
        if first is not node:
            node.result().replace_uses_with(first.result())
            node.erase()
            changed = True
        elif node not in at_top:
            assert last_constant is not None
            node.move_before(last_constant)
            changed = True
    return changed


def _key(node: Node) -> Hashable:
    constant = node.attributes.get("value")
    value = ("object", id(constant)) if is_mutable(constant) else constant_key(constant)
    function = node.attributes.get("function")
    name = node.attributes.get("name")
    return (
        node.result().static_type,
        "value" in node.attributes,
        value,
        name,
        id(function) if function is not None else None,
    )
