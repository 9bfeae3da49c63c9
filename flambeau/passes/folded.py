"""Over which dimensions an operator folds: kernels fold over one choice of them."""

from __future__ import annotations

from typing import Any

from flambeau.ir import constants
from flambeau.ir.graph import Node
from flambeau.passes.fusible import ACCUMULATORS, NORMALISATIONS
from flambeau.schema.types import TensorType

Folded = tuple[int, frozenset[int]]
"""The rank of what is folded, and the dimensions, counted from the front."""


def folded(node: Node) -> Folded | None:
    """What a node folds; None for operators that do not, and where it is not known."""
    definition = node.definition
    if definition is None or definition.accumulator not in ACCUMULATORS:
        return None
    type_ = node.operands[0].static_type
    if not isinstance(type_, TensorType) or type_.rank is None:
        return None
    rank = type_.rank
    if definition.accumulator in NORMALISATIONS:
        count = _length(node, NORMALISATIONS[definition.accumulator])
        return None if count is None else (rank, frozenset(range(rank - count, rank)))
    if definition.accumulator == "batch_norm":
        return rank, frozenset(range(rank)) - {1}
    names = [a.name for a in definition.schema.arguments]
    if "dim" not in names:
        return rank, frozenset(range(rank))
    dim = node.operands[names.index("dim")]
    if not constants.is_constant(dim):
        return None
    return _dims(constants.constant_value(dim), rank)


def _dims(dim: Any, rank: int) -> Folded | None:
    if dim is None or dim == []:
        return rank, frozenset(range(rank))
    dims = [dim] if isinstance(dim, int) else list(dim)
    return (rank, frozenset(d % rank for d in dims)) if rank and all(-rank <= d < rank for d in dims) else None


def _length(node: Node, index: int) -> int | None:
    """Of a list that is constant or made by a node."""
    value = node.operands[index]
    if constants.is_constant(value):
        return len(constants.constant_value(value))
    maker = value.defining_node
    return len(maker.operands) if maker is not None and maker.op == "prim::ListConstruct" else None
