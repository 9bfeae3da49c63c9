"""Gradients of lists that change: a list of tensors or floats has a shadow, a list of their gradients.

```
aten::append(%xs, %v)             back:  gradient of %v: what aten::pop(%shadow) gives
%v = aten::pop(%xs)                      aten::append(%shadow, gradient of %v)
%v = aten::__getitem__(%xs, %i)          %shadow[%i] = %shadow[%i] + gradient of %v
aten::_set_item(%xs, %i, %v)             gradient of %v: %shadow[%i], which then is zero
```

Going back, a shadow is as long as its list was then: so every change counts, whether or not a gradient has come yet.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Protocol

from flambeau.autodiff.graph_operators import Builder
from flambeau.autodiff.not_differentiable import NotDifferentiableError
from flambeau.autodiff.scope import Saved
from flambeau.autodiff.structural_gradients import zeros
from flambeau.autodiff.writes import Writes
from flambeau.ir import constants
from flambeau.ir.graph import Graph, Node, Value
from flambeau.schema.rule_tables import RuleTable
from flambeau.schema.types import BOOL, INT, FloatType, ListType, TensorType, without_refinement


class Totals(Protocol):
    """Where gradients are added up."""

    def gradient(self, value: Value) -> Value | None:
        """The gradient of a value as far as it is added up."""

    def add(self, value: Value, gradient: Value) -> None:
        """Add to the gradient of a value."""


list_changes: Final = RuleTable[Callable[["Lists", Node, Totals], None]]("gradients of lists, element by element")


class Lists:
    """The shadows of a graph's lists."""

    def __init__(self, builder: Builder, saved: Saved, writes: Writes, relevant: set[Value]) -> None:
        self._saved = saved
        self.builder = builder
        self.graph: Graph = builder.graph
        self._shadows: dict[Value, Value] = {}
        self._roots: dict[Value, Value] = {}
        self.start: Node | None = None
        """Before it go the shadows of what the outermost block makes."""
        for value in relevant:
            if isinstance(value.static_type, ListType) and writes.has_writers(value):
                self._roots[value] = _root_of(value, writes)

    def __contains__(self, value: Value) -> bool:
        return value in self._roots

    def exists(self, value: Value) -> bool:
        """Whether the gradient of an element may be other than zero."""
        return self._roots[value] in self._shadows

    def use(self, value: Value) -> Value:
        """A value of the way there."""
        return self._saved.use(value)

    def shadow(self, value: Value) -> Value:
        """The gradients of a list's elements, to be changed in place."""
        root = self._roots[value]
        if root not in self._shadows:
            scope = self._saved.scope_of(root)
            place = self.start if scope is None else scope.marker
            assert place is not None
            with self.graph.inserting(place):
                self._shadows[root] = self._zeros(root)
        return self._shadows[root]

    def _zeros(self, root: Value) -> Value:
        """A list of zeros, as long as the list is at the end."""
        builder, graph, type_ = self.builder, self.graph, without_refinement(root.static_type)
        assert isinstance(type_, ListType)
        original = self._saved.itself(root)
        made = graph.insert("prim::ListConstruct", (), [type_]).result()
        length = graph.insert("aten::len", [original], [INT]).result()
        goes_on = builder.constant(True, BOOL)
        loop = graph.insert("prim::Loop", [length, goes_on], [])
        body = loop.add_block()
        index = body.add_parameter(INT)
        with graph.inserting(body):
            item = graph.insert("aten::__getitem__", [original, index], [root.static_type.contained[0]]).result()
            graph.insert("aten::append", [made, zeros(builder, item)], [type_])
        body.add_return(goes_on)
        return made

    def item(self, shadow: Value, index: Value, like: Value) -> Value:
        """The gradient of one element."""
        value = self.graph.insert("aten::__getitem__", [shadow, index], [_gradient_type(like)]).result()
        self.builder.sizes.set(value, self.builder.sizes.of(like))
        return value

    def set_item(self, shadow: Value, index: Value, gradient: Value) -> None:
        """Let the gradient of one element be another."""
        self.graph.insert("aten::_set_item", [shadow, index, gradient], [shadow.static_type])

    def add_all(self, value: Value, gradients: Value) -> None:
        """Add a list of gradients to those of a list's elements."""
        builder, graph, shadow = self.builder, self.graph, self.shadow(value)
        length = graph.insert("aten::len", [shadow], [INT]).result()
        goes_on = builder.constant(True, BOOL)
        body = graph.insert("prim::Loop", [length, goes_on], []).add_block()
        index = body.add_parameter(INT)
        element = value.static_type.contained[0]
        with graph.inserting(body):
            parts = [graph.insert("aten::__getitem__", [v, index], [element]).result() for v in (shadow, gradients)]
            total = (builder.proxy(parts[0]) + builder.proxy(parts[1])).value
            self.set_item(shadow, index, total)
        body.add_return(goes_on)

    def change(self, node: Node, totals: Totals) -> bool:
        """Go back through a node that changes or reads a list; False if it does neither."""
        rule = list_changes.get(node.op)
        if rule is None or not node.operands or node.operand(0) not in self:
            return False
        rule(self, node, totals)
        return True


