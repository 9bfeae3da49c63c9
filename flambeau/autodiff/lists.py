"""Gradients of lists that change, or whose items are read: a list of tensors or floats has a shadow, a list of their
gradients.

```
aten::append(%xs, %v)             back:  gradient of %v: what aten::pop(%shadow) gives
%v = aten::pop(%xs)                      aten::append(%shadow, gradient of %v)
aten::extend(%xs, %ys)                   gradients of %ys: as many as it has, each what aten::pop(%shadow) gives
%v = aten::__getitem__(%xs, %i)          %shadow[%i] = %shadow[%i] + gradient of %v
aten::_set_item(%xs, %i, %v)             gradient of %v: %shadow[%i], which then is zero
```

Going back, a shadow is as long as its list was then: so every change counts, whether or not a gradient has come yet.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from flambeau.autodiff.graph_operators import Builder
from flambeau.autodiff.list_values import (
    append,
    copied,
    counted,
    gradient_type,
    has_real_items,
    item_of,
    length_of,
    total_of,
    zeros,
    zeros_of_items,
)
from flambeau.autodiff.not_differentiable import NotDifferentiableError
from flambeau.autodiff.operator_gradients import list_gradients
from flambeau.autodiff.scope import Saved
from flambeau.autodiff.writes import CAST, Writes, is_list_cast, source_of
from flambeau.ir import constants
from flambeau.ir.graph import Graph, Node, Value
from flambeau.schema.rule_tables import RuleTable
from flambeau.schema.types import ListType, TensorType


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
        lists = [value for value in relevant if isinstance(value.static_type, ListType)]
        read = {source_of(value, is_list_cast) for value in lists if _has_items_read(value)}
        for value in lists:
            if writes.has_writers(value) or source_of(value, is_list_cast) in read:
                self._roots[value] = _root_of(value, writes)

    def __contains__(self, value: Value) -> bool:
        return value in self._roots

    def exists(self, value: Value) -> bool:
        """Whether the gradient of an element may be other than zero."""
        return self._roots[value] in self._shadows

    def total(self, value: Value) -> Value | None:
        """The gradients of the items of a list, where it is made; None where there are none."""
        shadow = self._shadows.get(value)
        return None if shadow is None else copied(self.builder, shadow)

    def use(self, value: Value) -> Value:
        """A value of the way there."""
        return self._saved.use(value)

    def shadow(self, value: Value) -> Value:
        """The gradients of a list's elements, to be changed in place."""
        root = self._roots[value]
        if root not in self._shadows:
            scope = self._saved.scope_of(root)
            insertion_point = self.start if scope is None else scope.marker
            assert insertion_point is not None
            with self.graph.inserting(insertion_point):
                self._shadows[root] = zeros_of_items(self.builder, self._saved.itself(root))
        return self._shadows[root]

    def item(self, shadow: Value, index: Value, like: Value) -> Value:
        """The gradient of one element."""
        value = self.graph.insert("aten::__getitem__", [shadow, index], [gradient_type(like)]).result()
        self.builder.sizes.set(value, self.builder.sizes.of(like))
        return value

    def set_item(self, shadow: Value, index: Value, gradient: Value) -> None:
        """Let the gradient of one element be another."""
        self.graph.insert("aten::_set_item", [shadow, index, gradient], [shadow.static_type])

    def replaced(self, assignment: Node) -> Value:
        """The item that an assignment takes out: its gradient has the sizes of that one, not of what comes in."""
        items, index, value = assignment.operands
        if not isinstance(value.static_type, TensorType | ListType):
            return value
        with self.graph.inserting(assignment):
            before = self.graph.insert("aten::__getitem__", [items, index], [items.static_type.contained[0]]).result()
            return copied(self.builder, before) if isinstance(value.static_type, ListType) else before

    def add_all(self, value: Value, gradients: Value) -> None:
        """Add a list of gradients to those of a list's elements."""
        builder, shadow = self.builder, self.shadow(value)
        with counted(builder, length_of(builder, shadow)) as index:
            parts = [item_of(builder, v, index, value.static_type.contained[0]) for v in (shadow, gradients)]
            self.set_item(shadow, index, total_of(builder, *parts))

    def change(self, node: Node, totals: Totals) -> bool:
        """Go back through a node that changes or reads a list; False if it does neither."""
        rule = list_changes.get(node.op)
        if rule is None or not node.operands or node.operand(0) not in self:
            return False
        rule(self, node, totals)
        return True


def _has_items_read(value: Value) -> bool:
    return any(use.user.op == "aten::__getitem__" and use.offset == 0 for use in value.uses())


