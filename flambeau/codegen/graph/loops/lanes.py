"""Which counted loops may run several iterations at a time, and what their carried values add up to.

A loop may if its body is numbers and elements alone, with a `while` inside (without one there is nothing to gain over
what LLVM does), and if its iterations do not see each other: it carries nothing but sums, products and extremes of
integers, whose order does not matter, and reads no tensor that it writes to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from flambeau.codegen.graph.lifetimes import SAME_VALUE
from flambeau.ir.constants import is_true
from flambeau.ir.graph import Block, Node, Value
from flambeau.schema import registry
from flambeau.schema.rule_tables import RuleTable
from flambeau.schema.traits import PLAIN
from flambeau.schema.types import BoolType, FloatType, IntType, TensorType
from flambeau.util.record import dataclass

has_lanes: Final = RuleTable[Callable[[Node], bool]]("whether it may run as lanes")
"""Registers what must hold of nodes that have a form for lanes; of others, a Scalar meaning is enough."""
_GREATER = {">": 0, ">=": 0, "<": 1, "<=": 1}
"""Comparisons as Python writes them, and which operand is the greater."""


@dataclass(slots=True)
class LaneSchedule:
    """How a loop may run as lanes."""

    folds: list[str | None]
    """Of each carried value how it is put together; None where it never changes."""
    read: list[Value]
    """Tensors from outside that are read."""
    written: list[Value]
    """Tensors from outside that are written to."""


def lane_schedule(node: Node) -> LaneSchedule | None:
    """How a counted loop may run as lanes; None if it may not."""
    body = node.nested_blocks[0]
    if not _has_while(body) or not all(map(_has_lanes, _within(body))):
        return None
    loops = [n for n in _within(body) if n.op == "prim::Loop"]
    if any(inner.op == "aten::copy_" for n in loops for inner in _within(n.nested_blocks[0])):
        return None
    if any(counts(n) and lane_schedule(n) is not None for n in loops):
        return None
    folds: list[str | None] = []
    for parameter, result in zip(body.parameters[1:], body.returns[1:], strict=True):
        operation = _fold_of(parameter, result)
        if operation is None:
            return None
        folds.append(operation or None)
    memory = _memory(body)
    return None if memory is None else LaneSchedule(folds, *memory)


def counts(node: Node) -> bool:
    """Whether a loop makes the number of iterations it was told, no fewer."""
    return is_true(node.operand(1)) and is_true(node.nested_blocks[0].returns[0])


def ends_in_raise(block: Block) -> bool:
    """Whether a block raises an exception."""
    return any(n.op == "prim::RaiseException" for n in block.own_nodes())


def _within(block: Block) -> Iterator[Node]:
    """The nodes of a block, and of those inside, but for what leads to an exception."""
    for node in block.own_nodes():
        yield node
        for inner in node.nested_blocks:
            if not ends_in_raise(inner):
                yield from _within(inner)


def _has_while(body: Block) -> bool:
    return any(n.op == "prim::Loop" and not is_true(n.nested_blocks[0].returns[0]) for n in _within(body))


def _has_lanes(node: Node) -> bool:
    """Whether it has a form for lanes."""
    if not all(map(_is_number, node.results)):
        return False
    rule = has_lanes.get(node.op, _is_pointwise)
    return node.op in SAME_VALUE or rule(node)


@has_lanes("aten::__range_length", "aten::__derive_index", "prim::Constant", "prim::Uninitialized")
def _always(_: Node) -> bool:
    return True


@has_lanes("aten::Int", "aten::Float", "aten::Bool", "aten::item", "aten::tensor")
def _converts_an_element(_: Node) -> bool:
    return True


@has_lanes("prim::If")
def _branches(_: Node) -> bool:
    return True


@has_lanes("prim::Loop")
def _goes_on(node: Node) -> bool:
    return not any(map(ends_in_raise, node.nested_blocks))


@has_lanes("aten::size", "aten::dim", "aten::numel", "aten::len")
def _asks_for_a_size(node: Node) -> bool:
    return isinstance(node.result().static_type, IntType)


@has_lanes("aten::select")
def _shows_a_part(node: Node) -> bool:
    return isinstance(node.operand(0).static_type, TensorType)


@has_lanes("aten::copy_")
def _writes_an_element(node: Node) -> bool:
    return all(_is_element(v) for v in node.operands[:2]) and not node.result().uses()


@has_lanes("prim::FusionGroup")
def _is_on_elements(node: Node) -> bool:
    return all(_is_element(v) for v in (*node.operands, *node.results) if isinstance(v.static_type, TensorType))


def _is_pointwise(node: Node) -> bool:
    definition = node.definition
    is_scalar = definition is not None and definition.scalar is not None and not definition.schema.is_mutable
    return is_scalar and _is_on_elements(node)


def _reads_no_element(node: Node) -> bool:
    """Whether it looks at sizes, or gives a part of a tensor, or a tensor again."""
    return node.op in SAME_VALUE or has_lanes.get(node.op) in (_asks_for_a_size, _shows_a_part)


def _is_number(value: Value) -> bool:
    if isinstance(value.static_type, TensorType):
        is_view = value.defining_node is not None and value.defining_node.op == "aten::select"
        return is_view or _is_element(value)
    kind = value.defining_node.op if value.defining_node is not None else ""
    return isinstance(value.static_type, IntType | FloatType | BoolType) or kind in (
        "prim::Constant",
        "prim::Uninitialized",
    )


def _is_element(value: Value) -> bool:
    return isinstance(value.static_type, TensorType) and value.static_type.sizes == ()


# -- memory -----------------------------------------------------------------------------------------------------------


def _memory(body: Block) -> tuple[list[Value], list[Value]] | None:
    """Tensors from outside that are read, and written to; None if one of them is both."""
    read: dict[Value, None] = {}
    written: dict[Value, None] = {}
    nodes = list(_within(body))
    inside = {v for n in nodes for v in n.results}
    for node in nodes:
        if _reads_no_element(node):
            continue
        for offset, value in enumerate(node.operands):
            if isinstance(value.static_type, TensorType):
                root = _root(value, inside)
                if node.op == "aten::copy_" and offset == 0:
                    written[root] = None
                elif root not in inside:
                    read[root] = None
    if any(v in inside or v in read for v in written):
        return None
    return list(read), list(written)


def _root(value: Value, inside: set[Value]) -> Value:
    while (
        value in inside and value.defining_node is not None and value.defining_node.op in SAME_VALUE | {"aten::select"}
    ):
        value = value.defining_node.operand(0)
    return value


# -- carried values ---------------------------------------------------------------------------------------------------


def _fold_of(parameter: Value, result: Value) -> str | None:
    """The operation by which iterations add to a carried value; empty if it never changes, None if order matters."""
    if not isinstance(parameter.static_type, IntType):
        return None
    operations: set[str] = set()
    uses = _walk(parameter, result, operations)
    if uses is None or uses != len(parameter.uses()) or len(operations) > 1:
        return None
    return next(iter(operations), "")


def _walk(parameter: Value, value: Value, operations: set[str]) -> int | None:
    """How often the parameter is used on the way to a value that is nothing but it and what is folded into it."""
    if value is parameter:
        return 1
    node = value.defining_node
    if node is None or len(value.uses()) != 1:
        return None
    if node.op == "prim::If":
        return _walk_branch(parameter, node, node.results.index(value), operations)
    if node.op == "prim::Loop":
        return _walk_loop(parameter, node, node.results.index(value), operations)
    traits = node.definition.traits if node.definition is not None else PLAIN
    if not traits.folds_as or len(node.operands) != 2 or not isinstance(value.static_type, IntType):
        return None
    ways = []
    for operand in node.operands if traits.commutes else node.operands[:1]:
        more: set[str] = set()
        uses = _walk(parameter, operand, more)
        if uses is not None:
            ways.append(uses)
            operations |= more
    if len(ways) != 1:
        return None
    operations.add(traits.folds_as)
    return ways[0]


def _walk_loop(parameter: Value, node: Node, position: int, operations: set[str]) -> int | None:
    """Through an inner loop that carries the value on."""
    body = node.nested_blocks[0]
    inner, result = body.parameters[1 + position], body.returns[1 + position]
    if _walk(inner, result, operations) != len(inner.uses()):
        return None
    return _walk(parameter, node.operand(2 + position), operations)


def _walk_branch(parameter: Value, node: Node, position: int, operations: set[str]) -> int | None:
    arms = [b.returns[position] for b in node.nested_blocks]
    extreme = _extreme(parameter, node.operand(0), arms)
    if extreme:
        operations.add(extreme)
        return 2
    if any(map(ends_in_raise, node.nested_blocks)):
        return None
    ways = [_walk(parameter, arm, operations) for arm in arms]
    return None if ways[0] is None or ways[1] is None else ways[0] + ways[1]


def _extreme(parameter: Value, condition: Value, arms: list[Value]) -> str:
    """`smax` or `smin` where a branch takes the greater or the lesser of a value and the parameter; else empty."""
    node = condition.defining_node
    if node is None or parameter not in arms:
        return ""
    at = next((k for text, k in _GREATER.items() if node.op == registry.spelled(text)), None)
    if at is None:
        return ""
    other = arms[1 - arms.index(parameter)]
    greater, lesser = node.operand(at), node.operand(1 - at)
    if other is parameter or {greater, lesser} != {parameter, other}:
        return ""
    return "smax" if arms[0] is greater else "smin"
