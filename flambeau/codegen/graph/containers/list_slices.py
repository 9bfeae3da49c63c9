"""Slices of lists: `items[a:b:c]`, `items[a:b:c] = others`, `del items[a:b:c]`."""

from __future__ import annotations

from flambeau.codegen.graph import memory, native_values
from flambeau.codegen.graph.containers import lists
from flambeau.codegen.graph.containers.list_changes import append_all, item_reps, move
from flambeau.codegen.graph.containers.lists import (
    item,
    item_address,
    length,
    make_room,
    new_list,
    put,
    set_length,
    stays_apart,
)
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.literals import literal_of
from flambeau.codegen.graph.loops.control import each
from flambeau.codegen.graph.lowering_tables import lowers_on_items, lowers_on_lists
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.native_values import CannotCompileError, FixedValue, ListValue, Native, Scalar, TupleValue
from flambeau.codegen.graph.representation import Fixed, holds_blocks, word_count
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.ir.graph import Node
from flambeau.schema.opdef import UNKNOWN
from flambeau.util.record import dataclass

MAX = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class _SliceIndices:
    """Which items a slice names."""

    start: Register
    count: Register
    step: Register

    def at(self, fn: EmittedFunction, k: Register) -> Register:
        """The k-th index of the slice."""
        return memory.add(fn.e, self.start, memory.multiply(fn.e, k, self.step))


@lowers_on_lists("aten::slice")
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
    indices = _slice_indices(fn, node, changed)
    new_items = new_list(fn, changed.rep, indices.count)
    if memory.literal(indices.step) == 1:
        _copy_words(fn, new_items, number(0), changed, indices.start, indices.count)
        if holds_blocks(changed.rep.item):
            each(fn, indices.count, lambda k: fn.values.retain(item(fn, new_items, k)))
    else:

        def one(k: Register) -> None:
            value = item(fn, changed, indices.at(fn, k))
            fn.values.retain(value)
            put(fn, new_items, k, value)

        each(fn, indices.count, one)
    set_length(fn, new_items, indices.count)
    fn.values.set_new(node.result(), new_items)


@lowers_on_lists("python::set_slice")
def set_slice(fn: EmittedFunction, node: Node) -> None:
    """`items[a:b:c] = others`, which may be the list itself; leaves the function where a step and a count do not fit.
    """
    changed = _whole(lists.changeable(fn, node.operand(0)))
    others = _copied(fn, changed, fn.values.get(node.operand(4)))
    indices, count = _slice_indices(fn, node, changed), length(fn, others)
    if memory.literal(indices.step) == 1:
        _replace(fn, changed, indices, others, count)
    else:
        fn.exits.fail_if(fn.e.icmp("ne", indices.count, count), node)

        def one(k: Register) -> None:
            at = indices.at(fn, k)
            fn.values.drop(item(fn, changed, at))
            put(fn, changed, at, item(fn, others, k))

        each(fn, count, one)
    set_length(fn, others, number(0))
    fn.values.drop(others)


def _replace(
    fn: EmittedFunction, changed: ListValue, indices: _SliceIndices, others: ListValue, count: Register
) -> None:
    """Items one after another by others, which may be more, or fewer; the list takes over the references to them."""
    e, size = fn.e, length(fn, changed)
    _drop_items(fn, changed, indices)
    behind, room = e.binary("add nsw", indices.start, indices.count), e.binary("sub nsw", count, indices.count)
    make_room(fn, changed, size, room)
    move(fn, changed, behind, e.binary("add nsw", indices.start, count), e.binary("sub nsw", size, behind))
    _copy_words(fn, changed, indices.start, others, number(0), count)
    set_length(fn, changed, e.binary("add nsw", size, room))


@lowers_on_lists("python::del_slice")
def del_slice(fn: EmittedFunction, node: Node) -> None:
    """`del items[a:b:c]`."""
    e, changed = fn.e, _whole(lists.changeable(fn, node.operand(0)))
    indices, size = _slice_indices(fn, node, changed), length(fn, changed)
    _drop_items(fn, changed, indices)
    behind = e.binary("add nsw", indices.start, indices.count)
    if memory.literal(indices.step) == 1:
        move(fn, changed, behind, indices.start, e.binary("sub nsw", size, behind))
    else:
        _close_gaps(fn, changed, indices, size)
    set_length(fn, changed, e.binary("sub nsw", size, indices.count))