def _root_of(value: Value, writes: Writes) -> Value:
    """Where a list is made. Raises NotDifferentiableError for one that is changed in ways that are not known here."""
    value = source_of(value, _gives_list_back)
    node = value.defining_node
    if not has_real_items(value.static_type):
        raise NotDifferentiableError(f"%{value.name} is a list of other than tensors, floats and such lists")
    for writer in writes.writers(value):
        if writer.op not in list_changes or node is None or not _makes_list(node):
            raise NotDifferentiableError(f"%{value.name} is a list that is changed in a way without derivative")
    return value


def _gives_list_back(node: Node) -> bool:
    """Whether a node gives its first operand, as it is or changed."""
    return is_list_cast(node) or (
        node.op in list_changes and bool(node.results) and node.result().static_type == node.operand(0).static_type
    )


def _makes_list(node: Node) -> bool:
    """Whether the list that a node gives is nobody else's."""
    if node.op == "prim::ListConstruct" or node.op == "prim::tolist":
        return True
    return node.op in list_gradients and node.definition is not None and not node.definition.schema.is_mutable


def _place(value: Value) -> int | None:
    """The place that a constant says, counted from the front, or -1."""
    index = constants.constant_value(value) if constants.is_constant(value) else None
    return index if isinstance(index, int) and index >= -1 else None


@list_changes(CAST)
def _seen_differently(lists: Lists, node: Node, totals: Totals) -> None:
    """The list and what it is seen as have one shadow."""


@list_changes("aten::append")
def _append(lists: Lists, node: Node, totals: Totals) -> None:
    added = node.operand(1)
    last = lists.builder.constant(-1)
    value = lists.graph.insert("aten::pop", [lists.shadow(node.operand(0)), last], [gradient_type(added)]).result()
    lists.builder.sizes.set(value, lists.builder.sizes.of(added))
    totals.add(added, value)


@list_changes("aten::pop")
def _pop(lists: Lists, node: Node, totals: Totals) -> None:
    index = _place(node.operand(1))
    if index is None:
        raise NotDifferentiableError("pop() of an item that is told by a number of the run has no derivative in graphs")
    result = node.result()
    gradient = totals.gradient(result)
    shadow = lists.shadow(node.operand(0))
    complete = zeros(lists.builder, result) if gradient is None else gradient
    if index == -1:
        append(lists.builder, shadow, complete)
    else:
        lists.graph.insert("aten::insert", [shadow, lists.builder.constant(index), complete], [])


@list_changes("aten::insert")
def _insert(lists: Lists, node: Node, totals: Totals) -> None:
    added = node.operand(2)
    if _place(node.operand(1)) != 0:
        raise NotDifferentiableError("insert() at another place than the first has no derivative in graphs")
    first = lists.builder.constant(0)
    value = lists.graph.insert("aten::pop", [lists.shadow(node.operand(0)), first], [gradient_type(added)]).result()
    lists.builder.sizes.set(value, lists.builder.sizes.of(added))
    totals.add(added, value)


@list_changes("aten::extend", "aten::add_")
def _extend(lists: Lists, node: Node, totals: Totals) -> None:
    """The last items of the shadow are the gradients of what was added."""
    builder, graph, shadow = lists.builder, lists.graph, lists.shadow(node.operand(0))
    added = lists.use(node.operand(1))
    length, type_ = length_of(builder, added), shadow.static_type
    minus = builder.constant(-1)
    taken = graph.insert("prim::ListConstruct", (), [type_]).result()
    with counted(builder, length):
        item = graph.insert("aten::pop", [shadow, minus], [type_.contained[0]]).result()
        append(builder, taken, item)
    graph.insert("aten::reverse", [taken], [])
    totals.add(node.operand(1), taken)


@list_changes("aten::reverse")
def _reverse(lists: Lists, node: Node, totals: Totals) -> None:
    lists.graph.insert("aten::reverse", [lists.shadow(node.operand(0))], [])


@list_changes("aten::__getitem__")
def _getitem(lists: Lists, node: Node, totals: Totals) -> None:
    gradient = totals.gradient(node.result())
    if gradient is None:
        return
    shadow, index = lists.shadow(node.operand(0)), lists.use(node.operand(1))
    before = lists.item(shadow, index, node.result())
    lists.set_item(shadow, index, total_of(lists.builder, before, gradient))


@list_changes("aten::_set_item")
def _set_item(lists: Lists, node: Node, totals: Totals) -> None:
    shadow, index, value = lists.shadow(node.operand(0)), lists.use(node.operand(1)), node.operand(2)
    gradient = lists.item(shadow, index, value)
    lists.set_item(shadow, index, zeros(lists.builder, lists.replaced(node)))
    totals.add(value, gradient)
