"""Functions of ints that take a loop or a correction: common divisors and multiples, roots, bits, powers by a modulus,
quotients with remainders.
"""

from __future__ import annotations

from typing import Final

from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.interpreter_calls import either_number
from flambeau.codegen.graph.lowering_tables import lowers, lowers_on_numbers
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.native_values import CannotCompileError, Scalar, TupleValue
from flambeau.codegen.graph.numbers.scalars import Operand, Registers, as_operand
from flambeau.codegen.graph.representation import Float, Int
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.ir.graph import Node
from flambeau.schema import dtype as dtypes


def _numbers(fn: EmittedFunction, node: Node) -> list[Scalar]:
    """The operands, all of which have to be numbers of one iteration."""
    natives = [fn.values.get(v) for v in node.operands]
    numbers = [n for n in natives if isinstance(n, Scalar) and isinstance(n.rep, Int | Float)]
    if len(numbers) != len(natives):
        raise CannotCompileError("of other things than numbers")
    if any(n.register.lanes > 1 for n in numbers):
        raise CannotCompileError("it has no instruction for several lanes")
    return numbers


def _ints(fn: EmittedFunction, node: Node) -> list[Register]:
    """The operands, all of which have to be ints of one iteration."""
    numbers = _numbers(fn, node)
    if any(n.rep != Int() for n in numbers):
        raise CannotCompileError("of other numbers than ints")
    return [n.register for n in numbers]


@lowers("aten::gcd")
def gcd(fn: EmittedFunction, node: Node) -> None:
    """Of two or three ints; that of the least int with 0 wraps."""
    first, *others = (_magnitude(fn, x) for x in _ints(fn, node))
    for other in others:
        first = _euclid(fn, first, other)
    fn.values.set(node.result(), Scalar(Int(), first))


@lowers("python::lcm")
def lcm(fn: EmittedFunction, node: Node) -> None:
    """Of two ints, 0 if one of them is 0; the product wraps around, as the exact multiple does."""
    e = fn.e
    first, *others = (_magnitude(fn, x) for x in _ints(fn, node))
    if len(others) > 1:
        raise CannotCompileError("of more than two ints, of which two may have no multiple in 64 bits")
    divisor = _euclid(fn, first, others[0])
    is_zero = e.icmp("eq", divisor, number(0))
    quotient = e.define(f"udiv i64 {first}, {e.select(is_zero, number(1), divisor)}", "i64", 1)
    fn.values.set(node.result(), Scalar(Int(), e.binary("mul", quotient, others[0])))


def _euclid(fn: EmittedFunction, a: Register, b: Register) -> Register:
    """Euclid's algorithm on ints without a sign."""
    e = fn.e
    head, step, done, before = e.label("euclid"), e.label("step"), e.label("done"), e.label("before")
    e.branch(before)
    e.start(before)
    e.branch(head)
    e.start(head)
    x, y, rest = (Register(e.name(stem), "i64", 1) for stem in ("x", "y", "rest"))
    e.phi(x.text, a, [(a, before), (y, step)])
    e.phi(y.text, a, [(b, before), (rest, step)])
    e.branch_if(e.icmp("eq", y, number(0)), done, step)
    e.start(step)
    e.raw(f"{rest} = urem i64 {x}, {y}")
    e.branch(head)
    e.start(done)
    return x


@lowers("python::bit_count", "python::bit_length")
def bits(fn: EmittedFunction, node: Node) -> None:
    """How many bits of an int without its sign are set, and how many it takes."""
    (x,) = _ints(fn, node)
    e = fn.e
    magnitude = _magnitude(fn, x)
    if node.op == "python::bit_count":
        e.declare("declare i64 @llvm.ctpop.i64(i64)")
        fn.values.set(node.result(), Scalar(Int(), e.define(f"call i64 @llvm.ctpop.i64(i64 {magnitude})", "i64", 1)))
        return
    zeros = e.define(f"call i64 @llvm.ctlz.i64(i64 {magnitude}, i1 false)", "i64", 1)
    fn.values.set(node.result(), Scalar(Int(), e.binary("sub", number(64), zeros)))


def _magnitude(fn: EmittedFunction, x: Register) -> Register:
    e = fn.e
    return e.select(e.icmp("slt", x, number(0)), e.binary("sub", number(0), x), x)


