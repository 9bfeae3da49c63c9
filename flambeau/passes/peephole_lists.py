"""The rules of `peephole` for lists that are joined, and for parts of lists.

```
%n = prim::ListConstruct(%a)             %s0 = aten::size(%x, %0)
%s = aten::size(%x)                →     %s1 = aten::size(%x, %1)
%l = aten::add(%n, %s)                   %l = prim::ListConstruct(%a, %s0, %s1)
```
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau.ir import constants
from flambeau.ir.graph import Node, Value
from flambeau.passes.peephole_outcomes import KEEP, Chain, Literal, built_by, rewrites
from flambeau.schema.types import INT, ListType, TensorType


@rewrites("aten::add")
def _joined_lists(node: Node) -> Any:
    """[n] + [m], and list(x.size()) + [n] where the rank of `x` is known: one literal list."""
    type_ = node.result().static_type
    if len(node.operands) != 2 or not isinstance(type_, ListType):
        return KEEP
    first, second = map(_literal, node.operands)
    if first is None or second is None:
        return KEEP

    def make() -> Value:
        items = [*_items(node, first), *_items(node, second)]
        return node.graph.insert("prim::ListConstruct", items, (type_,)).result()

    if constants.is_constant(first) and constants.is_constant(second):
        return KEEP  # folded elsewhere
    rewritten: Any = Chain(make, node)
    for container in {first, second, *node.operands}:
        rewritten = Literal(container, rewritten)
    return rewritten


@rewrites("aten::slice")
def _part_of_list(node: Node) -> Any:
    """x.shape[:-1] where the rank of `x` is known, and a part of a literal list."""
    type_, where = node.result().static_type, node.operands[1:]
    if not isinstance(type_, ListType) or len(where) != 3 or not all(map(constants.is_constant, where)):
        return KEEP
    container = _literal(node.operand(0))
    if container is None or constants.is_constant(container):
        return KEEP
    part = slice(*map(constants.constant_value, where))

    def make() -> Value:
        return node.graph.insert("prim::ListConstruct", _items(node, container)[part], (type_,)).result()

    rewritten: Any = Chain(make, node)
    for one in {container, node.operand(0)}:
        rewritten = Literal(one, rewritten)
    return rewritten


def _literal(value: Value) -> Value | None:
    """What a list is, or is a copy of: a constant, one that the graph builds, the sizes of a tensor of known rank."""
    while (copied := built_by(value, "aten::list")) is not None:
        [value] = copied
    asked = built_by(value, "aten::size")
    if asked is not None and len(asked) == 1:
        type_ = asked[0].static_type
        return value if isinstance(type_, TensorType) and type_.rank is not None else None
    if constants.is_constant(value):
        return value if isinstance(constants.constant_value(value), list) else None
    return None if built_by(value, "prim::ListConstruct") is None else value


def _items(node: Node, value: Value) -> Sequence[Value]:
    """The items of such a list, for what is inserted before a node."""
    if constants.is_constant(value):
        return [constants.insert_constant(node.graph, item) for item in constants.constant_value(value)]
    maker = value.defining_node
    assert maker is not None
    if maker.op == "prim::ListConstruct":
        return maker.operands
    tensor, graph = maker.operand(0), node.graph
    assert isinstance(tensor.static_type, TensorType)
    axes = [constants.insert_constant(graph, axis) for axis in range(tensor.static_type.rank or 0)]
    return [graph.insert("aten::size", (tensor, axis), (INT,)).result() for axis in axes]
