"""Decide beside an attention whether it has a mask and whether it is causal, where only the run knows.

```
%y = aten::scaled_dot_product_attention(%q, %k, %v, %mask, %p, %causal, ...)
→
%y = prim::If(%none):
  block0(): %a = prim::If(%causal): ... each with constants in the place of both
  block1(): %m = prim::unchecked_cast(%mask) ...
```

Native code then knows each way, and so do gradients (`autodiff.derivatives`). Where they are recorded, nothing is done.
"""

from __future__ import annotations

from collections.abc import Callable

from flambeau.ir.constants import insert_constant, is_constant
from flambeau.ir.graph import Graph, Node, Value
from flambeau.schema.types import BOOL, OptionalType, TensorType

ATTENTION = "aten::scaled_dot_product_attention"
MASK, CAUSAL = 3, 5


def do(graph: Graph) -> bool:
    """Settle all that can be; whether there was any."""
    if any(isinstance(v.static_type, TensorType) and v.static_type.requires_grad for v in graph.parameters):
        return False
    return settle(graph)


def settle(graph: Graph) -> bool:
    """The same of a graph that is about to be differentiated."""
    choices = [n for n in graph.find_all(ATTENTION) if _has_choice(n)]
    for node in choices:
        with graph.inserting(node), graph.at_range(node.range):
            result = _by_mask(graph, node)
        node.result().replace_uses_with(result)
        node.erase()
    return bool(choices)


def _has_choice(node: Node) -> bool:
    return _may_be_none(node.operand(MASK)) or not is_constant(node.operand(CAUSAL))


def _may_be_none(mask: Value) -> bool:
    return isinstance(mask.static_type, OptionalType) and not is_constant(mask)


def _by_mask(graph: Graph, node: Node) -> Value:
    mask = node.operand(MASK)
    if not isinstance(mask.static_type, OptionalType) or is_constant(mask):
        return _by_causality(graph, node, mask)
    element = mask.static_type.element
    is_none = graph.insert("aten::__is__", [mask, insert_constant(graph, None)], [BOOL]).result()

    def without() -> Value:
        return _by_causality(graph, node, insert_constant(graph, None))

    def masked() -> Value:
        cast = graph.insert("prim::unchecked_cast", [mask], [element]).result()
        return _by_causality(graph, node, cast)

    return _chosen(graph, node, is_none, without, masked)


def _by_causality(graph: Graph, node: Node, mask: Value) -> Value:
    causal = node.operand(CAUSAL)
    if is_constant(causal):
        return _attention(graph, node, mask, causal)

    def way(is_causal: bool) -> Callable[[], Value]:
        return lambda: _attention(graph, node, mask, insert_constant(graph, is_causal))

    return _chosen(graph, node, causal, way(True), way(False))


def _attention(graph: Graph, node: Node, mask: Value, causal: Value) -> Value:
    operands = list(node.operands)
    operands[MASK], operands[CAUSAL] = mask, causal
    return graph.insert(ATTENTION, operands, [node.result().static_type]).result()


def _chosen(graph: Graph, node: Node, condition: Value, yes: Callable[[], Value], no: Callable[[], Value]) -> Value:
    choice = graph.insert("prim::If", [condition], [node.result().static_type])
    for way in (yes, no):
        block = choice.add_block()
        with graph.inserting(block):
            value = way()
        block.add_return(value)
    return choice.result()
