"""Write linears of one input, whose weights and biases are constants, as one linear with all their rows.

```
%a = aten::linear(%x, %v, %b)              %j = aten::linear(%x, %vw, %bc)
%d = aten::linear(%x, %w, %c)      →       %s = aten::slice(%j, %-1, %0, %m, %1)
                                           %a = aten::contiguous(%s, %0)
                                           ...
```

Each result has memory of its own, in order, as before. Nobody may write to `%x`, so that all see the same values.
"""

from __future__ import annotations

from flambeau.analysis.alias import AliasAnalysis
from flambeau.ir import constants
from flambeau.ir.graph import Graph, Node, Value
from flambeau.ir.walk import blocks
from flambeau.schema.types import TENSOR
from flambeau.tensor import dispatch
from flambeau.tensor.tensor import Tensor

Kind = tuple[Value, object, int, bool]
"""The input, the dtype, the number of columns, whether there is a bias."""


def do(graph: Graph) -> bool:
    """Join the linears of each block that can be; whether there were any."""
    aliases = AliasAnalysis(graph)
    changed = False
    for block in list(blocks(graph.body)):
        groups: dict[Kind, list[Node]] = {}
        for node in block:
            kind = _kind(node)
            if kind is not None and not aliases.has_writers(kind[0]):
                groups.setdefault(kind, []).append(node)
        for nodes in groups.values():
            if len(nodes) > 1:
                _join(graph, nodes)
                changed = True
    return changed


def _kind(node: Node) -> Kind | None:
    if node.op != "aten::linear" or not all(map(constants.is_constant, node.operands[1:])):
        return None
    weight, bias = map(constants.constant_value, node.operands[1:])
    if not isinstance(weight, Tensor) or weight.dim() != 2 or weight.device.type != "cpu":
        return None
    if bias is not None and (bias.dtype is not weight.dtype or tuple(bias.shape) != (weight.shape[0],)):
        return None
    return node.operand(0), weight.dtype, weight.shape[1], bias is not None


def _join(graph: Graph, nodes: list[Node]) -> None:
    first = nodes[0]
    weights, biases = ([constants.constant_value(n.operand(k)) for n in nodes] for k in (1, 2))
    with graph.inserting(first), graph.at_range(first.range):
        weight = constants.insert_constant(graph, dispatch.call("aten::cat", weights, 0))
        bias = constants.insert_constant(graph, None if biases[0] is None else dispatch.call("aten::cat", biases, 0))
        joined = graph.insert("aten::linear", (first.operand(0), weight, bias), (TENSOR,)).result()
        start = 0
        parts = []
        for rows in weights:
            bounds = (constants.insert_constant(graph, k) for k in (-1, start, start + rows.shape[0], 1))
            part = graph.insert("aten::slice", (joined, *bounds), (TENSOR,)).result()
            order = constants.insert_constant(graph, 0)
            parts.append(graph.insert("aten::contiguous", (part, order), (TENSOR,)).result())
            start += rows.shape[0]
    for node, part in zip(nodes, parts, strict=True):
        result = node.result()
        part.set_type(result.static_type)
        result.replace_uses_with(part)
        if result.has_name:
            graph.rename(part, result.name)
        node.erase()
