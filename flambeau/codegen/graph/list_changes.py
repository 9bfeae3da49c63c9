"""Operators that change a list's length, or make a list of the items of others."""

from __future__ import annotations

from flambeau.codegen.graph import lists, memory, native_values
from flambeau.codegen.graph.control import each
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.lists import item, item_address, length, make_room, new_list, put, set_length, stays_apart
from flambeau.codegen.graph.literals import literal_of
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.native_values import CannotCompileError, FixedValue, ListValue, Native, Scalar, TupleValue
from flambeau.codegen.graph.representation import Listed, Representation, holds_blocks, word_count
from flambeau.codegen.layouts import LIST
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.ir.constants import constant_value, is_constant
from flambeau.ir.graph import Node, Value
from flambeau.schema.opdef import UNKNOWN


def _move(fn: EmittedFunction, changed: ListValue, start: Register, to: Register, count: Register) -> None:
    """Move items within a list."""
    e = fn.e
    size = memory.multiply(e, count, number(8 * word_count(changed.rep.item)))
    source, target = item_address(fn, changed, start), item_address(fn, changed, to)
    e.raw(f"call void @llvm.memmove.p0.p0.i64(ptr {target}, ptr {source}, i64 {size}, i1 false)")


def pop(fn: EmittedFunction, node: Node) -> None:
    """`pop`, `del`: the list's hold on the item goes to the result, or ends."""
    e, changed = fn.e, lists.changeable(fn, node.operand(0))
    size = length(fn, changed)
    index = lists.wrapped(fn, changed, node.operand(1), node)
    taken = item(fn, changed, index)
    less = e.binary("sub nsw", size, number(1))
    if not _is_last(node.operand(1)):
        _move(fn, changed, e.binary("add nsw", index, number(1)), index, e.binary("sub nsw", less, index))
    set_length(fn, changed, less)
    if node.results:
        fn.values.set_new(node.result(), taken)
    else:
        fn.values.drop(taken)


def _is_last(index: Value) -> bool:
    """Whether nothing is behind the item that an index means."""
    return is_constant(index) and constant_value(index) == -1


def insert(fn: EmittedFunction, node: Node) -> None:
    """`insert`: before an index that is clamped to the ends."""
    e, changed = fn.e, lists.changeable(fn, node.operand(0))
    lists.settle(fn, changed.rep.item, fn.values.get(node.operand(2)).rep)
    new = fn.slots.converted(fn.values.get(node.operand(2)), changed.rep.item)
    fn.values.retain(new)
    size = length(fn, changed)
    make_room(fn, changed, size)
    at = fn.values.index(node.operand(1))
    at = e.select(e.icmp("slt", at, number(0)), e.binary("add", at, size), at)
    at = e.intrinsic("smin", e.intrinsic("smax", at, number(0)), size)
    _move(fn, changed, at, e.binary("add nsw", at, number(1)), e.binary("sub nsw", size, at))
    put(fn, changed, at, new)
    set_length(fn, changed, e.binary("add nsw", size, number(1)))


def clear(fn: EmittedFunction, node: Node) -> None:
    """`clear`."""
    changed = lists.changeable(fn, node.operand(0))
    size = length(fn, changed)
    set_length(fn, changed, number(0))
    if holds_blocks(changed.rep.item):
        each(fn, size, lambda k: fn.values.drop(item(fn, changed, k)))


def reverse(fn: EmittedFunction, node: Node) -> None:
    """`reverse`, in place."""
    e, changed = fn.e, lists.changeable(fn, node.operand(0))
    last = e.binary("sub nsw", length(fn, changed), number(1))

    def swap(k: Register) -> None:
        other = e.binary("sub nsw", last, k)
        a, b = item(fn, changed, k), item(fn, changed, other)
        put(fn, changed, k, b)
        put(fn, changed, other, a)

    each(fn, e.binary("ashr", e.binary("add nsw", last, number(1)), number(1)), swap)


def extend(fn: EmittedFunction, node: Node) -> None:
    """`extend`, `+=`: the items that the other list has now, which may be the same list."""
    changed, other = lists.changeable(fn, node.operand(0)), fn.values.get(node.operand(1))
    for rep in _item_reps(other):
        lists.settle(fn, changed.rep.item, rep)
    _append_all(fn, changed, other)
    if node.results:
        fn.values.set_view(node.result(0), changed)


def _item_reps(other: Native) -> list[Representation]:
    if isinstance(other, TupleValue):
        return [i.rep for i in other.items]
    return [other.rep.item] if isinstance(other, ListValue) else []


def _append_all(fn: EmittedFunction, target: ListValue, other: Native) -> None:
    e = fn.e

    def one(new: Native) -> None:
        new = fn.slots.converted(new, target.rep.item)
        fn.values.retain(new)
        size = memory.load_word(e, target.block, LIST.word("length"), "i64")
        make_room(fn, target, size)
        put(fn, target, size, new)
        set_length(fn, target, e.binary("add nuw nsw", size, number(1)))

    if isinstance(other, TupleValue):
        for new in other.items:
            one(new)
        return
    if not isinstance(other, ListValue):
        raise CannotCompileError(f"the items of {native_values.describe(other.rep)}")
    each(fn, length(fn, other), lambda k: one(item(fn, other, k)))


