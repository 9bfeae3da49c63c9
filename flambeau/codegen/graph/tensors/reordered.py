"""Tensors with their elements in another order: backwards, and the differences of neighbours."""

from __future__ import annotations

from flambeau.codegen.graph import memory
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.literals import literal_of
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.native_values import ArrayValue, CannotCompileError
from flambeau.codegen.graph.numbers.scalars import Operand, Registers
from flambeau.codegen.graph.tensors import arrays
from flambeau.codegen.graph.tensors.arrays import array, axis_of, known_int, known_list, view_on
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.ir.graph import Node


def flip(fn: EmittedFunction, node: Node) -> None:
    """`flip`: a copy of what the memory shows backwards along some axes."""
    e, x = fn.e, array(fn, node.operand(0))
    axes = {d % x.rep.rank if -x.rep.rank <= d < x.rep.rank else -1 for d in known_list(fn.values.get(node.operand(1)))}
    if -1 in axes:
        raise CannotCompileError("an axis that is not there")
    itemsize = memory.itemsize(x.rep.dtype)
    data, strides = x.data, list(x.strides)
    for axis in sorted(axes):
        last = memory.subtract(e, x.sizes[axis], number(1))
        last = e.intrinsic("smax", last, number(0))
        data = memory.offset_address(e, data, last, x.strides[axis], itemsize)
        strides[axis] = memory.subtract(e, number(0), x.strides[axis])
    seen = view_on(x, data, x.sizes, strides, 0) if axes else x
    result = arrays.new(fn, x.rep.dtype, x.sizes, node)
    arrays.copy_elements(fn, result, seen)
    fn.values.set_new(node.result(), result)


def part(fn: EmittedFunction, x: ArrayValue, dim: int, start: Register, count: Register) -> ArrayValue:
    """So many of an axis, from one of them on."""
    data = memory.offset_address(fn.e, x.data, start, x.strides[dim], memory.itemsize(x.rep.dtype))
    sizes = (*x.sizes[:dim], count, *x.sizes[dim + 1 :])
    return view_on(x, data, sizes, x.strides, min(x.rep.dense, x.rep.rank - dim))


def diff(fn: EmittedFunction, node: Node) -> None:
    """`diff` once: each element less the one before it."""
    e, x = fn.e, array(fn, node.operand(0))
    before_and_behind = [literal_of(fn.values.get(v)) for v in node.operands[3:]]
    if known_int(fn, node.operand(1)) != 1 or before_and_behind != [None, None] or x.rep.dtype.name == "bool":
        raise CannotCompileError("differences of differences, of bools, or of what is joined before")
    dim = axis_of(fn, node.operand(2), x.rep.rank)
    count = e.intrinsic("smax", memory.subtract(e, x.sizes[dim], number(1)), number(0))
    first = e.intrinsic("smin", x.sizes[dim], number(1))
    result = arrays.new(fn, x.rep.dtype, (*x.sizes[:dim], count, *x.sizes[dim + 1 :]), node)
    s, dtype = Registers(fn, node, is_exact=False), x.rep.dtype

    def one(at: list[Register]) -> None:
        left, right = (Operand(memory.load_element(e, a, dtype), dtype) for a in at[1:])
        memory.store_element(e, at[0], s.sub(right, left).register, dtype)

    sides = [part(fn, x, dim, start, count) for start in (number(0), first)]
    arrays.each_element(fn, result.sizes, [result, *sides], one)
    fn.values.set_new(node.result(), result)
