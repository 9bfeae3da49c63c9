"""Kernels of fused groups, lowered while their plan is made and kept until they first run: lowering happens once."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from flambeau.codegen.lower import Lowered
from flambeau.ir.code_key import code_key
from flambeau.ir.graph import Graph
from flambeau.schema.types import TensorType, Type

LoweredGroups = dict[Hashable, Lowered]
"""By what a group does and what its inputs are, as `group_key` tells."""


def group_key(graph: Graph, types: Sequence[Type]) -> Hashable | None:
    """Equal for groups whose kernels are the same: the same operators on inputs of the same patterns.

    None where only the group itself tells what it does.
    """
    code = code_key(graph.nodes(), graph.parameters, graph.returns)
    return None if code is None else (code, *map(_pattern, types))


def _pattern(type_: Type) -> Hashable:
    """What of an input's type its kernel depends on: dtype, rank, and which sizes are 1."""
    if isinstance(type_, TensorType) and type_.sizes is not None:
        return (type_.dtype, tuple([size == 1 for size in type_.sizes]))
    return type_
