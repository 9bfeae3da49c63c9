"""Say of every tensor whether it asks for gradients, from what is said of the parameters.

```
graph(%x : Tensor(requires_grad=1)):            graph(%x : Tensor(requires_grad=1)):
  %y : Tensor = aten::sin(%x)             →       %y : Tensor(requires_grad=1) = aten::sin(%x)
  %m : Tensor = aten::detach(%y)                  %m : Tensor(requires_grad=0) = aten::detach(%y)
```

A tensor asks if it comes from one that asks in a way that has a derivative, through branches and loops too, or if
something that asks is written into it. What nothing is known of may ask: parameters of which nothing is said,
attributes of objects, what Python functions give. What is said holds while gradients are recorded.
"""

from __future__ import annotations

from collections.abc import Iterator

from flambeau.analysis.gradients import asking_values
from flambeau.ir import constants, kinds
from flambeau.ir.graph import Graph, Node, Value
from flambeau.schema.types import TensorType


def do(graph: Graph) -> bool:
    """Set what the types of tensors say, parameters excepted; whether any type changed."""
    nodes = graph.listed_nodes()
    parameters = [v.static_type for v in graph.parameters]
    asks = [not isinstance(t, TensorType) or t.requires_grad is not False for t in parameters]
    unknown = [v for node in nodes if _may_give_anything(node) for v in node.results]
    unknown += [node.operand(0) for node in nodes if node.op == "aten::requires_grad_"]
    asking = asking_values(graph, asks, unknown)
    changed = [_say(value, value in asking) for node in nodes for value in _defined_by(node)]
    return any(changed)


def _defined_by(node: Node) -> Iterator[Value]:
    if node.op != constants.CONSTANT:
        yield from node.results
    for block in node.nested_blocks:
        yield from block.parameters


def _may_give_anything(node: Node) -> bool:
    """Whether the results of a node may ask whatever its operands do."""
    definition = node.definition
    if definition is None:
        return node.op == "prim::GetAttr" or node.op in kinds.OPAQUE or not kinds.is_known(node.op) or node.op[0] == "^"
    position = definition.schema.index.get("requires_grad")
    if position is None:
        return definition.is_about_tensor and definition.schema.is_mutable
    flag = node.operand(position)
    return not (constants.is_constant(flag) and not constants.constant_value(flag))


def _say(value: Value, asks: bool) -> bool:
    type_ = value.static_type
    if not isinstance(type_, TensorType) or type_.requires_grad is asks:
        return False
    value.set_type(type_.refine(requires_grad=asks))
    return True
