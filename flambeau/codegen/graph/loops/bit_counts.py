"""Loops that count the bits of a number, by taking the lowest one away: the processor has an instruction for that.

while v:
    v &= v - 1         →    count += bits of v; v = 0
    count += 1
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.loops.counted_while import ENDLESS
from flambeau.codegen.graph.memory import multiply, number
from flambeau.codegen.graph.native_values import Scalar
from flambeau.codegen.graph.representation import Int
from flambeau.ir.constants import constant_value, is_constant
from flambeau.ir.graph import Block, Node, Value
from flambeau.schema.types import INT
from flambeau.util.record import dataclass


@dataclass(frozen=True, slots=True)
class BitCount:
    """A loop that counts the bits of a number."""

    emptied: int
    """Which of the carried values loses its bits."""
    counters: Mapping[int, Value]
    """The others, and what is added to each for a bit."""


def bit_count(node: Node) -> BitCount | None:
    """What a `prim::Loop` counts; None where it is another one."""
    body = node.nested_blocks[0]
    first, later = node.operand(1).defining_node, body.returns[0].defining_node
    carried = list(zip(node.operands[2:], body.parameters[1:], body.returns[1:], strict=True))
    if not _is(node.operand(0), ENDLESS) or body.parameters[0].is_used or not _are_ints(carried):
        return None
    emptied = next(
        (k for k, (initial, _, after) in enumerate(carried) if _asks(first, initial) and _asks(later, after)), None
    )
    if emptied is None:
        return None
    counters = {
        k: step
        for k, (_, before, after) in enumerate(carried)
        if k != emptied and (step := _step(before, after)) is not None and not _is_inside(step, body)
    }
    less = _without_lowest(*carried[emptied][1:])
    known = {later, *less, *(carried[k][2].defining_node for k in counters)}
    return BitCount(emptied, counters) if less and len(counters) == len(carried) - 1 and known == set(body) else None


def _is_inside(value: Value, body: Block) -> bool:
    """Whether a value is made anew in each iteration."""
    return value in body.parameters or value.defining_node in set(body)


def _is(value: Value, number: int) -> bool:
    return is_constant(value) and constant_value(value) == number


def _are_ints(carried: Sequence[tuple[Value, Value, Value]]) -> bool:
    return all(initial.static_type == INT == before.static_type for initial, before, _ in carried)


def _asks(condition: Node | None, value: Value) -> bool:
    """Whether a condition says that a number is not zero."""
    if condition is None or not condition.operands or condition.operand(0) is not value:
        return False
    return condition.op == "aten::Bool" or (condition.op == "aten::ne" and _is(condition.operand(1), 0))


def _without_lowest(before: Value, after: Value) -> set[Node]:
    """The nodes of `v & (v - 1)`; none where that is not what a number becomes."""
    node = after.defining_node
    if node is None or node.op != "aten::__and__" or before not in node.operands:
        return set()
    other = node.operand(1) if node.operand(0) is before else node.operand(0)
    less = other.defining_node
    is_less = less is not None and less.op == "aten::sub" and less.operand(0) is before and _is(less.operand(1), 1)
    return {node, less} if less is not None and is_less else set()


def _step(before: Value, after: Value) -> Value | None:
    """What is added to a counter."""
    node = after.defining_node
    if node is None or node.op != "aten::add" or len(node.operands) != 2 or before not in node.operands:
        return None
    step = node.operand(1) if node.operand(0) is before else node.operand(0)
    return step if step is not before and step.static_type == INT else None


def emit(fn: EmittedFunction, node: Node, count: BitCount) -> None:
    """The loop's results without a loop."""
    e, initial = fn.e, node.operands[2:]
    bits = e.intrinsic("ctpop", fn.values.index(initial[count.emptied]))
    for k, result in enumerate(node.results):
        if k == count.emptied:
            fn.values.set(result, Scalar(Int(), number(0)))
            continue
        added = multiply(e, bits, fn.values.index(count.counters[k]))
        fn.values.set(result, Scalar(Int(), e.binary("add", fn.values.index(initial[k]), added)))
