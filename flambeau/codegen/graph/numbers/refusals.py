"""What operators on numbers refuse: conditions under which native code leaves, and Python says what was wrong.

0.0 ** -1.0    1 << -1    int(float("nan"))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from flambeau.codegen.graph import memory
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.numbers.scalars import Operand
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.ir.graph import Node
from flambeau.schema.rule_tables import RuleTable

LIMIT: Final = float(1 << 63)
"""The first float above all ints."""

Refusal = Callable[["EmittedFunction", Node, Sequence[Operand]], None]
refuses: Final = RuleTable[Refusal]("conditions under which native code leaves")
"""Registers what emits the conditions under which an operator on numbers has no result."""


def refuse(fn: EmittedFunction, node: Node, operands: Sequence[Any]) -> None:
    """Leave if an operator has no result for its operands."""
    if node.op in refuses and all(isinstance(o, Operand) for o in operands):
        refuses[node.op](fn, node, operands)


@refuses("aten::Int", "aten::floor", "aten::ceil", "python::trunc")
def refuse_what_no_int_is(fn: EmittedFunction, node: Node, operands: Sequence[Operand]) -> None:
    """nan, and floats that do not fit in 64 bits."""
    source = operands[0]
    if not source.dtype.is_floating_point or source.register.type not in ("double", "float"):
        return
    e, x = fn.e, source.register
    if memory.literal(x) is not None:
        return
    too_small = e.fcmp("ult", x, e.like(x, -LIMIT))
    fn.exits.fail_if(e.binary("or", too_small, e.fcmp("uge", x, e.like(x, LIMIT))), node)


@refuses("aten::pow")
def _power_of_zero(fn: EmittedFunction, node: Node, operands: Sequence[Operand]) -> None:
    """Powers of an exact zero to a negative exponent."""
    e, conditions = fn.e, []
    for operand, predicate in zip(operands, ("eq", "lt"), strict=True):
        zero = e.like(operand.register, 0)
        if operand.dtype.is_floating_point:
            conditions.append(e.fcmp("o" + predicate, operand.register, zero))
        else:
            conditions.append(e.icmp({"eq": "eq", "lt": "slt"}[predicate], operand.register, zero))
    fn.exits.fail_if(e.binary("and", *conditions), node)


@refuses("python::log2")
def _logarithm_of_nothing(fn: EmittedFunction, node: Node, operands: Sequence[Operand]) -> None:
    """Logarithms of zero and below, which `math.log2` has none of."""
    e, x = fn.e, operands[0].register
    if operands[0].dtype.is_floating_point:
        fn.exits.fail_if(e.fcmp("ole", x, e.like(x, 0.0)), node)
    else:
        fn.exits.fail_if(e.icmp("sle", x, e.like(x, 0)), node)


@refuses("aten::__lshift__", "aten::__rshift__")
def _negative_count(fn: EmittedFunction, node: Node, operands: Sequence[Operand]) -> None:
    """Shifts by less than nothing."""
    count: Register = operands[1].register
    known = memory.literal(count)
    if known is None or known < 0:
        fn.exits.fail_if(fn.e.icmp("slt", count, number(0) if count.lanes == 1 else fn.e.like(count, 0)), node)
