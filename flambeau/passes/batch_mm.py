"""Compute several matrix products at once.

```
%p0 : Tensor = aten::mm(%a0, %b0)
...                                          →   %s : Tensor = prim::MMTreeReduce(%a0, ..., %a3, %b0, ..., %b3)
%s : Tensor = aten::add(%s2, %p3, %1)

%p0 : Tensor = aten::mm(%a, %b0)
...                                          →   %p0 : Tensor, ..., %p7 : Tensor =
%p7 : Tensor = aten::mm(%a, %b7)                     prim::MMBatchSide[side=0](%a, %b0, ..., %b7)
```

Sums of at least four products that nothing else uses, and at least eight products with one factor in common. In between
nothing may be written and nothing may happen that shows. Sums of floats are taken in another order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from flambeau.analysis.effects import has_effect, writes_memory
from flambeau.ir import constants
from flambeau.ir.graph import Block, Graph, Node, Value
from flambeau.ir.walk import blocks, is_visible
from flambeau.schema.types import TensorType

PRODUCT, TREE, SIDE = "aten::mm", "prim::MMTreeReduce", "prim::MMBatchSide"
FEWEST_IN_SUM, FEWEST_WITH_FACTOR = 4, 8


def do(graph: Graph) -> bool:
    """Gather the products of every block; whether any were."""
    changed = False
    for block in list(blocks(graph.body)):
        changed |= _sums(block)
        for side in (0, 1):
            changed |= _with_common_factor(block, side)
    return changed


def _sums(block: Block) -> bool:
    """Sums of products, the largest first."""
    changed = False
    for root in [n for n in block if _is_sum(n)][::-1]:
        if root.is_erased or _is_part_of_sum(root):
            continue
        tree = list(_tree(root))
        products = [n for n in tree if n.op == PRODUCT]
        if len(products) < FEWEST_IN_SUM or not _is_quiet(tree):
            continue
        left, right = ([n.operand(k) for n in products[::-1]] for k in (0, 1))
        graph = root.graph
        with graph.inserting(root), graph.at_range(root.range):
            total = graph.insert(TREE, [*left, *right], [root.result().static_type]).result()
        root.result().replace_uses_with(total)
        for node in tree:
            node.erase()
        changed = True
    return changed


def _is_sum(node: Node) -> bool:
    """Whether a node adds two tensors, each of them a product or such a sum, that are used nowhere else."""
    if node.op != "aten::add" or len(node.operands) != 3 or not _is_one(node.operand(2)):
        return False
    if not all(isinstance(v.static_type, TensorType) and len(v.uses()) == 1 for v in node.operands[:2]):
        return False
    parts = [v.defining_node for v in node.operands[:2]]
    return all(p is not None and p.owner_block is node.owner_block and (p.op == PRODUCT or _is_sum(p)) for p in parts)


def _is_part_of_sum(node: Node) -> bool:
    uses = node.result().uses()
    return len(uses) == 1 and _is_sum(uses[0].user)


def _tree(root: Node) -> Iterator[Node]:
    """A sum and all that it is the sum of, users before what they use."""
    yield root
    for value in root.operands[:2] if root.op != PRODUCT else ():
        assert value.defining_node is not None
        yield from _tree(value.defining_node)


def _with_common_factor(block: Block, side: int) -> bool:
    """Products whose factor at `side` is the same, at the place of the first."""
    by_factor: dict[Value, list[Node]] = {}
    for node in block:
        if node.op == PRODUCT:
            by_factor.setdefault(node.operand(side), []).append(node)
    changed = False
    for factor, products in by_factor.items():
        first = products[0]
        gathered = [n for n in products if n is first or is_visible(n.operand(1 - side), first)]
        if len(gathered) < FEWEST_WITH_FACTOR or not _is_quiet(gathered):
            continue
        graph = first.graph
        with graph.inserting(first), graph.at_range(first.range):
            types = [n.result().static_type for n in gathered]
            batch = graph.insert(SIDE, [factor, *(n.operand(1 - side) for n in gathered)], types, side=side)
        for node, result in zip(gathered, batch.results, strict=True):
            node.result().replace_uses_with(result)
            node.erase()
        changed = True
    return changed


def _is_quiet(nodes: Iterable[Node]) -> bool:
    """Whether nothing is written, and nothing happens that shows, from the first to the last of nodes of one block."""
    ordered = sorted(nodes, key=lambda n: n._order)
    current: Node | None = ordered[0]
    while current is not None and current is not ordered[-1]:
        if has_effect(current) or writes_memory(current):
            return False
        current = current.next
    return True


def _is_one(value: Value) -> bool:
    return constants.is_constant(value) and constants.constant_value(value) == 1
