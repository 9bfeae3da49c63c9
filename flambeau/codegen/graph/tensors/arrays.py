"""Tensors in memory: views as arithmetic on addresses, element reads and writes, new tensors, whole-tensor writes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flambeau.codegen.graph import memory, native_values
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.loops import hoisted_bounds_checks, meetings
from flambeau.codegen.graph.loops.control import each_part
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.native_values import ArrayValue, CannotCompileError, FixedValue, Native, Scalar, TupleValue
from flambeau.codegen.graph.numbers.refusals import refuse_what_no_int_is
from flambeau.codegen.graph.numbers.scalars import Operand, Registers, scalar_of
from flambeau.codegen.graph.representation import Array, Element, Fixed, Int
from flambeau.codegen.graph.result_types import CPU
from flambeau.codegen.graph.routines.library import copy_by_routine
from flambeau.codegen.layouts import BLOCK_DATA
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.ir.graph import Node, Value
from flambeau.schema import dtype as dtypes
from flambeau.schema.dtype import DType
from flambeau.schema.types import TensorType


def array(fn: EmittedFunction, value: Value) -> ArrayValue:
    """A value that is a tensor in memory. Raises `CannotCompileError` for others."""
    native = fn.values.get(value)
    if isinstance(native, ArrayValue):
        return native
    raise CannotCompileError(f"%{value.name} is {native_values.describe(native.rep)}, not a tensor in memory")


def in_memory(fn: EmittedFunction, operand: Operand) -> ArrayValue:
    """A new tensor without axes in memory."""
    block = fn.exits.new_block(number(memory.itemsize(operand.dtype)))
    data = fn.e.define(f"getelementptr inbounds i8, ptr {block}, i64 {BLOCK_DATA}", "ptr", 1)
    memory.store_element(fn.e, data, operand.register, operand.dtype)
    return ArrayValue(Array(operand.dtype, 0, 0), block, data, (), ())


def number_in_memory(fn: EmittedFunction, node: Node) -> ArrayValue | None:
    """The operand of a view, where that is a number in a register, as a tensor without axes in memory, whose block the
    result is to have; None for others. Raises `CannotCompileError` where it could be seen that others have another."""
    native = fn.values.get(node.operand(0))
    if not isinstance(native, Scalar) or not isinstance(native.rep, Element) or fn.e.lanes > 1:
        return None
    values, result, shown = fn.values, node.result(), node.operand(0)
    if values.lifetimes.may_leave(result):
        known = {result, shown} if len(shown.uses()) == 1 else {result}
        tensors = {v for n in values.graph.listed_nodes() for v in n.results if isinstance(v.static_type, TensorType)}
        if any(values.lifetimes.may_leave(v) and values.alias.may_alias(v, result) for v in tensors - known):
            raise CannotCompileError(f"%{result.name} shows what leaves under another name, too")
    return in_memory(fn, load(fn, native))


def is_tensor(native: Native) -> bool:
    """Whether a value is a tensor."""
    return isinstance(native.rep, Array | Element)


def rank(native: Native) -> int:
    """How many axes a tensor has."""
    return native.rep.rank if isinstance(native.rep, Array) else 0


def known_int(fn: EmittedFunction, value: Value) -> int:
    """An int that must be known when the code is made."""
    literal = memory.literal(fn.values.index(value))
    if literal is None:
        raise CannotCompileError(f"%{value.name} must be a constant")
    return literal


def optional_int(fn: EmittedFunction, value: Value) -> Scalar | None:
    """An int that may be None, which of the two being known."""
    native = fn.values.get(value)
    if isinstance(native, FixedValue) and native.rep.value is None:
        return None
    return fn.values.scalar(value)


def axis_of(fn: EmittedFunction, value: Value, count: int) -> int:
    """A dimension argument, counted from the front."""
    dim = known_int(fn, value)
    if not -count <= dim < count:
        raise CannotCompileError(f"dimension {dim} of a tensor of rank {count}")
    return dim % count


def load(fn: EmittedFunction, native: Native) -> Operand:
    """The element of a tensor without axes."""
    if isinstance(native, Scalar):
        return Operand(native.register, native.dtype, native.affine)
    assert isinstance(native, ArrayValue)
    assert native.rep.rank == 0
    return Operand(memory.load_element(fn.e, native.data, native.rep.dtype), native.rep.dtype)


# -- views ------------------------------------------------------------------------------------------------------------


def view_on(
    base: ArrayValue, data: Register, sizes: Sequence[Register], strides: Sequence[Register], dense: int
) -> ArrayValue:
    """A view of a tensor; of its last `dense` axes each lies in the one before it without gaps."""
    rep = Array(base.rep.dtype, len(sizes), min(dense, len(sizes)))
    return ArrayValue(rep, base.owner, data, tuple(sizes), tuple(strides))


def select(fn: EmittedFunction, node: Node) -> None:
    """`x[..., i, ...]`."""
    x, scalar = array(fn, node.operand(0)), fn.values.scalar(node.operand(2))
    dim = axis_of(fn, node.operand(1), x.rep.rank)
    index = hoisted_bounds_checks.checked_index(fn, scalar, x.sizes[dim], node)
    view = selected(fn, x, dim, index)
    meetings.note(fn, x, scalar, dim, view.data)
    fn.values.set_view(node.result(), view)


def selected(fn: EmittedFunction, x: ArrayValue, dim: int, index: Register) -> ArrayValue:
    """What one index of an axis shows; the index is within the axis."""
    itemsize = memory.itemsize(x.rep.dtype)
    data = memory.offset_address(fn.e, x.data, index, x.strides[dim], itemsize)
    dense = min(x.rep.dense, x.rep.rank - 1 - dim)
    sizes, strides = x.sizes[:dim] + x.sizes[dim + 1 :], x.strides[:dim] + x.strides[dim + 1 :]
    return view_on(x, data, sizes, strides, dense)


def slice_(fn: EmittedFunction, node: Node) -> None:
    """`x[..., start:end:step, ...]`: bounds are clamped."""
    fn.values.set_view(node.result(), sliced(fn, node, array(fn, node.operand(0)), node.operands[1:5]))


def sliced(fn: EmittedFunction, node: Node, x: ArrayValue, arguments: Sequence[Value]) -> ArrayValue:
    """A slice, of which axis, start, end and step are given; leaves the function where the step is not positive."""
    e = fn.e
    dim = axis_of(fn, arguments[0], x.rep.rank)
    size = x.sizes[dim]
    step = fn.values.index(arguments[3])
    known_step = memory.literal(step)
    if known_step is None:
        fn.exits.fail_if(e.icmp("sle", step, number(0)), node)
    elif known_step <= 0:
        raise CannotCompileError("a slice whose step is not positive")
    start = _clamped(fn, optional_int(fn, arguments[1]), size, number(0))
    end = _clamped(fn, optional_int(fn, arguments[2]), size, size)
    if memory.literal(start) != 0:
        end = e.intrinsic("smax", end, start)
    count = memory.subtract(e, end, start)
    if known_step is None:
        rest = e.binary("add", e.binary("sdiv", e.binary("sub", count, number(1)), step), number(1))
        count = e.select(e.icmp("eq", count, number(0)), number(0), rest)
    elif known_step != 1:
        count = e.binary("sdiv", e.binary("add", count, number(known_step - 1)), step)
    itemsize = memory.itemsize(x.rep.dtype)
    data = memory.offset_address(e, x.data, start, x.strides[dim], itemsize)
    stride = memory.multiply(e, x.strides[dim], step, " nsw" if known_step is not None else "")
    sizes = (*x.sizes[:dim], count, *x.sizes[dim + 1 :])
    strides = (*x.strides[:dim], stride, *x.strides[dim + 1 :])
    whole = x.rep.rank - dim if known_step == 1 else x.rep.rank - dim - 1
    return view_on(x, data, sizes, strides, min(x.rep.dense, whole))


def _clamped(fn: EmittedFunction, bound: Scalar | None, size: Register, otherwise: Register) -> Register:
    """A bound of a slice as an index from 0 to the size."""
    e = fn.e
    if bound is None:
        return otherwise
    literal = memory.literal(bound.register)
    if literal == (1 << 63) - 1:
        return size
    if literal == 0:
        return number(0)
    at = bound.register
    if literal is None:
        at = e.select(e.icmp("slt", at, number(0)), e.binary("add", at, size), at)
    elif literal < 0:
        at = e.binary("add", size, number(literal))
    if literal is None or literal < 0:
        at = e.intrinsic("smax", at, number(0))
    return e.intrinsic("smin", at, size)


def known_list(dims: Native) -> list[int]:
    """A list of axes. Raises `CannotCompileError` where the numbers are not constants."""
    if not isinstance(dims, TupleValue):
        raise CannotCompileError("dimensions must be constants")
    literals = [memory.literal(i.register) if isinstance(i, Scalar) else None for i in dims.items]
    if any(literal is None for literal in literals):
        raise CannotCompileError("dimensions must be constants")
    return [literal for literal in literals if literal is not None]


def expand(fn: EmittedFunction, node: Node) -> None:
    """`expand`: axes of size one are repeated without moving."""
    sizes, one = fn.values.get(node.operand(1)), number_in_memory(fn, node)
    x = array(fn, node.operand(0)) if one is None else one
    if not isinstance(sizes, TupleValue) or len(sizes.items) < x.rep.rank:
        raise CannotCompileError("the number of sizes of expand is not known")
    wanted = [i.register for i in sizes.items if isinstance(i, Scalar)]
    set_shown = fn.values.set_view if one is None else fn.values.set_new
    set_shown(node.result(), _expanded(fn, node, x, wanted))


def expand_as(fn: EmittedFunction, node: Node) -> None:
    """`expand_as`."""
    x, wanted = array(fn, node.operand(0)), array(fn, node.operand(1)).sizes
    if len(wanted) < x.rep.rank:
        raise CannotCompileError("fewer sizes than axes")
    fn.values.set_view(node.result(), _expanded(fn, node, x, wanted))


def _expanded(fn: EmittedFunction, node: Node, x: ArrayValue, wanted_sizes: Sequence[Register]) -> ArrayValue:
    e, missing = fn.e, len(wanted_sizes) - x.rep.rank
    sizes: list[Register] = []
    strides: list[Register] = []
    for k, wanted in enumerate(wanted_sizes):
        if k < missing:
            fn.exits.fail_if(e.icmp("slt", wanted, number(0)), node)
            sizes.append(wanted)
            strides.append(number(0))
            continue
        size, stride = x.sizes[k - missing], x.strides[k - missing]
        keeps = e.icmp("eq", wanted, number(-1))
        same = e.icmp("eq", wanted, size)
        one = e.icmp("eq", size, number(1))
        stays = e.binary("or", keeps, same)
        grows = e.binary("and", one, e.icmp("sge", wanted, number(0)))
        fn.exits.fail_if(e.binary("xor", e.binary("or", stays, grows), Register("true", "i1", 1)), node)
        sizes.append(e.select(stays, size, wanted))
        strides.append(e.select(stays, stride, number(0)))
    return view_on(x, x.data, sizes, strides, 0)


def product(fn: EmittedFunction, sizes: Sequence[Register]) -> Register:
    """How many elements there are."""
    total = number(1)
    for size in sizes:
        total = memory.multiply(fn.e, total, size)
    return total


def same(fn: EmittedFunction, node: Node) -> None:
    """Operators that give their operand: the same tensor under another name."""
    fn.values.set_view(node.result(), fn.values.get(node.operand(0)))


# -- questions --------------------------------------------------------------------------------------------------------


def size(fn: EmittedFunction, node: Node) -> None:
    """`size()`, `size(dim)`, `shape`."""
    native = fn.values.get(node.operand(0))
    sizes = native.sizes if isinstance(native, ArrayValue) else ()
    if len(node.operands) == 2:
        fn.values.set(node.result(), _int(sizes[axis_of(fn, node.operand(1), len(sizes))]))
        return
    fn.values.set(node.result(), TupleValue(tuple(map(_int, sizes))))


def _int(register: Register) -> Scalar:
    return Scalar(Int(), register)


def dim(fn: EmittedFunction, node: Node) -> None:
    """`dim()`."""
    fn.values.set(node.result(), native_values.integer(rank(fn.values.get(node.operand(0)))))


def numel(fn: EmittedFunction, node: Node) -> None:
    """`numel()`."""
    native = fn.values.get(node.operand(0))
    fn.values.set(node.result(), _int(product(fn, native.sizes if isinstance(native, ArrayValue) else ())))


def length(fn: EmittedFunction, node: Node) -> None:
    """`len()` of a tensor."""
    x = array(fn, node.operand(0))
    if not x.sizes:
        raise CannotCompileError("len() of a tensor without axes")
    fn.values.set(node.result(), _int(x.sizes[0]))


def dtype_of(fn: EmittedFunction, node: Node) -> None:
    """`prim::dtype`."""
    native = fn.values.get(node.operand(0))
    assert isinstance(native.rep, Array | Element)
    fn.values.set(node.result(), native_values.integer(native.rep.dtype.code))


def device_of(fn: EmittedFunction, node: Node) -> None:
    """`prim::device`."""
    fn.values.set(node.result(), FixedValue(Fixed(CPU)))


def to_number(fn: EmittedFunction, node: Node, dtype: DType | None) -> None:
    """`int(t)`, `float(t)`, `bool(t)`, `t.item()`."""
    native = fn.values.get(node.operand(0))
    if isinstance(native, ArrayValue) and native.rep.rank:
        one = fn.e.icmp("eq", product(fn, native.sizes), number(1))
        fn.exits.fail_if(fn.e.binary("xor", one, Register("true", "i1", 1)), node)
        native = ArrayValue(Array(native.rep.dtype, 0), native.owner, native.data, (), ())
    operand = load(fn, native)
    s = Registers(fn, node, is_exact=True)
    if dtype is None:
        category = "float64" if operand.dtype.is_floating_point else operand.dtype.name
        dtype = operand.dtype if category == "bool" else _wide(category)
    if dtype == dtypes.int64 and operand.dtype.is_floating_point:
        refuse_what_no_int_is(fn, node, [s.cast(operand, dtypes.float64)])
    if dtype == dtypes.int64 and operand.dtype is dtypes.uint64:
        fn.exits.fail_if(fn.e.icmp("slt", operand.register, fn.e.like(operand.register, 0)), node)
    fn.values.set(node.result(), scalar_of(s.cast(operand, dtype), node.result().static_type))


def implicit(fn: EmittedFunction, node: Node, dtype: DType) -> None:
    """A tensor where a number is wanted: one without axes, of the same kind of number; floats may come of integers."""
    rep = fn.values.get(node.operand(0)).rep
    if not isinstance(rep, Element | Array) or (isinstance(rep, Array) and rep.rank):
        raise CannotCompileError("a number made of a tensor with axes")
    widens = dtype.is_floating_point or not rep.dtype.is_floating_point
    if not widens or rep.dtype.name == "bool" or rep.dtype.is_complex:
        raise CannotCompileError("a number made of a tensor of another kind")
    to_number(fn, node, dtype)


def _wide(category: str) -> DType:
    return dtypes.float64 if category == "float64" else dtypes.int64


# -- new tensors and writes -------------------------------------------------------------------------------------------


def new(fn: EmittedFunction, dtype: DType, sizes: Sequence[Register], node: Node) -> ArrayValue:
    """A new tensor, row-major; leaves the function where a size is negative, or all are too large."""
    e = fn.e
    itemsize = memory.itemsize(dtype)
    if all(memory.literal(s) is not None for s in sizes) or fn.values.known_sizes.include(sizes):
        total = number(itemsize)
        for s in sizes:
            total = memory.multiply(e, total, s)
        block = fn.exits.new_block(total)
    else:
        block = fn.exits.new_block_of(itemsize, sizes, node)
    data = first_byte(fn, block)
    e.make_fresh(data)
    strides = memory.empty_strides(e, sizes, itemsize)
    return ArrayValue(Array(dtype, len(sizes), len(sizes)), block, data, tuple(sizes), strides)


def first_byte(fn: EmittedFunction, block: Register) -> Register:
    """Where the elements of a block begin."""
    return fn.e.define(f"getelementptr inbounds i8, ptr {block}, i64 {BLOCK_DATA}", "ptr", 1)


def each_element(
    fn: EmittedFunction, sizes: Sequence[Register], arrays: Sequence[ArrayValue], body: Callable[[list[Register]], None]
) -> None:
    """``body`` of the addresses of the elements, at every place of these sizes, row-major."""
    fn.parts.walks += len(sizes) > 0
    _each_place(fn, sizes, arrays, body)


def _each_place(
    fn: EmittedFunction, sizes: Sequence[Register], arrays: Sequence[ArrayValue], body: Callable[[list[Register]], None]
) -> None:
    """The same, where the body copies a block at each place."""
    _nest(fn, list(sizes), [a.data for a in arrays], list(arrays), 0, body)


def _nest(
    fn: EmittedFunction, sizes: list[Register], addresses: list[Register], arrays: list[ArrayValue], axis: int,
    body: Callable[[list[Register]], None],
) -> None:  # fmt: skip
    if axis == len(sizes):
        body(addresses)
        return

    def iteration(index: Register) -> None:
        here = [
            memory.offset_address(fn.e, p, index, a.strides[axis], memory.itemsize(a.rep.dtype))
            for p, a in zip(addresses, arrays, strict=True)
        ]
        _nest(fn, sizes, here, arrays, axis + 1, body)

    each_part(fn, sizes[axis], iteration)


def fill(fn: EmittedFunction, target: ArrayValue, value: Register) -> None:
    """Write one value everywhere."""
    e = fn.e
    if value.text in ("0", "false", "0x0000000000000000") and target.rep.dense == target.rep.rank:
        bytes_ = memory.multiply(e, number(memory.itemsize(target.rep.dtype)), product(fn, target.sizes))
        e.raw(f"call void @llvm.memset.p0.i64(ptr {target.data}, i8 0, i64 {bytes_}, i1 false)")
        return
    flat = flattened(fn, [target])
    each_element(fn, flat[0].sizes, flat, lambda at: memory.store_element(e, at[0], value, target.rep.dtype))


def flattened(fn: EmittedFunction, arrays: Sequence[ArrayValue]) -> list[ArrayValue]:
    """Tensors of one shape as tensors of one axis if all lie in one piece."""
    if any(a.rep.dense != a.rep.rank or a.rep.rank < 2 for a in arrays):
        return list(arrays)
    total = product(fn, arrays[0].sizes)
    return [
        ArrayValue(Array(a.rep.dtype, 1, 1), a.owner, a.data, (total,), (number(memory.itemsize(a.rep.dtype)),))
        for a in arrays
    ]


def broadcast_to(fn: EmittedFunction, x: ArrayValue, sizes: Sequence[Register], node: Node) -> ArrayValue:
    """A tensor seen under larger sizes; leaves the function where it does not fit."""
    e, missing = fn.e, len(sizes) - x.rep.rank
    if missing < 0:
        raise CannotCompileError("more axes than the tensor written to")
    strides: list[Register] = [number(0)] * missing
    dense = x.rep.dense == x.rep.rank == len(sizes)
    for own, stride, size in zip(x.sizes, x.strides, sizes[missing:], strict=True):
        if own == size:
            strides.append(stride)
            continue
        fits = e.icmp("eq", own, size)
        one = e.icmp("eq", own, number(1))
        fn.exits.fail_if(e.binary("xor", e.binary("or", fits, one), Register("true", "i1", 1)), node)
        strides.append(e.select(fits, stride, number(0)))
        dense = False
    rep = Array(x.rep.dtype, len(sizes), len(sizes) if dense else 0)
    return ArrayValue(rep, x.owner, x.data, tuple(sizes), tuple(strides))


def in_steps(x: ArrayValue, sizes: Sequence[Register]) -> ArrayValue:
    """A tensor whose last sizes are known to be these, and its last axis to have no gaps, under more axes before."""
    missing = len(sizes) - x.rep.rank
    rep = Array(x.rep.dtype, len(sizes), x.rep.dense if not missing else 0)
    step = number(memory.itemsize(x.rep.dtype))
    return ArrayValue(rep, x.owner, x.data, tuple(sizes), (*[number(0)] * missing, *x.strides[:-1], step))


FEW_COPIED = 48
"""Elements from which a routine copies them, in a function with loops."""


def copy_elements(fn: EmittedFunction, target: ArrayValue, source: ArrayValue) -> None:
    """Overwrite a tensor with another of its sizes and dtype, apart from it in memory."""
    e, dtype = fn.e, target.rep.dtype
    together = min(source.rep.dense, target.rep.dense)
    if together or not source.rep.rank:
        outer = source.rep.rank - together
        total = memory.multiply(e, product(fn, source.sizes[outer:]), number(memory.itemsize(dtype)))

        def block(at: list[Register]) -> None:
            e.raw(f"call void @llvm.memcpy.p0.p0.i64(ptr {at[0]}, ptr {at[1]}, i64 {total}, i1 false)")

        _each_place(fn, source.sizes[:outer], [target, source], block)
        return
    if e.lanes == 1 and not fn.scope.has_loops:
        copy_by_routine(fn, target, source)
    elif e.lanes == 1:
        _copy_few_here(fn, target, source)
    else:
        _copy_here(fn, target, source)


def _copy_few_here(fn: EmittedFunction, target: ArrayValue, source: ArrayValue) -> None:
    """In a function with loops, whose tensors may be of a few elements: those are not worth the call of a routine."""
    e = fn.e
    few, many, after = e.label("few"), e.label("many"), e.label("copied")
    e.branch_if(e.icmp("slt", product(fn, source.sizes), number(FEW_COPIED)), few, many)
    e.start(few)
    _copy_here(fn, target, source)
    e.branch(after)
    e.start(many)
    copy_by_routine(fn, target, source)
    e.branch(after)
    e.start(after)


def _copy_here(fn: EmittedFunction, target: ArrayValue, source: ArrayValue) -> None:
    e, dtype = fn.e, target.rep.dtype
    each_element(
        fn, source.sizes, [target, source],
        lambda at: memory.move_element(e, at[0], at[1], dtype),
    )  # fmt: skip