def concatenate(fn: EmittedFunction, node: Node) -> None:
    """`a + b`: a new list."""
    parts = [fn.values.get(v) for v in node.operands[:2]]
    reps = [r for part in parts for r in _item_reps(part)]
    rep = lists.item_rep(fn, node.result(), reps)
    sizes = [length(fn, p) for p in parts]
    new_items = new_list(fn, Listed(rep), memory.add(fn.e, sizes[0], sizes[1]))
    for part in parts:
        _append_all(fn, new_items, part)
    fn.values.set_new(node.result(), new_items)


def slice_(fn: EmittedFunction, node: Node) -> None:
    """`items[start:end]`: a new list."""
    changed = fn.values.get(node.operand(0))
    if isinstance(changed, TupleValue):
        start, end, by = (literal_of(fn.values.get(v)) for v in node.operands[1:4])
        is_known = UNKNOWN not in (start, end, by) and bool(by)
        if is_known and stays_apart(fn, node.result()):
            fn.values.set_view(node.result(), TupleValue(changed.items[start:end:by]))
            return
        items = changed.items[start:end:by] if is_known else changed.items
        rep = lists.item_rep(fn, node.result(), [i.rep for i in items])
        changed = lists.list_of(fn, [fn.slots.converted(i, rep) for i in items], rep)
        if is_known:
            fn.values.set_new(node.result(), changed)
            return
        _slice(fn, node, changed)
        fn.values.drop(changed)
        return
    if not isinstance(changed, ListValue):
        raise CannotCompileError(f"a slice of {native_values.describe(changed.rep)}")
    _slice(fn, node, changed)


def _slice(fn: EmittedFunction, node: Node, changed: ListValue) -> None:
    e = fn.e
    step = memory.literal(fn.values.index(node.operand(3)))
    if step != 1:
        _stepped(fn, node, changed, step)
        return
    size = length(fn, changed)
    start, end = (
        slice_bound(fn, fn.values.get(v), size, o) for v, o in zip(node.operands[1:3], (number(0), size), strict=True)
    )
    count = e.intrinsic("smax", e.binary("sub nsw", end, start), number(0))
    new_items = new_list(fn, changed.rep, count)
    bytes_ = memory.multiply(e, count, number(8 * word_count(changed.rep.item)))
    source, target = item_address(fn, changed, start), item_address(fn, new_items, number(0))
    e.raw(f"call void @llvm.memcpy.p0.p0.i64(ptr {target}, ptr {source}, i64 {bytes_}, i1 false)")
    set_length(fn, new_items, count)
    if holds_blocks(changed.rep.item):
        each(fn, count, lambda k: fn.values.retain(item(fn, new_items, k)))
    fn.values.set_new(node.result(), new_items)


def _stepped(fn: EmittedFunction, node: Node, changed: ListValue, step: int | None) -> None:
    """`items[start:end:step]`."""
    if not step:
        raise CannotCompileError("a slice of a list with a step that is not known")
    e, size = fn.e, length(fn, changed)
    last = e.binary("sub", size, number(1))
    around = (number(0), size) if step > 0 else (last, number(-1))
    low, high = (number(0), size) if step > 0 else (number(-1), last)
    start, end = (
        slice_bound(fn, fn.values.get(v), size, o, low, high) for v, o in zip(node.operands[1:3], around, strict=True)
    )
    distance = e.binary("sub", end, start) if step > 0 else e.binary("sub", start, end)
    reach = e.intrinsic("smax", distance, number(0))
    count = e.binary("sdiv", e.binary("add", reach, number(abs(step) - 1)), number(abs(step)))
    new_items = new_list(fn, changed.rep, count)

    def one(k: Register) -> None:
        value = item(fn, changed, e.binary("add", start, e.binary("mul", k, number(step))))
        fn.values.retain(value)
        put(fn, new_items, k, value)

    each(fn, count, one)
    set_length(fn, new_items, count)
    fn.values.set_new(node.result(), new_items)


def slice_bound(
    fn: EmittedFunction, bound: Native, size: Register, otherwise: Register, low: Register | None = None,
    high: Register | None = None,
) -> Register:  # fmt: skip
    """A bound of a slice, counted from the front and within the sequence."""
    e = fn.e
    if isinstance(bound, FixedValue) and bound.rep.value is None:
        return otherwise
    if not isinstance(bound, Scalar):
        raise CannotCompileError("a bound that may be None")
    at = bound.register
    at = e.select(e.icmp("slt", at, number(0)), e.binary("add", at, size), at)
    return e.intrinsic("smin", e.intrinsic("smax", at, low or number(0)), high or size)
