"""Operators that change a list's length, or make a list of the items of others."""

from __future__ import annotations

from flambeau.codegen.graph import memory, native_values
from flambeau.codegen.graph.containers import lists
from flambeau.codegen.graph.containers.lists import item, item_address, length, make_room, new_list, put, set_length
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.loops.control import each
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.native_values import CannotCompileError, ListValue, Native, TupleValue
from flambeau.codegen.graph.representation import Listed, Representation, holds_blocks, word_count
from flambeau.codegen.layouts import LIST
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.ir.constants import constant_value, is_constant
from flambeau.ir.graph import Node, Value


def move(fn: EmittedFunction, changed: ListValue, start: Register, to: Register, count: Register) -> None:
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
        move(fn, changed, e.binary("add nsw", index, number(1)), index, e.binary("sub nsw", less, index))
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
    move(fn, changed, at, e.binary("add nsw", at, number(1)), e.binary("sub nsw", size, at))
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
    for rep in item_reps(other):
        lists.settle(fn, changed.rep.item, rep)
    append_all(fn, changed, other)
    if node.results:
        fn.values.set_view(node.result(0), changed)


def item_reps(other: Native) -> list[Representation]:
    """How the items of a list look."""
    if isinstance(other, TupleValue):
        return [i.rep for i in other.items]
    return [other.rep.item] if isinstance(other, ListValue) else []


def append_all(fn: EmittedFunction, target: ListValue, other: Native) -> None:
    """The items of another list behind those of one, with a reference to each."""
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
    reps = [r for part in parts for r in item_reps(part)]
    rep = lists.item_rep(fn, node.result(), reps)
    sizes = [length(fn, p) for p in parts]
    new_items = new_list(fn, Listed(rep), memory.add(fn.e, sizes[0], sizes[1]))
    for part in parts:
        append_all(fn, new_items, part)
    fn.values.set_new(node.result(), new_items)
