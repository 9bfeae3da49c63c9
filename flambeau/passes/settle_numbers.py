"""Say of numbers whether they are ints, floats or bools, where that follows from the dtype of a tensor.

```
%p : Scalar = aten::item(%x)                         %p : float = aten::Float(%x)
%q : Scalar = aten::add(%p, %n)               →      %q : float = aten::add(%p, %n)
```

for `%x` of a floating point dtype and an int `%n`. What goes round a loop is taken for what it starts as, until
something else comes round.
"""

from __future__ import annotations

from collections.abc import Iterable

from flambeau.ir.graph import Graph, Node, Value
from flambeau.schema.dtype import Category
from flambeau.schema.types import BOOL, FLOAT, INT, NUMBER, NumberType, TensorType, Type

ITEM = "aten::item"
IMPLICIT = "aten::ScalarImplicit"
"""The same of a tensor without axes, which traces are full of: sizes that were tensors for a while."""
KINDS = (ITEM, IMPLICIT)
_NUMBERS = {
    Category.BOOL: (BOOL, "aten::Bool"),
    Category.INTEGER: (INT, "aten::Int"),
    Category.FLOAT: (FLOAT, "aten::Float"),
}


def do(graph: Graph) -> bool:
    """Settle every number that stems from elements of known dtype."""
    nodes = [*graph.find_all(ITEM), *graph.find_all(IMPLICIT)]
    items = [(node, as_number) for node in nodes if (as_number := _conversion(node)) is not None]
    if not items:
        return False
    _Numbers(graph).settle()
    for node, (type_, conversion) in items:
        with graph.inserting(node):
            number = graph.insert(conversion, (node.operand(0),), (type_,))
        number.range, number.call_chain = node.range, node.call_chain
        node.result().replace_uses_with(number.result())
        node.erase()
    return True


def _conversion(node: Node) -> tuple[Type, str] | None:
    """What the number of an element is, and the operator that gives it as that."""
    type_ = node.operand(0).static_type
    if not isinstance(type_, TensorType) or type_.dtype is None:
        return None
    if node.op == IMPLICIT and (type_.sizes != () or type_.requires_grad is not False):
        return None  # it may have to be refused
    return _NUMBERS.get(type_.dtype.category)


class _Numbers:
    """The numbers of a graph: not known yet, of a known type, or of several."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        defined = (v for node in graph.listed_nodes() for v in _defined(node))
        self._open = {v for v in defined if isinstance(v.static_type, NumberType)}
        self._mixed: set[Value] = {v for v in graph.parameters if isinstance(v.static_type, NumberType)}

    def settle(self) -> None:
        """Follow the numbers until nothing changes."""
        changed = True
        while changed:
            changed = False
            for node in self._graph.listed_nodes():
                for value in _defined(node):
                    if value in self._open:
                        changed |= self._note(value, self._types(node, value))

    def _note(self, value: Value, types: set[Type]) -> bool:
        """Say what a value is; whether that is new."""
        if not isinstance(value.static_type, NumberType):
            types.add(value.static_type)
        if not types or types == {value.static_type}:
            return False
        if len(types) > 1 or NUMBER in types:
            self._mixed.add(value)
            self._open.remove(value)
            value.set_type(NUMBER)
        else:
            value.set_type(types.pop())
        return True

    def _types(self, node: Node, value: Value) -> set[Type]:
        """What a value that a node defines may be: nothing as long as that is not known."""
        if node.op == "prim::Loop":
            (body,) = node.nested_blocks
            index = value.index + 1 if value.defining_node is node else value.index
            return self._of((body.parameters[index], node.operand(index + 1), body.returns[index]))
        if node.op == "prim::If":
            return self._of([block.returns[value.index] for block in node.nested_blocks])
        if node.op in (ITEM, IMPLICIT):
            conversion = _conversion(node)
            return {NUMBER if conversion is None else conversion[0]}
        if any(self._is_open(v) for v in node.operands) and value not in self._mixed:
            return set()
        definition = node.definition
        declared = definition.schema.returns[value.index].type if definition is not None else NUMBER
        return {declared if declared in (INT, FLOAT, BOOL) else NUMBER}

    def _of(self, ways: Iterable[Value]) -> set[Type]:
        return {v.static_type for v in ways if not self._is_open(v)}

    def _is_open(self, value: Value) -> bool:
        return value in self._open and isinstance(value.static_type, NumberType)


def _defined(node: Node) -> list[Value]:
    return [*node.results, *(v for block in node.nested_blocks for v in block.parameters)]
