"""Items of tensors in archives, as branches where only the run tells a view from a copy: others have no such operator.

%y = python::item(%x, %l)        %n : bool = ...     # %i has no axes, and is no mask
                                 %y : Tensor = prim::If(%n)
                                   block0():
                            →        %k : int = aten::Int(%i)
                                     -> (aten::select(%x, 0, %k))
                                   block1():
                                     -> (aten::index(%x, %l))

for a list of one tensor. What several tensors name stays.
"""

from __future__ import annotations

from flambeau.analysis.tensor_items import ITEM, MASKS, named
from flambeau.ir.clone import clone_graph
from flambeau.ir.constants import insert_constant
from flambeau.ir.graph import Graph, Node, Value
from flambeau.ir.walk import subgraphs
from flambeau.schema.types import BOOL, INT, TENSOR


def with_branches_for_items(graph: Graph) -> Graph:
    """The graph with branches in the place of items that one tensor names; itself if it has none."""
    if not any(_index(node) for part in subgraphs(graph) for node in part.listed_nodes()):
        return graph
    copy = clone_graph(graph)
    for part in subgraphs(copy):
        for node in part.listed_nodes():
            index = _index(node)
            if index is not None:
                with part.inserting(node), part.at_range(node.range):
                    node.result().replace_uses_with(_branch(part, node, *index))
                node.erase()
    return copy


def _index(node: Node) -> tuple[int, Value] | None:
    """The dimension and the tensor of an item that one tensor names; None for other nodes."""
    indices = named(node) if node.op == ITEM else None
    tensors = [(dim, index) for dim, index in enumerate(indices or ()) if index is not None]
    return tensors[0] if len(tensors) == 1 else None


def _branch(graph: Graph, node: Node, dim: int, index: Value) -> Value:
    tensor, listed = node.operands
    axes = graph.insert("aten::dim", [index], [INT]).result()
    condition = graph.insert("aten::eq", [axes, insert_constant(graph, 0)], [BOOL]).result()
    dtype = graph.insert("prim::dtype", [index], [INT]).result()
    for mask in MASKS:
        differs = graph.insert("aten::ne", [dtype, insert_constant(graph, mask.code)], [BOOL]).result()
        condition = graph.insert("aten::__and__", [condition, differs], [BOOL]).result()
    branch = graph.insert("prim::If", [condition], [TENSOR])
    view, items = branch.add_block(), branch.add_block()
    with graph.inserting(view):
        number = graph.insert("aten::Int", [index], [INT]).result()
        view.add_return(graph.insert("aten::select", [tensor, insert_constant(graph, dim), number]).result())
    with graph.inserting(items):
        items.add_return(graph.insert("aten::index", [tensor, listed]).result())
    return branch.result()
