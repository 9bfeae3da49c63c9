"""New tensors of the elements of others: copies, conversions, joins."""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.codegen.graph import memory
from flambeau.codegen.graph.containers.list_joins import cat_list, stack_list
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.interpreter_calls import either, is_dense_now
from flambeau.codegen.graph.literals import literal_of
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.named_operands import operands_by_name, refuse_options, result_type
from flambeau.codegen.graph.native_values import (
    ArrayValue,
    CannotCompileError,
    FixedValue,
    ListValue,
    Native,
    Scalar,
    TupleValue,
    constant_of,
)
from flambeau.codegen.graph.numbers import complex_arrays, complex_elements, halves
from flambeau.codegen.graph.numbers.scalars import Operand, Registers
from flambeau.codegen.graph.representation import Array, Bool, Element, Fixed
from flambeau.codegen.graph.tensors import arrays
from flambeau.codegen.graph.tensors.arrays import array, axis_of, each_element, load, new, product
from flambeau.codegen.graph.tensors.memory_order import in_order_of, is_from_outermost_in, is_packed
from flambeau.codegen.graph.tensors.pointwise import set_element
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.ir.graph import Node
from flambeau.schema import dtype as dtypes
from flambeau.schema.dtype import DType


def _refuse_format(fn: EmittedFunction, node: Node, offset: int) -> None:
    """Memory formats other than the usual are Python's."""
    if len(node.operands) > offset and literal_of(fn.values.get(node.operand(offset))) not in (None, 0, 1):
        raise CannotCompileError("a memory format")


def clone(fn: EmittedFunction, node: Node) -> None:
    """`clone`: the elements in new memory, in the order that the tensor has, or row by row if that is asked for."""
    _refuse_format(fn, node, 1)
    _clone(fn, node, by_rows=len(node.operands) > 1 and literal_of(fn.values.get(node.operand(1))) == 0)


def _clone(fn: EmittedFunction, node: Node, *, by_rows: bool = False) -> None:
    native = fn.values.get(node.operand(0))
    if isinstance(native, Scalar):
        set_element(fn, node.result(), Operand(native.register, native.dtype))
        return
    x = array(fn, node.operand(0))
    if not x.rep.rank and not x.rep.dtype.is_complex:  # no memory where nobody writes to the copy
        set_element(fn, node.result(), load(fn, x))
        return
    if x.rep.dense == x.rep.rank:
        copied = new(fn, x.rep.dtype, x.sizes, node)
        arrays.copy_elements(fn, copied, x)
        fn.values.set_new(node.result(), copied)
        return
    if by_rows:
        dense = is_dense_now(fn, x)
        is_native = fn.e.binary("or", dense, _is_short(fn, x))
        either(fn, node, is_native, Array(x.rep.dtype, x.rep.rank, 0), lambda: _copy(fn, node, x, dense))
    else:
        packed = is_packed(fn, x)
        in_order = fn.e.binary("and", is_from_outermost_in(fn, x), _is_short(fn, x))
        is_native = fn.e.binary("or", packed, in_order)
        either(fn, node, is_native, Array(x.rep.dtype, x.rep.rank, 0), lambda: _copy_in_order(fn, node, x, packed))


MOST_COPIED = 1 << 16
"""Elements in steps that the function copies one by one; of more, Python copies tiles."""


def _is_short(fn: EmittedFunction, x: ArrayValue) -> Register:
    """Whether a tensor has elements, and not too many: one without any keeps its steps."""
    less = fn.e.binary("sub", product(fn, x.sizes), number(1))
    return fn.e.icmp("ult", less, number(MOST_COPIED))


def _copy(fn: EmittedFunction, node: Node, x: ArrayValue, dense: Register) -> ArrayValue:
    """A row-major copy of a tensor that may lie in one piece."""
    e, copied = fn.e, new(fn, x.rep.dtype, x.sizes, node)
    whole, steps, after = e.label("whole"), e.label("steps"), e.label("after")
    e.branch_if(dense, whole, steps)
    for label in (whole, steps):
        e.start(label)
        rank = x.rep.rank if label == whole else x.rep.dense
        arrays.copy_elements(
            fn, copied, ArrayValue(Array(x.rep.dtype, x.rep.rank, rank), x.owner, x.data, x.sizes, x.strides)
        )
        e.branch(after)
    e.start(after)
    return copied


