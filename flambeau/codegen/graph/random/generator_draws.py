"""Numbers drawn one at a time from a generator that the program made: `rng.random()` in loops, as NumPy draws them.

`random()` is a step of PCG64: a number of 128 bits, which is multiplied and added to, and of which the upper half and
the lower half without carry, turned by the uppermost bits, is what is drawn. The rest calls NumPy's C functions.
"""

from __future__ import annotations

from flambeau.codegen.graph import memory
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.lowering_tables import lowers
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.native_values import ArrayValue, CannotCompileError, Scalar
from flambeau.codegen.graph.numbers.scalars import Operand, Registers
from flambeau.codegen.graph.representation import Float, Int
from flambeau.codegen.graph.routines.generators import BOUNDED, EXPONENTIAL, NORMAL, function_addresses
from flambeau.codegen.graph.routines.library import call_routine
from flambeau.codegen.graph.runtime import ELEMENTS
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.codegen.llvm.emitter import float_constant, int_constant
from flambeau.ir.graph import Node
from flambeau.ops.language.numpy_generators import MULTIPLIER, has_plain_state
from flambeau.schema import dtype as dtypes


def _words(fn: EmittedFunction, node: Node) -> tuple[Register, Register]:
    """The addresses of a generator of bits and of its state. Raises `CannotCompileError` where Python has to draw."""
    words = fn.values.get(node.operand(0))
    if not isinstance(words, ArrayValue) or fn.e.lanes > 1:
        raise CannotCompileError("several lanes draw from one generator")
    bits, state = (memory.load_word(fn.e, words.data, index, "ptr", ELEMENTS) for index in (0, 1))
    return bits, state


def _drawn(fn: EmittedFunction, node: Node, symbol: str, *others: Register) -> Register:
    """What one of NumPy's functions draws."""
    if symbol not in function_addresses():
        raise CannotCompileError("NumPy does not export what draws this")
    return call_routine(fn, symbol, _words(fn, node)[0], *others)


@lowers("python::generator_random")
def _double(fn: EmittedFunction, node: Node) -> None:
    """A number in [0, 1) of 53 bits."""
    if not has_plain_state():
        raise CannotCompileError("the state of a generator lies elsewhere")
    e = fn.e
    bits = e.binary("lshr", _next_word(fn, _words(fn, node)[1]), number(11))
    drawn = e.binary("fmul", e.convert("uitofp", bits, "double"), float_constant(2.0**-53, "double", 1))
    fn.values.set(node.result(), Scalar(Float(), drawn))


def _next_word(fn: EmittedFunction, address: Register) -> Register:
    """The next 64 bits of PCG64, whose state, and what is added in each step, is at an address."""
    e = fn.e
    state = e.define(f"load i128, ptr {address}, align 8", "i128", 1)
    step = e.define(f"load i128, ptr {e.offset(address, 16)}, align 8", "i128", 1)
    state = e.define(f"mul i128 {state}, {MULTIPLIER}", "i128", 1)
    state = e.define(f"add i128 {state}, {step}", "i128", 1)
    e.raw(f"store i128 {state}, ptr {address}, align 8")
    high = e.define(f"trunc i128 {e.define(f'lshr i128 {state}, 64', 'i128', 1)} to i64", "i64", 1)
    low = e.define(f"trunc i128 {state} to i64", "i64", 1)
    mixed = e.binary("xor", high, low)
    return e.intrinsic("fshr", mixed, mixed, e.binary("lshr", high, number(58)))


@lowers("python::generator_standard_normal")
def _standard_normal(fn: EmittedFunction, node: Node) -> None:
    fn.values.set(node.result(), Scalar(Float(), _drawn(fn, node, NORMAL)))


@lowers("python::generator_standard_exponential")
def _standard_exponential(fn: EmittedFunction, node: Node) -> None:
    fn.values.set(node.result(), Scalar(Float(), _drawn(fn, node, EXPONENTIAL)))


def _operands(fn: EmittedFunction, node: Node) -> list[Operand]:
    """The floats that the node is given. Where the last one, a scale, is below zero, or its negative, Python raises."""
    s = Registers(fn, node, is_exact=True)
    numbers = [Operand(fn.values.scalar(v).register, dtypes.float64) for v in node.operands[1:]]
    wrong = s.logical_and(s.signbit(numbers[-1]), s.logical_not(s.isnan(numbers[-1])))
    fn.exits.fail_if(wrong.register, node)
    return numbers


@lowers("python::generator_normal")
def _normal(fn: EmittedFunction, node: Node) -> None:
    loc, scale = _operands(fn, node)
    s = Registers(fn, node, is_exact=True)
    drawn = s.add(loc, s.mul(scale, Operand(_drawn(fn, node, NORMAL), dtypes.float64)))
    fn.values.set(node.result(), Scalar(Float(), drawn.register))


@lowers("python::generator_exponential")
def _exponential(fn: EmittedFunction, node: Node) -> None:
    (scale,) = _operands(fn, node)
    drawn = Operand(_drawn(fn, node, EXPONENTIAL), dtypes.float64)
    fn.values.set(node.result(), Scalar(Float(), Registers(fn, node, is_exact=True).mul(scale, drawn).register))


@lowers("python::generator_integer")
def _integer(fn: EmittedFunction, node: Node) -> None:
    """An int from `low` up to, not including, `high`. Where there is none, Python raises."""
    e = fn.e
    low, high = (fn.values.scalar(v).register for v in node.operands[1:])
    fn.exits.fail_if(e.icmp("sge", low, high), node)
    most = e.binary("sub", e.binary("sub", high, number(1)), low)
    drawn = _drawn(fn, node, BOUNDED, low, most, number(0), int_constant(0, "i32", 1))
    fn.values.set(node.result(), Scalar(Int(), drawn))
