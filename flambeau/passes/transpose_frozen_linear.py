"""Write linears with constant weights as products with the transposed weight, which lies in order in memory.

```
%y = aten::linear(%x, %w, %b)      →      %m = aten::matmul(%x, %t)
                                          %y = aten::add(%m, %b, %1)
```

`%t` is a constant, so that nothing is transposed when the graph runs.
"""

from __future__ import annotations

from flambeau.ir import constants
from flambeau.ir.graph import Graph, Node
from flambeau.schema.types import TENSOR
from flambeau.tensor import dispatch
from flambeau.tensor.tensor import Tensor


def do(graph: Graph) -> bool:
    """Rewrite every linear whose weight is a constant matrix, and whose bias is a constant or none.

    >>> import flambeau
    >>> layer = flambeau.jit.freeze(flambeau.script(flambeau.nn.Linear(3, 4).eval()))
    >>> do(layer.graph), layer.graph.find("aten::linear") is None
    (True, True)
    """
    frozen = [node for node in graph.listed_nodes() if _is_frozen(node)]
    for node in frozen:
        _rewrite(graph, node)
    return bool(frozen)


def _is_frozen(node: Node) -> bool:
    if node.op != "aten::linear" or not all(map(constants.is_constant, node.operands[1:])):
        return False
    weight = constants.constant_value(node.operand(1))
    return isinstance(weight, Tensor) and weight.dim() == 2


def _rewrite(graph: Graph, node: Node) -> None:
    x, weight, bias = node.operands
    turned = dispatch.call("aten::contiguous", dispatch.call("aten::t", constants.constant_value(weight)))
    with graph.inserting(node), graph.at_range(node.range):
        transposed = constants.insert_constant(graph, turned)
        result = graph.insert("aten::matmul", (x, transposed), (TENSOR,)).result()
        if not constants.is_none(bias):
            one = constants.insert_constant(graph, 1)
            result = graph.insert("aten::add", (result, bias, one), (TENSOR,)).result()
    result.set_type(node.result().static_type)
    node.result().replace_uses_with(result)
    node.erase()
    if not weight.is_used and weight.defining_node is not None:
        weight.defining_node.erase()
