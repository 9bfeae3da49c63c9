"""How Python writes what instructions call, where it has an operator of its own for that."""

from __future__ import annotations

import operator
from typing import Any, Final

from flambeau.interpreter.code import Instruction, Op
from flambeau.ops.language import float64, int64
from flambeau.ops.language.scalars import int_div
from flambeau.ops.language.structural import derive_index

SUMS: Final[dict[Any, str]] = {int64.add: "{} + {}", int64.sub: "{} - {}", int64.neg: "-{}"}
"""What agrees modulo 2**64, whether its operands have been wrapped or not, and grows by a bit at most."""
PRODUCTS: Final[dict[Any, str]] = {int64.mul: "{} * {}", derive_index: "{1} + {0} * {2}"}
"""What agrees as well, but takes wrapped operands, or numbers would grow without bound."""
WRITTEN: Final[dict[Any, str]] = {
    operator.add: "{} + {}", operator.sub: "{} - {}", operator.mul: "{} * {}", operator.neg: "-{}",
    operator.lt: "{} < {}", operator.le: "{} <= {}", operator.gt: "{} > {}", operator.ge: "{} >= {}",
    operator.eq: "{} == {}", operator.ne: "{} != {}", operator.and_: "{} & {}", operator.or_: "{} | {}",
    operator.xor: "{} ^ {}", operator.not_: "not {}", operator.getitem: "{}[{}]", operator.is_: "{} is {}",
    operator.is_not: "{} is not {}",
}  # fmt: skip
"""Python's functions as Python writes them."""
OF_CONTAINERS: Final[dict[Any, str]] = {operator.contains: "{1} in {0}", dict.get: "{0}.get({1}{2})"}
"""Looks into containers as Python writes them: they may fail."""
DIVISIONS: Final[dict[Any, str]] = {
    int64.remainder: "{} % {}", int64.floordiv: "{} // {}", float64.div: "{} / {}", int_div: "float({}) / {}",
}  # fmt: skip
"""What Python refuses for a divisor of zero, and the language does not, or in other words."""
CALLS: Final = frozenset({Op.CALL0, Op.CALL1, Op.CALL2, Op.CALL3, Op.CALL, Op.CALL_MANY, Op.DO, Op.DO2})
FUSED_INTO: Final = frozenset({*CALLS, Op.ADD, Op.MOVE, Op.MOVES, Op.BRANCH, Op.WHILE})
"""What a number may be written into: it is read before anything is written."""


def is_in(f: Any, table: dict[Any, str]) -> bool:
    """Whether a function is one of a table's: others may compare in ways of their own, or not be hashable."""
    return any(f is known for known in table)


def looks_twice(instruction: Instruction, register: int) -> bool:
    """Whether an instruction is written with two mentions of a register: a divisor is compared with zero."""
    op, _, f, _, b, _ = instruction
    return op is Op.CALL2 and b == register and is_in(f, DIVISIONS)


def is_sum(instruction: Instruction) -> bool:
    op, _, f, _, _, _ = instruction
    return op is Op.ADD or (op in (Op.CALL1, Op.CALL2) and is_in(f, SUMS))
