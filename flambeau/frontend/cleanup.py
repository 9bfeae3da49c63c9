"""Removal of what emission left unused: constants, casts and containers that nobody reads.

Conditions known while compiling, refined types and shared subtrees leave such nodes behind. Nodes that could raise or be
seen from outside stay; that is the business of dead code elimination.
"""

from __future__ import annotations

from typing import Final

from flambeau.ir.graph import Graph
from flambeau.ir.node import Block

PURE: Final = frozenset({
    "prim::Constant", "prim::unchecked_cast", "prim::Uninitialized", "prim::TupleConstruct", "prim::ListConstruct",
    "prim::DictConstruct", "prim::TupleUnpack", "prim::TupleIndex", "prim::GetAttr", "prim::isinstance",
    "aten::__is__", "aten::__isnot__", "prim::dtype", "prim::device",
})  # fmt: skip


def remove_unused(graph: Graph) -> None:
    """Erase unused nodes of these kinds, and branches without content or results."""
    _clean(graph.block)


def _clean(block: Block) -> None:
    for node in reversed(block):
        for inner in node.blocks:
            _clean(inner)
        if any(value.is_used for value in node.outputs):
            continue
        is_empty_branch = node.kind == "prim::If" and all(b.first is None for b in node.blocks)
        if node.kind in PURE or is_empty_branch:
            node.destroy()
