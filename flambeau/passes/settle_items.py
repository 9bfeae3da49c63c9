"""Say of items that tensors name whether they are views or copies, where ranks and dtypes tell.

```
%l = prim::ListConstruct(%i, %none)                  %n : int = aten::Int(%i)
%y = python::item(%x, %l)                      →     %y = aten::select(%x, 0, %n)
```

for an integer tensor `%i` without axes. Of indices that have axes it makes `aten::index`.
"""

from __future__ import annotations

from flambeau.analysis.tensor_items import ITEM, MASKS, PART, PLACES, is_number, named
from flambeau.ir.constants import insert_constant
from flambeau.ir.graph import Graph, Node, Value
from flambeau.schema.types import INT, TENSOR, ListType, OptionalType, TensorType

KINDS = (ITEM, PART, PLACES)


def do(graph: Graph) -> bool:
    """Settle every item whose indices are known well enough."""
    changed = False
    for node in [n for n in graph.listed_nodes() if n.op in KINDS]:
        indices = named(node)
        if indices is not None and _is_settled(indices):
            with graph.inserting(node):
                new = _settled(graph, node, indices)
            new.set_type(node.result().static_type)
            node.result().replace_uses_with(new)
            node.erase()
            changed = True
    return changed


def _is_settled(indices: list[Value | None]) -> bool:
    """Whether it is known which indices are numbers, and at which dimensions these are."""
    kinds = [is_number(p) for p in indices if p is not None]
    if None in kinds:
        return False
    return True not in kinds or all(_is_known(p) for p in indices if p is not None)


def _is_known(index: Value) -> bool:
    return isinstance(index.static_type, TensorType) and None not in (index.static_type.dtype, index.static_type.sizes)


def _settled(graph: Graph, node: Node, indices: list[Value | None]) -> Value:
    """What stands for a node of one of the kinds."""
    rest = [index for index in indices if index is None or not is_number(index)] or [None]
    if node.op == PLACES:
        return _listed(graph, node, rest)
    view, dim = node.operand(0), 0
    for index in indices:
        if index is not None and is_number(index):
            at = _like(node, graph.insert("aten::Int", [index], [INT]))
            view = _like(node, graph.insert("aten::select", [view, insert_constant(graph, dim), at]))
        else:
            dim += _dimensions(index)
    if node.op == ITEM and any(index is not None for index in rest):
        return _like(node, graph.insert("aten::index", [view, _listed(graph, node, rest)]))
    return _like(node, graph.insert("aten::alias", [view])) if view is node.operand(0) else view


def _listed(graph: Graph, node: Node, indices: list[Value | None]) -> Value:
    values = [insert_constant(graph, None) if index is None else index for index in indices]
    return _like(node, graph.insert("prim::ListConstruct", values, [ListType(OptionalType(TENSOR))]))


def _like(node: Node, new: Node) -> Value:
    """The value of a node that stands for part of another."""
    new.range, new.call_chain = node.range, node.call_chain
    return new.result()


def _dimensions(index: Value | None) -> int:
    """How many dimensions of the tensor an index stands for, one that is no number."""
    if index is None:
        return 1
    type_ = index.static_type
    assert isinstance(type_, TensorType)
    return len(type_.sizes or ()) if type_.dtype in MASKS else 1
