"""Tensors written at places that another tensor names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.codegen.whole import memory
from flambeau.codegen.whole.arrays import array, axis_of, copy_elements, each_element, new
from flambeau.codegen.whole.control import each
from flambeau.codegen.whole.pointwise import literal_of
from flambeau.codegen.whole.representation import Array
from flambeau.codegen.whole.scalars import Operand, Registers
from flambeau.codegen.whole.values import ArrayValue, CannotCompileError
from flambeau.ir.node import Node

if TYPE_CHECKING:
    from flambeau.codegen.whole.function import FunctionEmitter


def index_add(fn: FunctionEmitter, node: Node) -> None:
    """`index_add`: slices of the source added, in order, to those that the index names."""
    e = fn.e
    x, index, source = (array(fn, node.input(k)) for k in (0, 2, 3))
    dim = axis_of(fn, node.input(1), x.rep.rank)
    if literal_of(fn.get(node.input(4))) != 1:
        raise CannotCompileError("a factor other than 1")
    if index.rep.rank != 1 or source.rep.rank != x.rep.rank or source.rep.dtype is not x.rep.dtype:
        raise CannotCompileError("an index or a source of another rank or dtype")
    if index.rep.dtype.name not in ("int64", "int32") or x.rep.dense != x.rep.rank:
        raise CannotCompileError("an index of other numbers, or a tensor whose order in memory is not known")
    fn.fail_if(e.icmp("ne", index.sizes[0], source.sizes[dim]), node)
    for k in range(x.rep.rank):
        if k != dim:
            fn.fail_if(e.icmp("ne", x.sizes[k], source.sizes[k]), node)
    made = new(fn, x.rep.dtype, x.sizes, node)
    copy_elements(fn, made, x)
    s = Registers(fn, node, is_exact=False)

    def add_slice(k: Register) -> None:
        place = memory.offset_address(e, index.data, k, index.strides[0], memory.element(index.rep.dtype).itemsize)
        at = memory.load_element(e, place, index.rep.dtype)
        if at.type != "i64":
            at = e.convert("sext", at, "i64")
        fn.fail_if(e.icmp("uge", at, x.sizes[dim]), node)
        parts = [_slice(fn, made, dim, at), _slice(fn, source, dim, k)]

        def add_one(places: list[Register]) -> None:
            a, b = (Operand(memory.load_element(e, p, x.rep.dtype), x.rep.dtype) for p in places)
            memory.store_element(e, places[0], s.add(a, b).register, x.rep.dtype)

        each_element(fn, parts[0].sizes, parts, add_one)

    each(fn, index.sizes[0], add_slice)
    fn.set_new(node.output(), made)


def _slice(fn: FunctionEmitter, x: ArrayValue, dim: int, index: Register) -> ArrayValue:
    """One slice of a tensor, without its axis."""
    data = memory.offset_address(fn.e, x.data, index, x.strides[dim], memory.element(x.rep.dtype).itemsize)
    sizes, strides = x.sizes[:dim] + x.sizes[dim + 1 :], x.strides[:dim] + x.strides[dim + 1 :]
    return ArrayValue(Array(x.rep.dtype, len(sizes), 0), x.owner, data, sizes, strides)


