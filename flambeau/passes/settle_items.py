"""Say of items that tensors name whether they are views or copies, where ranks and dtypes tell.

```
%l = prim::ListConstruct(%i, %none)                  %n : int = aten::Int(%i)
%y = python::item(%x, %l)                      →     %y = aten::select(%x, 0, %n)
```

for an integer tensor `%i` without axes. Of places that have axes it makes `aten::index`.
"""

from __future__ import annotations

from flambeau.analysis.tensor_items import ITEM, MASKS, PART, PLACES, is_number, named
from flambeau.ir.constants import insert_constant
from flambeau.ir.graph import Graph, Node, Value
from flambeau.schema.types import INT, TENSOR, ListType, OptionalType, TensorType

KINDS = (ITEM, PART, PLACES)


def do(graph: Graph) -> bool:
    """Settle every item whose places are known well enough."""
    changed = False
    for node in [n for n in graph.listed_nodes() if n.op in KINDS]:
        places = named(node)
        if places is not None and _is_settled(places):
            with graph.inserting(node):
                new = _settled(graph, node, places)
            new.set_type(node.result().static_type)
            node.result().replace_uses_with(new)
            node.erase()
            changed = True
    return changed


def _is_settled(places: list[Value | None]) -> bool:
    """Whether it is known which places are numbers, and at which dimensions these are."""
    kinds = [is_number(p) for p in places if p is not None]
    if None in kinds:
        return False
    return True not in kinds or all(_is_known(p) for p in places if p is not None)


def _is_known(place: Value) -> bool:
    return isinstance(place.static_type, TensorType) and None not in (place.static_type.dtype, place.static_type.sizes)


def _settled(graph: Graph, node: Node, places: list[Value | None]) -> Value:
    """What stands for a node of one of the kinds."""
    rest = [index for index in places if index is None or not is_number(index)] or [None]
    if node.op == PLACES:
        return _listed(graph, node, rest)
    view, dim = node.operand(0), 0
    for index in places:
        if index is not None and is_number(index):
            at = _like(node, graph.insert("aten::Int", [index], [INT]))
            view = _like(node, graph.insert("aten::select", [view, insert_constant(graph, dim), at]))
        else:
            dim += _dimensions(index)
    if node.op == ITEM and any(index is not None for index in rest):
        return _like(node, graph.insert("aten::index", [view, _listed(graph, node, rest)]))
    return _like(node, graph.insert("aten::alias", [view])) if view is node.operand(0) else view


def _listed(graph: Graph, node: Node, places: list[Value | None]) -> Value:
    values = [insert_constant(graph, None) if index is None else index for index in places]
    return _like(node, graph.insert("prim::ListConstruct", values, [ListType(OptionalType(TENSOR))]))


def _like(node: Node, made: Node) -> Value:
    """The value of a node that stands for part of another."""
    made.range, made.call_chain = node.range, node.call_chain
    return made.result()


def _dimensions(place: Value | None) -> int:
    """How many dimensions of the tensor a place stands for, one that is no number."""
    if place is None:
        return 1
    type_ = place.static_type
    assert isinstance(type_, TensorType)
    return len(type_.sizes or ()) if type_.dtype in MASKS else 1
