"""Write `aten::addmm` with factors of 1 as a product and a sum.

```
                                             %m = aten::mm(%x, %w)
%y = aten::addmm(%b, %x, %w, %1, %1)    →    %y = aten::add(%b, %m, %1)
```
"""

from __future__ import annotations

from flambeau.ir import constants
from flambeau.ir.constants import insert_constant
from flambeau.ir.graph import Graph, Value
from flambeau.schema.types import TENSOR


def do(graph: Graph) -> bool:
    """Decompose all that can be; with other factors they stay."""
    products = [n for n in graph.find_all("aten::addmm") if len(n.operands) == 5]
    plain = [n for n in products if all(map(_is_one, n.operands[3:]))]
    for node in plain:
        bias, left, right = node.operands[:3]
        with graph.inserting(node), graph.at_range(node.range):
            product = graph.insert("aten::mm", [left, right], [TENSOR]).result()
            sum_ = graph.insert("aten::add", [bias, product, insert_constant(graph, 1)], [node.result().static_type])
        node.result().replace_uses_with(sum_.result())
        node.erase()
    return bool(plain)


def _is_one(value: Value) -> bool:
    return constants.is_constant(value) and constants.constant_value(value) == 1
