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
    return of_tensors or not any(_holds_tensors(v.static_type) for v in (*node.operands, *node.results))


def _holds_tensors(type_: Type) -> bool:
    return isinstance(type_, TensorType) or any(map(_holds_tensors, type_.contained))
