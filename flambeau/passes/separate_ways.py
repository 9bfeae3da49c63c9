"""Go on apart where a tensor has one rank on one way and another rank on the other, so that each is known.

```
%h : Tensor = prim::If(%again)                   %y : Float(1, *) = prim::If(%again)
  block0():                                        block0():
    %a : Float(0) = aten::zeros(%none)               %a : Float(0) = aten::zeros(%none)
    -> (%a)                                 →        %y0 : Float(1, *) = aten::cat(...)
  block1():                                          -> (%y0)
    -> (%x)                                        block1():
%y : Tensor = aten::cat(...)                         %y1 : Float(1, *) = aten::cat(...)
return (%y)                                          -> (%y1)
                                                 return (%y)
```

Native code holds tensors of known dtype and rank. What follows the branch in its block is there once for each way
then, and what the way tells is followed up. A `squeeze` of an axis whose size only the run tells is such a branch.
Nothing is done where the tensor itself leaves the block, and where the graph would become too large.
"""

from __future__ import annotations

from typing import Final

from flambeau.analysis import shapes
from flambeau.analysis.manager import forget_analyses
from flambeau.ir import constants
from flambeau.ir.clone import Copies, clone_node
from flambeau.ir.graph import Block, Graph, Node, Value
from flambeau.ir.walk import blocks
from flambeau.passes import constant_propagation, dce, peephole
from flambeau.schema.types import BOOL, INT, TENSOR, IntType, TensorType, Type

MOST_TIMES: Final = 8
"""Times that ways are separated, with what the last time has told."""
MOST_ROUNDS: Final = 4
"""What a way tells may tell more, but each round goes over the whole graph."""
MOST_NODES: Final = 2048
"""Nodes that a graph may have for it."""


def do(graph: Graph) -> bool:
    """Separate ways, those that nothing before them tells more of together, each time with what the last have told;
    whether there was any.
    """
    changed = False
    for _ in range(MOST_TIMES):
        separable, left = [], MOST_NODES - sum(1 for _ in graph.listed_nodes())
        behind: set[Node] = set()
        for node in graph.listed_nodes():
            if (_differs(node) or _may_differ(node)) and not _is_behind(node, behind):
                left -= _count(node)
                separable.append(node)
                behind.add(node)
        if not separable or left < 0:
            break
        for node in separable:
            _separate(node if node.op == "prim::If" else _by_size(graph, node))
        _follow_up(graph)
        changed = True
    return changed


def _is_behind(node: Node, others: set[Node]) -> bool:
    """Whether a node, or one around it, follows one of others in its block, or is one."""
    current: Node | None = node
    while current is not None:
        before: Node | None = current
        while before is not None:
            if before in others:
                return True
            before = before.previous
        current = current.owner_block.owner_node
    return False


def _may_differ(node: Node) -> bool:
    """Whether a node is a squeeze of one axis of a tensor of known rank, whose own rank is not known."""
    if node.op != "aten::squeeze" or len(node.operands) != 2 or not constants.is_constant(node.operand(1)):
        return False
    before, after = node.operand(0).static_type, node.result().static_type
    is_open = isinstance(before, TensorType) and before.rank and isinstance(after, TensorType) and after.sizes is None
    is_int = isinstance(node.operand(1).static_type, IntType)
    return bool(is_open) and is_int and node.result().is_used and node.result() not in node.owner_block.returns


def _by_size(graph: Graph, node: Node) -> Node:
    """A squeeze as a branch: the only slice of the axis, or the tensor as it is."""
    tensor, axis = node.operands
    with graph.inserting(node), graph.at_range(node.range):
        size = graph.insert("aten::size", [tensor, axis], [INT]).result()
        is_one = graph.insert("aten::eq", [size, constants.insert_constant(graph, 1)], [BOOL]).result()
        first = constants.insert_constant(graph, 0)
        branch = graph.insert("prim::If", [is_one], [TENSOR])
        for op, operands in (("aten::select", [tensor, axis, first]), ("aten::alias", [tensor])):
            way = branch.add_block()
            with graph.inserting(way):
                way.add_return(graph.insert(op, operands, [TENSOR]).result())
    node.result().replace_uses_with(branch.result())
    node.erase()
    return branch


