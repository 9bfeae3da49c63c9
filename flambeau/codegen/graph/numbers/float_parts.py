"""Functions of Python's `math` whose result no rounding decides: parts of floats, neighbours, remainders, decimals.

math.frexp(x)      →    the exponent's bits taken away from x, and counted
math.ulp(x)        →    the distance to the float whose bits are one more
round(x, 2)        →    x * 100 and what its rounding lost, the nearest whole number to both, over 100

Beside them those that the C library computes for Python too: cube roots and powers of two.
"""

from __future__ import annotations

import math
from typing import Final

from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.lowering_tables import lowers, lowers_on_numbers
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.native_values import CannotCompileError, Scalar, TupleValue
from flambeau.codegen.graph.numbers.complex_numbers import Arithmetic
from flambeau.codegen.graph.numbers.scalars import Operand
from flambeau.codegen.graph.representation import Bool, Float, Int
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.codegen.llvm.lanes import call_lanes
from flambeau.ir.constants import constant_value, is_constant
from flambeau.ir.graph import Node
from flambeau.schema import dtype as dtypes

EXPONENT_AT, EXPONENT_MASK, HALF_EXPONENT = 52, 0x7FF, 1022
"""Where a double keeps its exponent, all of its bits, and that of 1/2."""
SIGN_BIT: Final = -(1 << 63)
INFINITY: Final = float("inf")
MOST_DIGITS: Final = 22
"""The largest power of ten that a double holds."""
WHOLE: Final = 2.0**52
"""From here on all floats are whole."""


def _arguments(fn: EmittedFunction, node: Node) -> tuple[Arithmetic, list[Operand]]:
    """The operands as floats. Raises CannotCompileError for several lanes."""
    if fn.e.lanes > 1:
        raise CannotCompileError("it has no instruction for several lanes")
    a = Arithmetic(fn, node)
    return a, [a.real(fn.values.get(v)) for v in node.operands]


def _float(register: Register) -> Operand:
    return Operand(register, dtypes.float64)


@lowers("python::cbrt", "python::nextafter")
def _by_library(fn: EmittedFunction, node: Node) -> None:
    """What the C library computes, and never refuses."""
    a, values = _arguments(fn, node)
    a.give(_float(call_lanes(fn.e, node.op.removeprefix("python::"), tuple([v.register for v in values]))))


@lowers("python::exp2")
def _power_of_two(fn: EmittedFunction, node: Node) -> None:
    """A finite number whose power is infinite fails."""
    a, (x,) = _arguments(fn, node)
    power = _float(call_lanes(fn.e, "exp2", (x.register,)))
    is_large = a.all_of(a.s.eq(power, a.constant(INFINITY)), a.is_finite(x))
    fn.exits.fail_if(is_large.register, node)
    a.give(power)


@lowers("aten::mathremainder")
def _remainder(fn: EmittedFunction, node: Node) -> None:
    """nan where one side is infinite or the divisor 0, as the operator has it, and not as C does."""
    a, (x, y) = _arguments(fn, node)
    s = a.s
    rest = _float(call_lanes(fn.e, "remainder", (x.register, y.register)))
    is_defined = a.all_of(a.is_finite(x), s.ne(y, a.constant(0.0)))
    a.give(s.select(is_defined, rest, a.constant(math.nan)))


@lowers_on_numbers("aten::ldexp")
def _scaled(fn: EmittedFunction, node: Node) -> None:
    """Up to three products with powers of two, of which the last alone rounds: those before stay above what does."""
    if fn.e.lanes > 1:
        raise CannotCompileError("it has no instruction for several lanes")
    a = Arithmetic(fn, node)
    e, s = fn.e, a.s
    x, exponent = a.real(fn.values.get(node.operand(0))), fn.values.index(node.operand(1))
    exponent = e.intrinsic("smax", e.intrinsic("smin", exponent, number(5000)), number(-5000))
    for _ in range(2):
        above, below = e.icmp("sgt", exponent, number(1023)), e.icmp("slt", exponent, number(-1022))
        x = s.select(Operand(above, dtypes.bool_), s.mul(x, a.constant(2.0**1023)), x)
        x = s.select(Operand(below, dtypes.bool_), s.mul(x, a.constant(2.0**-969)), x)
        less = e.select(above, number(1023), e.select(below, number(-969), number(0)))
        exponent = e.binary("sub", exponent, less)
    exponent = e.intrinsic("smax", e.intrinsic("smin", exponent, number(1023)), number(-1022))
    bits = e.binary("shl", e.binary("add", exponent, number(1023)), number(EXPONENT_AT))
    a.give(s.mul(x, _float(e.as_float(bits))))


@lowers_on_numbers("aten::frexp")
def _split(fn: EmittedFunction, node: Node) -> None:
    """What is not normal is made so first; zeros, infinities and nan have the exponent 0."""
    a, (x,) = _arguments(fn, node)
    e, s = fn.e, a.s
    is_tiny = s.lt(s.abs(x), a.constant(2.0**-1022))
    normal = s.select(is_tiny, s.mul(x, a.constant(2.0**54)), x)
    bits = e.as_bits(normal.register)
    exponent = e.binary("and", e.binary("lshr", bits, number(EXPONENT_AT)), number(EXPONENT_MASK))
    fraction = e.binary("and", bits, number(~(EXPONENT_MASK << EXPONENT_AT)))
    mantissa = _float(e.as_float(e.binary("or", fraction, number(HALF_EXPONENT << EXPONENT_AT))))
    counted = e.binary("sub", exponent, e.select(is_tiny.register, number(HALF_EXPONENT + 54), number(HALF_EXPONENT)))
    has_parts = a.all_of(a.is_finite(x), s.ne(x, a.constant(0.0)))
    mantissa = s.select(has_parts, mantissa, x)
    counted = e.select(has_parts.register, counted, number(0))
    _give_both(fn, node, Scalar(Float(), mantissa.register), Scalar(Int(), counted))


