"""Guards on ranks and dtypes that say nothing new.

A layer asks for the rank of what it is given, and so does every layer after it. What follows from the guards on the
inputs, or holds for every input, needs no guard of its own.
"""

from __future__ import annotations

from flambeau.analysis import shapes
from flambeau.ir.clone import Copies, clone_graph
from flambeau.ir.graph import Graph
from flambeau.jit.tracing.baking import PropertyGuard
from flambeau.jit.tracing.traced_values import READ
from flambeau.schema.types import TensorType, Type, without_refinement


def drop_implied(graph: Graph, guards: list[PropertyGuard]) -> list[PropertyGuard]:
    """Remove the guards that follow from those on parameters of the graph, and give them."""
    own = [g for g in guards if g.value.defining_node is None]
    others = [g for g in guards if g.value.defining_node is not None and g.kind in ("rank", "dtype")]
    if not others:
        return []
    copies: Copies = {}
    copy = clone_graph(graph, copies)
    for value in copy.parameters:
        value.set_type(without_refinement(value.static_type))
    for guard in own:
        copies[guard.value].set_type(_refined(copies[guard.value].static_type, guard))
    for node in copy.find_all(READ):
        read = node.result()
        if isinstance(read.static_type, TensorType) and read.static_type.sizes is not None:
            rank = len(read.static_type.sizes)
            read.replace_uses_with(copy.add_parameter(TensorType(sizes=(None,) * rank)))
            node.erase()
    shapes.propagate(copy)
    implied = [g for g in others if _holds(copies[g.value].static_type, g)]
    for guard in implied:
        for node in guard.nodes:
            node.erase()
    return implied


def _refined(type_: Type, guard: PropertyGuard) -> Type:
    if not isinstance(type_, TensorType):
        return type_
    if guard.kind == "rank":
        return type_.refine(sizes=(None,) * guard.fixed)
    return type_.refine(dtype=guard.fixed) if guard.kind == "dtype" else type_


def _holds(type_: Type, guard: PropertyGuard) -> bool:
    if not isinstance(type_, TensorType):
        return False
    if guard.kind == "rank":
        return type_.sizes is not None and len(type_.sizes) == guard.fixed
    return type_.dtype is guard.fixed
