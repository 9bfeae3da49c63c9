"""Few iterations of a loop that is native by itself, interpreted where the loop is: a call would take longer.

```
                                        %few : bool = aten::lt(%n, %limit)
                                        %r : int = prim::If(%few)
%r : int = prim::NativeRegion(%n)   →     block0():
                                            %s : int = prim::Loop(%n, %true, %zero) ...
                                            -> (%s)
                                          block1():
                                            %t : int = prim::NativeRegion(%n)
                                            -> (%t)
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from flambeau.ir.clone import insert_graph
from flambeau.ir.constants import insert_constant
from flambeau.ir.graph import Graph, Node, Value
from flambeau.ir.walk import nodes_within
from flambeau.schema.types import BOOL

WORTHWHILE: Final = 128
"""Nodes that a loop runs in all its iterations from which on native code makes up for the call of it."""


def interpret_few(group: Node, body: Graph) -> Iterator[Node]:
    """Have a region's loop be interpreted for few iterations, if what says how many goes in; its loop as it then is.

    Not where loops are within the loop, or where few would be one.
    """
    loops = [n for n in body.listed_nodes() if n.op == "prim::Loop"]
    if len(loops) != 1:
        return
    few = -(-WORTHWHILE // sum(1 for _ in nodes_within(loops[0])))
    counts = [operand for v, operand in zip(body.parameters, group.operands, strict=True) if v is loops[0].operand(0)]
    if counts and few > 1:
        branch = _branch(group, counts[0], few)
        interpreted = branch.nested_blocks[0]
        with group.graph.inserting(interpreted):
            for value in insert_graph(group.graph, body, group.operands):
                interpreted.add_return(value)
        yield from (n for n in interpreted if n.op == "prim::Loop")


def _branch(group: Node, count: Value, few: int) -> Node:
    """A branch on whether a count is below `few`, with an empty block, and the group in the other."""
    graph = group.graph
    with graph.inserting(group):
        limit = insert_constant(graph, few)
        is_few = graph.insert("aten::lt", (count, limit), (BOOL,))
        branch = graph.insert("prim::If", (is_few.result(),), [v.static_type for v in group.results])
    for added in (is_few, branch):
        added.copy_metadata(group)
    for old, new in zip(group.results, branch.results, strict=True):
        old.replace_uses_with(new)
    branch.add_block()
    native = branch.add_block()
    group.move_before(native.return_node)
    for value in group.results:
        native.add_return(value)
    return branch
