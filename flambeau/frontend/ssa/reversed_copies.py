"""Arrays backwards with a name or as results, `y = x[::-1]`: copies, where nobody writes to one and sees the other.

NumPy shows the memory of `x` backwards. Where the program writes to it, or to `y`, afterwards, that would be seen, and
is refused where it is written, unless the copy was looked at for the last time before. What a caller gets back is
memory of its own.
"""

from __future__ import annotations

from typing import Final

from flambeau.analysis.alias import AliasAnalysis
from flambeau.ir.graph import Graph, Node
from flambeau.util.errors import CompileError
from flambeau.util.instead import instead

SHOWS: Final = "shows"
"""The attribute of an `aten::flip` that stands for a view."""
WRITTEN: Final = instead(
    "an array and the same array backwards are one memory to NumPy, and two here, so that what is written would show "
    "in one of them alone: {code} says that the elements in reverse order have memory of their own",
    "x[::-1].copy()", of="x[::-1]", given="x: np.ndarray",
)  # fmt: skip


def check(graph: Graph) -> None:
    """Raise CompileError where it can be seen that an array backwards is a copy."""
    flips = [node for node in graph.find_all("aten::flip") if node.attributes.pop(SHOWS, None)]
    if not flips:
        return
    aliases = AliasAnalysis(graph, apart=True)
    for flip in flips:
        for writer in (*aliases.writers(flip.operand(0)), *aliases.writers(flip.result())):
            if not (_is_over(writer, flip) or _is_read_at_once(flip, writer, aliases)) and _writes(writer, set()):
                raise CompileError(WRITTEN, writer.range or flip.range)


def _writes(node: Node, seen: set[Graph]) -> bool:
    """Whether a node that may write does: a call of a function whose graph is known, if that writes what it takes."""
    named = node.operand(0).defining_node if node.op == "prim::CallFunction" and node.operands else None
    graph = getattr(named.attributes.get("function"), "graph", None) if named is not None else None
    if not isinstance(graph, Graph):
        return True
    if graph in seen:
        return False
    seen.add(graph)
    aliases = AliasAnalysis(graph, apart=True)
    return any(_writes(writer, seen) for parameter in graph.parameters for writer in aliases.writers(parameter))


def _is_over(writer: Node, flip: Node) -> bool:
    """Whether a node has run for the last time when another one does."""
    return writer.is_before(flip) and not (_loops_around(writer) & _loops_around(flip))


def _is_read_at_once(flip: Node, writer: Node, aliases: AliasAnalysis) -> bool:
    """Whether a copy is only looked at, in the block where it is made, and not after a write that follows it."""
    copy = flip.result()
    users: set[Node] = set()
    views = [copy]
    while views:
        for user in {use.user for use in views.pop().uses()} - users:
            is_plain = user.owner_block is flip.owner_block and not user.nested_blocks and user.op != "prim::Return"
            if not is_plain or aliases.writes_to(user, copy):
                return False
            users.add(user)
            if aliases.may_contain_alias(user.results, copy):
                if not _is_view(user):
                    return False
                views += user.results
    return writer.is_before(flip) or all(user is writer or user.is_before(writer) for user in users)


def _is_view(node: Node) -> bool:
    return node.definition is not None and node.definition.family == "view"


def _loops_around(node: Node) -> set[Node]:
    loops, owner = set(), node.owner_block.owner_node
    while owner is not None:
        if owner.op == "prim::Loop":
            loops.add(owner)
        owner = owner.owner_block.owner_node
    return loops
