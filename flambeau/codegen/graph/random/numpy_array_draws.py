"""Arrays of numbers of NumPy's generator, and arrays in an order that it draws, in native code.

They are drawn one after the other, as NumPy does: `numpy_draws` has what draws one.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from flambeau.codegen.graph import memory, overlap
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.interpreter_calls import call_python
from flambeau.codegen.graph.literals import literal_of
from flambeau.codegen.graph.loops.control import each
from flambeau.codegen.graph.lowering_tables import Lowering, lowers, lowers_on_items
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.native_values import ArrayValue, CannotCompileError, Native, Scalar, TupleValue
from flambeau.codegen.graph.numbers.scalars import Operand
from flambeau.codegen.graph.random.numpy_draws import FLOATS, Draw, integer
from flambeau.codegen.graph.tensors import arrays
from flambeau.codegen.graph.tensors.arrays import array, copy_elements, view_on
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.ir.graph import Node
from flambeau.schema import dtype as dtypes
from flambeau.schema.dtype import DType


def _fill(fn: EmittedFunction, node: Node, sizes: Native, dtype: DType, draw: Callable[[], Register]) -> None:
    """The result of a node: an array each of whose elements is drawn."""
    result = arrays.new(fn, dtype, _registers(sizes), node)
    arrays.each_element(
        fn, result.sizes, [result], lambda at: memory.store_element(fn.e, at[0], draw(), dtype)
    )  # fmt: skip
    fn.values.set_new(node.result(), result)


def _registers(listed: Native) -> list[Register]:
    """The numbers of a list whose length is known."""
    if not isinstance(listed, TupleValue) or not all(isinstance(i, Scalar) for i in listed.items):
        raise CannotCompileError("the number of sizes is not known")
    return [i.register for i in listed.items if isinstance(i, Scalar)]


def _on_sizes(op: str) -> Callable[[Lowering], Lowering]:
    """Registers the lowering of an operator that only looks at its lists."""

    def register(lowering: Lowering) -> Lowering:
        lowers_on_items(op)(lowering)
        return lowers(op)(lowering)

    return register


@_on_sizes("python::np_random_floats")
def _floats(fn: EmittedFunction, node: Node) -> None:
    name, parameters, sizes = (fn.values.get(v) for v in node.operands)
    d, draw = Draw(fn, node), FLOATS.get(literal_of(name))
    if draw is None:
        raise CannotCompileError("a distribution whose numbers Python draws")
    operands = [Operand(r, dtypes.float64) for r in _registers(parameters)]
    _fill(fn, node, sizes, dtypes.float64, lambda: draw(d, *operands).register)


@_on_sizes("python::np_random_integers")
def _integers(fn: EmittedFunction, node: Node) -> None:
    d = Draw(fn, node)
    low, high = (fn.values.scalar(v).register for v in node.operands[:2])
    sizes = fn.values.get(node.operand(2))
    _registers(sizes)
    fn.exits.fail_if(fn.e.icmp("sge", low, high), node)
    _fill(fn, node, sizes, dtypes.int64, lambda: integer(d, low, high))


@_on_sizes("python::np_random_places")
def _places(fn: EmittedFunction, node: Node) -> None:
    """Indexes of a choice with replacement, where nothing says that some are more likely."""
    d = Draw(fn, node)
    count = fn.values.scalar(node.operand(0)).register
    sizes, is_replaced, p = (fn.values.get(v) for v in node.operands[1:])
    if literal_of(p) is not None or literal_of(is_replaced) is not True:
        raise CannotCompileError("a choice by probabilities, or without replacement")
    _registers(sizes)
    fn.exits.fail_if(fn.e.icmp("sle", count, number(0)), node)
    _fill(fn, node, sizes, dtypes.int64, lambda: integer(d, number(0), count))


@lowers("python::np_random_shuffle")
def _shuffle(fn: EmittedFunction, node: Node) -> None:
    x, d = _rows(fn, node), Draw(fn, node)
    repeated = overlap.repeats(fn, view_on(x, x.data, x.sizes[1:], x.strides[1:], x.rep.dense))
    if not repeated:
        _exchange_all(fn, d, x)
        return
    e = fn.e
    once, more, after = e.label("once"), e.label("repeated"), e.label("after")
    e.branch_if(functools.reduce(lambda a, b: e.binary("or", a, b), repeated), more, once)
    e.start(once)
    _exchange_all(fn, d, x)
    e.branch(after)
    e.start(more)
    call_python(fn, node, (), is_rare=True)
    e.branch(after)
    e.start(after)


@lowers("python::np_random_permutation")
def _permutation(fn: EmittedFunction, node: Node) -> None:
    x, d = _rows(fn, node), Draw(fn, node)
    copied = arrays.new(fn, x.rep.dtype, x.sizes, node)
    copy_elements(fn, copied, x)
    _exchange_all(fn, d, copied)
    fn.values.set_new(node.result(), copied)


def _rows(fn: EmittedFunction, node: Node) -> ArrayValue:
    x = array(fn, node.operand(0))
    if not x.rep.rank or x.rep.dtype.is_complex:
        raise CannotCompileError("the order of an array without axes, or of complex numbers")
    return x


def _exchange_all(fn: EmittedFunction, d: Draw, x: ArrayValue) -> None:
    """Exchange each row, from the last one on, with one that is drawn among those up to it."""
    e, dtype = fn.e, x.rep.dtype

    def row(index: Register) -> ArrayValue:
        start = memory.offset_address(e, x.data, index, x.strides[0], memory.itemsize(dtype))
        return view_on(x, start, x.sizes[1:], x.strides[1:], 0)

    def swap(at: list[Register]) -> None:
        a, b = (memory.load_element(e, address, dtype) for address in at)
        memory.store_element(e, at[0], b, dtype)
        memory.store_element(e, at[1], a, dtype)

    def exchange(k: Register) -> None:
        last = e.binary("sub", e.binary("sub", x.sizes[0], number(1)), k)
        one, other = row(last), row(integer(d, number(0), e.binary("add", last, number(1))))
        arrays.each_element(fn, x.sizes[1:], [one, other], swap)

    each(fn, e.binary("sub", x.sizes[0], number(1)), exchange)
