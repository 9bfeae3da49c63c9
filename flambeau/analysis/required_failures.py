"""Marks what runs for its error alone.

```
def f(d: Dict[str, int], k: str):          %v : int = aten::__getitem__(%d, %k)    # marked as required
    d[k]                              →    return (%one)
    return 1
```

Python runs what a program says, whether or not anybody uses what comes of it. So of a graph as its program was written
everything stays that may fail; what passes leave behind is nobody's, and goes. Operators of tensors go too, as in
TorchScript, but for those of functions of arrays.
"""

from __future__ import annotations

from typing import Final

from flambeau.analysis.effects import own_may_raise
from flambeau.analysis.liveness import Liveness
from flambeau.ir.constants import CONSTANT
from flambeau.ir.graph import Graph, Node
from flambeau.ir.kinds import REQUIRED
from flambeau.ir.printer import SUBGRAPH
from flambeau.schema.traits import Role
from flambeau.schema.types import TensorType, Type

_MAY_FAIL: Final = frozenset({"prim::ListUnpack", "prim::TupleIndex"})
"""Kinds without a declaration that fail for lists of other lengths, and for indexes that are not there."""


def mark(graph: Graph, *, of_tensors: bool = False) -> None:
    """Mark what nobody needs and may fail, at every depth and in subgraphs; with `of_tensors` operators of tensors too.

    >>> from flambeau.ir import parse_ir
    >>> graph = parse_ir("graph(%a : int, %b : int):\\n  %c : int = aten::floordiv(%a, %b)\\n  return (%a)")
    >>> mark(graph)
    >>> REQUIRED in graph.find("aten::floordiv").attributes
    True
    """
    nodes = graph.listed_nodes()
    for node in nodes:
        inner = node.attributes.get(SUBGRAPH)
        if isinstance(inner, Graph):
            mark(inner, of_tensors=of_tensors)
    if not any(map(_may_be_unneeded, nodes)):
        return
    liveness = Liveness(graph, nodes)
    for node in reversed(nodes):  # those before may be needed by it
        if node not in liveness.nodes and _is_written_to_fail(node, of_tensors):
            node.attributes[REQUIRED] = True
            liveness.require(node)


def _may_be_unneeded(node: Node) -> bool:
    """Whether nobody uses one of the results: the last of what is computed for nobody has such, or none at all."""
    if not node.results:
        return node.definition is not None
    return node.op != CONSTANT and not all(value.is_used for value in node.results)


def _is_written_to_fail(node: Node, of_tensors: bool) -> bool:
    if node.op not in _MAY_FAIL and (node.definition is None or not own_may_raise(node)):
        return False
    if _is_item_of_loop(node):
        return False
    return of_tensors or not any(_holds_tensors(v.static_type) for v in (*node.operands, *node.results))


def _is_item_of_loop(node: Node) -> bool:
    """Whether it takes the item that a loop over a list, a text or an array has come to, as `for _ in x` does, or makes
    a number of that.
    """
    at = _index_operand(node)
    if at is None:
        is_cast = node.definition is not None and node.definition.traits.role is Role.NUMBER_CAST
        item = node.operand(0).defining_node if is_cast else None
        return item is not None and _index_operand(item) is not None and _is_item_of_loop(item)
    index = node.operand(at)
    loop = index.owner_block.owner_node if index.defining_node is None else None
    if loop is None or loop.op != "prim::Loop" or index is not loop.nested_blocks[0].parameters[0]:
        return False
    lengths = _lengths(loop.operand(0).defining_node)
    return any(n is not None and _is_length(n) and n.operand(0) is node.operand(0) for n in lengths)


def _index_operand(node: Node) -> int | None:
    """Which operand says which item an operator takes; None for what takes none."""
    if node.op == "aten::__getitem__":
        return 1
    return 2 if node.op == "aten::select" else None


def _is_length(node: Node) -> bool:
    return node.op == "aten::len" or node.op == "aten::size"


def _lengths(count: Node | None) -> list[Node | None]:
    """What says how often a loop runs: a length, or those of all that `zip` goes over."""
    if count is None or count.op != "prim::min":
        return [count]
    several = count.operand(0).defining_node
    return [v.defining_node for v in (count.operands if several is None else several.operands)]


def _holds_tensors(type_: Type) -> bool:
    return isinstance(type_, TensorType) or any(map(_holds_tensors, type_.contained))
