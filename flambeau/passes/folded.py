"""Over which dimensions an operator folds: kernels fold over one choice of them."""

from __future__ import annotations

from typing import Any

from flambeau.ir import constants
from flambeau.ir.node import Node
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
    given = node.operands[names.index("dim")]
    if not constants.is_constant(given):
        return None
    return _dims(constants.constant_value(given), rank)


def _dims(given: Any, rank: int) -> Folded | None:
    if given is None or given == []:
        return rank, frozenset(range(rank))
    dims = [given] if isinstance(given, int) else list(given)
    return (rank, frozenset(d % rank for d in dims)) if rank and all(-rank <= d < rank for d in dims) else None


def _length(node: Node, place: int) -> int | None:
    """Of a list that is constant or made by a node."""
    value = node.operands[place]
    if constants.is_constant(value):
        return len(constants.constant_value(value))
    made = value.defining_node
    return len(made.operands) if made is not None and made.op == "prim::ListConstruct" else None
