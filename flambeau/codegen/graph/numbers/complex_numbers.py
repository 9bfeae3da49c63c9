"""Complex numbers as two registers: arithmetic in CPython's order of operations, parts, and elements of tensors.

What CPython computes in another way (a zero divisor, results that are too large, infinities within functions) is rare,
and Python computes it here as well.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from flambeau.codegen.graph import memory
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.interpreter_calls import either, either_number, is_dense_now
from flambeau.codegen.graph.literals import literal_of
from flambeau.codegen.graph.lowering_tables import lowers, lowers_on_complex
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.native_values import (
    ArrayValue,
    CannotCompileError,
    ComplexValue,
    Native,
    Scalar,
)
from flambeau.codegen.graph.numbers.scalars import Operand, Registers, as_operand
from flambeau.codegen.graph.representation import Array, Bool, Complex, Element, Float, Representation
from flambeau.codegen.graph.tensors import arrays
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.ir.graph import Node, Value
from flambeau.schema import dtype as dtypes
from flambeau.schema.dtype import DType

MOST_MULTIPLIED = 100
"""The largest whole exponent for which CPython multiplies."""


class Arithmetic:
    """Sums and products of floats for one node, and of pairs of floats."""

    def __init__(self, fn: EmittedFunction, node: Node) -> None:
        self.fn, self.node = fn, node
        self.s = Registers(fn, node, is_exact=True)

    def real(self, native: Native) -> Operand:
        """A number as a float."""
        if not isinstance(native, Scalar) or isinstance(native.rep, Element):
            raise CannotCompileError("complex numbers and tensors in one operator")
        return self.s.cast(as_operand(native), dtypes.float64)

    def number(self, value: Value) -> Pair:
        """An operand as two floats: of what is real the imaginary part is 0."""
        native = self.fn.values.get(value)
        if isinstance(native, ComplexValue):
            return Pair(self, _float(native.real), _float(native.imaginary))
        return Pair(self, self.real(native), self.constant(0.0))

    def constant(self, value: float) -> Operand:
        """A literal."""
        return self.s.const(value, dtypes.float64)

    def all_of(self, *conditions: Operand) -> Operand:
        """Whether all conditions hold."""
        result = conditions[0]
        for condition in conditions[1:]:
            result = Operand(self.fn.e.binary("and", result.register, condition.register), dtypes.bool_)
        return result

    def is_finite(self, *floats: Operand) -> Operand:
        """Whether all are finite."""
        return self.all_of(*[self.s.lt(self.s.abs(x), self.constant(float("inf"))) for x in floats])

    def give(self, result: Pair | Operand) -> None:
        """Note the result of the node."""
        self.fn.values.set(self.node.result(), _native(result))

    def give_if(self, usual: Operand, compute: Callable[[], Pair | Operand], rep: Representation | None = None) -> None:
        """The result computed here where a condition holds, by Python where it does not."""
        either_number(self.fn, self.node, usual.register, lambda: _native(compute()), rep or Complex())


class Pair:
    """A complex number while a meaning runs."""

    __slots__ = ("_arithmetic", "im", "re")

    def __init__(self, arithmetic: Arithmetic, re: Operand, im: Operand) -> None:
        self._arithmetic, self.re, self.im = arithmetic, re, im

    def times(self, other: Pair) -> Pair:
        """The product, as CPython rounds it."""
        s = self._arithmetic.s
        re = s.sub(s.mul(self.re, other.re), s.mul(self.im, other.im))
        return Pair(self._arithmetic, re, s.add(s.mul(self.re, other.im), s.mul(self.im, other.re)))

    def over(self, other: Pair) -> Pair:
        """The quotient by a divisor that is not zero, by Smith's method."""
        s, a = self._arithmetic.s, self._arithmetic
        is_wide = s.ge(s.abs(other.re), s.abs(other.im))
        if a.fn.e.lanes == 1:
            return self._over_by_ways(other, is_wide)
        large, small = s.select(is_wide, other.re, other.im), s.select(is_wide, other.im, other.re)
        ratio = s.div(small, large)
        below = s.add(large, s.mul(small, ratio))
        x, y = s.select(is_wide, self.re, self.im), s.select(is_wide, self.im, self.re)
        re = s.div(s.add(x, s.mul(y, ratio)), below)
        left, right = s.select(is_wide, self.im, s.mul(self.im, ratio)), s.select(is_wide, s.mul(x, ratio), self.re)
        return Pair(a, re, s.div(s.sub(left, right), below))

    def _over_by_ways(self, other: Pair, is_wide: Operand) -> Pair:
        """The same by a branch, which is foreseen where one divisor is like the last."""
        s, e = self._arithmetic.s, self._arithmetic.fn.e
        wide, narrow, after = e.label("wide"), e.label("narrow"), e.label("divided")
        e.branch_if(is_wide.register, wide, narrow)
        ways: list[tuple[tuple[Operand, Operand], str]] = []
        for label, large, small in ((wide, other.re, other.im), (narrow, other.im, other.re)):
            e.start(label)
            ratio = s.div(small, large)
            below = s.add(large, s.mul(small, ratio))
            if label == wide:
                re, im = s.add(self.re, s.mul(self.im, ratio)), s.sub(self.im, s.mul(self.re, ratio))
            else:
                re, im = s.add(self.im, s.mul(self.re, ratio)), s.sub(s.mul(self.im, ratio), self.re)
            ways.append(((s.div(re, below), s.div(im, below)), e.block))
            e.branch(after)
        e.start(after)
        parts = []
        for k in range(2):
            name = e.name("part")
            e.phi(name, ways[0][0][k].register, [(parts_of_way[k].register, label) for parts_of_way, label in ways])
            parts.append(_float(Register(name, "double", 1)))
        return Pair(self._arithmetic, parts[0], parts[1])

    def absolute(self) -> Operand:
        """The distance from zero."""
        return self._arithmetic.s.hypot(self.re, self.im)

    def registers(self) -> tuple[Register, Register]:
        """The registers of the real and the imaginary part."""
        return self.re.register, self.im.register


