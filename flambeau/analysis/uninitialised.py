"""Which values may not be what their types say: those that come, some way, from `prim::Uninitialized`, and those that
a condition has shown to be of a type.

A program never looks at such a value on the ways on which it is something else, so no operator may run earlier than the
program has it run, if one of its operands is such a value.
"""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.ir import kinds
from flambeau.ir.graph import RETURN, Graph, Node, Value

_SOURCES = frozenset({"prim::Uninitialized", "prim::unchecked_cast", "prim::unchecked_unwrap_optional"})


def may_be_uninitialised(graph: Graph) -> set[Value]:
    """The values that may be nothing, or None: followed through branches, loops and tuples until there are no more."""
    uninitialised = {v for n in graph.listed_nodes() if n.op in _SOURCES for v in n.results}
    waiting = list(uninitialised)
    while waiting:
        for user, offset in waiting.pop().uses():
            fresh = [v for v in _receivers(user, offset) if v not in uninitialised]
            uninitialised.update(fresh)
            waiting += fresh
    return uninitialised


def _receivers(user: Node, offset: int) -> Sequence[Value]:
    """The values that an operand becomes, or becomes part of, without being looked at."""
    if user.op == "prim::Loop" and offset >= 2:
        return (user.result(offset - 2), user.nested_blocks[0].parameters[offset - 1])
    if user.op in kinds.TAKE or user.op in kinds.PASS or user.op == "prim::TupleConstruct":
        return user.results
    owner = user.owner_block.owner_node
    if user.op != RETURN or owner is None:
        return ()
    if owner.op == "prim::If":
        return (owner.result(offset),)
    return (owner.result(offset - 1), owner.nested_blocks[0].parameters[offset]) if offset >= 1 else ()