def _close_gaps(fn: EmittedFunction, changed: ListValue, indices: _SliceIndices, size: Register) -> None:
    """Move what stays between items that go to where they were; from the first one on, whichever way the slice goes."""
    e = fn.e
    last = indices.at(fn, e.binary("sub", indices.count, number(1)))
    first = e.intrinsic("smin", indices.start, last)
    distance = e.intrinsic("smax", indices.step, _negated(fn, indices.step))

    def close(k: Register) -> None:
        gap = e.binary("add", first, e.binary("mul", k, distance))
        following = e.intrinsic("smin", e.binary("add", gap, distance), size)
        is_last = e.icmp("eq", k, e.binary("sub", indices.count, number(1)))
        end, start = e.select(is_last, size, following), e.binary("add", gap, number(1))
        move(fn, changed, start, e.binary("sub", gap, k), e.binary("sub", end, start))

    each(fn, indices.count, close)


def _negated(fn: EmittedFunction, value: Register) -> Register:
    return fn.e.binary("sub", number(0), value)


def _drop_items(fn: EmittedFunction, changed: ListValue, indices: _SliceIndices) -> None:
    if holds_blocks(changed.rep.item):
        each(fn, indices.count, lambda k: fn.values.drop(item(fn, changed, indices.at(fn, k))))


def _copied(fn: EmittedFunction, changed: ListValue, others: Native) -> ListValue:
    """Items to put into a list, in one of their own, which has a reference to each."""
    for rep in item_reps(others):
        lists.settle(fn, changed.rep.item, rep)
    copied = new_list(fn, changed.rep, length(fn, others))
    append_all(fn, copied, others)
    return copied


def _whole(changed: ListValue) -> ListValue:
    if changed.rep.is_stack:
        raise CannotCompileError(f"a slice of {native_values.describe(changed.rep)}")
    return changed


def _copy_words(
    fn: EmittedFunction, target: ListValue, at: Register, source: ListValue, start: Register, count: Register
) -> None:
    """Items of one list over those of another, as they are."""
    size = memory.multiply(fn.e, count, number(8 * word_count(source.rep.item)))
    to, from_ = item_address(fn, target, at), item_address(fn, source, start)
    fn.e.raw(f"call void @llvm.memcpy.p0.p0.i64(ptr {to}, ptr {from_}, i64 {size}, i1 false)")


def _slice_indices(fn: EmittedFunction, node: Node, sequence: ListValue) -> _SliceIndices:
    """What the bounds and the step of a slice name; leaves the function where the step is 0."""
    e, size, step = fn.e, length(fn, sequence), _step(fn, node)
    last, is_ahead = e.binary("sub", size, number(1)), e.icmp("sgt", step, number(0))
    known = memory.literal(step)

    def by_way(ahead: Register, back: Register) -> Register:
        return e.select(is_ahead, ahead, back) if known is None else ahead if known > 0 else back

    low, high = by_way(number(0), number(-1)), by_way(size, last)
    around = by_way(number(0), last), by_way(size, number(-1))
    start, end = (
        slice_bound(fn, fn.values.get(v), size, o, low, high) for v, o in zip(node.operands[1:3], around, strict=True)
    )
    ahead, back = e.binary("sub", end, start), e.binary("sub", start, end)
    reach = e.intrinsic("smax", by_way(ahead, back), number(0))
    if known == 1:
        return _SliceIndices(start, reach, step)
    distance = number(abs(known) or 1) if known is not None else e.intrinsic("smax", step, _negated(fn, step))
    further = e.binary("sdiv", e.binary("sub", reach, number(1)), distance)
    count = e.select(e.icmp("sgt", reach, number(0)), e.binary("add", further, number(1)), number(0))
    return _SliceIndices(start, count, step)


def _step(fn: EmittedFunction, node: Node) -> Register:
    """The step of a slice, no further back than its opposite; leaves the function where it is 0."""
    if fn.values.get(node.operand(3)).rep == Fixed(None):
        return number(1)
    step = fn.values.index(node.operand(3))
    if memory.literal(step) in (None, 0):
        fn.exits.fail_if(fn.e.icmp("eq", step, number(0)), node)
        return fn.e.intrinsic("smax", step, number(-MAX))
    return step


@lowers_on_items("python::check_unpack", "python::check_reduce")
def checked_length(fn: EmittedFunction, node: Node) -> None:
    """A list that must have so many items, or one."""
    container = fn.values.get(node.operand(0))
    least = fn.values.index(node.operand(1)) if len(node.operands) > 1 else number(1)
    fn.exits.fail_if(fn.e.icmp("slt", length(fn, container), least), node)
    fn.values.set_view(node.result(), container)


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