def is_complex(fn: EmittedFunction, node: Node) -> bool:
    """Whether a node has a complex number among its operands."""
    return any(isinstance(fn.values.get(v), ComplexValue) for v in node.operands)


def _float(register: Register) -> Operand:
    return Operand(register, dtypes.float64)


def _native(result: Pair | Operand) -> Native:
    if isinstance(result, Pair):
        return ComplexValue(Complex(), *result.registers())
    return Scalar(Bool() if result.dtype == dtypes.bool_ else Float(), result.register)


def _operands(fn: EmittedFunction, node: Node, count: int = 1) -> tuple[Arithmetic, list[Pair]]:
    if len(node.operands) != count:
        raise CannotCompileError(f"{node.op} of {len(node.operands)} complex numbers")
    a = Arithmetic(fn, node)
    return a, [a.number(v) for v in node.operands]


# -- making, parts ----------------------------------------------------------------------------------------------------


@lowers("aten::Complex")
def _make(fn: EmittedFunction, node: Node) -> None:
    a = Arithmetic(fn, node)
    if len(node.operands) == 1:
        a.give(a.number(node.operand(0)))
        return
    re, im = (a.real(fn.values.get(v)) for v in node.operands[:2])
    a.give(Pair(a, re, im))


@lowers_on_complex("python::real", "python::imag")
def _part(fn: EmittedFunction, node: Node) -> None:
    a, (x,) = _operands(fn, node)
    a.give(x.re if node.op == "python::real" else x.im)


@lowers_on_complex("python::conjugate")
def _conjugate(fn: EmittedFunction, node: Node) -> None:
    a, (x,) = _operands(fn, node)
    a.give(Pair(a, x.re, a.s.neg(x.im)))


@lowers_on_complex("aten::neg")
def _negative(fn: EmittedFunction, node: Node) -> None:
    a, (x,) = _operands(fn, node)
    a.give(Pair(a, a.s.neg(x.re), a.s.neg(x.im)))


@lowers_on_complex("python::as_complex64")
def _rounded(fn: EmittedFunction, node: Node) -> None:
    a, (x,) = _operands(fn, node)
    re, im = (a.s.cast(a.s.cast(part, dtypes.float32), dtypes.float64) for part in (x.re, x.im))
    a.give(Pair(a, re, im))


# -- arithmetic -------------------------------------------------------------------------------------------------------


@lowers_on_complex("aten::add", "aten::sub")
def _sum(fn: EmittedFunction, node: Node) -> None:
    a, (x, y) = _operands(fn, node, 2)
    operation = a.s.add if node.op == "aten::add" else a.s.sub
    a.give(Pair(a, operation(x.re, y.re), operation(x.im, y.im)))


@lowers_on_complex("aten::mul")
def _product(fn: EmittedFunction, node: Node) -> None:
    a, (x, y) = _operands(fn, node, 2)
    a.give(x.times(y))