def _copy_in_order(fn: EmittedFunction, node: Node, x: ArrayValue, packed: Register) -> ArrayValue:
    """A copy in the order in which a tensor lies in memory: all at once where it lies in one piece."""
    e, copied = fn.e, in_order_of(fn, new(fn, x.rep.dtype, x.sizes, node), x, packed)
    whole, steps, after = e.label("whole"), e.label("steps"), e.label("after")
    e.branch_if(packed, whole, steps)
    e.start(whole)
    total = memory.multiply(e, product(fn, x.sizes), number(memory.itemsize(x.rep.dtype)))
    e.raw(f"call void @llvm.memcpy.p0.p0.i64(ptr {copied.data}, ptr {x.data}, i64 {total}, i1 false)")
    e.branch(after)
    e.start(steps)
    arrays.copy_elements(fn, copied, x)
    e.branch(after)
    e.start(after)
    return copied


def contiguous(fn: EmittedFunction, node: Node) -> None:
    """`contiguous`: the tensor itself if it lies in one piece."""
    x = array(fn, node.operand(0))
    _refuse_format(fn, node, 1)
    if x.rep.dense == x.rep.rank:
        fn.values.set_view(node.result(), x)
        return

    dense = is_dense_now(fn, x)
    is_native = fn.e.binary("or", dense, _is_short(fn, x))
    either(fn, node, is_native, Array(x.rep.dtype, x.rep.rank, x.rep.rank), lambda: _itself_or_copy(fn, node, x, dense))


def _itself_or_copy(fn: EmittedFunction, node: Node, x: ArrayValue, dense: Register) -> ArrayValue:
    """A tensor that lies in one piece, or a copy that does."""
    e, rep = fn.e, Array(x.rep.dtype, x.rep.rank, x.rep.rank)
    slots = fn.slots.new(rep)
    whole, steps, after = e.label("whole"), e.label("steps"), e.label("after")
    e.branch_if(dense, whole, steps)
    e.start(whole)
    fn.values.retain(x)
    fn.slots.store(slots, x)
    e.branch(after)
    e.start(steps)
    copied = new(fn, x.rep.dtype, x.sizes, node)
    arrays.copy_elements(fn, copied, x)
    fn.slots.store(slots, copied)
    e.branch(after)
    e.start(after)
    loaded = fn.slots.load(slots, rep)
    assert isinstance(loaded, ArrayValue)
    return loaded


def is_contiguous(fn: EmittedFunction, node: Node) -> None:
    """`is_contiguous()`."""
    x = array(fn, node.operand(0))
    if len(node.operands) > 1 and literal_of(fn.values.get(node.operand(1))) not in (None, 0):
        raise CannotCompileError("a memory format")
    contiguous_now = Register("true", "i1", 1) if x.rep.dense == x.rep.rank else None
    if contiguous_now is None:
        empty = fn.e.icmp("eq", product(fn, x.sizes), number(0))
        contiguous_now = fn.e.binary("or", empty, is_dense_now(fn, x))
    fn.values.set(node.result(), Scalar(Bool(), contiguous_now))


def is_same_size(fn: EmittedFunction, node: Node) -> None:
    """Whether two tensors have the same sizes."""
    one, other = (_sizes(fn.values.get(v)) for v in node.operands)
    same = Register("true" if len(one) == len(other) else "false", "i1", 1)
    if len(one) == len(other):
        for a, b in zip(one, other, strict=True):
            same = fn.e.binary("and", same, fn.e.icmp("eq", a, b))
    fn.values.set(node.result(), Scalar(Bool(), same))


def _sizes(native: Native) -> tuple[Register, ...]:
    return native.sizes if isinstance(native, ArrayValue) else ()


def convert(fn: EmittedFunction, node: Node) -> None:
    """`to(dtype)`: the tensor itself if it has it, unless a copy is asked for."""
    native = fn.values.get(node.operand(0))
    dtype, is_copy = _converted_to(fn, node)
    assert isinstance(native.rep, Array | Element)
    if native.rep.dtype is dtype and is_copy:
        _clone(fn, node)
        return
    if native.rep.dtype is dtype:
        fn.values.set_view(node.result(), native)
        return
    if dtype.is_complex:
        complex_arrays.convert(fn, node, dtype)
        return
    halves.check(native.rep.dtype, dtype)
    s = Registers(fn, node, is_exact=False)
    if _has_no_axes(native):
        set_element(fn, node.result(), s.cast(arrays.load(fn, native), dtype))
        return
    _converted(fn, node, array(fn, node.operand(0)), dtype, s)


