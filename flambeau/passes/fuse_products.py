"""Gather each matrix product with the pointwise operators that follow it.

```
%a : Float(*, *) = aten::linear(%x, %w, %b)   %c : Float(*, *) = prim::FusionGroup_0(%x, %w, %b)
%c : Float(*, *) = aten::relu(%a)        →    with prim::FusionGroup_0 = graph(%x, %w, %b):
                                                ...
```

A kernel computes a product a tile at a time; what follows is applied to the tile before it leaves the registers. A
group has one product, and operators that give something of its size. An operator that reads a factor again stays
outside: the kernel would need it in two orders.
"""

from __future__ import annotations

from flambeau.analysis.alias import AliasAnalysis
from flambeau.analysis.manager import alias_analysis
from flambeau.ir.graph import Block, Graph, Node, Value
from flambeau.ir.walk import blocks
from flambeau.passes.fuse import FARTHEST, GROUP, bring_together
from flambeau.passes.fusible import Fusible
from flambeau.passes.outline import outline
from flambeau.schema.types import TensorType

LARGEST = 32
"""Nodes in one group."""


def do(graph: Graph) -> bool:
    """Make a group of every product that a kernel can take."""
    fusible = Fusible(graph)
    if not any(fusible.is_product(n) for n in graph.listed_nodes()):
        return False
    aliases = alias_analysis(graph)
    groups = [g for block in blocks(graph.body) for g in _groups(block, fusible, aliases)]
    for group in groups:
        outline(group, GROUP)
    return bool(groups)


def _groups(block: Block, fusible: Fusible, aliases: AliasAnalysis) -> list[list[Node]]:
    groups: list[list[Node]] = []
    taken: set[Node] = set()
    for node in list(block):
        if node not in taken and fusible.is_product(node):
            group = _with_followers(node, fusible, aliases, taken)
            taken.update(group)
            groups.append(group)
    return groups


def _with_followers(product: Node, fusible: Fusible, aliases: AliasAnalysis, taken: set[Node]) -> list[Node]:
    """The product and the operators that can be applied to its tiles."""
    factors = set(fusible.factors(product))
    group = [product]
    waiting = _users(product)
    looked_at = 0
    current = product.next
    while current is not None and waiting and looked_at < FARTHEST and len(group) < LARGEST:
        node, current = current, current.next
        looked_at += 1
        if node not in waiting:
            continue
        waiting.remove(node)
        if node not in taken and _follows(node, group, factors, fusible) and bring_together(aliases, group, [node]):
            group.append(node)
            waiting |= _users(node)
            current = node.next
    return group


def _users(node: Node) -> set[Node]:
    return {use.user for value in node.results for use in value.uses()}


def _follows(node: Node, group: list[Node], factors: set[Value], fusible: Fusible) -> bool:
    if any(v in factors for v in node.operands) or not fusible.is_pointwise(node):
        return False
    if all(fusible.is_fusible(u.user) and not fusible.is_pointwise(u.user) for u in node.result().uses()):
        # What is only folded belongs to the fold: its kernel knows then that both run along one dimension.
        return False
    mine, product = _sizes(node.result()), _sizes(group[0].result())
    if mine is None or product is None:
        return True
    # What is larger than the product would have it computed once for each of its elements.
    return len(mine) == len(product) and not any(p == 1 != m for p, m in zip(product, mine, strict=True))


def _sizes(value: Value) -> tuple[int | None, ...] | None:
    return value.static_type.sizes if isinstance(value.static_type, TensorType) else None
