"""The same elements under other sizes: as a view where there is one, which is found out at run time, else as a copy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flambeau.codegen.graph import memory
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.exit_points import RARE
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.native_values import ArrayValue, CannotCompileError, Native, Scalar, TupleValue
from flambeau.codegen.graph.representation import Array
from flambeau.codegen.graph.routines.library import call_routine, copy_by_routine
from flambeau.codegen.graph.routines.resized import RESIZE
from flambeau.codegen.graph.tensors.arrays import array, axis_of, known_int, new, number_in_memory, product, view_on
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.ir.graph import Node
from flambeau.schema.dtype import bool_, by_code
from flambeau.schema.types import IntType


def view(fn: EmittedFunction, node: Node) -> None:
    """`view`: Python says what is wrong where only a copy could do it."""
    if isinstance(node.operand(1).static_type, IntType):
        _reread(fn, node)
        return
    if _set_number(fn, node):
        return
    x = _whole(fn, node)
    _set_view(fn, node, x, _wanted(fn, node, x, fn.values.get(node.operand(1))))


def _reread(fn: EmittedFunction, node: Node) -> None:
    """`view` as another dtype; where elements are of another size, Python says what is wrong with the last axis."""
    x, target, e = array(fn, node.operand(0)), by_code(known_int(fn, node.operand(1))), fn.e
    if not x.rep.rank or (target == bool_) != (x.rep.dtype == bool_) or e.lanes > 1:
        raise CannotCompileError("a tensor without axes, or bytes as bools")
    old, new_size, sizes, strides = x.rep.dtype.itemsize, target.itemsize, list(x.sizes), list(x.strides)
    if old != new_size:
        fn.exits.fail_if(e.icmp("ne", strides[-1], number(old)), node)
        bytes_ = e.binary("mul", sizes[-1], number(old))
        for measure in (bytes_, *strides[:-1]):
            fn.exits.fail_if(e.icmp("ne", e.binary("and", measure, number(new_size - 1)), number(0)), node)
        sizes[-1], strides[-1] = e.binary("udiv", bytes_, number(new_size)), number(new_size)
    rep = Array(target, x.rep.rank, x.rep.dense)
    fn.values.set_view(node.result(), ArrayValue(rep, x.owner, x.data, tuple(sizes), tuple(strides)))


def reshape(fn: EmittedFunction, node: Node) -> None:
    """`reshape`."""
    if _set_number(fn, node):
        return
    x = _whole(fn, node)
    _set_view_or_copy(fn, node, x, _wanted(fn, node, x, fn.values.get(node.operand(1))))


def view_as(fn: EmittedFunction, node: Node) -> None:
    """`view_as`."""
    x, sizes = _whole(fn, node), array(fn, node.operand(1)).sizes
    _check_count(fn, node, sizes, product(fn, x.sizes))
    _set_view(fn, node, x, sizes)


def reshape_as(fn: EmittedFunction, node: Node) -> None:
    """`reshape_as`."""
    x, sizes = _whole(fn, node), array(fn, node.operand(1)).sizes
    _check_count(fn, node, sizes, product(fn, x.sizes))
    _set_view_or_copy(fn, node, x, sizes)


def flatten(fn: EmittedFunction, node: Node) -> None:
    """`flatten`: the tensor itself where the first dimension is the last."""
    x = _whole(fn, node)
    if not x.rep.rank:
        raise CannotCompileError("flatten of a tensor without axes")
    start, end = axis_of(fn, node.operand(1), x.rep.rank), axis_of(fn, node.operand(2), x.rep.rank)
    if start > end:
        raise CannotCompileError("a first dimension after the last")
    if start == end:
        fn.values.set_view(node.result(), x)
        return
    joined = product(fn, x.sizes[start : end + 1])
    _set_view_or_copy(fn, node, x, (*x.sizes[:start], joined, *x.sizes[end + 1 :]))


def unflatten(fn: EmittedFunction, node: Node) -> None:
    """`unflatten`: one axis as several."""
    x = _whole(fn, node)
    at = axis_of(fn, node.operand(1), x.rep.rank)
    part = ArrayValue(Array(x.rep.dtype, 1, 1), x.owner, x.data, (x.sizes[at],), (x.strides[at],))
    wanted = _wanted(fn, node, part, fn.values.get(node.operand(2)))
    if not wanted:
        raise CannotCompileError("an axis made of no axes")
    _set_view(fn, node, x, (*x.sizes[:at], *wanted, *x.sizes[at + 1 :]))


def _set_number(fn: EmittedFunction, node: Node) -> bool:
    """Give a number in a register, which is a tensor without axes, axes of size 1; False for other tensors."""
    x = number_in_memory(fn, node)
    if x is None:
        return False
    sizes = _wanted(fn, node, x, fn.values.get(node.operand(1)))
    strides = memory.empty_strides(fn.e, sizes, memory.itemsize(x.rep.dtype))
    rep = Array(x.rep.dtype, len(sizes), len(sizes))
    fn.values.set_new(node.result(), ArrayValue(rep, x.owner, x.data, tuple(sizes), strides))
    return True


def _whole(fn: EmittedFunction, node: Node) -> ArrayValue:
    x = array(fn, node.operand(0))
    if x.rep.dense != x.rep.rank and fn.e.lanes > 1:
        raise CannotCompileError("strides that are found out, for one iteration of a loop at a time")
    return x


def _wanted(fn: EmittedFunction, node: Node, x: ArrayValue, new_sizes: Native) -> list[Register]:
    """The sizes that are asked for, -1 filled in; leaves the function where they do not hold the elements."""
    e = fn.e
    wanted = _asked_for(new_sizes)
    total = product(fn, x.sizes)
    axes = [k for k, w in enumerate(wanted) if memory.literal(w) in (None, -1)]
    literal = [k for k in axes if memory.literal(wanted[k]) is not None]
    if len(literal) > 1:
        raise CannotCompileError("it has two sizes that follow from the others")
    follows = {k: e.icmp("eq", wanted[k], number(-1)) for k in axes if k not in literal}
    for k in follows:
        fn.exits.fail_if(e.icmp("slt", wanted[k], number(-1)), node)
    if literal:
        for is_open in follows.values():
            fn.exits.fail_if(is_open, node)
        others = product(fn, [w for k, w in enumerate(wanted) if k not in literal])
        wanted[literal[0]] = _rest(fn, node, total, others)
    elif follows:
        wanted = _filled(fn, node, wanted, follows, total)
    _check_count(fn, node, wanted, total)
    return wanted


def _asked_for(new_sizes: Native) -> list[Register]:
    """The sizes as the program has them, -1 among them."""
    if not isinstance(new_sizes, TupleValue) or not all(isinstance(i, Scalar) for i in new_sizes.items):
        raise CannotCompileError("the number of sizes is not known")
    wanted = [i.register for i in new_sizes.items if isinstance(i, Scalar)]
    if any(w.lanes > 1 for w in wanted):
        raise CannotCompileError("sizes of their own for each iteration of a loop")
    if any((memory.literal(w) or 0) < -1 for w in wanted):
        raise CannotCompileError("a size that no tensor has")
    return wanted


def _rest(fn: EmittedFunction, node: Node, total: Register, others: Register) -> Register:
    """The size that follows from the others; leaves the function where none does, or any would."""
    fn.exits.fail_if(fn.e.icmp("sle", others, number(0)), node)
    return fn.e.binary("sdiv", total, others)


def _filled(
    fn: EmittedFunction, node: Node, wanted: Sequence[Register], follows: Mapping[int, Register], total: Register
) -> list[Register]:
    """The sizes, with the one in the place of -1, which may be any of those that only the call tells."""
    e, some = fn.e, Register("false", "i1", 1)
    for is_open in follows.values():
        fn.exits.fail_if(e.binary("and", some, is_open), node)
        some = e.binary("or", some, is_open)
    if e.lanes > 1:
        fn.exits.fail_if(some, node)
        return list(wanted)
    slot = e.slot("i64", 8)
    e.raw(f"store i64 0, ptr {slot}")
    infer, on = e.label("infer"), e.label("on")
    e.raw(f"br i1 {some}, label %{infer}, label %{on}, {RARE}")
    e.start(infer)
    others = product(fn, [e.select(follows[k], number(1), w) if k in follows else w for k, w in enumerate(wanted)])
    e.raw(f"store i64 {_rest(fn, node, total, others)}, ptr {slot}")
    e.branch(on)
    e.start(on)
    rest = e.define(f"load i64, ptr {slot}", "i64", 1)
    return [e.select(follows[k], rest, w) if k in follows else w for k, w in enumerate(wanted)]


def _check_count(fn: EmittedFunction, node: Node, sizes: Sequence[Register], total: Register) -> None:
    """Leave the function where sizes do not hold so many elements, their product one of more than 64 bits too."""
    e = fn.e
    count, wraps, empty = number(1), Register("false", "i1", 1), Register("false", "i1", 1)
    for size in sizes:
        if memory.literal(size) is not None and memory.literal(count) is not None:
            count = memory.multiply(e, count, size)
            continue
        is_none = e.icmp("eq", size, number(0))
        e.declare("declare {i64, i1} @llvm.umul.with.overflow.i64(i64, i64)")
        one = e.select(is_none, number(1), size)
        pair = e.define(f"call {{i64, i1}} @llvm.umul.with.overflow.i64(i64 {count}, i64 {one})", "i64", 1)
        count = e.define(f"extractvalue {{i64, i1}} {pair}, 0", "i64", 1)
        wraps = e.binary("or", wraps, e.define(f"extractvalue {{i64, i1}} {pair}, 1", "i1", 1))
        empty = e.binary("or", empty, is_none)
    wrong = e.binary("or", wraps, e.icmp("ne", count, total))
    fn.exits.fail_if(e.select(empty, e.icmp("ne", total, number(0)), wrong), node)


def _set_view(fn: EmittedFunction, node: Node, x: ArrayValue, sizes: Sequence[Register]) -> None:
    dense = _as_dense(fn, x, sizes)
    if dense is None:
        is_view, dense = _resized(fn, x, sizes)
        fn.exits.fail_if(fn.e.binary("xor", is_view, Register("true", "i1", 1)), node)
    fn.values.set_view(node.result(), dense)


def _set_view_or_copy(fn: EmittedFunction, node: Node, x: ArrayValue, sizes: Sequence[Register]) -> None:
    dense = _as_dense(fn, x, sizes)
    if dense is not None:
        fn.values.set_view(node.result(), dense)
        return
    e = fn.e
    is_view, view_now = _resized(fn, x, sizes)
    slots = fn.slots.new(view_now.rep)
    shown, copied, after = e.label("shown"), e.label("copied"), e.label("after")
    e.branch_if(is_view, shown, copied)
    e.start(shown)
    fn.values.retain(view_now)
    fn.slots.store(slots, view_now)
    e.branch(after)
    e.start(copied)
    target = new(fn, x.rep.dtype, sizes, node)
    strides = memory.dense_strides(e, x.sizes, memory.itemsize(x.rep.dtype))
    copy_by_routine(fn, ArrayValue(x.rep, target.owner, target.data, x.sizes, strides), x)
    fn.slots.store(slots, target)
    e.branch(after)
    e.start(after)
    fn.values.set_new(node.result(), fn.slots.load(slots, view_now.rep))


def _as_dense(fn: EmittedFunction, x: ArrayValue, sizes: Sequence[Register]) -> ArrayValue | None:
    """The view of a tensor that is known to lie in one piece."""
    if x.rep.dense != x.rep.rank:
        return None
    strides = memory.dense_strides(fn.e, sizes, memory.itemsize(x.rep.dtype))
    return view_on(x, x.data, sizes, strides, len(sizes))


def _resized(fn: EmittedFunction, x: ArrayValue, sizes: Sequence[Register]) -> tuple[Register, ArrayValue]:
    """Whether there is a view under these sizes, and the view."""
    e = fn.e
    strides = e.slot(f"[{max(1, len(sizes))} x i64]", 16)
    is_view = call_routine(
        fn, RESIZE, number(x.rep.rank), memory.spilled(e, x.sizes), memory.spilled(e, x.strides), number(len(sizes)),
        memory.spilled(e, sizes), strides, number(memory.itemsize(x.rep.dtype)),
    )  # fmt: skip
    registers = [memory.load_word(e, strides, k, "i64") for k in range(len(sizes))]
    return is_view, view_on(x, x.data, sizes, registers, 0)


def unfold(fn: EmittedFunction, node: Node) -> None:
    """`unfold`: windows along an axis, some steps apart, each along a new last axis."""
    x = _whole(fn, node)
    if not x.rep.rank:
        raise CannotCompileError("windows of a tensor without axes")
    at = axis_of(fn, node.operand(1), x.rep.rank)
    size, step = (fn.values.index(v) for v in node.operands[2:])
    e = fn.e
    fn.exits.fail_if(e.icmp("ugt", size, x.sizes[at]), node)
    fn.exits.fail_if(e.icmp("sle", step, number(0)), node)
    count = memory.add(e, e.binary("sdiv", memory.subtract(e, x.sizes[at], size), step), number(1))
    sizes = (*x.sizes[:at], count, *x.sizes[at + 1 :], size)
    strides = (*x.strides[:at], memory.multiply(e, x.strides[at], step), *x.strides[at + 1 :], x.strides[at])
    fn.values.set_view(node.result(), view_on(x, x.data, sizes, strides, 0))
