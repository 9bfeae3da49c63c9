"""Variables in place of the lists of one that keep what a body changes, where nothing else is done with these.

%cell = prim::ListConstruct(%a)             (%b takes the place of %c)
aten::_set_item(%cell, %zero, %b)      →
%c = aten::__getitem__(%cell, %zero)

Through branches and loops a variable goes as one more result.
"""

from __future__ import annotations

from flambeau.ir import constants
from flambeau.ir.graph import Graph, Node, Value
from flambeau.ir.walk import nodes_within
from flambeau.schema.types import ListType, Type

MADE = "prim::ListConstruct"
READ = "aten::__getitem__"
WRITE = "aten::_set_item"


def do(graph: Graph) -> bool:
    """Take every cell of a graph away that can be; whether there was one."""
    changed = False
    for node in graph.find_all(MADE):
        if _is_cell(node):
            _Cell(node).take_away()
            changed = True
    return changed


def _is_cell(node: Node) -> bool:
    """Whether a list has one item, which is all that anybody reads and writes."""
    return len(node.operands) == 1 and all(_is_access(use.user, use.offset) for use in node.result().uses())


def _is_access(user: Node, offset: int) -> bool:
    if user.op not in (READ, WRITE) or offset != 0 or (user.op == WRITE and user.result().is_used):
        return False
    index = user.operand(1)
    return constants.is_constant(index) and constants.constant_value(index) == 0


class _Cell:
    """One cell, whose content is known at each place."""

    def __init__(self, construction: Node) -> None:
        self.construction = construction
        type_ = construction.result().static_type
        assert isinstance(type_, ListType)
        self.type: Type = type_.element
        self.users = {use.user for use in construction.result().uses()}
        self.writers = [user for user in self.users if user.op == WRITE]

    def take_away(self) -> None:
        """Put what it holds in the place of what is read of it."""
        self._run(self.construction.operand(0), self.construction.next)
        self.construction.erase()

    def _run(self, content: Value, start: Node | None) -> Value:
        """Go through the nodes of a block from `start` on with what the cell holds there; what it holds in the end."""
        node = start
        while node is not None:
            following = node.next
            if node in self.users:
                if node.op == READ:
                    node.result().replace_uses_with(content)
                else:
                    content = node.operand(2)
                node.erase()
            elif node.nested_blocks and self._is_within(node):
                content = self._control(node, content)
            node = following
        return content

    def _is_within(self, node: Node) -> bool:
        return any(inner in self.users for inner in nodes_within(node))

    def _control(self, node: Node, content: Value) -> Value:
        is_written = any(inner in self.users and inner.op == WRITE for inner in nodes_within(node))
        if node.op == "prim::Loop":
            return self._loop(node, content, is_written)
        ends = [self._run(content, inner.first) for inner in node.nested_blocks]
        if not is_written:
            return content
        for inner, end in zip(node.nested_blocks, ends, strict=True):
            inner.add_return(end)
        return node.add_result(self.type)

    def _loop(self, node: Node, content: Value, is_written: bool) -> Value:
        (body,) = node.nested_blocks
        if not is_written:
            self._run(content, body.first)
            return content
        node.add_operand(content)
        body.add_return(self._run(body.add_parameter(self.type), body.first))
        return node.add_result(self.type)
