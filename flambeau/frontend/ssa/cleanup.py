"""Removal of what emission leaves behind: values that nobody reads, and tuples made only to be taken apart.

Conditions known while compiling, refined types and shared subtrees leave such nodes. Nodes that could raise or be
seen from outside stay; that is the business of dead code elimination.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from flambeau.ir.graph import Block, Graph, Node
from flambeau.schema import registry

PURE: Final = frozenset({
    "prim::Constant", "prim::unchecked_cast", "prim::Uninitialized", "prim::TupleConstruct", "prim::ListConstruct",
    "prim::DictConstruct", "prim::TupleUnpack", "prim::TupleIndex", "prim::GetAttr", "prim::isinstance",
    "prim::dtype", "prim::device",
})  # fmt: skip

_TAKING_APART: Final = frozenset({"prim::TupleUnpack", "prim::TupleIndex"})


@cache
def _pure() -> frozenset[str]:
    """What may go if nobody reads its results."""
    return PURE | {registry.spelled("is"), registry.spelled("is not")}


def clean(graph: Graph) -> None:
    """Take items of tuples from where these were made; erase unused nodes and branches without content or results."""
    for node in graph.listed_nodes():
        if node.op in _TAKING_APART:
            _see_through(node)
    _clean(graph.body)


def _see_through(node: Node) -> None:
    """Let users of a tuple's items use the items."""
    construct = node.operand(0).defining_node
    if construct is None or construct.op != "prim::TupleConstruct":
        return
    if node.op == "prim::TupleUnpack":
        for output, item in zip(node.results, construct.operands, strict=True):
            output.replace_uses_with(item)
        return
    index = node.operand(1).defining_node
    if index is not None and index.op == "prim::Constant":
        node.result().replace_uses_with(construct.operand(index.attribute("value")))


def _clean(block: Block) -> None:
    pure = _pure()
    for node in reversed(block.own_nodes()):
        for inner in node.nested_blocks:
            _clean(inner)
        is_empty_branch = node.op == "prim::If" and all(b.first is None for b in node.nested_blocks)
        if (node.op in pure or is_empty_branch) and not node.is_used and not _may_be_outside(node):
            node.erase()


def _may_be_outside(node: Node) -> bool:
    """Whether it takes an item of a tuple whose index only running tells."""
    if node.op != "prim::TupleIndex":
        return False
    maker = node.operand(1).defining_node
    return maker is None or maker.op != "prim::Constant"
