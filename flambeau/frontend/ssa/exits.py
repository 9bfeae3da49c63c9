"""Break, continue and early return made structured: what would be jumped over moves into the branch that does not jump.

    %n = prim::If(%c)                       prim::If(%c)
      block0: prim::ReturnStmt(%a)            block0: prim::Store[name="$return"](%a)
      block1:                       →         block1: (rest of the program)
    (rest of the program)                             prim::Store[name="$return"](%b)
    prim::ReturnStmt(%b)

Only where a branch jumps on some of its paths is a flag stored and tested. A loop that is left sets its own condition
to false. A function whose one exit is the return at its end returns what that one does, and nothing else is looked at.
The graph before and after has variables as stores and loads; `to_ssa` comes next.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

from flambeau.frontend.ssa.pieces import EXIT_KINDS, RETURNS, pieces_of, share_values
from flambeau.ir.graph import Block, Graph, Node, Value
from flambeau.schema.subtype import is_subtype
from flambeau.schema.types import BOOL, Type
from flambeau.util.record import dataclass

RETURN_SLOT = "$return"
RETURNED = "$returned"
_ENDS = EXIT_KINDS | {"prim::RaiseException"}
"""What control does not go on behind."""


class Flow(Enum):
    """Where control is behind a block."""

    FALLS = "at its end"
    MAYBE = "at its end, or out of the region that it is in"
    EXITS = "out of the region that it is in"
    RAISES = "nowhere"

    @property
    def reaches_end(self) -> bool:
        """Whether the end can be reached."""
        return self in (Flow.FALLS, Flow.MAYBE)


@dataclass(slots=True)
class _Region:
    """A function's body or a loop's: what an exit leaves."""

    number: int
    is_loop: bool
    returns: bool = False
    """Whether something in it returns from the function."""

    @property
    def again(self) -> str:
        return f"$again{self.number}"

    @property
    def exited(self) -> str:
        return f"$exited{self.number}"


class _Exits:
    def __init__(self, graph: Graph, return_type: Type) -> None:
        self.graph = graph
        self.return_type = return_type
        self.regions = 0
        self.shared = 0

    def region(self, is_loop: bool) -> _Region:
        self.regions += 1
        return _Region(self.regions, is_loop)

    # -- nodes --------------------------------------------------------------------------------------------------------

    def store(self, slot: str, value: Value, before: Node, type_: Type = BOOL) -> None:
        with self.graph.inserting(before):
            self.graph.insert("prim::Store", (value,), (), name=slot, type=type_)

    def flag(self, slot: str, on: bool, before: Node) -> None:
        with self.graph.inserting(before):
            value = self.graph.insert("prim::Constant", (), (BOOL,), value=on).result()
        self.store(slot, value, before)

    def test(self, slot: str, before: Node) -> Node:
        """An empty `prim::If` on a flag, put before `before`."""
        with self.graph.inserting(before):
            value = self.graph.insert("prim::Load", (), (BOOL,), name=slot).result()
            node = self.graph.insert("prim::If", (value,), ())
        node.add_block()
        node.add_block()
        return node

    def lower(self, node: Node, region: _Region) -> None:
        """Replace an exit by the stores that it means."""
        if node.op == "prim::ReturnStmt":
            self.store(RETURN_SLOT, node.operand(0), node, self.return_type)
            self.note_return(region, node)
        elif node.op == "prim::BreakStmt":
            self.flag(region.again, False, node)
        else:
            self.store(region.again, node.operand(0), node)
        self.flag(region.exited, True, node)
        node.erase()

    def note_return(self, region: _Region, before: Node) -> None:
        if region.is_loop:
            region.returns = True
            self.flag(RETURNED, True, before)
            self.flag(region.again, False, before)

    # -- blocks -------------------------------------------------------------------------------------------------------

    def function(self) -> None:
        block = self.graph.body
        region = self.region(is_loop=False)
        self.prepare(block, region)
        self.flag(RETURNED, False, block.first or block.return_node)
        self.run(block, block.first, region)
        with self.graph.inserting(block):
            value = self.graph.insert("prim::Load", (), (self.return_type,), name=RETURN_SLOT).result()
        block.add_return(value)

    def prepare(self, block: Block, region: _Region) -> None:
        before = block.first or block.return_node
        self.flag(region.exited, False, before)
        if region.is_loop:
            # No round reads what another one stored.
            with self.graph.inserting(before):
                unset = self.graph.insert("prim::Uninitialized", (), (BOOL,)).result()
            self.store(region.again, unset, before)

    def run(self, block: Block, start: Node | None, region: _Region) -> Flow:
        """Make the nodes of a block from `start` on structured, piece by piece where there are many exits."""
        pieces = pieces_of(start)
        if not pieces:
            return self.straight(block, start, region)
        self.shared += 1
        share_values(self.graph, block, pieces, f"$kept{self.shared}")
        tests: list[Node] = []
        for piece in pieces:
            test = self.test(region.exited, piece[0])
            for node in piece:
                node.move_before(test.nested_blocks[1].return_node)
            tests.append(test)
        flows: list[Flow] = []
        for test in tests:
            inner = test.nested_blocks[1]
            flows.append(self.straight(inner, inner.first, region))
            if not flows[-1].reaches_end:
                _erase_after(test)
                break
        if all(flow == Flow.FALLS for flow in flows):
            return Flow.FALLS
        if flows == [Flow.RAISES]:
            return Flow.RAISES
        return Flow.MAYBE if flows[-1].reaches_end else Flow.EXITS

    def straight(self, block: Block, start: Node | None, region: _Region) -> Flow:
        """Make the nodes of a block from `start` on structured, each exit nested in the branch of the one before."""
        node = start
        while node is not None:
            if node.op in EXIT_KINDS:
                _erase_after(node)
                self.lower(node, region)
                return Flow.EXITS
            if node.op == "prim::RaiseException":
                _erase_after(node)
                return Flow.RAISES
            if node.op == "prim::If" and _has_exits(node):
                flow = self.branch(block, node, region)
                if flow is not None:
                    return flow
            elif node.op == "prim::Loop" and self.loop(node):
                return self.after_return(block, node, region)
            node = node.next
        return Flow.FALLS

    def branch(self, block: Block, node: Node, region: _Region) -> Flow | None:
        """Make an If structured; None if control always goes on behind it as before."""
        first, second = (self.run(b, b.first, region) for b in node.nested_blocks)
        return self.join(block, node, (first, second), region)

    def join(self, block: Block, node: Node, flows: tuple[Flow, Flow], region: _Region) -> Flow | None:
        first, second = flows
        if not first.reaches_end and not second.reaches_end:
            _erase_after(node)
            return Flow.RAISES if first == second == Flow.RAISES else Flow.EXITS
        if Flow.EXITS not in flows and Flow.MAYBE not in flows:
            return None
        if Flow.MAYBE not in flows:
            falling = node.nested_blocks[1] if first == Flow.EXITS else node.nested_blocks[0]
            moved = _move_rest(node, falling)
            flow = self.straight(falling, moved, region)
            return Flow.EXITS if not flow.reaches_end else Flow.MAYBE
        if node.next is None:
            return Flow.MAYBE
        test = self.test(region.exited, node.next)
        moved = _move_rest(test, test.nested_blocks[1])
        flow = self.straight(test.nested_blocks[1], moved, region)
        return Flow.EXITS if not flow.reaches_end else Flow.MAYBE

    def loop(self, node: Node) -> bool:
        """Make a loop structured; whether something in it returns from the function."""
        if not _has_exits(node):
            for inner in node.nested_blocks:
                self.run(inner, inner.first, self.region(is_loop=True))
            return False
        body, region = node.nested_blocks[0], self.region(is_loop=True)
        self.prepare(body, region)
        self.store(region.again, body.returns[0], body.return_node)
        body.remove_return(0)
        self.run(body, body.first, region)
        with self.graph.inserting(body):
            again = self.graph.insert("prim::Load", (), (BOOL,), name=region.again).result()
        body.add_return(again)
        return region.returns

    def after_return(self, block: Block, node: Node, region: _Region) -> Flow:
        """Go on behind a loop that may have returned only if it has not."""
        if node.next is None and block is self.graph.body:
            return Flow.EXITS
        following = node.next or block.return_node
        test = self.test(RETURNED, following)
        before = test.nested_blocks[0].return_node
        self.note_return(region, before)
        self.flag(region.exited, True, before)
        flow = self.join(block, test, (Flow.EXITS, Flow.FALLS), region)
        assert flow is not None
        return flow


def make_structured(graph: Graph, return_type: Type) -> None:
    """Replace every exit in a graph by stores and branches; the graph returns the value of its return statements."""
    last = graph.body.last
    is_straight = last is not None and [n for n in graph.listed_nodes() if n.op in _ENDS] == [last]
    if last is None or not is_straight or not _returns_as_declared(last, return_type):
        _Exits(graph, return_type).function()
        return
    graph.body.add_return(last.operand(0))
    last.erase()


def _returns_as_declared(node: Node, return_type: Type) -> bool:
    """Whether a node is a return of what needs no conversion."""
    return node.op in RETURNS and is_subtype(node.operand(0).static_type, return_type)


def _has_exits(node: Node) -> bool:
    pending: list[Any] = [node]
    while pending:
        current = pending.pop()
        for block in current.nested_blocks:
            for inner in block:
                if inner.op in _ENDS:
                    return True
                if inner.nested_blocks:
                    pending.append(inner)
    return False


def _erase_after(node: Node) -> None:
    """Remove what is never reached."""
    block = node.owner_block
    dead: list[Node] = []
    following = node.next
    while following is not None:
        dead.append(following)
        following = following.next
    if dead and block.owner_node is not None and block.owner_node.op == "prim::Loop":
        _drop_outputs(block, dead)
    for unreachable in reversed(dead):
        if unreachable.op == "prim::Store" or not any(v.is_used for v in unreachable.results):
            unreachable.erase()


def _drop_outputs(block: Block, dead: list[Node]) -> None:
    """A loop's own condition may be among what is never reached: any bool will do for it."""
    for index, value in enumerate(block.returns):
        if value.defining_node in dead:
            with block.graph.inserting(dead[0]):
                constant = block.graph.insert("prim::Constant", (), (BOOL,), value=False).result()
            block.return_node.replace_operand(index, constant)


def _move_rest(node: Node, block: Block) -> Node | None:
    """Move all nodes behind `node` to the end of `block`; the first of them."""
    first: Node | None = None
    following = node.next
    while following is not None:
        after = following.next
        following.move_before(block.return_node)
        first = first or following
        following = after
    return first