def _converted_to(fn: EmittedFunction, node: Node) -> tuple[DType, bool]:
    """The dtype that `to` converts to, and whether it copies in any case. Raises `CannotCompileError` for what else it
    may convert."""
    operands = operands_by_name(fn, node)
    tensor_type = result_type(node, operands.values())
    device = operands.get("device")
    if tensor_type is None or (device is not None and not isinstance(device, FixedValue)):
        raise CannotCompileError("what it converts to is not known")
    refuse_options(operands, ("layout", "pin_memory"), "to() with more than a dtype")
    if literal_of(operands.get("memory_format", FixedValue(Fixed(None)))) not in (None, 1):
        raise CannotCompileError("a memory format")
    is_copy = literal_of(operands.get("copy", constant_of(False)))
    if not isinstance(is_copy, bool):
        raise CannotCompileError("a copy under a condition")
    return tensor_type[0], is_copy


def _converted(fn: EmittedFunction, node: Node, x: ArrayValue, dtype: DType, s: Registers) -> None:
    for one in (x.rep.dtype, dtype):
        if one not in memory.HALVES:
            memory.element(one)

    def copied() -> ArrayValue:
        target = new(fn, dtype, x.sizes, node)
        seen = ArrayValue(Array(x.rep.dtype, x.rep.rank, x.rep.rank), x.owner, x.data, x.sizes, x.strides)
        flat = arrays.flattened(fn, [target, seen])

        def one(addresses: list[Register]) -> None:
            element = _loaded(fn, addresses[1], x.rep.dtype)
            if dtype in memory.HALVES:
                halves.store(fn.e, addresses[0], element.register, dtype)
            else:
                memory.store_element(fn.e, addresses[0], s.cast(element, dtype).register, dtype)

        each_element(fn, flat[0].sizes, flat, one)
        return target

    if x.rep.dense == x.rep.rank:
        fn.values.set_new(node.result(), copied())
    else:
        either(fn, node, is_dense_now(fn, x), Array(dtype, x.rep.rank, 0), copied)


def _loaded(fn: EmittedFunction, address: Register, dtype: DType) -> Operand:
    """An element as what is computed with."""
    if dtype in memory.HALVES:
        return Operand(halves.load(fn.e, address, dtype), dtypes.float32)
    return Operand(memory.load_element(fn.e, address, dtype), dtype)


# -- joins ------------------------------------------------------------------------------------------------------------


def _parts(fn: EmittedFunction, node: Node) -> list[ArrayValue]:
    joined = fn.values.get(node.operand(0))
    if not isinstance(joined, TupleValue) or not joined.items:
        raise CannotCompileError("how many tensors are joined is not known")
    parts = []
    for one in joined.items:
        if not isinstance(one, ArrayValue):
            raise CannotCompileError("tensors without axes are joined")
        parts.append(one)
    first = parts[0].rep
    if any((p.rep.dtype, p.rep.rank) != (first.dtype, first.rank) for p in parts):
        raise CannotCompileError("tensors of several dtypes or ranks are joined")
    return parts


def cat(fn: EmittedFunction, node: Node) -> None:
    """`cat`: tensors one after another along an axis."""
    joined = fn.values.get(node.operand(0))
    if isinstance(joined, ListValue):
        cat_list(fn, node, joined)
        return
    e, parts = fn.e, _parts(fn, node)
    rank = parts[0].rep.rank
    if rank == 0:
        raise CannotCompileError("tensors without axes are joined")
    dim = axis_of(fn, node.operand(1), rank)
    total = number(0)
    for p in parts:
        total = memory.add(e, total, p.sizes[dim])
        for k in range(rank):
            if k != dim:
                fn.exits.fail_if(e.icmp("ne", p.sizes[k], parts[0].sizes[k]), node)
    sizes = (*parts[0].sizes[:dim], total, *parts[0].sizes[dim + 1 :])
    copied = new(fn, parts[0].rep.dtype, sizes, node)
    if rank == 4 and all(p.rep.dense != rank for p in parts):
        copied = _channels_last_if_all_are(fn, copied, parts)
    start = number(0)
    for p in parts:
        _copy_into(fn, copied, p, dim, start, p.sizes)
        start = memory.add(e, start, p.sizes[dim])
    fn.values.set_new(node.result(), copied)


