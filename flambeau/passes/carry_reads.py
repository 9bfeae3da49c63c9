"""Carry an element that one iteration of a loop reads, and that the next reads again, as a number.

```
%1 : int = aten::Int(aten::select(%x, 0, %a))     %1 : int = aten::Int(aten::select(%x, 0, %a))
%r = prim::Loop(%n, %c, %a)                       %r, %2 = prim::Loop(%n, %c, %a, %1)
  block0(%i : int, %p : int):                       block0(%i : int, %p : int, %q : int):
    %e : int = aten::Int(aten::select(%x, 0, %p))     %f : int = aten::Int(aten::select(%x, 0, %q))
    %f : int = aten::Int(aten::select(%x, 0, %e)) →   %d : bool = aten::ne(%f, %q)
    %d : bool = aten::ne(%f, %e)                      -> (%d, %q, %f)
    -> (%d, %e)
```

So is `while parent[a] != a: a = parent[a]`, whose condition reads what the body reads next. Nothing in the loop may
write to the elements.
"""

from __future__ import annotations

from typing import Final

from flambeau.analysis.alias import AliasAnalysis
from flambeau.analysis.manager import alias_analysis
from flambeau.analysis.memory import any_overlap
from flambeau.ir import constants
from flambeau.ir.graph import Block, Graph, Node, Value
from flambeau.ir.walk import is_visible

READS: Final = ("aten::Int", "aten::Float", "aten::Bool")
"""What makes numbers of elements."""


def do(graph: Graph) -> bool:
    """Carry what can be carried, in all loops."""
    loops = graph.find_all("prim::Loop")
    if not loops:
        return False
    aliases = alias_analysis(graph)
    reads = [(loop, read) for loop in loops for read in loop.nested_blocks[0] if read.op in READS]
    changed = False
    for loop, read in reads:
        changed = _carry(loop, read, aliases) or changed
    return changed


def _carry(loop: Node, read: Node, aliases: AliasAnalysis) -> bool:
    """Carry what a node of the body reads, where it is read before the loop and at the end of each iteration."""
    body = loop.nested_blocks[0]
    select = _selected(read, body)
    if select is None or select.operand(2) not in body.parameters[1:] or not is_visible(select.operand(0), loop):
        return False
    index = list(body.parameters).index(select.operand(2))
    first = _same_read(read, select, loop.operand(index + 1), loop.owner_block)
    again = _same_read(read, select, body.returns[index], body)
    if first is None or again is None or again is read or not first.is_before(loop):
        return False
    elements = aliases.reads(read)
    between = first.next
    while between is not None and between is not loop:
        if any_overlap(aliases.writes(between), elements):
            return False
        between = between.next
    if any_overlap(aliases.writes(loop), elements):
        return False
    type_ = read.result().static_type
    loop.add_operand(first.result())
    body.add_return(again.result())
    loop.add_result(type_)
    read.result().replace_uses_with(body.add_parameter(type_))
    return True


def _selected(read: Node, block: Block) -> Node | None:
    """What selects the element that a node of a block makes a number of, in the same block."""
    select = read.operand(0).defining_node
    return select if select is not None and select.op == "aten::select" and select.owner_block is block else None


def _same_read(read: Node, select: Node, index: Value, block: Block) -> Node | None:
    """A node of a block that reads what another reads, but at this index."""
    for use in index.uses():
        other = use.user
        if other.op == "aten::select" and use.offset == 2 and _is_alike(select, other) and other.owner_block is block:
            readers = (u.user for u in other.result().uses() if u.user.op == read.op)
            reader = next((r for r in readers if r.owner_block is block), None)
            if reader is not None:
                return reader
    return None


def _is_alike(one: Node, other: Node) -> bool:
    """Whether two nodes select from one tensor along one axis."""
    axes = one.operand(1), other.operand(1)
    if one.operand(0) is not other.operand(0) or not all(map(constants.is_constant, axes)):
        return False
    return bool(constants.constant_value(axes[0]) == constants.constant_value(axes[1]))
