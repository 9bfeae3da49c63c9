"""Lists beside others, and values beside their items: `==`, `<`, `in`, `index`, `count`, `remove`.

Python compares objects by whether they are the same before it asks whether they are equal, which makes a difference for
nan: so lists of floats are left to it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from flambeau.codegen.graph import native_values
from flambeau.codegen.graph.containers import lists
from flambeau.codegen.graph.containers.list_changes import move
from flambeau.codegen.graph.containers.list_folds import FALSE, TRUE
from flambeau.codegen.graph.containers.list_slices import slice_bound
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.loops.control import each
from flambeau.codegen.graph.lowering_tables import lowers_on_items, lowers_on_lists
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.native_values import CannotCompileError, ListValue, Native, Scalar, TupleValue
from flambeau.codegen.graph.representation import Bool, Float, Int, Representation, Tupled
from flambeau.codegen.graph.texts.texts import are_equal, as_text, order_of
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.ir.graph import Node

OBJECTS = "values that Python compares as objects first"


def _refuse_objects(a: Representation | None, b: Representation | None) -> None:
    """Raise `CannotCompileError` for values that Python may find equal as they are one object."""
    match a, b:
        case (Int(), Int()) | (Bool(), Bool()):
            return
        case Tupled(), Tupled() if len(a.items) == len(b.items):
            for x, y in zip(a.items, b.items, strict=True):
                _refuse_objects(x, y)
            return
    if a is None or b is None or not (native_values.is_text(a) and native_values.is_text(b)):
        raise CannotCompileError(OBJECTS)


def _item_rep(sequence: ListValue | TupleValue) -> Representation | None:
    """How all items look; None where they differ."""
    if isinstance(sequence, ListValue):
        return sequence.rep.item
    reps = {native_values.item_form(i.rep) for i in sequence.items}
    return reps.pop() if len(reps) == 1 else None


def are_same(fn: EmittedFunction, a: Native, b: Native) -> Register:
    """Whether two values, of which `_refuse_objects` says nothing, are equal."""
    e = fn.e
    if native_values.is_text(a.rep) and native_values.is_text(b.rep):
        return are_equal(fn, as_text(fn, a), as_text(fn, b))
    match a, b:
        case Scalar(Int() | Bool()), Scalar() if a.rep == b.rep:
            return e.icmp("eq", a.register, b.register)
        case TupleValue(), TupleValue() if len(a.items) == len(b.items):
            pairs = [are_same(fn, x, y) for x, y in zip(a.items, b.items, strict=True)]
            return reduce(lambda x, y: e.binary("and", x, y), pairs, TRUE)
    raise AssertionError(a.rep)


def _sequences(fn: EmittedFunction, node: Node, count: int) -> list[ListValue | TupleValue]:
    containers = [fn.values.get(v) for v in node.operands[:count]]
    if fn.e.lanes > 1:
        raise CannotCompileError("a list in each iteration of a loop")
    sequences = [s for s in containers if isinstance(s, ListValue | TupleValue)]
    if len(sequences) < count:
        raise CannotCompileError("of what is no list")
    first, *others = sequences
    _refuse_objects(_item_rep(first), _item_rep(others[0]) if others else fn.values.get(node.operand(1)).rep)
    return sequences


def _first_place(
    fn: EmittedFunction, size: Register, holds: Callable[[Register], Register], first: Register | None = None
) -> Register:
    """The first index below ``size`` at which something holds, from another on; otherwise one that is not below it."""
    e, fn.parts.walks = fn.e, fn.parts.walks + 1
    before, head, look, latch, after = (e.label(name) for name in ("search", "each", "look", "latch", "found"))
    index, following = Register(e.name("k"), "i64", 1), Register(e.name("k"), "i64", 1)
    e.branch(before)
    e.start(before)
    e.branch(head)
    e.start(head)
    e.raw(f"{index} = phi i64 [{first or number(0)}, %{before}], [{following}, %{latch}]")
    e.branch_if(e.icmp("slt", index, size), look, after)
    e.start(look)
    e.branch_if(holds(index), after, latch)
    e.start(latch)
    e.raw(f"{following} = add nuw nsw i64 {index}, 1")
    e.branch(head)
    e.start(after)
    return index


def _place_of(fn: EmittedFunction, sequence: ListValue, wanted: Native) -> Register:
    return _first_place(fn, lists.length(fn, sequence), lambda k: are_same(fn, lists.item(fn, sequence, k), wanted))


@lowers_on_lists("aten::__contains__", "python::contains")
def contains(fn: EmittedFunction, node: Node) -> None:
    """`item in items`."""
    (sequence,), wanted = _sequences(fn, node, 1), fn.values.get(node.operand(1))
    if isinstance(sequence, TupleValue):
        answer = _any(fn, [are_same(fn, one, wanted) for one in sequence.items])
    elif isinstance(sequence.rep.item, Int):
        answer = _is_among(fn, sequence, wanted)
    else:
        answer = fn.e.icmp("slt", _place_of(fn, sequence, wanted), lists.length(fn, sequence))
    fn.values.set(node.result(), Scalar(Bool(), answer))


def _any(fn: EmittedFunction, conditions: list[Register]) -> Register:
    return reduce(lambda a, b: fn.e.binary("or", a, b), conditions, FALSE)


def _is_among(fn: EmittedFunction, sequence: ListValue, wanted: Native) -> Register:
    """Whether an int is in a list: all items are looked at, several at once."""
    e, slot = fn.e, fn.e.slot("i1", 8)
    e.raw(f"store i1 false, ptr {slot}")

    def look(k: Register) -> None:
        state = e.define(f"load i1, ptr {slot}", "i1", 1)
        e.raw(f"store i1 {e.binary('or', state, are_same(fn, lists.item(fn, sequence, k), wanted))}, ptr {slot}")

    each(fn, lists.length(fn, sequence), look)
    return e.define(f"load i1, ptr {slot}", "i1", 1)


@lowers_on_lists("aten::index", "python::index")
def index(fn: EmittedFunction, node: Node) -> None:
    """`items.index(item, start, end)`: leaves the function where it is not there."""
    (sequence,), wanted = _sequences(fn, node, 1), fn.values.get(node.operand(1))
    listed = sequence if isinstance(sequence, ListValue) else _listed(fn, sequence)
    e, size = fn.e, lists.length(fn, listed)
    start, end = number(0), size
    if len(node.operands) > 2:
        start, end = (slice_bound(fn, fn.values.get(v), size, size) for v in node.operands[2:4])
    at = _first_place(fn, end, lambda k: are_same(fn, lists.item(fn, listed, k), wanted), start)
    fn.exits.fail_if(e.icmp("sge", at, end), node)
    fn.values.set(node.result(), Scalar(Int(), at))


@lowers_on_lists("aten::count", "python::count")
def count(fn: EmittedFunction, node: Node) -> None:
    """`items.count(item)`."""
    (sequence,), wanted = _sequences(fn, node, 1), fn.values.get(node.operand(1))
    e, slot = fn.e, fn.e.slot("i64", 8)
    e.raw(f"store i64 0, ptr {slot}")

    def look(one: Native) -> None:
        state, more = e.define(f"load i64, ptr {slot}", "i64", 1), e.convert("zext", are_same(fn, one, wanted), "i64")
        e.raw(f"store i64 {e.binary('add', state, more)}, ptr {slot}")

    if isinstance(sequence, ListValue):
        each(fn, lists.length(fn, sequence), lambda k: look(lists.item(fn, sequence, k)))
    else:
        for one in sequence.items:
            look(one)
    fn.values.set(node.result(), Scalar(Int(), e.define(f"load i64, ptr {slot}", "i64", 1)))


@lowers_on_lists("aten::remove", "python::remove")
def remove(fn: EmittedFunction, node: Node) -> None:
    """`items.remove(item)`: the first that is equal; leaves the function where there is none."""
    _sequences(fn, node, 1)
    e, changed, wanted = fn.e, lists.changeable(fn, node.operand(0)), fn.values.get(node.operand(1))
    size, at = lists.length(fn, changed), _place_of(fn, changed, wanted)
    fn.exits.fail_if(e.icmp("eq", at, size), node)
    fn.values.drop(lists.item(fn, changed, at))
    behind = e.binary("add nsw", at, number(1))
    move(fn, changed, behind, at, e.binary("sub nsw", size, behind))
    lists.set_length(fn, changed, e.binary("sub nsw", size, number(1)))


@lowers_on_items("aten::eq", "aten::ne", "python::eq", "python::ne")
def equal(fn: EmittedFunction, node: Node) -> None:
    """`==` and `!=` of lists."""
    answer = _are_equal(fn, *_sequences(fn, node, 2))
    answer = answer if node.op.endswith("eq") else fn.e.binary("xor", answer, TRUE)
    fn.values.set(node.result(), Scalar(Bool(), answer))


def _are_equal(fn: EmittedFunction, a: ListValue | TupleValue, b: ListValue | TupleValue) -> Register:
    e = fn.e
    if isinstance(a, TupleValue) and isinstance(b, TupleValue):
        return are_same(fn, a, b) if len(a.items) == len(b.items) else FALSE
    size = lists.length(fn, a)
    slot, same = e.slot("i1", 8), e.icmp("eq", size, lists.length(fn, b))
    e.raw(f"store i1 {same}, ptr {slot}")

    def compare(one: Native, other: Native) -> None:
        state = e.define(f"load i1, ptr {slot}", "i1", 1)
        e.raw(f"store i1 {e.binary('and', state, are_same(fn, one, other))}, ptr {slot}")

    if isinstance(a, ListValue) and isinstance(b, ListValue):
        pair = a, b
        each(fn, e.select(same, size, number(0)), lambda k: compare(*(lists.item(fn, s, k) for s in pair)))
    else:
        known, listed = (a, b) if isinstance(a, TupleValue) else (b, a)
        assert isinstance(known, TupleValue)
        assert isinstance(listed, ListValue)
        inside, after = e.label("as_long"), e.label("compared")
        e.branch_if(same, inside, after)
        e.start(inside)
        for k, one in enumerate(known.items):
            compare(one, lists.item(fn, listed, number(k)))
        e.branch(after)
        e.start(after)
    return e.define(f"load i1, ptr {slot}", "i1", 1)


@lowers_on_lists("python::lt", "python::le", "python::gt", "python::ge")
def order(fn: EmittedFunction, node: Node) -> None:
    """`<` and its like, of lists: the first items that differ decide, then the lengths."""
    a, b = (s if isinstance(s, ListValue) else _listed(fn, s) for s in _sequences(fn, node, 2))
    e, sizes = fn.e, [lists.length(fn, s) for s in (a, b)]
    common = e.intrinsic("smin", *sizes)
    at = _first_place(
        fn, common, lambda k: e.binary("xor", are_same(fn, lists.item(fn, a, k), lists.item(fn, b, k)), TRUE)
    )
    predicate, slot = "s" + node.op.removeprefix("python::"), e.slot("i1", 8)
    differ, alike, after = e.label("differ"), e.label("alike"), e.label("ordered")
    e.branch_if(e.icmp("slt", at, common), differ, alike)
    e.start(differ)
    sign = sign_of(fn, lists.item(fn, a, at), lists.item(fn, b, at))
    e.raw(f"store i1 {e.icmp(predicate, sign, number(0))}, ptr {slot}")
    e.branch(after)
    e.start(alike)
    e.raw(f"store i1 {e.icmp(predicate, *sizes)}, ptr {slot}")
    e.branch(after)
    e.start(after)
    fn.values.set(node.result(), Scalar(Bool(), e.define(f"load i1, ptr {slot}", "i1", 1)))


def _listed(fn: EmittedFunction, known: TupleValue) -> ListValue:
    listed = fn.slots.converted(known, native_values.list_of_all([i.rep for i in known.items]))
    assert isinstance(listed, ListValue)
    return listed


def sign_of(fn: EmittedFunction, a: Native, b: Native) -> Register:
    """Below 0, 0 or above as one value comes before another, is equal to it, or comes behind; of no nan."""
    e = fn.e
    if native_values.is_text(a.rep) and native_values.is_text(b.rep):
        return order_of(fn, as_text(fn, a), as_text(fn, b))
    match a, b:
        case Scalar(Int()), Scalar(Int()):
            less, more = e.icmp("slt", a.register, b.register), e.icmp("sgt", a.register, b.register)
            return e.select(less, number(-1), e.convert("zext", more, "i64"))
        case Scalar(Float()), Scalar(Float()):
            less, more = (e.fcmp(way, a.register, b.register) for way in ("olt", "ogt"))
            return e.select(less, number(-1), e.convert("zext", more, "i64"))
        case Scalar(Bool()), Scalar(Bool()):
            return e.binary("sub", *(e.convert("zext", x.register, "i64") for x in (a, b)))
        case TupleValue(), TupleValue() if len(a.items) == len(b.items):
            sign = number(0)
            for x, y in reversed(list(zip(a.items, b.items, strict=True))):
                first = sign_of(fn, x, y)
                sign = e.select(e.icmp("eq", first, number(0)), sign, first)
            return sign
    raise AssertionError(a.rep)
