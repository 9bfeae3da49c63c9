"""Sets of ints, bools or tuples of these: dicts without values.

Python goes over a set in an order that follows from how its items came in and went. Where that order can be seen,
Python makes the list; it makes it of the items in the order in which they came, so only of sets out of which nothing
was taken.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from flambeau.codegen.graph.containers import dicts
from flambeau.codegen.graph.containers.dicts import (
    each_item,
    each_place,
    find,
    key_at,
    mapping_of,
    new_dict,
    place,
    remove,
)
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.groups.groups import operator
from flambeau.codegen.graph.lowering_tables import lowers_on_dicts
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.native_values import CannotCompileError, DictValue, Native, Scalar
from flambeau.codegen.graph.representation import Bool, Mapped, Tupled, is_key
from flambeau.codegen.graph.results import declared_rep
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.ir.graph import Node
from flambeau.schema.set_type import SetType
from flambeau.schema.types import BoolType, IntType, ListType

_NOTHING: Final = Tupled(())
_AS_THEY_COME: Final = frozenset({"set", "set_items", "set_add", "set_clear", "len", "__contains__"})
"""Operators on sets after which Python's order follows from the order in which the items came."""
_READING: Final = frozenset({
    "set_items", "len", "__contains__", "set_union", "set_intersection", "set_difference", "set_isdisjoint", "set_eq",
    "set_ne", "set_le", "set_lt", "set_symmetric_difference", "set_copy",
})  # fmt: skip
"""Operators on sets that change none."""
_IN_ANY_ORDER: Final = frozenset({"len", "set", "min", "max", "sum", "__contains__"})
"""What gives the same of a list of ints in any order."""


def construct(fn: EmittedFunction, node: Node) -> None:
    """`python::set` of a list."""
    type_ = node.result().static_type
    key = declared_rep(type_.element) if isinstance(type_, SetType) else None
    if key is None or not is_key(key):
        raise CannotCompileError("sets of ints and bools, and of tuples of these, have a native form, others none")
    new_set = new_dict(fn, Mapped(key, _NOTHING, is_set=True))

    def one(item: Native) -> None:
        place(fn, new_set, item)

    each_item(fn, fn.values.get(node.operand(0)), one)
    fn.values.set_new(node.result(), new_set)


@lowers_on_dicts("python::set_add")
def add(fn: EmittedFunction, node: Node) -> None:
    """`add`."""
    place(fn, mapping_of(fn, node.operand(0)), fn.values.get(node.operand(1)))


@lowers_on_dicts("python::set_remove")
def take_out(fn: EmittedFunction, node: Node) -> None:
    """`remove`: leaves the function where the item is not there."""
    remove(fn, mapping_of(fn, node.operand(0)), dicts.place_of_key(fn, node))


@lowers_on_dicts("python::set_discard")
def discard(fn: EmittedFunction, node: Node) -> None:
    """`discard`."""
    items = mapping_of(fn, node.operand(0))
    _discard(fn, items, fn.values.get(node.operand(1)))


def _discard(fn: EmittedFunction, items: DictValue, item: Native) -> None:
    at = find(fn, items, item)
    _when(fn, fn.e.icmp("sge", at, number(0)), lambda: remove(fn, items, at))


def _when(fn: EmittedFunction, condition: Register, body: Callable[[], None]) -> None:
    e = fn.e
    inside, after = e.label("when"), e.label("after")
    e.branch_if(condition, inside, after)
    e.start(inside)
    body()
    e.branch(after)
    e.start(after)


@lowers_on_dicts("python::set_items")
def items_of(fn: EmittedFunction, node: Node) -> None:
    """`python::set_items`: the list of what is in a set."""
    type_ = node.result().static_type
    is_plain = isinstance(type_, ListType) and isinstance(type_.element, IntType | BoolType)
    users = [user for user, _ in node.result().uses()]
    if all(_sorts(user) or (is_plain and _name(user) in _IN_ANY_ORDER) for user in users):
        dicts.keys(fn, node)
        return
    items = node.operand(0)
    if fn.has_arguments and items in fn.graph.parameters and all(_name(use.user) in _READING for use in items.uses()):
        dicts.keys(fn, node)  # its items came in Python's order
        return
    if any(isinstance(v.static_type, SetType) for v in fn.graph.parameters):
        raise CannotCompileError("the order of a set that was not made here, or that follows from such a set's")
    if any(_name(n) not in _AS_THEY_COME for n in fn.graph.listed_nodes() if _is_of_sets(n)):
        raise CannotCompileError("the order of a set to which more was done than putting things in")
    operator(fn, node)


def _sorts(node: Node) -> bool:
    """Whether a node orders items, which differ, by themselves."""
    return _name(node) == "sorted" or (_name(node) == "sorted_by" and node.operand(0) is node.operand(1))


def _is_of_sets(node: Node) -> bool:
    """Whether a node works on sets, and does not only pass them on."""
    touched = (*node.operands, *node.results)
    return not node.nested_blocks and any(isinstance(v.static_type, SetType) for v in touched)


