"""`with strict_fusion():`: every tensor operator of the block is part of a fused group, or there is no plan.

The block is known by a node `prim::StrictFusion`, whose source range is that of the block.
"""

from __future__ import annotations

from collections.abc import Iterator

from flambeau.ir.graph import Graph, Node
from flambeau.schema.types import ListType, TensorType, Type
from flambeau.util.errors import ExecutionError
from flambeau.util.source import SourceRange

MARK = "prim::StrictFusion"
UNFUSED = "Found unfused operators:\n{operators}Take the block away, and explain() of the function tells why"


def check_strict_fusion(graph: Graph, *, is_fused: bool) -> None:
    """Take the markers away. Raises RuntimeError for operators in a strict block that are in no fused group.

    Nothing is asked of graphs that are not fused at all: another backend, or `without=("fuse",)`.
    """
    for mark in graph.find_all(MARK):
        where = mark.range
        mark.erase()
        if where is not None and is_fused:
            alone = [n for n in graph.listed_nodes() if _computes(n) and _is_within(n, where)]
            if alone:
                text = UNFUSED.format(operators="".join(f"\t{line}\n" for line in _described(alone)))
                raise ExecutionError(f"{text}:\n{where.highlight()}")


def _computes(node: Node) -> bool:
    """Whether it is an operator that gives tensors."""
    return node.op.startswith("aten::") and any(_has_tensor(v.static_type) for v in node.results)


def _has_tensor(type_: Type) -> bool:
    return isinstance(type_, TensorType) or (isinstance(type_, ListType) and _has_tensor(type_.element))


def _is_within(node: Node, block: SourceRange) -> bool:
    """Whether a node was written in the block, or was inlined from a call there."""
    ranges = [node.range, *(where for _, where in node.call_chain)]
    return any(p is not None and p.source == block.source and block.start <= p.start < block.end for p in ranges)


def _described(nodes: list[Node]) -> Iterator[str]:
    for node in nodes:
        definition = node.definition
        yield f"{node.op if definition is None else definition.schema} ({node.range})"