def _differs(node: Node) -> bool:
    """Whether a result is a tensor of one dtype and rank on one way, of others on the other, and stays in its block."""
    if node.op != "prim::If":
        return False
    ways = zip(node.results, *(block.returns for block in node.nested_blocks), strict=True)
    differing = [value for value, *own in ways if value.is_used and _are_unlike(*(v.static_type for v in own))]
    return bool(differing) and not set(differing) & set(node.owner_block.returns)


def _are_unlike(one: Type, other: Type) -> bool:
    if not isinstance(one, TensorType) or not isinstance(other, TensorType):
        return False
    if None in (one.dtype, other.dtype, one.sizes, other.sizes):
        return False
    return (one.dtype, one.rank) != (other.dtype, other.rank)


def _behind(node: Node) -> list[Node]:
    """The nodes of its block that follow a node."""
    behind: list[Node] = []
    current = node.next
    while current is not None:
        behind.append(current)
        current = current.next
    return behind


def _count(node: Node) -> int:
    """How many nodes follow a node, with those nested in them."""
    return sum(_size(n) for n in _behind(node))


def _size(node: Node) -> int:
    return 1 + sum(_size(n) for block in node.nested_blocks for n in block)


def _separate(node: Node) -> None:
    """Put what follows a branch into each of its ways; it gives what the block around it is left with."""
    block, rest = node.owner_block, _behind(node)
    results = {v for n in (node, *rest) for v in n.results}
    left = [v for v in dict.fromkeys(block.returns) if v in results]
    count = len(node.results)
    for way in node.nested_blocks:
        _go_on(way, node, rest, left)
    for value in left:
        value.replace_uses_with(node.add_result(value.static_type))
    for each in reversed(rest):
        each.erase()
    for number in reversed(range(count)):
        for way in node.nested_blocks:
            way.remove_return(number)
        node.remove_result(number)


def _go_on(way: Block, branch: Node, rest: list[Node], left: list[Value]) -> None:
    """Append copies of nodes to a way of a branch, which gives what is `left` besides."""
    copies: Copies = dict(zip(branch.results, way.returns, strict=True))
    for node in rest:
        way.append(clone_node(node, way.graph, copies))
    for value in left:
        way.add_return(copies[value])


def _follow_up(graph: Graph) -> None:
    """Find out what each way tells now."""
    for _ in range(MOST_ROUNDS):
        forget_analyses(graph)
        shapes.propagate(graph)
        changed = peephole.do(graph)
        forget_analyses(graph)
        changed |= constant_propagation.do(graph, by_types=True)
        changed |= _stop_at_errors(graph)
        if not changed:
            break
    dce.do(graph)
    forget_analyses(graph)


def _stop_at_errors(graph: Graph) -> bool:
    """Remove what is behind an error that a way always ends with; whether there was any."""
    changed = False
    for block in list(blocks(graph.body))[::-1]:  # those within come first
        last = next((n for n in block if _always_fails(n)), None)
        if last is None or block.owner_node is None or block.owner_node.op != "prim::If":
            continue
        rest = [n for n in _behind(last) if n.op not in ("prim::Constant", "prim::Uninitialized")]
        if rest and not (last.op == "prim::If" and _is_raise(rest[0])):
            _end_at(graph, block, last)
            changed = True
    return changed


def _is_raise(node: Node) -> bool:
    return node.op == "prim::RaiseException"


def _always_fails(node: Node) -> bool:
    """Whether a node raises, whichever way it goes."""
    if node.op == "prim::If":
        return all(any(map(_always_fails, way)) for way in node.nested_blocks)
    return _is_raise(node)


def _end_at(graph: Graph, block: Block, last: Node) -> None:
    """Leave a way of a branch without what follows a node of it that always fails."""
    returns = [v.static_type for v in block.returns]
    for number in reversed(range(len(returns))):
        block.remove_return(number)
    for each in reversed(_behind(last)):
        each.erase()
    with graph.inserting(block), graph.at_range(last.range):
        if last.op == "prim::If":
            words = [constants.insert_constant(graph, "unreachable"), constants.insert_constant(graph, None)]
            graph.insert("prim::RaiseException", words, ())
        for type_ in returns:
            block.add_return(graph.insert("prim::Uninitialized", (), [type_]).result())