def _name(node: Node) -> str:
    return node.op.rpartition("::")[2]


@lowers_on_dicts("python::set_update")
def update(fn: EmittedFunction, node: Node) -> None:
    """`update`, `|=`."""
    items, other = _two(fn, node)
    _put_all(fn, other, items)


@lowers_on_dicts("python::set_difference_update")
def difference_update(fn: EmittedFunction, node: Node) -> None:
    """`difference_update`, `-=`."""
    items, other = _two(fn, node)
    each_place(fn, other, lambda at: _discard(fn, items, key_at(fn, other, at)))


@lowers_on_dicts("python::set_union")
def union(fn: EmittedFunction, node: Node) -> None:
    """`a | b`."""
    items, other = _two(fn, node)
    new_set = dicts.copied(fn, items)
    _put_all(fn, other, new_set)
    fn.values.set_new(node.result(), new_set)


@lowers_on_dicts("python::set_intersection")
def intersection(fn: EmittedFunction, node: Node) -> None:
    """`a & b`."""
    _those_of_first(fn, node, are_in_second=True)


@lowers_on_dicts("python::set_difference")
def difference(fn: EmittedFunction, node: Node) -> None:
    """`a - b`."""
    _those_of_first(fn, node, are_in_second=False)


@lowers_on_dicts("python::set_symmetric_difference")
def symmetric_difference(fn: EmittedFunction, node: Node) -> None:
    """`a ^ b`."""
    items, other = _two(fn, node)
    new_set = new_dict(fn, items.rep)
    _put_those(fn, items, other, new_set, are_in_second=False)
    _put_those(fn, other, items, new_set, are_in_second=False)
    fn.values.set_new(node.result(), new_set)


def _those_of_first(fn: EmittedFunction, node: Node, *, are_in_second: bool) -> None:
    items, other = _two(fn, node)
    new_set = new_dict(fn, items.rep)
    _put_those(fn, items, other, new_set, are_in_second=are_in_second)
    fn.values.set_new(node.result(), new_set)


def _put_those(
    fn: EmittedFunction, items: DictValue, other: DictValue, to: DictValue, *, are_in_second: bool
) -> None:
    """Put into a set those items of one that another has, or has not."""

    def one(at: Register) -> None:
        item = key_at(fn, items, at)
        wanted = fn.e.icmp("sge" if are_in_second else "slt", find(fn, other, item), number(0))
        _when(fn, wanted, lambda: _put(fn, to, item))

    each_place(fn, items, one)


def _put(fn: EmittedFunction, to: DictValue, item: Native) -> None:
    place(fn, to, item)


def _put_all(fn: EmittedFunction, source: DictValue, to: DictValue) -> None:
    each_place(fn, source, lambda at: _put(fn, to, key_at(fn, source, at)))


@lowers_on_dicts("python::set_isdisjoint")
def is_disjoint(fn: EmittedFunction, node: Node) -> None:
    """`a.isdisjoint(b)`."""
    items, other = _two(fn, node)
    shared = _count(fn, items, other)
    fn.values.set(node.result(), Scalar(Bool(), fn.e.icmp("eq", shared, number(0))))


@lowers_on_dicts("python::set_eq", "python::set_ne", "python::set_le", "python::set_lt")
def compare(fn: EmittedFunction, node: Node) -> None:
    """`==`, `!=`, `<=` and `<` of sets."""
    items, other = _two(fn, node)
    e = fn.e
    shared, sizes = _count(fn, items, other), [dicts.live(fn, s) for s in (items, other)]
    is_part = e.icmp("eq", shared, sizes[0])
    kind = _name(node).removeprefix("set_")
    if kind in ("eq", "ne"):
        answer = e.binary("and", is_part, e.icmp("eq", *sizes))
        answer = answer if kind == "eq" else e.binary("xor", answer, e.like(answer, 1))
    else:
        answer = is_part if kind == "le" else e.binary("and", is_part, e.icmp("slt", *sizes))
    fn.values.set(node.result(), Scalar(Bool(), answer))


def _count(fn: EmittedFunction, items: DictValue, other: DictValue) -> Register:
    """How many items of one set are in the other."""
    e = fn.e
    slot = e.slot("i64", 8)
    e.raw(f"store i64 0, ptr {slot}")

    def one(at: Register) -> None:
        is_there = e.icmp("sge", find(fn, other, key_at(fn, items, at)), number(0))
        before = e.define(f"load i64, ptr {slot}", "i64", 1)
        e.raw(f"store i64 {e.binary('add', before, e.convert('zext', is_there, 'i64'))}, ptr {slot}")

    each_place(fn, items, one)
    return e.define(f"load i64, ptr {slot}", "i64", 1)


def _two(fn: EmittedFunction, node: Node) -> tuple[DictValue, DictValue]:
    dicts.refuse_lanes(fn)
    items, other = (mapping_of(fn, v) for v in node.operands[:2])
    if items.rep != other.rep:
        raise CannotCompileError("sets of different items")
    return items, other