@lowers_on_complex("aten::div")
def _quotient(fn: EmittedFunction, node: Node) -> None:
    a, (x, y) = _operands(fn, node, 2)
    zero = a.constant(0.0)
    is_above = a.s.gt(a.s.add(a.s.abs(y.re), a.s.abs(y.im)), zero)  # neither zero nor nan
    a.give_if(is_above, lambda: x.over(y))


@lowers_on_complex("aten::eq", "aten::ne")
def _equal(fn: EmittedFunction, node: Node) -> None:
    a, (x, y) = _operands(fn, node, 2)
    same = a.all_of(a.s.eq(x.re, y.re), a.s.eq(x.im, y.im))
    a.give(same if node.op == "aten::eq" else a.s.logical_not(same))


@lowers_on_complex("prim::abs")
def _absolute(fn: EmittedFunction, node: Node) -> None:
    a, (x,) = _operands(fn, node)
    length = x.absolute()
    a.give_if(a.s.ne(length, a.constant(float("inf"))), lambda: length, Float())


@lowers_on_complex("aten::angle")
def _angle(fn: EmittedFunction, node: Node) -> None:
    a, (x,) = _operands(fn, node)
    s, angle = a.s, a.s.atan2(x.im, x.re)
    normal = s.logical_or(s.ge(s.abs(angle), a.constant(sys.float_info.min)), s.eq(x.im, a.constant(0.0)))
    a.give_if(a.all_of(a.is_finite(x.re, x.im), normal), lambda: angle, Float())  # Python refuses subnormal angles


@lowers_on_complex("aten::pow")
def _power(fn: EmittedFunction, node: Node) -> None:
    a, (x, _) = _operands(fn, node, 2)
    known = known_exponent(fn.values.get(node.operand(1)))
    if known is None:
        raise CannotCompileError("a power whose exponent is no constant")
    if not known.is_integer() or abs(known) > MOST_MULTIPLIED:
        _general_power(a, x, known)
        return
    exponent = int(known)
    one = Pair(a, a.constant(1.0), a.constant(0.0))
    result = _multiplied(x, abs(exponent), one)
    finite = a.is_finite(result.re, result.im)
    if exponent > 0:
        a.give_if(finite, lambda: result)
        return
    above = a.s.gt(a.s.add(a.s.abs(result.re), a.s.abs(result.im)), a.constant(0.0))
    inverse = one.over(result)
    a.give_if(a.all_of(finite, above, a.is_finite(inverse.re, inverse.im)), lambda: inverse)


def _general_power(a: Arithmetic, x: Pair, exponent: float) -> None:
    """By the logarithm, as CPython does where it does not multiply."""
    s = a.s
    length, angle = s.pow(x.absolute(), a.constant(exponent)), s.mul(s.atan2(x.im, x.re), a.constant(exponent))
    result = Pair(a, s.mul(length, s.cos(angle)), s.mul(length, s.sin(angle)))
    above = s.gt(s.add(s.abs(x.re), s.abs(x.im)), a.constant(0.0))
    a.give_if(a.all_of(above, a.is_finite(x.re, x.im, result.re, result.im)), lambda: result)


def known_exponent(native: Native) -> float | None:
    """An exponent that is a literal, and real."""
    parts = (native.real, native.imaginary) if isinstance(native, ComplexValue) else None
    literals = [literal_of(native)] if parts is None else [literal_of(Scalar(Float(), part)) for part in parts]
    if not all(isinstance(literal, int | float) for literal in literals) or any(literals[1:]):
        return None
    return float(literals[0])


def _multiplied(x: Pair, exponent: int, one: Pair) -> Pair:
    result, square = one, x
    while exponent:
        if exponent & 1:
            result = result.times(square)
        exponent >>= 1
        if exponent:
            square = square.times(square)
    return result


# -- elements of tensors ----------------------------------------------------------------------------------------------


def of_element(fn: EmittedFunction, node: Node) -> None:
    """The element of a complex tensor without axes, as a number."""
    fn.values.set(node.result(), element(fn, fn.values.get(node.operand(0)), node))


def element(fn: EmittedFunction, native: Native, node: Node) -> ComplexValue:
    """The element of a complex tensor without axes."""
    if not isinstance(native, ArrayValue) or native.rep.rank or not native.rep.dtype.is_complex:
        raise CannotCompileError("a complex number made of something else than a complex element")
    s = Registers(fn, node, is_exact=True)
    part = native.rep.dtype.to_real()
    loaded = [memory.load_element(fn.e, address, part) for address in _addresses(fn, native.data, part)]
    re, im = (s.cast(Operand(register, part), dtypes.float64).register for register in loaded)
    return ComplexValue(Complex(), re, im)


