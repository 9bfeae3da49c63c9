"""Long blocks with many exits, cut into pieces that run only if nothing has left the region yet.

Moving the rest of a block into the branch that does not jump nests it once for each exit. Behind a few dozen of them
the rest becomes a piece of its own, behind a test of the flag that an exit sets, so that the depth stays the same
however many exits there are.
"""

from __future__ import annotations

from typing import Final

from flambeau.ir.clone import clone_node
from flambeau.ir.constants import CONSTANT
from flambeau.ir.graph import Block, Graph, Node, Value

RETURNS: Final = frozenset({"prim::ReturnStmt"})
EXIT_KINDS: Final = RETURNS | {"prim::BreakStmt", "prim::ContinueStmt"}
EXITS_IN_A_PIECE: Final = 24
MOST_EXITS: Final = 32
"""How many exits a block may have before it is cut."""
BEHIND = -1
"""The piece of what stands behind all pieces: the block's own results."""


def pieces_of(start: Node | None) -> list[list[Node]]:
    """The nodes from the first branch, loop or exit behind `start` on, in pieces of a few exits each.

    None where there are not many.
    """
    nodes: list[Node] = []
    node = start
    while node is not None:
        nodes.append(node)
        node = node.next
    leaves = [_leaves(n) for n in nodes]
    if sum(leaves) <= MOST_EXITS:
        return []
    first = next(i for i, one in enumerate(nodes) if leaves[i] or one.nested_blocks or one.op == "prim::RaiseException")
    pieces: list[list[Node]] = [[]]
    count = 0
    for one, is_exit in zip(nodes[first:], leaves[first:], strict=True):
        if count == EXITS_IN_A_PIECE:
            pieces.append([])
            count = 0
        pieces[-1].append(one)
        count += is_exit
    return pieces


def _leaves(node: Node) -> bool:
    """Whether a node, or one inside of it, leaves the region that the node is in."""
    pending = [(node, EXIT_KINDS)]
    while pending:
        current, kinds = pending.pop()
        if current.op in kinds:
            return True
        if current.op == "prim::Loop":
            kinds = RETURNS
        pending += [(inner, kinds) for block in current.nested_blocks for inner in block]
    return False


def share_values(graph: Graph, block: Block, pieces: list[list[Node]], name: str) -> None:
    """Let values that one piece makes and another uses be variables, called `name` and a number; constants stand in
    each piece.
    """
    slots = 0
    owners = {node: index for index, piece in enumerate(pieces) for node in piece}
    for index, piece in enumerate(pieces):
        for node in list(piece):
            for value in node.results:
                elsewhere = _uses_elsewhere(block, owners, value, index)
                if elsewhere and node.op == CONSTANT:
                    _repeat(graph, block, pieces, node, elsewhere)
                elif elsewhere:
                    slots += 1
                    _keep(graph, block, pieces, index, value, elsewhere, f"{name}.{slots}")


Places = dict[int, list[tuple[Node, int]]]
"""Uses by piece: the node that uses a value, and which of its operands it is."""


def _uses_elsewhere(block: Block, owners: dict[Node, int], value: Value, home: int) -> Places:
    uses: Places = {}
    for use in value.uses():
        top = use.user
        while top.owner_block is not block:
            owner = top.owner_block.owner_node
            assert owner is not None
            top = owner
        piece = owners.get(top, BEHIND)
        if piece != home:
            uses.setdefault(piece, []).append((use.user, use.offset))
    return uses


def _repeat(graph: Graph, block: Block, pieces: list[list[Node]], node: Node, elsewhere: Places) -> None:
    for piece, uses in elsewhere.items():
        copy = clone_node(node, graph, {})
        copy.insert_before(block.return_node if piece == BEHIND else pieces[piece][0])
        _replace(pieces, piece, copy, uses)


def _keep(
    graph: Graph, block: Block, pieces: list[list[Node]], home: int, value: Value, elsewhere: Places, slot: str
) -> None:
    assert value.defining_node is not None
    store = graph.create("prim::Store", (value,), (), name=slot, type=value.static_type)
    store.insert_after(value.defining_node)
    pieces[home].insert(pieces[home].index(value.defining_node) + 1, store)
    for piece, uses in elsewhere.items():
        load = graph.create("prim::Load", (), (value.static_type,), name=slot)
        load.insert_before(block.return_node if piece == BEHIND else pieces[piece][0])
        _replace(pieces, piece, load, uses)


def _replace(pieces: list[list[Node]], piece: int, node: Node, uses: list[tuple[Node, int]]) -> None:
    if piece != BEHIND:
        pieces[piece].insert(0, node)
    for user, offset in uses:
        user.replace_operand(offset, node.result())
