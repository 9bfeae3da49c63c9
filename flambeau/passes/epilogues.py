"""What may be done to numbers by the code that computes them, before it writes them: additions, bounds, activations."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Final

from flambeau.ir.constants import constant_value, is_constant
from flambeau.ir.graph import Node, Value
from flambeau.schema import registry
from flambeau.schema.opdef import OpDef
from flambeau.schema.rule_tables import RuleTable
from flambeau.schema.traits import Role
from flambeau.schema.types import TensorType

Bounds = tuple[float, float]
_addends: Final = RuleTable[Callable[[Node, Value], Value | None]]("what an addition adds to a value")
_bounds: Final = RuleTable[Callable[[Node], Bounds | None]]("bounds of an activation")


def bounds_of(node: Node) -> Bounds | None:
    """The least and the most that a node lets its first operand be, nan staying nan; None where it does something else,
    or where its bounds are not constant.
    """
    rule = _bounds.get(node.op)
    return None if rule is None else rule(node)


def activation_of(node: Node) -> OpDef | None:
    """The pointwise operator that a node applies to its first operand, told all else by constants; of one that writes
    to its operand the operator that does not. None for other nodes.
    """
    definition = node.definition
    if definition is None or definition.traits.role is not Role.ACTIVATION or len(node.results) != 1:
        return None
    schema = definition.schema
    plain = registry.out_of_place(schema.name) + (f".{schema.overload}" if schema.overload else "")
    candidate = registry.find(plain)
    if candidate is None or candidate.scalar is None or not all(map(is_constant, node.operands[1:])):
        return None
    before, behind = node.operand(0).static_type, node.result().static_type
    if not isinstance(before, TensorType) or not isinstance(behind, TensorType):
        return None
    return candidate if before.dtype is not None and before.dtype is behind.dtype else None


def addend_of(node: Node, value: Value) -> Value | None:
    """What a node adds to a value, as it is; None where it does something else."""
    rule = _addends.get(node.op)
    return None if rule is None else rule(node, value)


@_addends("aten::add", "aten::add_")
def _add(node: Node, value: Value) -> Value | None:
    if node.op.endswith("_") and node.operand(0) is not value:
        return None
    others = [v for v in node.operands[:2] if v is not value]
    if len(others) != 1 or len(node.operands) != 3 or not is_constant(node.operand(2)):
        return None
    return others[0] if constant_value(node.operand(2)) == 1 else None


@_bounds("aten::relu", "aten::relu_")
def _relu(node: Node) -> Bounds:
    return 0.0, inf


@_bounds("aten::relu6", "aten::relu6_")
def _relu6(node: Node) -> Bounds:
    return 0.0, 6.0


@_bounds("aten::hardtanh", "aten::hardtanh_", "aten::clamp", "aten::clamp_")
def _given(node: Node) -> Bounds | None:
    if len(node.operands) != 3 or not all(map(is_constant, node.operands[1:])):
        return None
    low, high = (constant_value(v) for v in node.operands[1:])
    if not all(type(bound) in (int, float, type(None)) for bound in (low, high)):
        return None
    least, most = -inf if low is None else float(low), inf if high is None else float(high)
    return (least, most) if least <= most else None
