"""Part what is added behind a matrix product from it, so that one kernel adds it with all that follows.

```
%y = aten::linear(%x, %w, %b)            %p = aten::linear(%x, %w, %none)
%z = aten::gelu(%y, %how)          →     %e = aten::expand_as(%b, %p)
                                         %y = aten::add(%p, %e, %one)
                                         %z = aten::gelu(%y, %how)
```

For devices, where a library computes products and knows no more than a bias behind them. `aten::addmm` with factors of
1 likewise. Sizes that do not fit are refused as before, by `expand_as`.
"""

from __future__ import annotations

from flambeau.ir.constants import constant_value, insert_constant, is_constant
from flambeau.ir.graph import Graph, Node, Value
from flambeau.passes.fusible import DTYPES
from flambeau.schema.types import TensorType


def do(graph: Graph) -> bool:
    """Part all that can be; whether there was any."""
    products = [(node, parts) for node in graph.listed_nodes() if (parts := _parts(node)) is not None]
    for node, (op, operands, added) in products:
        with graph.inserting(node), graph.at_range(node.range):
            known = node.result().static_type
            if op == "aten::linear":
                operands = [*operands, insert_constant(graph, None)]
            product = graph.insert(op, operands, [known]).result()
            expanded = graph.insert("aten::expand_as", [added, product], [known]).result()
            total = graph.insert("aten::add", [product, expanded, insert_constant(graph, 1)], [known]).result()
        node.result().replace_uses_with(total)
        node.erase()
    return bool(products)


def _parts(node: Node) -> tuple[str, list[Value], Value] | None:
    """The product without what is added, its operands, and what is added; None for what stays as it is."""
    if node.op == "aten::linear" and len(node.operands) == 3:
        op, operands, added = node.op, list(node.operands[:2]), node.operand(2)
    elif node.op == "aten::addmm" and len(node.operands) == 5 and all(map(_is_one, node.operands[3:])):
        op, operands, added = "aten::mm", list(node.operands[1:3]), node.operand(0)
    else:
        return None
    known = [v.static_type for v in (node.result(), added, *operands)]
    if not all(isinstance(t, TensorType) and t.dtype in DTYPES and t.requires_grad is False for t in known):
        return None
    dtypes = {t.dtype for t in known if isinstance(t, TensorType)}
    return (op, operands, added) if len(dtypes) == 1 else None


def _is_one(value: Value) -> bool:
    return is_constant(value) and constant_value(value) == 1
