"""Operators that plans write as others, which have native forms.

```
%y = aten::triu(%x, %1)        %far = aten::lt(%distance, %1)
                          →    %y = aten::masked_fill(%x, %far, %0)
```

What stands in an operator's place follows from `ops.expansions`. Where gradients are asked for, and where a body asks
for what only the run knows, operators stay: their formulas know better what to keep. What an operator demands of its
arguments is demanded of them still: where it does not hold, the operator itself runs, and says what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

from flambeau.analysis import shapes
from flambeau.autodiff.graph_operators import Builder, GraphOperators
from flambeau.autodiff.proxies import BoolProxy, TensorProxy, UntraceableError
from flambeau.autodiff.symbolic_sizes import SymbolicSizes
from flambeau.ir.clone import clone_node
from flambeau.ir.constants import insert_constant, is_constant
from flambeau.ir.graph import Graph, Node, Value
from flambeau.ops.families.expansion_tables import differentiated, expansions
from flambeau.schema.types import STRING, TENSOR, ListType, OptionalType, TensorType
from flambeau.util.inversions import OPERATOR_EXPANSION


@OPERATOR_EXPANSION.provide
def do(graph: Graph) -> bool:
    """Expand what can be; whether there was any."""
    expandable = [node for node in graph.listed_nodes() if node.op in expansions]
    if not expandable or any(_asks(v) for v in graph.parameters):
        return False
    changed, seen = False, set(expandable)
    while expandable:
        changed |= _expand_all(graph, expandable)
        expandable = [node for node in graph.listed_nodes() if node.op in expansions and node not in seen]
        seen.update(expandable)
    return changed


def _expand_all(graph: Graph, nodes: list[Node]) -> bool:
    changed = not all(map(_is_known, (v for node in nodes for v in node.operands))) and shapes.propagate(graph)
    for node in nodes:
        if all(map(_is_known, node.operands)) and not _is_to_fail(node):
            changed |= _expand(graph, node, expansions[node.op])
    return changed


def for_gradients(graph: Graph) -> bool:
    """Expand those that gradients go through as well by what stands in their place; whether there was any."""
    changed = False
    for node in graph.listed_nodes():
        if node.op in differentiated and all(map(_is_known, node.operands)) and not _is_to_fail(node):
            changed |= _expand(graph, node, differentiated[node.op])
    return changed


class _Operators(GraphOperators):
    """Operators as bodies call them, in the place of one operator."""

    def __init__(self, builder: Builder, node: Node) -> None:
        super().__init__(builder)
        self._node = node

    def either(self, condition: Any, one: Callable[[], Any], other: Callable[[], Any]) -> Any:
        """One of two tensors, of which only the one that is wanted is computed; of what ranks they may be."""
        if isinstance(condition, bool):
            return one() if condition else other()
        graph, builder = self._node.graph, self._builder
        branch = graph.insert("prim::If", [condition.value], [TENSOR])
        for make in (one, other):
            way = branch.add_block()
            with graph.inserting(way):
                way.add_return(builder.value(make(), TENSOR))
        return TensorProxy(builder, branch.result())

    def holds(self, tensor: Any) -> Any:
        """The one element of a tensor, as a condition."""
        return self._builder.scalar("aten::Bool", (tensor,))

    def number(self, tensor: Any) -> Any:
        """The one element of a tensor, as an int."""
        return self._builder.scalar("aten::Int", (tensor,))

    def broadcast_size(self, one: Any, other: Any) -> Any:
        """The size of what axes of two sizes are broadcast to, which are demanded to be equal where none is 1."""
        if (one == other) is True or (other == 1) is True:
            return one
        is_one = one == 1
        if is_one is True:
            return other
        self.require(self.logical_or(self.logical_or(is_one, other == 1), one == other))
        takes_other = self._builder.scalar("aten::Int", (is_one,))
        return takes_other * other + (1 - takes_other) * one

    def require(self, *conditions: Any) -> None:
        """Have the operator itself say what is wrong where a condition does not hold, which must be where it fails."""
        if not all(c is True or isinstance(c, BoolProxy) for c in conditions):
            raise UntraceableError("a condition that does not hold")
        open_ones = [c for c in conditions if c is not True]
        if not open_ones:
            return
        condition = reduce(self.logical_and, open_ones)
        graph = self._node.graph
        branch = graph.insert("prim::If", [condition.value], [])
        branch.add_block()
        with graph.inserting(branch.add_block()):
            failing = clone_node(self._node, graph, {})
            graph.insert_node(failing)
            shown = graph.insert("aten::format", [insert_constant(graph, "{}"), failing.results[0]], [STRING])
            graph.insert("prim::RaiseException", [shown.result(), insert_constant(graph, None)], [])


def _expand(graph: Graph, node: Node, body: Callable[..., Any]) -> bool:
    last = node.previous
    with graph.inserting(node), graph.at_range(node.range):
        try:
            values = _values(Builder(graph, SymbolicSizes(graph)), node, body)
        except (UntraceableError, RuntimeError):
            values = []
    if not values:
        while node.previous is not None and node.previous is not last:
            node.previous.erase()
        return False
    for old, new in zip(node.results, values, strict=True):
        name = old.name if old.has_name else ""
        old.replace_uses_with(new)
        if name and not new.has_name:
            old.set_name("")
            graph.rename(new, name)
    node.erase()
    return True


def _values(builder: Builder, node: Node, body: Callable[..., Any]) -> list[Value]:
    """What stands for the results of a node; none where the body does not apply."""
    answer = body(_Operators(builder, node), *(builder.proxy(v) for v in node.operands))
    if answer is None:
        return []
    parts = answer if len(node.results) > 1 else (answer,)
    return [builder.value(part, v.static_type) for part, v in zip(parts, node.results, strict=True)]


def _is_known(value: Value) -> bool:
    """Whether a dtype and a rank are known, if it is a tensor."""
    type_: Any = value.static_type
    if is_constant(value):
        return True
    if isinstance(type_, OptionalType):
        return False
    maker = value.defining_node
    if isinstance(type_, ListType) and maker is not None and maker.op == "prim::ListConstruct":
        return all(map(_is_known, maker.operands))
    return not isinstance(type_, TensorType) or (type_.dtype is not None and type_.sizes is not None)


def _is_to_fail(node: Node) -> bool:
    """Whether a node is there for what is wrong of its operands: what was expanded before demands it."""
    return any(use.user.op == "aten::format" and _raises(use.user) for v in node.results for use in v.uses())


def _raises(node: Node) -> bool:
    return any(use.user.op == "prim::RaiseException" for use in node.result().uses())


def _asks(value: Value) -> bool:
    return isinstance(value.static_type, TensorType) and bool(value.static_type.requires_grad)
