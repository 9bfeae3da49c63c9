"""Write products with transposed matrices, and sums with them, as `aten::linear`.

```
%t = aten::t(%w)
%m = aten::matmul(%x, %t)            →      %y = aten::linear(%x, %w, %b)
%y = aten::add(%m, %b, %1)
```

`aten::addmm` with factors of 1 likewise. The weight must be a matrix: what `aten::t` gives, or by its type. A sum is
taken in if the type of what is added says that it has one dimension, as a bias has. A linear has the place in the
source that its product had.
"""

from __future__ import annotations

from flambeau.analysis.alias import AliasAnalysis
from flambeau.ir import constants
from flambeau.ir.constants import insert_constant
from flambeau.ir.graph import Graph, Node, Value
from flambeau.schema.types import TENSOR, TensorType

TRANSPOSE = "aten::t"


def do(graph: Graph) -> bool:
    """Make all the linears that there are."""
    changed = False
    for node in graph.listed_nodes():
        if node.op == "aten::addmm" and _is_one(node.operand(3)) and _is_one(node.operand(4)):
            bias, x, transposed = node.operands[:3]
            if _rank(transposed) == 2 or _is_transposed(transposed):
                _replace(node, node, x, transposed, bias)
                changed = True
        elif node.op == "aten::matmul" and (_rank(node.operand(1)) == 2 or _is_transposed(node.operand(1))):
            total = _sum_of(graph, node)
            added = None if total is None else total.operand(1)
            _replace(node, node if total is None else total, node.operand(0), node.operand(1), added)
            changed = True
    return changed


def _replace(product: Node, last: Node, x: Value, transposed: Value, bias: Value | None) -> None:
    """A linear in the place of `last`."""
    graph = product.graph
    with graph.inserting(last), graph.at_range(product.range):
        if transposed.defining_node is not None and _is_transposed(transposed):
            weight = transposed.defining_node.operand(0)
        else:
            weight = graph.insert(TRANSPOSE, [transposed], [TENSOR]).result()
        bias_or_none = insert_constant(graph, None) if bias is None else bias
        linear = graph.insert("aten::linear", [x, weight, bias_or_none], [last.result().static_type])
    last.result().replace_uses_with(linear.result())
    for node in (last, product) if last is not product else (last,):
        node.erase()
    if transposed.defining_node is not None and _is_transposed(transposed) and not transposed.is_used:
        transposed.defining_node.erase()


def _sum_of(graph: Graph, product: Node) -> Node | None:
    """What adds a bias to a product, and is all that looks at it."""
    uses = product.result().uses()
    total = uses[0].user if len(uses) == 1 and uses[0].offset == 0 else None
    if total is None or total.op.removesuffix("_") != "aten::add" or total.owner_block is not product.owner_block:
        return None
    if len(total.operands) != 3 or not _is_one(total.operand(2)) or _rank(total.operand(1)) != 1:
        return None
    between = total.previous
    if between is not None and between is not product and not AliasAnalysis(graph).can_move_after(product, between):
        return None
    return total


def _is_transposed(value: Value) -> bool:
    return value.defining_node is not None and value.defining_node.op == TRANSPOSE


def _rank(value: Value) -> int | None:
    return value.static_type.rank if isinstance(value.static_type, TensorType) else None


def _is_one(value: Value) -> bool:
    return constants.is_constant(value) and constants.constant_value(value) == 1
