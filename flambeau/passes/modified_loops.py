"""Loops that count and test, as `for` with a `break` gives, become loops that only test: the form that source code has.

```
%y = prim::Loop(%n, %true, %x)                  %c : bool = aten::gt(%n, %0)
  block0(%i : int, %a):                 →       %y, %i.1 : int = prim::Loop(%max, %c, %x, %0)
    ...                                           block0(%unused : int, %a, %i : int):
    -> (%go, %b)                                    ...
                                                    %next : int = aten::add(%i, %1)
                                                    %more : bool = aten::lt(%next, %n)
                                                    %again : bool = aten::__and__(%more, %go)
                                                    -> (%again, %b, %next)
```
"""

from __future__ import annotations

from typing import Final

from flambeau.ir.constants import constant_value, insert_constant, is_constant, is_true
from flambeau.ir.graph import Block, Graph, Node, Value
from flambeau.ir.printer import SUBGRAPH
from flambeau.schema.types import BOOL, INT

LOOP: Final = "prim::Loop"
NO_LIMIT: Final = 2**63 - 1
"""The trip count of a loop that only its condition ends."""


def do(graph: Graph) -> bool:
    """Rewrite every such loop, at every depth. Returns whether there was one."""
    changed = False
    for node in graph.listed_nodes():
        inner = node.attributes.get(SUBGRAPH)
        if isinstance(inner, Graph):
            changed = do(inner) or changed
        if is_modified(node):
            _rewrite(node)
            changed = True
    return changed


def is_modified(node: Node) -> bool:
    """Whether a node is a loop that has both a trip count and a condition."""
    return node.op == LOOP and counts(node) and not _always(node)


def counts(loop: Node) -> bool:
    """Whether a loop has a limit or reads its counter."""
    limit = constant_value(loop.operand(0)) if is_constant(loop.operand(0)) else None
    return limit != NO_LIMIT or loop.nested_blocks[0].parameters[0].is_used


def _always(loop: Node) -> bool:
    """Whether a loop's condition is constantly true."""
    return is_true(loop.operand(1)) and is_true(loop.nested_blocks[0].returns[0])


def _rewrite(loop: Node) -> None:
    graph, (block,) = loop.graph, loop.nested_blocks
    limit, condition = loop.operand(0), loop.operand(1)
    with graph.inserting(loop), graph.at_range(loop.range):
        zero = insert_constant(graph, 0)
        first = graph.insert("aten::gt", (limit, zero), (BOOL,)).result()
        if not is_true(condition):
            first = graph.insert("aten::__and__", (first, condition), (BOOL,)).result()
        no_limit = insert_constant(graph, NO_LIMIT)
    counter = block.add_parameter(INT)
    block.parameters[0].replace_uses_with(counter)
    name = block.parameters[0].name if block.parameters[0].has_name else ""
    graph.rename(block.parameters[0], "")
    graph.rename(counter, name)
    following, again = _next_round(block, counter, limit, loop)
    block.return_node.replace_operand(0, again)
    block.add_return(following)
    loop.replace_operand(0, no_limit)
    loop.replace_operand(1, first)
    loop.add_operand(zero)
    loop.add_result(INT, name)


def _next_round(block: Block, counter: Value, limit: Value, loop: Node) -> tuple[Value, Value]:
    """The next count, and whether there is another iteration."""
    graph, go = block.graph, block.returns[0]
    with graph.inserting(block), graph.at_range(loop.range):
        one = insert_constant(graph, 1)
        following = graph.insert("aten::add", (counter, one), (INT,)).result()
        more = graph.insert("aten::lt", (following, limit), (BOOL,)).result()
        if is_true(go):
            return following, more
        return following, graph.insert("aten::__and__", (more, go), (BOOL,)).result()