@lowers_on_numbers("aten::modf")
def _parts(fn: EmittedFunction, node: Node) -> None:
    """Both parts have the number's sign; the fraction of an infinity is 0."""
    a, (x,) = _arguments(fn, node)
    s = a.s
    whole = s.trunc(x)
    fraction = s.select(s.eq(s.abs(x), a.constant(INFINITY)), a.constant(0.0), s.sub(x, whole))
    fraction = s.copysign(fraction, x)
    _give_both(fn, node, Scalar(Float(), fraction.register), Scalar(Float(), whole.register))


def _give_both(fn: EmittedFunction, node: Node, *items: Scalar) -> None:
    """Note two results, which are a tuple unless the node was taken apart."""
    if len(node.results) == 1:
        fn.values.set_view(node.result(), TupleValue(items))
        return
    for value, item in zip(node.results, items, strict=True):
        fn.values.set(value, item)


@lowers("python::ulp")
def _last_place(fn: EmittedFunction, node: Node) -> None:
    """Of the largest float the distance to the one before it; infinities and nan are their own."""
    a, (x,) = _arguments(fn, node)
    e, s = fn.e, a.s
    size = s.abs(x)
    bits = e.as_bits(size.register)
    above, below = (_float(e.as_float(e.binary("add", bits, number(step)))) for step in (1, -1))
    is_largest = s.eq(above, a.constant(INFINITY))
    distance = s.select(is_largest, s.sub(size, below), s.sub(above, size))
    a.give(s.select(a.is_finite(x), distance, size))


@lowers("python::is_integer")
def _is_whole(fn: EmittedFunction, node: Node) -> None:
    a, (x,) = _arguments(fn, node)
    answer = a.all_of(a.is_finite(x), a.s.eq(a.s.floor(x), x))
    fn.values.set(node.result(), Scalar(Bool(), answer.register))


@lowers("python::isclose")
def _is_close(fn: EmittedFunction, node: Node) -> None:
    """Equal numbers are, infinities no others; tolerances below 0 fail."""
    a, (x, y, relative, absolute) = _arguments(fn, node)
    e, s, zero = fn.e, a.s, a.constant(0.0)
    is_wrong = e.binary("or", s.lt(relative, zero).register, s.lt(absolute, zero).register)
    fn.exits.fail_if(is_wrong, node)
    apart = s.abs(s.sub(y, x))
    bounds = (s.abs(s.mul(relative, y)), s.abs(s.mul(relative, x)), absolute)
    is_near = e.binary("or", s.le(apart, bounds[0]).register, s.le(apart, bounds[1]).register)
    is_near = e.binary("or", is_near, s.le(apart, bounds[2]).register)
    is_finite = a.all_of(*(s.ne(s.abs(v), a.constant(INFINITY)) for v in (x, y)))
    is_near = e.binary("and", is_near, is_finite.register)
    fn.values.set(node.result(), Scalar(Bool(), e.binary("or", s.eq(x, y).register, is_near)))


@lowers_on_numbers("python::round")
def _to_decimals(fn: EmittedFunction, node: Node) -> None:
    """The whole number of decimals nearest to the exact product, a tie to the even one, and over the power of ten: both
    are floats without an error, so that their quotient is the float nearest to the decimal.
    """
    digits = constant_value(node.operand(1)) if is_constant(node.operand(1)) else None
    if fn.e.lanes > 1 or not isinstance(digits, int) or not 0 <= digits <= MOST_DIGITS:
        raise CannotCompileError("a number of decimals that is not written out, or is not in 0 to 22")
    native = fn.values.get(node.operand(0))
    if not isinstance(native, Scalar) or not isinstance(native.rep, Float):
        raise CannotCompileError("of an int")
    a = Arithmetic(fn, node)
    s, x = a.s, a.real(native)
    power = a.constant(10.0**digits)
    scaled = s.mul(x, power)

    def compute() -> Operand:
        return s.copysign(s.div(nearest_whole(a, x, power, scaled), power), x)

    a.give_if(s.lt(s.abs(scaled), a.constant(WHOLE)), compute, Float())


def nearest_whole(a: Arithmetic, x: Operand, power: Operand, scaled: Operand) -> Operand:
    """The whole number nearest to the exact product of two floats, a tie to the even one; `scaled` is the float nearest
    to the product, and below `WHOLE`.
    """
    s = a.s
    lost = _float(a.fn.e.fma(x.register, power.register, s.neg(scaled).register))
    whole = s.round(scaled)
    beyond = s.sub(scaled, whole)  # exact; a half of it is a tie that what was lost decides
    is_up = a.all_of(s.eq(beyond, a.constant(0.5)), s.gt(lost, a.constant(0.0)))
    is_down = a.all_of(s.eq(beyond, a.constant(-0.5)), s.lt(lost, a.constant(0.0)))
    nearest = s.select(is_up, s.add(whole, a.constant(1.0)), whole)
    return s.select(is_down, s.sub(nearest, a.constant(1.0)), nearest)