def put(fn: EmittedFunction, target: ArrayValue, source: Native, node: Node) -> None:
    """Write a number, or the element of a complex tensor, over the element of a complex tensor without axes."""
    if target.rep.rank or not target.rep.dtype.is_complex:
        raise CannotCompileError("complex numbers written to many elements, or to real ones")
    a = Arithmetic(fn, node)
    part = target.rep.dtype.to_real()
    if isinstance(source, ArrayValue):
        source = element(fn, source, node)
    if isinstance(source, ComplexValue):
        parts: Sequence[Operand] = (_float(source.real), _float(source.imaginary))
    else:
        parts = (a.real(source), a.constant(0.0))
    for address, value in zip(_addresses(fn, target.data, part), parts, strict=True):
        memory.store_element(fn.e, address, a.s.cast(value, part).register, part)


def tensor(fn: EmittedFunction, node: Node, dtype: DType) -> None:
    """A number as a complex tensor without axes: no memory where it is only written into others."""
    if all(use.user.op == "aten::copy_" and use.offset == 1 for use in node.result().uses()):
        a = Arithmetic(fn, node)
        x, part = a.number(node.operand(0)), dtype.to_real()
        a.give(Pair(a, *(a.s.cast(a.s.cast(one, part), dtypes.float64) for one in (x.re, x.im))))
        return
    result = arrays.new(fn, dtype, (), node)
    put(fn, result, fn.values.get(node.operand(0)), node)
    fn.values.set_new(node.result(), result)


def _addresses(fn: EmittedFunction, data: Register, part: DType) -> tuple[Register, Register]:
    """Where the real and the imaginary part of an element lie."""
    return data, memory.offset_address(fn.e, data, number(1), number(part.itemsize), part.itemsize)


def part_of_tensor(fn: EmittedFunction, node: Node) -> None:
    """`x.real` and `x.imag`: every second float; the real part of real numbers is themselves."""
    x = fn.values.get(node.operand(0))
    if node.op == "aten::real" and isinstance(x.rep, Array | Element) and not x.rep.dtype.is_complex:
        fn.values.set_view(node.result(), x)
        return
    if not isinstance(x, ArrayValue) or not x.rep.dtype.is_complex:
        raise CannotCompileError("a part of what is no complex tensor in memory")
    part = x.rep.dtype.to_real()
    data = _addresses(fn, x.data, part)[node.op == "aten::imag"]
    fn.values.set_view(node.result(), ArrayValue(Array(part, x.rep.rank), x.owner, data, x.sizes, x.strides))


def parts_of_tensor(fn: EmittedFunction, node: Node) -> None:
    """`view_as_real`: both parts along one more axis."""
    x = fn.values.get(node.operand(0))
    if not isinstance(x, ArrayValue) or not x.rep.dtype.is_complex:
        raise CannotCompileError("parts of what is no complex tensor in memory")
    part = x.rep.dtype.to_real()
    rep = Array(part, x.rep.rank + 1, x.rep.dense + 1)
    sizes, strides = (*x.sizes, number(2)), (*x.strides, number(part.itemsize))
    fn.values.set_view(node.result(), ArrayValue(rep, x.owner, x.data, sizes, strides))


def of_parts(fn: EmittedFunction, node: Node) -> None:
    """`complex`: numbers with these parts, which lie in one piece, and are as many."""
    parts = [arrays.array(fn, v) for v in node.operands]
    one, other = parts
    if fn.e.lanes > 1 or (one.rep.dtype, one.rep.rank) != (other.rep.dtype, other.rep.rank) or not one.rep.rank:
        raise CannotCompileError("parts of several dtypes or ranks")
    dtype, e = one.rep.dtype.to_complex(), fn.e

    def joined() -> ArrayValue:
        result = arrays.new(fn, dtype, one.sizes, node)

        def put(at: list[Register]) -> None:
            for address, source in zip(_addresses(fn, at[0], one.rep.dtype), at[1:], strict=True):
                memory.move_element(e, address, source, one.rep.dtype)

        arrays.each_element(fn, one.sizes, [result, *parts], put)
        return result

    fits = Register("true", "i1", 1)
    for size, same in zip(one.sizes, other.sizes, strict=True):
        fits = e.binary("and", fits, e.icmp("eq", size, same))
    for part in parts:
        if part.rep.dense != part.rep.rank:
            fits = e.binary("and", fits, is_dense_now(fn, part))
    either(fn, node, fits, Array(dtype, one.rep.rank, 0), joined)
