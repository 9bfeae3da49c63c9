"""Static operands of a group, beside its tensors, which each call gives: sizes, amounts of padding, dimensions.

A kernel is made for each of them that comes, as it is for what is constant. They are the last inputs of their group,
so that what computes it finds the tensors in front.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from flambeau.ir import constants
from flambeau.ir.clone import clone_graph
from flambeau.ir.constants import insert_constant
from flambeau.ir.graph import Graph, Node, Value
from flambeau.ir.walk import operands_within
from flambeau.schema.types import FloatType, IntType, ListType, NumberType, OptionalType, TensorType


def can_be_static(value: Value) -> bool:
    """Whether a value is a number or a list of numbers, which is not known before the call."""
    type_ = value.static_type
    inner = type_.element if isinstance(type_, ListType) else type_
    return isinstance(inner, IntType | FloatType) and not constants.is_constant(value)


def static_operands_last(nodes: Sequence[Node]) -> list[Value]:
    """What the nodes of a group use, static operands behind all else."""
    used = list(dict.fromkeys(v for node in nodes for v in operands_within(node)))
    return sorted(used, key=lambda v: can_be_static(v) and _is_static(v, nodes))


def static_count(graph: Graph) -> int:
    """How many of the last parameters of a group's graph are static."""
    return sum(can_be_static(v) and _is_static(v, graph.nodes()) for v in graph.parameters)


def _is_static(value: Value, nodes: Iterable[Node]) -> bool:
    """Whether a node takes a value that a kernel cannot load: what an operator declares as more than a number.

    Routines load nothing but tensors.
    """
    for node in nodes:
        definition = node.definition
        if definition is None:
            continue
        for argument, operand in zip(definition.schema.arguments, node.operands, strict=False):
            formal = argument.type.element if isinstance(argument.type, OptionalType) else argument.type
            is_loaded = isinstance(formal, TensorType | NumberType | FloatType)
            if operand is value and (definition.traits.has_routine or not is_loaded):
                return True
    return False


def graph_for(graph: Graph, values: Sequence[object]) -> Graph:
    """A group's graph with constants in the place of static operands."""
    known = clone_graph(graph)
    first = len(known.parameters) - len(values)
    before = next(iter(known.body), None)
    for parameter, value in zip(known.parameters[first:], values, strict=True):
        with known.inserting(before or known.body.return_node):
            parameter.replace_uses_with(insert_constant(known, value))
    for index in reversed(range(first, len(known.parameters))):
        known.body.remove_parameter(index)
    return known
