"""`while` loops that count: `while j < n` whose `j` moves by the same step in every iteration.

How often such a loop runs is known before it, where the step goes towards the bound and nothing wraps around. Then its
iterations are those of a counted loop: checks of elements are made once before it, and the clock is looked at seldom.
The loop as it was written follows it, for what is left: few iterations, steps that never arrive, large numbers.
"""

from __future__ import annotations

from typing import Final

from flambeau.codegen.graph import memory
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.loops.hoisted_bounds_checks import are_small
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.native_values import Affine
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.ir.constants import is_true
from flambeau.ir.graph import Block, Node, Value
from flambeau.schema.types import IntType
from flambeau.util.record import dataclass

FEWEST = 16
"""Iterations from which on it is worth counting them: a division and the bounds of indexes take as long as some."""
LARGEST = 48
"""Nodes of a body, at most: it is emitted once more than that of other loops."""
ENDLESS = (1 << 63) - 1
"""Iterations that a loop makes at most, where it is a `while`."""
_SWAPPED: Final = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
_SIGNS: Final = {"add": 1, "sub": -1}


@dataclass(slots=True)
class Induction:
    """The variable that a loop moves, and how."""

    position: int
    """Which of the carried values it is."""
    start: Value
    step: Value
    sign: int
    """-1 where the step is subtracted."""
    comparison: str
    """`lt`, `le`, `gt` or `ge`: the loop runs while the variable is so beside the bound."""
    bound: Value


def induction_of(node: Node) -> Induction | None:
    """What moves a `prim::Loop` with a condition; None where that is not one number by one step to one bound."""
    body, most = node.nested_blocks[0], node.operand(0).defining_node
    if most is None or most.attributes.get("value") != ENDLESS:
        return None
    if body.parameters[0].is_used or sum(1 for _ in body.walk()) > LARGEST:
        return None
    for position, following in enumerate(body.returns[1:]):
        compared = _comparison(body.returns[0], following, body)
        moved = _step(following, body.parameters[1 + position], body)
        if compared is None or moved is None:
            continue
        start = node.operand(2 + position)
        first = node.operand(1)
        if is_true(first) or _comparison(first, start, body) == compared:
            return Induction(position, start, *moved, *compared)
    return None


def _comparison(condition: Value, variable: Value, body: Block) -> tuple[str, Value] | None:
    """The comparison and the bound of a condition on a variable."""
    node = condition.defining_node
    if node is None or node.op.removeprefix("aten::") not in _SWAPPED or not _are_ints(node):
        return None
    name = node.op.removeprefix("aten::")
    left, right = node.operands
    if right is variable:
        left, right, name = right, left, _SWAPPED[name]
    return (name, right) if left is variable and _is_outside(right, body) else None


def _step(following: Value, variable: Value, body: Block) -> tuple[Value, int] | None:
    """What is added to the variable in each iteration, and the sign it is added with."""
    node = following.defining_node
    if node is None or node.owner_block is not body or not _are_ints(node):
        return None
    sign = _SIGNS.get(node.op.removeprefix("aten::"))
    left, right = node.operands
    if right is variable and sign == 1:
        left, right = right, left
    return (right, sign) if sign is not None and left is variable and _is_outside(right, body) else None


def _are_ints(node: Node) -> bool:
    return len(node.operands) == 2 and all(isinstance(v.static_type, IntType) for v in node.operands)


def _is_outside(value: Value, body: Block) -> bool:
    return value.owner_block is not body


@dataclass(slots=True)
class Distance:
    """How far a variable is from its bound before the loop, and how far one iteration takes it."""

    start: Register
    bound: Register
    step: Register
    width: Register
    """The step towards the bound."""
    length: Register


def distance_of(fn: EmittedFunction, induction: Induction) -> Distance | None:
    """How far the loop has to go; None where the step is known to lead away from the bound."""
    e = fn.e
    start, bound, step = (fn.values.index(v) for v in (induction.start, induction.bound, induction.step))
    if induction.sign < 0:
        step = memory.subtract(e, number(0), step)
    is_rising = induction.comparison in ("lt", "le")
    width = step if is_rising else memory.subtract(e, number(0), step)
    known = memory.literal(width)
    if known is not None and not 0 < known < 1 << 31:
        return None
    length = e.binary("sub", bound, start) if is_rising else e.binary("sub", start, bound)
    if induction.comparison in ("le", "ge"):
        length = memory.add(e, length, number(1))
    return Distance(start, bound, step, width, length)


def is_far(fn: EmittedFunction, distance: Distance) -> Register:
    """Whether it may be worth it to count the iterations: of the short loops that others are full of, it is not."""
    return fn.e.icmp("sgt", distance.length, memory.multiply(fn.e, distance.width, number(FEWEST)))


def iterations_of(fn: EmittedFunction, distance: Distance) -> tuple[Register, Affine]:
    """How many iterations there are, where it is far; 0 where numbers are so large that something may wrap around. And
    how the variable moves over them.
    """
    e, width = fn.e, distance.width
    fits = are_small(e, [distance.start, distance.bound, width])
    known = memory.literal(width)
    if known is None:
        fits = e.binary("and", fits, e.icmp("sgt", width, number(0)))
    divisor = e.select(fits, width, number(1)) if known is None else width
    rounded = memory.add(e, distance.length, memory.subtract(e, width, number(1)))
    trip = distance.length if known == 1 else e.binary("udiv", rounded, divisor)
    return e.select(fits, trip, number(0)), _affine(distance.start, distance.step)


def _affine(start: Register, step: Register) -> Affine:
    first, known = memory.literal(start), memory.literal(step)
    is_short = first is not None and abs(first) < 1 << 30
    invariants, offset = ((), first) if is_short and first is not None else ((start,), 0)
    return Affine(invariants, known, offset) if known is not None else Affine(invariants, 0, offset, step)


def holds(fn: EmittedFunction, induction: Induction, variable: Register) -> Register:
    """Whether the loop goes on."""
    return fn.e.icmp(f"s{induction.comparison}", variable, fn.values.index(induction.bound))
