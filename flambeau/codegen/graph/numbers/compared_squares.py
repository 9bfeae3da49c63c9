"""Sums of squares that are only compared: whether one is below a bound seldom depends on how `pow` rounds.

(x - a) ** 2 + (y - b) ** 2 <= c    →    %near = c * 2**-48
                                         late function of x - a, y - b, c and %near: products, and `pow` near c

A square by `pow` and a product differ by one unit in the last place at most (`exact_powers`), and sums of up to four of
either by less than 2**-50 of them. So both lie on the same side of a bound unless they lie near it. What is not usual,
bounds from 2**1000 on and sums next to a bound of 0, is asked too. Infinite and nan, as lanes of a loop are that others
left behind, both compare alike.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from flambeau.codegen.graph import memory
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.loops.asked_lanes import Registers, asking_text
from flambeau.codegen.graph.native_values import Scalar
from flambeau.codegen.graph.numbers.exact_powers import IS_CLOSE, exponent_of
from flambeau.codegen.graph.representation import Float
from flambeau.codegen.llvm.emitter import Emitter, float_constant
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.codegen.llvm.lanes import call_lanes
from flambeau.codegen.llvm.late_functions import LateFunction
from flambeau.ir.graph import Node, Value
from flambeau.ops.derivatives.terms import operation
from flambeau.schema.types import FLOAT

MOST: Final = 4
"""Squares of a sum, for which the bound on their roundings holds."""
_MIRRORED: Final = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
"""Comparisons of the Scalar protocol, with those of the operands the other way round."""
_NEAR, _LEAST, _LARGE = 2.0**-48, 2.0**-1000, 2.0**1000
_EXACT_INTS: Final = 1 << 53


def compared_squares(fn: EmittedFunction, node: Node) -> Register | None:
    """The truth of a comparison of a sum of squares, which nothing else reads, with a number; None for others."""
    name = operation(node.definition)
    if name not in _MIRRORED or not IS_CLOSE or fn.e.target.user_flags:
        return None
    for side in (0, 1):
        squared = _squared(fn, node.operand(side))
        bound = _bound(fn, node.operand(1 - side))
        if squared and bound is not None:
            return _call(fn, f"o{_MIRRORED[name] if side else name}", [*squared, bound])
    return None


def _squared(fn: EmittedFunction, value: Value) -> list[Register] | None:
    """What the squares are of whose sum, from left to right, a value is; None for another value."""
    registers: list[Register] = []
    while True:
        node = value.defining_node
        if node is None or value.static_type != FLOAT or len(value.uses()) != 1:
            return None
        square = node.operand(1).defining_node if operation(node.definition) == "add" else node
        base = None if square is None else _base(fn, square)
        if base is None or len(registers) == MOST:
            return None
        registers.append(base)
        if node is square:
            return registers[::-1]
        value = node.operand(0)


def _base(fn: EmittedFunction, node: Node) -> Register | None:
    """What a square of floats, which nothing else reads, is of; None for another node."""
    if operation(node.definition) != "pow" or len(node.result().uses()) != 1:
        return None
    base, exponent = (fn.values.get(v) for v in node.operands)
    is_square = isinstance(exponent, Scalar) and exponent_of(exponent.register) == 2
    return base.register if is_square and isinstance(base, Scalar) and base.rep == Float() else None


def _bound(fn: EmittedFunction, value: Value) -> Register | None:
    """A float, or an int that is written out, as a register of doubles; None for another number."""
    native: Any = fn.values.get(value)
    if not isinstance(native, Scalar):
        return None
    if native.rep == Float():
        return native.register
    literal = memory.literal(native.register) if native.register.type == "i64" else None
    if literal is None or abs(literal) >= _EXACT_INTS:
        return None
    return float_constant(float(literal), "double", 1)


def _call(fn: EmittedFunction, predicate: str, operands: Sequence[Register]) -> Register:
    e = fn.e
    lanes = max(x.lanes for x in operands)
    squares, passed = len(operands) - 1, [*operands, _near(e, operands[-1])]
    late = LateFunction(f"flambeau_squares_{squares}_{predicate}", e.target.vector_bits // 64, len(passed))
    quick, exactly = partial(_quick, predicate), partial(_exactly, predicate)
    for width in {1, late.lanes, lanes}:
        symbol = late.symbol(width)
        if symbol not in fn.parts.late:
            fn.parts.late[symbol] = asking_text(late, e.target, width, quick, exactly)
    e.libm.setdefault("pow")
    holds = late.call(e, *(e.splat(x, lanes) for x in passed))
    return e.fcmp("one", holds, e.like(holds, 0.0))


def _near(e: Emitter, bound: Register) -> Register:
    """How far from a bound a sum is near it; infinite for a bound that is large."""
    size, least = e.fabs(bound), e.like(bound, _LEAST)
    scaled = e.fmul(size, e.like(bound, _NEAR))
    around = e.select(e.fcmp("ogt", scaled, least), scaled, least)
    return e.select(e.fcmp("ult", size, e.like(bound, _LARGE)), around, e.like(bound, math.inf))


def _quick(predicate: str, e: Emitter, xs: Registers) -> tuple[Register, Register]:
    *squared, bound, near = xs
    total = _sum(e, [e.fmul(x, x) for x in squared])
    is_far = e.fcmp("ugt", e.fabs(e.fsub(total, bound)), near)
    return _truth(e, predicate, total, bound), is_far


def _exactly(predicate: str, e: Emitter, xs: Registers) -> Register:
    *squared, bound, _ = xs
    two = float_constant(2.0, "double", 1)
    return _truth(e, predicate, _sum(e, [call_lanes(e, "pow", (x, two)) for x in squared]), bound)


def _sum(e: Emitter, terms: Sequence[Register]) -> Register:
    total = terms[0]
    for term in terms[1:]:
        total = e.fadd(total, term)
    return total


def _truth(e: Emitter, predicate: str, total: Register, bound: Register) -> Register:
    """1 where the comparison holds, else 0, as a double."""
    return e.select(e.fcmp(predicate, total, bound), e.like(total, 1.0), e.like(total, 0.0))
