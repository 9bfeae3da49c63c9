"""Tensors in the order in which another lies in memory: what `clone` and `zeros_like` keep of what they are given.

A tensor in one piece, its axes in any order (`x.T`), has copies with its own strides; one with gaps whose axes lie from
the outermost in (`x[:, :3]`) has row-major ones. What is neither (expanded axes, `x[::2].T`) is left to Python.
"""

from __future__ import annotations

from itertools import combinations

from flambeau.codegen.graph import memory
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.native_values import ArrayValue
from flambeau.codegen.graph.representation import Array
from flambeau.codegen.graph.tensors.arrays import product
from flambeau.codegen.llvm.emitter import Value as Register


def is_packed(fn: EmittedFunction, x: ArrayValue) -> Register:
    """Whether a tensor has elements and lies in one piece, its axes in any order, found out at run time.

    Of any two axes, one steps over all that the other covers. So no two elements are one, and the strides in rising
    order are at least those of a dense layout; they are these exactly where the last byte is as far as its.
    """
    e, itemsize = fn.e, number(memory.itemsize(x.rep.dtype))
    total = memory.multiply(e, product(fn, x.sizes), itemsize)
    answer = e.icmp("sgt", total, number(0))
    end = itemsize
    for size, stride in zip(x.sizes, x.strides, strict=True):
        distance = memory.multiply(e, memory.subtract(e, size, number(1)), stride)
        end = memory.add(e, end, distance)
        moves = e.binary("or", e.icmp("eq", size, number(1)), e.icmp("sgt", stride, number(0)))
        answer = e.binary("and", answer, moves)
    for (size, stride), (other_size, other_stride) in combinations(zip(x.sizes, x.strides, strict=True), 2):
        over = e.icmp("sge", stride, memory.multiply(e, other_size, other_stride))
        under = e.icmp("sge", other_stride, memory.multiply(e, size, stride))
        is_one = e.binary("or", e.icmp("eq", size, number(1)), e.icmp("eq", other_size, number(1)))
        answer = e.binary("and", answer, e.binary("or", is_one, e.binary("or", over, under)))
    return e.binary("and", answer, e.icmp("eq", end, total))


def is_from_outermost_in(fn: EmittedFunction, x: ArrayValue) -> Register:
    """Whether the axes of a tensor lie in memory from the outermost in, as those of a row-major one."""
    e = fn.e
    answer = e.icmp("sgt", x.strides[-1], number(0))
    for outer, inner in zip(x.strides[:-1], x.strides[1:], strict=True):
        answer = e.binary("and", answer, e.icmp("sgt", outer, inner))
    return answer


def in_order_of(fn: EmittedFunction, fresh: ArrayValue, x: ArrayValue, packed: Register) -> ArrayValue:
    """A new row-major tensor, its elements yet in any order, with the strides of one of its sizes that is packed."""
    e, itemsize, own = fn.e, memory.itemsize(fresh.rep.dtype), memory.itemsize(x.rep.dtype)
    strides = []
    for stride, row_major in zip(x.strides, fresh.strides, strict=True):
        kept = stride
        if itemsize != own:
            kept = memory.multiply(e, e.binary("sdiv", stride, number(own)), number(itemsize))
        strides.append(e.select(packed, kept, row_major))
    return ArrayValue(Array(fresh.rep.dtype, x.rep.rank, 0), fresh.owner, fresh.data, fresh.sizes, tuple(strides))