def _gradient_type(value: Value) -> Any:
    type_ = value.static_type
    return type_.refine(strides=None, requires_grad=None) if isinstance(type_, TensorType) else type_


def _root_of(value: Value, writes: Writes) -> Value:
    """Where a list is made. Raises NotDifferentiableError for one that is changed in ways that are not known here."""
    node = value.defining_node
    while node is not None and node.op in list_changes and node.result().static_type == node.operand(0).static_type:
        value = node.operand(0)
        node = value.defining_node
    is_known = isinstance(value.static_type, ListType) and isinstance(value.static_type.element, TensorType | FloatType)
    for writer in writes.writers(value):
        if writer.op not in list_changes or node is None or node.op != "prim::ListConstruct" or not is_known:
            raise NotDifferentiableError(f"%{value.name} is a list that is changed in a way without derivative")
    return value


def _is_last(value: Value) -> bool:
    return constants.is_constant(value) and constants.constant_value(value) == -1


@list_changes("aten::append")
def _append(lists: Lists, node: Node, totals: Totals) -> None:
    added = node.operand(1)
    last = lists.builder.constant(-1)
    value = lists.graph.insert("aten::pop", [lists.shadow(node.operand(0)), last], [_gradient_type(added)]).result()
    lists.builder.sizes.set(value, lists.builder.sizes.of(added))
    totals.add(added, value)


@list_changes("aten::pop")
def _pop(lists: Lists, node: Node, totals: Totals) -> None:
    if not _is_last(node.operand(1)):
        raise NotDifferentiableError("pop() of another element than the last has no derivative in graphs")
    result = node.result()
    gradient = totals.gradient(result)
    shadow = lists.shadow(node.operand(0))
    complete = zeros(lists.builder, result) if gradient is None else gradient
    lists.graph.insert("aten::append", [shadow, complete], [shadow.static_type])


@list_changes("aten::__getitem__")
def _getitem(lists: Lists, node: Node, totals: Totals) -> None:
    gradient = totals.gradient(node.result())
    if gradient is None:
        return
    shadow, index = lists.shadow(node.operand(0)), lists.use(node.operand(1))
    before = lists.item(shadow, index, node.result())
    total = (lists.builder.proxy(before) + lists.builder.proxy(gradient)).value
    lists.set_item(shadow, index, total)


@list_changes("aten::_set_item")
def _set_item(lists: Lists, node: Node, totals: Totals) -> None:
    shadow, index, value = lists.shadow(node.operand(0)), lists.use(node.operand(1)), node.operand(2)
    gradient = lists.item(shadow, index, value)
    lists.set_item(shadow, index, zeros(lists.builder, value))
    totals.add(value, gradient)
