"""Which nodes are printed inside the expression that uses them, in place of a line of their own.

```
%1 : Tensor = aten::mul(%x, %y)
%2 : Tensor = aten::neg(%x)                      torch.add(torch.mul(x, y), torch.neg(x))
%3 : Tensor = aten::add(%1, %2, %one)
```

An expression computes its operands from left to right, and that must be the order the nodes have in the graph: then
nothing is reordered, whatever the nodes write or print. So each block is read backwards. The node before a user may
move into the user if it makes its last operand, the node before that if it makes the operand before, and so on down the
tree. Constants do nothing, so they stand anywhere.
"""

from __future__ import annotations

from flambeau.ir.constants import CONSTANT
from flambeau.ir.graph import RETURN, Block, Node

_SUBGRAPH_CALLS = frozenset({"prim::fork", "prim::awaitable"})
"""Their operands are seen inside a subgraph, where they may be used more than once."""
_STATEMENTS = frozenset(
    {"prim::isinstance", "prim::Enter", "prim::Exit", "prim::fork", "prim::awaitable", "prim::Closure"}
)
"""Kinds that keep lines of their own: `isinstance` inside a condition would refine types a second time."""
_LOOP_CARRIED = 2
"""Operands of a loop from here on are the initial values of its variables."""


def inline_nodes(block: Block) -> set[Node]:
    """The nodes in a block, at any depth, that move into their user."""
    scan = _Scan()
    scan.block(block)
    return scan.inline


class _Scan:
    def __init__(self) -> None:
        self.inline: set[Node] = set()

    def block(self, block: Block) -> None:
        self.node(block.return_node)
        for node in reversed(block):
            self.node(node)

    def node(self, node: Node) -> None:
        """Pull into `node` what can be, operands of operands included."""
        if node in self.inline:
            return
        for block in node.nested_blocks:
            self.block(block)
        earliest = node
        waiting = list(node.operands)
        while waiting:
            maker = waiting.pop().defining_node
            if maker is None:
                continue
            if maker.op == CONSTANT:
                self.inline.add(maker)
            elif maker is _previous(earliest) and _may_move(maker):
                self.inline.add(maker)
                earliest = maker
                waiting += maker.operands


def _previous(node: Node) -> Node | None:
    """The node before, constants aside."""
    before = node.previous
    while before is not None and before.op == CONSTANT:
        before = before.previous
    return before


def _may_move(maker: Node) -> bool:
    """Whether the result of a node can stand for its only use."""
    if len(maker.results) != 1 or maker.nested_blocks or maker.op in _STATEMENTS:
        return False
    value = maker.result()
    if len(value.uses()) != 1:
        return False
    user, offset = value.uses()[0]
    if user.op in _SUBGRAPH_CALLS or (user.op == "prim::Loop" and offset >= _LOOP_CARRIED):
        return False
    return not value.has_name or user.op == RETURN