@lowers("python::isqrt")
def isqrt(fn: EmittedFunction, node: Node) -> None:
    """The whole part of a square root: that of the float beside it, which is one off at most. Negative ints fail."""
    (n,) = _numbers(fn, node)
    e, x = fn.e, n.register
    fn.exits.fail_if(e.icmp("slt", x, number(0)), node)
    root = e.convert("fptosi", e.intrinsic("sqrt", e.convert("sitofp", x, "double")), "i64")
    above = e.icmp("ugt", e.binary("mul", root, root), x)
    root = e.select(above, e.binary("sub", root, number(1)), root)
    more = e.binary("add", root, number(1))
    root = e.select(e.icmp("ule", e.binary("mul", more, more), x), more, root)
    fn.values.set(node.result(), Scalar(Int(), root))


LARGEST_MODULUS: Final = 1 << 32
"""Products of two numbers below it have 64 bits."""


@lowers_on_numbers("aten::pow")
def power_modulo(fn: EmittedFunction, node: Node) -> None:
    """`pow(base, exponent, modulus)`: a square for each bit of the exponent. Exponents below 0, and moduli that are not
    in 1 to 2**32, are Python's.
    """
    if len(node.operands) != 3:
        raise CannotCompileError("powers of other kinds than of ints by a modulus")
    base, exponent, modulus = _ints(fn, node)
    e = fn.e
    is_within = e.icmp("ult", e.binary("sub", modulus, number(1)), number(LARGEST_MODULUS))
    usual = e.binary("and", is_within, e.icmp("sge", exponent, number(0)))

    def compute() -> Scalar:
        rest = e.define(f"srem i64 {base}, {modulus}", "i64", 1)
        rest = e.select(e.icmp("slt", rest, number(0)), e.binary("add", rest, modulus), rest)
        return Scalar(Int(), _squares(fn, rest, exponent, modulus))

    either_number(fn, node, usual, compute, Int())


def _squares(fn: EmittedFunction, base: Register, exponent: Register, modulus: Register) -> Register:
    """The power, of a base below the modulus, by squaring."""
    e = fn.e
    first = e.define(f"urem i64 1, {modulus}", "i64", 1)
    head, step, done, before = (e.label(stem) for stem in ("powers", "step", "done", "before"))
    e.branch(before)
    e.start(before)
    e.branch(head)
    e.start(head)
    left, power, product = (Register(e.name(stem), "i64", 1) for stem in ("left", "power", "product"))
    halved, squared, multiplied = (Register(e.name(stem), "i64", 1) for stem in ("halved", "squared", "multiplied"))
    e.phi(left.text, exponent, [(exponent, before), (halved, step)])
    e.phi(power.text, base, [(base, before), (squared, step)])
    e.phi(product.text, first, [(first, before), (multiplied, step)])
    e.branch_if(e.icmp("eq", left, number(0)), done, step)
    e.start(step)
    odd = e.icmp("ne", e.binary("and", left, number(1)), number(0))
    factor = e.select(odd, power, number(1))
    longer = e.binary("mul", product, factor)
    e.raw(f"{multiplied} = urem i64 {longer}, {modulus}")
    square = e.binary("mul", power, power)
    e.raw(f"{squared} = urem i64 {square}, {modulus}")
    e.raw(f"{halved} = lshr i64 {left}, 1")
    e.branch(head)
    e.start(done)
    return product


@lowers("aten::divmod")
def divmod_(fn: EmittedFunction, node: Node) -> None:
    """`divmod(a, b)`: `a // b` and `a % b`, of ints or as floats. Division by zero fails."""
    numbers = _numbers(fn, node)
    s = Registers(fn, node, is_exact=True)
    is_whole = all(n.rep == Int() for n in numbers)
    a, b = (s.cast(as_operand(n), dtypes.int64 if is_whole else dtypes.float64) for n in numbers)
    if not is_whole:
        fn.exits.fail_if(fn.e.fcmp("oeq", b.register, fn.e.like(b.register, 0.0)), node)
    items = tuple(_scalar(operand) for operand in (s.floordiv(a, b), s.remainder(a, b)))
    if len(node.results) == 2:
        for value, item in zip(node.results, items, strict=True):
            fn.values.set(value, item)
    else:
        fn.values.set_view(node.result(), TupleValue(items))


def _scalar(operand: Operand) -> Scalar:
    return Scalar(Float() if operand.dtype.is_floating_point else Int(), operand.register)
