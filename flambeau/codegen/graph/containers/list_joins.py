"""Tensors of a list, whose length is known at run time only, as one tensor: stacked, or one after another."""

from __future__ import annotations

from collections.abc import Callable

from flambeau.codegen.graph import memory
from flambeau.codegen.graph.containers import lists
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.loops.control import each
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.native_values import ArrayValue, CannotCompileError, ListValue
from flambeau.codegen.graph.representation import Array
from flambeau.codegen.graph.tensors.arrays import axis_of, copy_elements, new, selected
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.ir.graph import Node


def stack_list(fn: EmittedFunction, node: Node, tensors: ListValue) -> None:
    """`stack` of a list, along a new axis."""
    item = _item(tensors)
    dim = axis_of(fn, node.operand(1), item.rank + 1)
    count, first = _first(fn, node, tensors)
    stacked = new(fn, item.dtype, (*first.sizes[:dim], count, *first.sizes[dim:]), node)

    def put(k: Register, one: ArrayValue) -> None:
        for own, size in zip(one.sizes, first.sizes, strict=True):
            fn.exits.fail_if(fn.e.icmp("ne", own, size), node)
        copy_elements(fn, selected(fn, stacked, dim, k), one)

    _each_tensor(fn, tensors, count, put)
    fn.values.set_new(node.result(), stacked)


def cat_list(fn: EmittedFunction, node: Node, tensors: ListValue) -> None:
    """`cat` of a list, along an axis."""
    item = _item(tensors)
    if item.rank == 0:
        raise CannotCompileError("tensors without axes are joined")
    if item.rank == 4 and item.dense != item.rank:
        raise CannotCompileError("a list of tensors is joined whose channels may lie innermost")
    dim = axis_of(fn, node.operand(1), item.rank)
    count, first = _first(fn, node, tensors)
    e, total = fn.e, fn.e.slot("i64", 8)

    def grow(by: Register) -> Register:
        before = e.define(f"load i64, ptr {total}", "i64", 1)
        e.raw(f"store i64 {memory.add(e, before, by)}, ptr {total}")
        return before

    def check(_: Register, one: ArrayValue) -> None:
        for axis, (own, size) in enumerate(zip(one.sizes, first.sizes, strict=True)):
            if axis != dim:
                fn.exits.fail_if(e.icmp("ne", own, size), node)
        grow(one.sizes[dim])

    e.raw(f"store i64 0, ptr {total}")
    _each_tensor(fn, tensors, count, check)
    size = e.define(f"load i64, ptr {total}", "i64", 1)
    joined = new(fn, item.dtype, (*first.sizes[:dim], size, *first.sizes[dim + 1 :]), node)
    rep = Array(item.dtype, item.rank, min(joined.rep.dense, item.rank - dim))

    def put(_: Register, one: ArrayValue) -> None:
        start = grow(one.sizes[dim])
        data = memory.offset_address(e, joined.data, start, joined.strides[dim], memory.itemsize(item.dtype))
        copy_elements(fn, ArrayValue(rep, joined.owner, data, one.sizes, joined.strides), one)

    e.raw(f"store i64 0, ptr {total}")
    _each_tensor(fn, tensors, count, put)
    fn.values.set_new(node.result(), joined)


def _item(tensors: ListValue) -> Array:
    item = tensors.rep.item
    if not isinstance(item, Array):
        raise CannotCompileError("a list of tensors without axes")
    return item


def _first(fn: EmittedFunction, node: Node, tensors: ListValue) -> tuple[Register, ArrayValue]:
    """How many tensors there are, which is an error for none, and the first."""
    count = lists.length(fn, tensors)
    fn.exits.fail_if(fn.e.icmp("eq", count, number(0)), node)
    return count, _tensor(fn, tensors, number(0))


def _each_tensor(
    fn: EmittedFunction, tensors: ListValue, count: Register, body: Callable[[Register, ArrayValue], None]
) -> None:
    each(fn, count, lambda k: body(k, _tensor(fn, tensors, k)))


def _tensor(fn: EmittedFunction, tensors: ListValue, index: Register) -> ArrayValue:
    native = lists.item(fn, tensors, index)
    assert isinstance(native, ArrayValue)
    return native
