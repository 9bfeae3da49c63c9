"""Views with the axes of a tensor in another order, with one more, or without those of size 1."""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.codegen.graph import memory
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.native_values import ArrayValue, CannotCompileError, Scalar, TupleValue
from flambeau.codegen.graph.tensors.arrays import array, axis_of, known_int, known_list, number_in_memory, view_on
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.ir.graph import Node, Value
from flambeau.schema.types import TensorType


def permuted(fn: EmittedFunction, node: Node, order: Sequence[int]) -> None:
    """The axes in another order."""
    x = array(fn, node.operand(0))
    dense = x.rep.dense if list(order) == list(range(x.rep.rank)) else 0
    fn.values.set_view(
        node.result(), view_on(x, x.data, [x.sizes[k] for k in order], [x.strides[k] for k in order], dense)
    )


def transpose(fn: EmittedFunction, node: Node) -> None:
    """`transpose`."""
    count = array(fn, node.operand(0)).rep.rank
    order = list(range(count))
    a, b = axis_of(fn, node.operand(1), count), axis_of(fn, node.operand(2), count)
    order[a], order[b] = order[b], order[a]
    permuted(fn, node, order)


def t(fn: EmittedFunction, node: Node) -> None:
    """`t`, `T`."""
    count = array(fn, node.operand(0)).rep.rank
    if node.op == "aten::t" and count > 2:
        raise CannotCompileError("t of more than two dimensions")
    permuted(fn, node, list(reversed(range(count))))


def transpose_matrices(fn: EmittedFunction, node: Node) -> None:
    """`mT`, and of real numbers `mH`, `H` and `adjoint()`: the last two axes swapped."""
    rep = array(fn, node.operand(0)).rep
    if rep.rank < 2 or (rep.rank > 2 and node.op == "aten::matrix_H"):
        raise CannotCompileError(f"{node.op} of {rep.rank} dimensions")
    if rep.dtype.is_complex and node.op != "aten::mT":
        raise CannotCompileError(f"{node.op} of complex numbers")
    permuted(fn, node, [*range(rep.rank - 2), rep.rank - 1, rep.rank - 2])


def permute(fn: EmittedFunction, node: Node) -> None:
    """`permute`."""
    x, dims = array(fn, node.operand(0)), fn.values.get(node.operand(1))
    count = x.rep.rank
    if isinstance(dims, TupleValue) and not _are_literals(dims) and len(dims.items) == count and fn.e.lanes == 1:
        fn.values.set_view(node.result(), _permuted_by(fn, node, x, dims))
        return
    order = known_list(dims)
    if sorted(d % count for d in order) != list(range(count)):
        raise CannotCompileError(f"permute to {order}")
    permuted(fn, node, [d % count for d in order])


def _are_literals(dims: TupleValue) -> bool:
    return all(isinstance(i, Scalar) and memory.literal(i.register) is not None for i in dims.items)


def _permuted_by(fn: EmittedFunction, node: Node, x: ArrayValue, dims: TupleValue) -> ArrayValue:
    """The axes in an order that only the call tells; leaves the function where it is none."""
    e, count = fn.e, number(x.rep.rank)
    all_sizes, all_strides = memory.spilled(e, x.sizes), memory.spilled(e, x.strides)
    sizes: list[Register] = []
    strides: list[Register] = []
    seen = number(0)
    for item in dims.items:
        assert isinstance(item, Scalar)
        axis = item.register
        axis = e.select(e.icmp("slt", axis, number(0)), e.binary("add", axis, count), axis)
        fn.exits.fail_if(e.icmp("uge", axis, count), node)
        bit = e.binary("shl", number(1), axis)
        fn.exits.fail_if(e.icmp("ne", e.binary("and", seen, bit), number(0)), node)
        seen = e.binary("or", seen, bit)
        for words, chosen in ((all_sizes, sizes), (all_strides, strides)):
            address = e.define(f"getelementptr inbounds i64, ptr {words}, i64 {axis}", "ptr", 1)
            chosen.append(memory.load_word(e, address, 0, "i64"))
    return view_on(x, x.data, sizes, strides, 0)


def unsqueeze(fn: EmittedFunction, node: Node) -> None:
    """`unsqueeze`."""
    one = number_in_memory(fn, node)
    x = array(fn, node.operand(0)) if one is None else one
    dim = axis_of(fn, node.operand(1), x.rep.rank + 1)
    inner = x.sizes[dim] if dim < x.rep.rank else None
    itemsize = memory.itemsize(x.rep.dtype)
    stride = number(itemsize) if inner is None else memory.multiply(fn.e, inner, x.strides[dim], " nsw")
    dense = x.rep.dense + 1 if x.rep.rank - dim <= x.rep.dense else x.rep.dense
    sizes = (*x.sizes[:dim], number(1), *x.sizes[dim:])
    strides = (*x.strides[:dim], stride, *x.strides[dim:])
    set_shown = fn.values.set_view if one is None else fn.values.set_new
    set_shown(node.result(), view_on(x, x.data, sizes, strides, dense))


def squeeze(fn: EmittedFunction, node: Node) -> None:
    """`squeeze` of axes of which it is known whether their sizes are 1."""
    native = fn.values.get(node.operand(0))
    if isinstance(native, Scalar) and len(node.operands) == 1:
        fn.values.set(node.result(), native)
        return
    x = array(fn, node.operand(0))
    gone = {k for k in _squeezed(fn, node, x.rep.rank) if _is_one(node.operand(0), x, k)}
    kept = [k for k in range(x.rep.rank) if k not in gone]
    dense = sum(k >= x.rep.rank - x.rep.dense for k in kept)
    view = view_on(x, x.data, [x.sizes[k] for k in kept], [x.strides[k] for k in kept], dense)
    fn.values.set_view(node.result(), view if gone else x)


def _squeezed(fn: EmittedFunction, node: Node, rank: int) -> list[int]:
    """The axes that a `squeeze` is about."""
    if len(node.operands) == 1:
        return list(range(rank))
    dims = fn.values.get(node.operand(1))
    listed = [known_int(fn, node.operand(1))] if isinstance(dims, Scalar) else known_list(dims)
    if not all(-rank <= d < rank for d in listed):
        raise CannotCompileError(f"squeeze of {listed} in {rank} dimensions")
    return [d % rank for d in listed]


def _is_one(value: Value, x: ArrayValue, axis: int) -> bool:
    """Whether an axis has size 1. Raises `CannotCompileError` where neither its size nor its type says so."""
    size = memory.literal(x.sizes[axis])
    known = value.static_type
    if size is None and isinstance(known, TensorType) and known.sizes is not None:
        size = known.sizes[axis]
    if size is None:
        raise CannotCompileError("whether squeeze takes an axis away depends on its size")
    return size == 1
