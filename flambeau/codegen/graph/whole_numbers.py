"""Functions of ints that take a loop or a correction: greatest common divisors, roots, quotients with remainders."""

from __future__ import annotations

from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.lowering_tables import lowers
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.native_values import CannotCompileError, Scalar, TupleValue
from flambeau.codegen.graph.representation import Float, Int
from flambeau.codegen.graph.scalars import Operand, Registers, as_operand
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


@lowers("aten::gcd")
def gcd(fn: EmittedFunction, node: Node) -> None:
    """Euclid's algorithm on the absolute values, as ints without a sign; that of the least int with 0 wraps."""
    numbers = _numbers(fn, node)
    if any(n.rep != Int() for n in numbers):
        raise CannotCompileError("of other numbers than ints")
    e = fn.e
    a, b = (_magnitude(fn, n.register) for n in numbers)
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
    fn.values.set(node.result(), Scalar(Int(), x))


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
