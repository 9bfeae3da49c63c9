"""Make a group of each operator that a routine computes, such as a convolution.

```
%a : Float(*, *, *, *) = aten::conv2d(%x, %w, %b, ...)   →   %a : Float(*, *, *, *) = prim::FusionGroup_0(%x, %w, %b)
```

A routine is native code that was compiled before any program came. It takes tensors; all else it is told must be
constant, and becomes part of the group.
"""

from __future__ import annotations

from flambeau.ir.constants import insert_constant, is_none
from flambeau.ir.graph import Graph, Node
from flambeau.passes.fuse import GROUP
from flambeau.passes.fusible import Fusible
from flambeau.passes.outline import outline
from flambeau.schema.types import NoneType


def do(graph: Graph) -> bool:
    """Make a group of every node whose operator has a routine, in every block."""
    fusible = Fusible(graph)
    found = [n for n in graph.all_nodes() if fusible.is_routine(n)]
    for node in found:
        _name_what_is_none(graph, node)
        outline([node], GROUP)
    return bool(found)


def routine_of(graph: Graph) -> str:
    """The operator whose routine computes a group; empty for a group that has a kernel of its own."""
    for node in graph.nodes():
        if node.definition is not None and node.definition.traits.has_routine:
            return node.op
    return ""


def _name_what_is_none(graph: Graph, node: Node) -> None:
    """Give a node constants for what is None by its type alone, such as a bias that a module does not have."""
    for place, value in enumerate(node.operands):
        if isinstance(value.static_type, NoneType) and not is_none(value):
            with graph.inserting(node):
                node.replace_operand(place, insert_constant(graph, None))
