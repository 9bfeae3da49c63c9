"""Write a product of matrices and a sum with it as `aten::addmm`.

```
%m : Float(4, 2) = aten::mm(%x, %w)
%y : Float(4, 2) = aten::add(%m, %b, %1)       →     %y : Float(4, 2) = aten::addmm(%b, %x, %w, %1, %1)
```

What is added must be known to have the dtype of the product, and sizes that do not broadcast the product: `addmm` would
refuse others. Nothing may be written between the two.
"""

from __future__ import annotations

from flambeau.analysis.alias import AliasAnalysis
from flambeau.ir import constants
from flambeau.ir.constants import insert_constant
from flambeau.ir.graph import Graph, Node, Value
from flambeau.schema.types import TensorType


def do(graph: Graph) -> bool:
    """Fuse all that can be; whether there was any."""
    changed = False
    for node in graph.find_all("aten::add"):
        for product, added in (node.operands[:2], node.operands[1::-1]):
            if _fits(graph, node, product, added):
                _replace(node, product, added)
                changed = True
                break
    return changed


def _fits(graph: Graph, node: Node, product: Value, added: Value) -> bool:
    maker = product.defining_node
    if maker is None or maker.op != "aten::mm" or len(product.uses()) != 1 or len(node.operands) != 3:
        return False
    if maker.owner_block is not node.owner_block or not _is_one(node.operand(2)):
        return False
    return _is_within(maker, added.static_type) and _may_move(graph, maker, node)


def _is_within(product: Node, added: object) -> bool:
    """Whether a type says that adding such a tensor keeps the dtype and the sizes of a product."""
    sizes = [_sizes(t) for t in (*(v.static_type for v in product.operands), added)]
    dtypes = {getattr(t, "dtype", None) for t in (*(v.static_type for v in product.operands), added)}
    if None in sizes or None in dtypes or len(dtypes) != 1:
        return False
    left, right, own = [s for s in sizes if s is not None]
    if len(left) != 2 or len(right) != 2 or len(own) > 2:
        return False
    whole = (left[0], right[1])
    return all(a == 1 or (a is not None and a == s) for a, s in zip(own[::-1], whole[::-1], strict=False))


def _sizes(type_: object) -> tuple[int | None, ...] | None:
    return type_.sizes if isinstance(type_, TensorType) else None


def _may_move(graph: Graph, product: Node, total: Node) -> bool:
    """Whether the product might as well be computed where it is added."""
    between = total.previous
    return between is None or between is product or AliasAnalysis(graph).can_move_after(product, between)


def _replace(node: Node, product: Value, added: Value) -> None:
    maker, graph = product.defining_node, node.graph
    assert maker is not None
    with graph.inserting(node), graph.at_range(node.range):
        one = insert_constant(graph, 1)
        operands = [added, *maker.operands, one, one]
        fused = graph.insert("aten::addmm", operands, [node.result().static_type]).result()
    name = node.result().name if node.result().has_name else ""
    node.result().replace_uses_with(fused)
    node.erase()
    maker.erase()
    graph.rename(fused, name)


def _is_one(value: Value) -> bool:
    return constants.is_constant(value) and constants.constant_value(value) == 1
