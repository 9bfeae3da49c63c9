"""Functions of Python's `math` that it computes in its own way, to the bit: lengths, factorials and their kin.

math.hypot(3.0, x)    →    squares and their rounding errors added up, the root of that, and a correction of it
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.interpreter_calls import call_python
from flambeau.codegen.graph.lowering_tables import lowers, lowers_on_items
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.native_values import CannotCompileError, Scalar, TupleValue, from_words
from flambeau.codegen.graph.numbers.complex_numbers import Arithmetic
from flambeau.codegen.graph.numbers.scalars import Operand
from flambeau.codegen.graph.representation import Float, Int
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.ir.graph import Node
from flambeau.schema import dtype as dtypes

EXPONENT_AT, EXPONENT_BIAS = 52, 1023
"""Where a double keeps its exponent, and the exponent of 1."""
LAST_FACTORIAL = 66
"""The first number whose factorial is a multiple of 2**64."""


@lowers("python::hypot")
def _hypot(fn: EmittedFunction, node: Node) -> None:
    """Both sides are scaled by a power of two, so that the longer lies in [1, 2): very long ones are left to Python."""
    a = Arithmetic(fn, node)
    s = a.s
    if fn.e.lanes > 1:
        raise CannotCompileError("it has no instruction for several lanes")
    _give_length(a, [s.abs(a.real(fn.values.get(v))) for v in node.operands])


@lowers_on_items("python::dist")
def _distance(fn: EmittedFunction, node: Node) -> None:
    """The length of the differences of points whose coordinates are written out; of other points Python's."""
    p, q = (fn.values.get(v) for v in node.operands)
    if fn.e.lanes > 1 or not (isinstance(p, TupleValue) and isinstance(q, TupleValue)):
        raise CannotCompileError("of points with any number of coordinates")
    if len(p.items) != len(q.items) or len(p.items) < 2:
        raise CannotCompileError("of points with other numbers of coordinates, or less than two")
    a = Arithmetic(fn, node)
    s = a.s
    _give_length(a, [s.abs(s.sub(a.real(x), a.real(y))) for x, y in zip(p.items, q.items, strict=True)])


def _give_length(a: Arithmetic, sides: Sequence[Operand]) -> None:
    """The root of the sum of squares of sides without signs, of which the longest is not very short nor very long."""
    s = a.s
    longest = sides[0]
    for side in sides[1:]:
        longest = s.select(s.gt(longest, side), longest, side)
    within = s.ge(longest, a.constant(2.0**-1000)), s.le(longest, a.constant(2.0**1000))
    usual = a.all_of(*within, *(s.eq(side, side) for side in sides))
    a.give_if(usual, lambda: _scaled_length(a, sides, longest), Float())


def _scaled_length(a: Arithmetic, sides: Sequence[Operand], longer: Operand) -> Operand:
    e, s = a.fn.e, a.s
    exponent = e.binary("lshr", e.as_bits(longer.register), number(EXPONENT_AT))
    bits = e.binary("shl", e.binary("sub", number(2 * EXPONENT_BIAS - 1), exponent), number(EXPONENT_AT))
    scale = Operand(e.as_float(bits), dtypes.float64)
    total = a.constant(1.0)
    errors = [a.constant(0.0), a.constant(0.0)]

    def add_product(u: Operand, v: Operand) -> None:
        """Add a product to the sum, and what both roundings lose to the errors."""
        nonlocal total
        product = s.mul(u, v)
        lost = Operand(e.fma(u.register, v.register, s.neg(product).register), dtypes.float64)
        before, total = total, s.add(total, product)
        errors[0] = s.add(errors[0], lost)
        errors[1] = s.add(errors[1], s.add(s.sub(before, total), product))

    for side in sides:
        scaled = s.mul(side, scale)
        add_product(scaled, scaled)
    one = a.constant(1.0)
    length = s.sqrt(s.add(s.sub(total, one), s.add(*errors)))
    add_product(s.neg(length), length)
    rest = s.add(s.sub(total, one), s.add(*errors))
    corrected = s.add(length, s.div(rest, s.mul(a.constant(2.0), length)))
    return s.div(corrected, scale)


def _ints(fn: EmittedFunction, node: Node) -> list[Register]:
    natives = [fn.values.get(v) for v in node.operands]
    registers = [n.register for n in natives if isinstance(n, Scalar) and n.rep == Int()]
    if len(registers) != len(natives) or fn.e.lanes > 1:
        raise CannotCompileError("of other numbers than ints")
    return registers


