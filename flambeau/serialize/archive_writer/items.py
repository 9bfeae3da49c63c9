"""Items of tensors in archives, as branches where only the run tells a view from a copy: others have no such operator.

%y = python::item(%x, %l)        %n : bool = ...     # %i has no axes, and is no mask
                                 %y : Tensor = prim::If(%n)
                                   block0():
                            →        %k : int = aten::Int(%i)
                                     -> (aten::select(%x, 0, %k))
                                   block1():
                                     -> (aten::index(%x, %l))

for a list of one tensor. Of several each has such a branch: one that is a number takes its view, at the dimension that
those before it leave, and others are put on a list, by which the rest is indexed.
"""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.analysis.tensor_items import ITEM, MASKS, PART, PLACES, named
from flambeau.ir.clone import clone_graph
from flambeau.ir.constants import insert_constant
from flambeau.ir.graph import Graph, Node, Value
from flambeau.ir.walk import subgraphs
from flambeau.schema.types import BOOL, INT, TENSOR, ListType, OptionalType

INDICES = ListType(OptionalType(TENSOR))


def with_branches_for_items(graph: Graph) -> Graph:
    """The graph with branches in the place of items that tensors name; itself if it has none."""
    if not any(_indices(node) for part in subgraphs(graph) for node in part.listed_nodes()):
        return graph
    copy = clone_graph(graph)
    for part in subgraphs(copy):
        for node in part.listed_nodes():
            indices = _indices(node)
            if indices:
                with part.inserting(node), part.at_range(node.range):
                    node.result().replace_uses_with(_written(part, node, indices))
                node.erase()
    return copy


def _indices(node: Node) -> list[Value | None]:
    """By dimension, the tensors that name an item, None for all of one; empty for other nodes."""
    return (named(node) if node.op in (ITEM, PART, PLACES) else None) or []


def _written(graph: Graph, node: Node, indices: Sequence[Value | None]) -> Value:
    tensors = [(dim, index) for dim, index in enumerate(indices) if index is not None]
    if node.op == ITEM and len(tensors) == 1:
        return _one(graph, node, *tensors[0])
    view = None if node.op == PLACES else node.operand(0)
    listed = None if node.op == PART else graph.insert("prim::ListConstruct", [], [INDICES]).result()
    dim, is_view = insert_constant(graph, 0), insert_constant(graph, True)
    for index in indices:
        if index is None:
            _append(graph, listed, insert_constant(graph, None))
            dim = _sum(graph, dim, insert_constant(graph, 1))
        else:
            dim, is_view, view = _step(graph, index, dim, is_view, view, listed)
    if listed is None:
        assert view is not None
        return view
    branch = graph.insert("prim::If", [is_view], [INDICES if view is None else TENSOR])
    numbers, places = branch.add_block(), branch.add_block()
    with graph.inserting(numbers):
        numbers.add_return(_all(graph) if view is None else view)
    with graph.inserting(places):
        places.add_return(listed if view is None else graph.insert("aten::index", [view, listed]).result())
    return branch.result()


def _step(
    graph: Graph, index: Value, dim: Value, is_view: Value, view: Value | None, listed: Value | None
) -> tuple[Value, Value, Value | None]:
    """Take the view of an index that is a number, or put it on the list: the next dimension, whether all were numbers,
    and the view.
    """
    condition, is_mask = _is_number(graph, index)
    branch = graph.insert("prim::If", [condition], [INT, BOOL, *([] if view is None else [TENSOR])])
    number, rest = branch.add_block(), branch.add_block()
    with graph.inserting(number):
        number.add_return(dim)
        number.add_return(is_view)
        if view is not None:
            number.add_return(_selected(graph, view, dim, index))
    with graph.inserting(rest):
        _append(graph, listed, index)
        axes = graph.insert("aten::dim", [index], [INT]).result()
        taken = graph.insert("prim::If", [is_mask], [INT])
        taken.add_block().add_return(axes)
        one = taken.add_block()
        with graph.inserting(one):
            one.add_return(insert_constant(graph, 1))
        rest.add_return(_sum(graph, dim, taken.result()))
        rest.add_return(insert_constant(graph, False))
        if view is not None:
            rest.add_return(view)
    results = branch.results
    return results[0], results[1], results[2] if view is not None else None


def _one(graph: Graph, node: Node, dim: int, index: Value) -> Value:
    """What one tensor names."""
    tensor, listed = node.operands
    branch = graph.insert("prim::If", [_is_number(graph, index)[0]], [TENSOR])
    view, items = branch.add_block(), branch.add_block()
    with graph.inserting(view):
        view.add_return(_selected(graph, tensor, insert_constant(graph, dim), index))
    with graph.inserting(items):
        items.add_return(graph.insert("aten::index", [tensor, listed]).result())
    return branch.result()


def _is_number(graph: Graph, index: Value) -> tuple[Value, Value]:
    """Whether a tensor is an integer without axes, and whether it is a mask."""
    axes = graph.insert("aten::dim", [index], [INT]).result()
    condition = graph.insert("aten::eq", [axes, insert_constant(graph, 0)], [BOOL]).result()
    dtype = graph.insert("prim::dtype", [index], [INT]).result()
    of_masks = [insert_constant(graph, mask.code) for mask in MASKS]
    first, second = [graph.insert("aten::eq", [dtype, code], [BOOL]).result() for code in of_masks]
    is_mask = graph.insert("aten::__or__", [first, second], [BOOL]).result()
    is_place = graph.insert("aten::__not__", [is_mask], [BOOL]).result()
    return graph.insert("aten::__and__", [condition, is_place], [BOOL]).result(), is_mask


def _selected(graph: Graph, tensor: Value, dim: Value, index: Value) -> Value:
    number = graph.insert("aten::Int", [index], [INT]).result()
    return graph.insert("aten::select", [tensor, dim, number]).result()


def _append(graph: Graph, listed: Value | None, index: Value) -> None:
    if listed is not None:
        graph.insert("aten::append", [listed, index], [INDICES])


def _sum(graph: Graph, a: Value, b: Value) -> Value:
    return graph.insert("aten::add", [a, b], [INT]).result()


def _all(graph: Graph) -> Value:
    """Indices that take a tensor as it is: writes by None alone are refused elsewhere."""
    nothing = insert_constant(graph, None)
    true = graph.insert("aten::tensor", [insert_constant(graph, True), nothing, nothing, insert_constant(graph, False)])
    return graph.insert("prim::ListConstruct", [true.result()], [INDICES]).result()
