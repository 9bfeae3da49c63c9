"""Ways out of a body: behind what raised nothing runs any more, and a number says which handler takes it.

%q = aten::floordiv(%a, %b)         %zero = aten::eq(%b, 0)
(rest)                        →     %failed, … = prim::If(%zero)
                                      block0: -> (10, …)
                                      block1: %q = aten::floordiv(%a, %b)  (rest)  -> (0, …)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from flambeau.ir import constants
from flambeau.ir.graph import RETURN, Block, Graph, Node, Value
from flambeau.passes.try_blocks.failures import Kinds, failures_of, overlap, raised_class, tests_before
from flambeau.program.protected import HANDLED
from flambeau.schema.types import BOOL, INT, Type

FINE: Final = 0
"""What a block gives that came to its end; the numbers of handlers follow `HANDLED`."""


def cannot_tell(
    block: Block, handlers: Sequence[Kinds], *, is_blamed: Callable[[Node], bool] = lambda node: True
) -> Node | None:  # fmt: skip
    """The first node of which nobody knows beforehand whether a handler takes what it raises; None if there is none.

    `is_blamed` says which nodes count.
    """
    for node in block:
        is_unknown = overlap(failures_of(node).others, handlers) or node.op in ("prim::Enter", "prim::Exit")
        if is_unknown and is_blamed(node):
            return node
        for inner in node.nested_blocks:
            node_inside = cannot_tell(inner, handlers, is_blamed=is_blamed)
            if node_inside is not None:
                return node_inside
    return None


class Ways:
    """Leads what raises to the handlers."""

    def __init__(self, graph: Graph, handlers: Sequence[Kinds]) -> None:
        self.graph = graph
        self.handlers = handlers

    def run(self, block: Block, *, is_loop: bool = False, guarded: Node | None = None) -> bool:
        """Structure a block; whether it may be left. If so it returns, last, the number of the handler or `FINE`.

        `is_loop`: what it returns first says whether a loop goes on. `guarded`: a node that will not raise any more.
        """
        for node in list(block):
            if node.op == "prim::RaiseException":
                raised = raised_class(node)
                number = None if raised is None else self._number_of(raised)
                if number is not None:
                    self._leave(block, node, number, is_loop)
                    return True
            elif node.nested_blocks:
                if self._within(node):
                    self._go_on(block, node, is_loop)
                    return True
            elif node is not guarded:
                asked = self._asked(node)
                if asked:
                    self._guard(block, node, asked, is_loop)
                    return True
        return False

    def _number_of(self, raised: type[BaseException]) -> int | None:
        """The number of the handler that takes a class; None if it leaves the block."""
        numbers = (HANDLED + k for k, classes in enumerate(self.handlers) if issubclass(raised, classes))
        return next(numbers, None)

    def _asked(self, node: Node) -> list[tuple[Value, int]]:
        """Tests before a node, with the numbers of the handlers that take what it raises where they hold."""
        numbers = [self._number_of(raised) for raised in failures_of(node).tested]
        if all(n is None for n in numbers):
            return []
        with self.graph.inserting(node), self.graph.at_range(node.range):
            tests = tests_before(node)
        return [(test, n) for test, n in zip(tests, numbers, strict=True) if n is not None]

    def _leave(self, block: Block, node: Node, number: int, is_loop: bool) -> None:
        """The block ends at what raises: what would follow is never reached."""
        types = [v.static_type for v in block.returns]
        block.return_node.set_operands(())
        worded = node.operand(0).defining_node
        for later in reversed(_from(node)):
            later.erase()
        if worded is not None and worded.op == "^message" and not worded.result().is_used:
            worded.erase()
        self._give_nothing(block, types, number, is_loop)

    def _give_nothing(self, block: Block, types: Sequence[Type], number: int | Value, is_loop: bool) -> None:
        """Let a block that is left return nothing in particular, and the number; a loop does not go on."""
        with self.graph.inserting(block):
            for k, type_ in enumerate(types):
                is_condition = is_loop and k == 0
                nothing = None if is_condition else self.graph.insert("prim::Uninitialized", (), (type_,)).result()
                block.add_return(nothing or constants.insert_constant(self.graph, False))
            block.add_return(constants.insert_constant(self.graph, number) if isinstance(number, int) else number)

    def _end_well(self, block: Block) -> None:
        with self.graph.inserting(block):
            block.add_return(constants.insert_constant(self.graph, FINE))

    def _within(self, node: Node) -> bool:
        """Structure what is nested in a branch or a loop; if that may be left its last result is the number."""
        is_loop = node.op == "prim::Loop"
        left = [self.run(inner, is_loop=is_loop) for inner in node.nested_blocks]
        if not any(left):
            return False
        for inner, is_left in zip(node.nested_blocks, left, strict=True):
            if not is_left:
                self._end_well(inner)
        if is_loop:
            with self.graph.inserting(node):
                node.add_operand(constants.insert_constant(self.graph, FINE))
            node.nested_blocks[0].add_parameter(INT)
        node.add_result(INT)
        return True

    def _go_on(self, block: Block, node: Node, is_loop: bool) -> None:
        """What follows `node` runs where nothing in it was left."""
        failed, following = node.results[-1], node.next or block.return_node
        with self.graph.inserting(following), self.graph.at_range(node.range):
            zero = constants.insert_constant(self.graph, FINE)
            is_left = self.graph.insert("aten::ne", (failed, zero), (BOOL,)).result()
        going = self._branch(block, following, is_left, failed, is_loop)
        if not self.run(going, is_loop=is_loop):
            self._end_well(going)

    def _guard(self, block: Block, node: Node, asked: Sequence[tuple[Value, int]], is_loop: bool) -> None:
        """What is from `node` on runs where none of the tests holds."""
        (test, number), *others = asked
        going = self._branch(block, node, test, number, is_loop)
        if others:
            self._guard(going, node, others, is_loop)
        elif not self.run(going, is_loop=is_loop, guarded=node):
            self._end_well(going)

    def _branch(self, block: Block, first: Node, is_left: Value, number: int | Value, is_loop: bool) -> Block:
        """Where `is_left` holds the block gives the number; what follows from `first` on moves into the other way."""
        graph, returned, moved = self.graph, block.returns, _from(first)
        with graph.inserting(first), graph.at_range(first.range or graph.current_range):
            choice = graph.insert("prim::If", (is_left,), ())
        leaving, going = choice.add_block(), choice.add_block()
        self._give_nothing(leaving, [v.static_type for v in returned], number, is_loop)
        for later in moved:
            later.move_before(going.return_node)
        for value in returned:
            going.add_return(value)
        block.return_node.set_operands([choice.add_result(v.static_type) for v in returned] + [choice.add_result(INT)])
        return going


def _from(node: Node) -> list[Node]:
    """A node and what follows it in its block."""
    following, current = [], None if node.op == RETURN else node
    while current is not None:
        following.append(current)
        current = current.next
    return following