def _products(
    fn: EmittedFunction, first: Register, last: Register, factor: Callable[[Register, Register, Register], Register]
) -> Register:
    """What 1 becomes by a factor for each number from the first up to the last: `factor` gives the next product, for a
    number, the product so far, and the number behind it.
    """
    e = fn.e
    head, step, done, before = (e.label(stem) for stem in ("products", "step", "done", "before"))
    e.branch(before)
    e.start(before)
    e.branch(head)
    e.start(head)
    k, product, following = (Register(e.name(stem), "i64", 1) for stem in ("k", "product", "following"))
    at = len(e.lines)
    e.branch_if(e.icmp("slt", k, last), step, done)
    e.start(step)
    e.raw(f"{following} = add nuw nsw i64 {k}, 1")
    result = factor(k, product, following)
    latch = e.block
    e.branch(head)
    e.lines[at:at] = [
        f"  {k} = phi i64 [{first}, %{before}], [{following}, %{latch}]",
        f"  {product} = phi i64 [1, %{before}], [{result}, %{latch}]",
    ]
    e.start(done)
    return product


@lowers("aten::factorial")
def _factorial(fn: EmittedFunction, node: Node) -> None:
    """Products wrap around as the factorial does; from some number on it is 0 in 64 bits."""
    (n,) = _ints(fn, node)
    e = fn.e
    fn.exits.fail_if(e.icmp("slt", n, number(0)), node)
    last = e.intrinsic("smin", n, number(LAST_FACTORIAL))
    product = _products(fn, number(1), last, lambda _, product, following: e.binary("mul", product, following))
    fn.values.set(node.result(), Scalar(Int(), product))


@lowers("python::perm")
def _perm(fn: EmittedFunction, node: Node) -> None:
    """n (n - 1) ... (n - k + 1), which wraps around as its product does: of 66 factors and more it is 0 in 64 bits."""
    n, k = _ints(fn, node)
    e = fn.e
    fn.exits.fail_if(e.binary("or", e.icmp("slt", n, number(0)), e.icmp("slt", k, number(0))), node)
    is_none = e.binary("or", e.icmp("sgt", k, n), e.icmp("sge", k, number(LAST_FACTORIAL)))
    last = e.select(is_none, number(0), k)
    product = _products(fn, number(0), last, lambda i, product, _: e.binary("mul", product, e.binary("sub", n, i)))
    fn.values.set(node.result(), Scalar(Int(), e.select(is_none, number(0), product)))


@lowers("python::comb")
def _comb(fn: EmittedFunction, node: Node) -> None:
    """Each step multiplies and divides exactly; where a product leaves 64 bits, Python counts."""
    n, k = _ints(fn, node)
    e = fn.e
    fn.exits.fail_if(e.binary("or", e.icmp("slt", n, number(0)), e.icmp("slt", k, number(0))), node)
    is_none = e.icmp("sgt", k, n)
    last = e.select(is_none, number(0), e.intrinsic("smin", k, e.binary("sub", n, k)))
    result = fn.slots.new(Int())
    fits, large, after = (e.label(stem) for stem in ("fits", "large", "after"))
    e.declare("declare {i64, i1} @llvm.umul.with.overflow.i64(i64, i64)")

    def ways(i: Register, count: Register, following: Register) -> Register:
        factor = e.binary("sub", n, i)
        both = e.define(f"call {{i64, i1}} @llvm.umul.with.overflow.i64(i64 {count}, i64 {factor})", "i64", 1)
        product, is_large = (
            e.define(f"extractvalue {{i64, i1}} {both}, {at}", kind, 1) for at, kind in enumerate(("i64", "i1"))
        )
        e.raw(f"br i1 {is_large}, label %{large}, label %{fits}, !prof !20")
        e.start(fits)
        return e.define(f"udiv i64 {product}, {following}", "i64", 1)

    count = _products(fn, number(0), last, ways)
    fn.slots.store(result, Scalar(Int(), e.select(is_none, number(0), count)))
    e.branch(after)
    e.start(large)
    fn.slots.store(result, from_words(Int(), call_python(fn, node, [Int()], is_rare=True)[0]))
    e.branch(after)
    e.start(after)
    fn.values.set(node.result(), fn.slots.load(result, Int()))
