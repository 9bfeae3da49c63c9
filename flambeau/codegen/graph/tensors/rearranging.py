"""Tensors whose elements lie elsewhere than in another: channels as places and back, and what stays as it is."""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.codegen.graph import memory
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.literals import literal_of
from flambeau.codegen.graph.memory import multiply, number
from flambeau.codegen.graph.native_values import ArrayValue, CannotCompileError, Scalar
from flambeau.codegen.graph.representation import Array, Float
from flambeau.codegen.graph.tensors import arrays
from flambeau.codegen.graph.tensors.arrays import array, known_int, new
from flambeau.codegen.graph.tensors.copies import clone
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.ir.graph import Node


def dropout(fn: EmittedFunction, node: Node) -> None:
    """`dropout` outside training: the tensor itself, or a copy where somebody writes; a wrong probability fails."""
    p = fn.values.get(node.operand(1))
    if literal_of(fn.values.get(node.operand(2))) is not False or not isinstance(p, Scalar) or p.rep != Float():
        raise CannotCompileError("it may be in training")
    e = fn.e
    is_above = e.fcmp("oge", p.register, e.like(p.register, 0.0))
    is_below = e.fcmp("ole", p.register, e.like(p.register, 1.0))
    fn.exits.fail_if(e.binary("xor", e.binary("and", is_above, is_below), Register("true", "i1", 1)), node)
    if fn.values.is_written(node.operand(0)) or fn.values.is_written(node.result()):
        clone(fn, node)
    else:
        fn.values.set_view(node.result(), fn.values.get(node.operand(0)))


def pixel_shuffle(fn: EmittedFunction, node: Node) -> None:
    """Of channels r squared times as many, r times as many rows and columns."""
    e, (x, factor) = fn.e, _image(fn, node)
    *lead, channels, height, width = x.sizes
    rest = e.binary("srem", channels, number(factor * factor))
    fn.exits.fail_if(e.icmp("ne", rest, number(0)), node)
    fewer, r = e.binary("sdiv", channels, number(factor * factor)), number(factor)
    step = x.strides[-3]
    down = multiply(e, step, r)
    result = new(fn, x.rep.dtype, (*lead, fewer, multiply(e, height, r), multiply(e, width, r)), node)
    seen = (*x.strides[:-3], multiply(e, down, r), x.strides[-2], down, x.strides[-1], step)
    _copy(fn, x, (*lead, fewer, height, r, width, r), seen, result, node)


def pixel_unshuffle(fn: EmittedFunction, node: Node) -> None:
    """Of rows and columns r times as many, channels r squared times as many."""
    e, (x, factor) = fn.e, _image(fn, node)
    *lead, channels, height, width = x.sizes
    r = number(factor)
    for size in (height, width):
        fn.exits.fail_if(e.icmp("ne", e.binary("srem", size, r), number(0)), node)
    rows, columns = (e.binary("sdiv", size, r) for size in (height, width))
    result = new(fn, x.rep.dtype, (*lead, multiply(e, channels, number(factor * factor)), rows, columns), node)
    down, across = x.strides[-2:]
    seen = (*x.strides[:-2], down, across, multiply(e, down, r), multiply(e, across, r))
    _copy(fn, x, (*lead, channels, r, r, rows, columns), seen, result, node)


def _image(fn: EmittedFunction, node: Node) -> tuple[ArrayValue, int]:
    """The tensor, and the factor."""
    x, factor = array(fn, node.operand(0)), known_int(fn, node.operand(1))
    if x.rep.rank < 3 or factor < 1:
        raise CannotCompileError("a tensor of fewer than three axes, or a factor below 1")
    return x, factor


def _copy(
    fn: EmittedFunction, x: ArrayValue, sizes: Sequence[Register], strides: Sequence[Register], result: ArrayValue,
    node: Node,
) -> None:  # fmt: skip
    """Fill a new tensor, row by row, with the elements of another seen with other axes."""
    rank = len(sizes)
    steps = memory.dense_strides(fn.e, sizes, memory.itemsize(x.rep.dtype))
    target = ArrayValue(Array(x.rep.dtype, rank, rank), result.owner, result.data, tuple(sizes), steps)
    source = ArrayValue(Array(x.rep.dtype, rank, 0), x.owner, x.data, tuple(sizes), tuple(strides))
    arrays.copy_elements(fn, target, source)
    fn.values.set_new(node.result(), result)