def _channels_last_if_all_are(fn: EmittedFunction, joined: ArrayValue, parts: Sequence[ArrayValue]) -> ArrayValue:
    """A new tensor whose channels are side by side in memory where those of all parts are, and no part is row-major."""
    e = fn.e
    turned = Register("true", "i1", 1)
    for p in parts:
        turned = e.binary("and", turned, is_channels_last_now(fn, p))
    batch, *inner = joined.sizes
    channels, rows, columns = inner
    dense = memory.dense_strides(e, (batch, rows, columns, channels), memory.itemsize(joined.rep.dtype))
    strides = [e.select(turned, dense[axis], own) for axis, own in zip((0, 3, 1, 2), joined.strides, strict=True)]
    return ArrayValue(Array(joined.rep.dtype, 4, 0), joined.owner, joined.data, joined.sizes, tuple(strides))


def is_channels_last_now(fn: EmittedFunction, x: ArrayValue) -> Register:
    """Whether the channels of a tensor of 4 axes are side by side in memory, and it is not row-major."""
    e, row_major = fn.e, is_dense_now(fn, x)
    return e.binary(
        "and", is_dense_now(fn, _reordered(x, (0, 2, 3, 1))), e.binary("xor", row_major, e.like(row_major, 1))
    )


def _reordered(x: ArrayValue, order: Sequence[int]) -> ArrayValue:
    rep = Array(x.rep.dtype, x.rep.rank, 0)
    return ArrayValue(rep, x.owner, x.data, tuple([x.sizes[k] for k in order]), tuple([x.strides[k] for k in order]))


def _copy_into(
    fn: EmittedFunction, copied: ArrayValue, part: ArrayValue, dim: int, start: Register, sizes: Sequence[Register]
) -> None:
    """Copy a part to where it starts along an axis."""
    dtype = copied.rep.dtype
    data = memory.offset_address(fn.e, copied.data, start, copied.strides[dim], memory.itemsize(dtype))
    dense = min(copied.rep.dense, len(sizes) - dim)
    target = ArrayValue(Array(dtype, len(sizes), dense), copied.owner, data, tuple(sizes), copied.strides)
    arrays.copy_elements(fn, target, part)


def stack(fn: EmittedFunction, node: Node) -> None:
    """`stack`: tensors side by side along a new axis."""
    joined = fn.values.get(node.operand(0))
    if isinstance(joined, ListValue):
        stack_list(fn, node, joined)
        return
    if isinstance(joined, TupleValue) and joined.items and all(map(_has_no_axes, joined.items)):
        _elements_side_by_side(fn, node, joined.items)
        return
    e, parts = fn.e, _parts(fn, node)
    rank = parts[0].rep.rank
    dim = axis_of(fn, node.operand(1), rank + 1)
    for p in parts[1:]:
        for own, first in zip(p.sizes, parts[0].sizes, strict=True):
            fn.exits.fail_if(e.icmp("ne", own, first), node)
    sizes = (*parts[0].sizes[:dim], number(len(parts)), *parts[0].sizes[dim:])
    copied = new(fn, parts[0].rep.dtype, sizes, node)
    for k, p in enumerate(parts):
        seen_sizes = (*p.sizes[:dim], number(1), *p.sizes[dim:])
        strides = (*p.strides[:dim], number(0), *p.strides[dim:])
        seen = ArrayValue(Array(p.rep.dtype, rank + 1, 0), p.owner, p.data, seen_sizes, strides)
        _copy_into(fn, copied, seen, dim, number(k), seen_sizes)
    fn.values.set_new(node.result(), copied)


def _has_no_axes(native: Native) -> bool:
    return isinstance(native.rep, Element) or (isinstance(native, ArrayValue) and native.rep.rank == 0)


def _elements_side_by_side(fn: EmittedFunction, node: Node, items: Sequence[Native]) -> None:
    """A vector of tensors without axes."""
    axis_of(fn, node.operand(1), 1)
    tensor_type = result_type(node, [fn.values.get(v) for v in node.operands])
    if tensor_type is None:
        raise CannotCompileError("the dtype of what is joined is not known")
    dtype, s = tensor_type[0], complex_elements.ComplexRegisters(fn, node)
    operands = [s.cast(complex_elements.argument(fn, item), dtype) for item in items]
    copied = new(fn, dtype, (number(len(operands)),), node)
    step = memory.itemsize(dtype)
    for k, operand in enumerate(operands):
        address = memory.offset_address(fn.e, copied.data, number(k), number(step), step)
        complex_elements.store(fn, address, operand)
    fn.values.set_new(node.result(), copied)


# -- pieces -----------------------------------------------------------------------------------------------------------
