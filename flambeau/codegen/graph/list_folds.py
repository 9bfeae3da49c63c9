"""What all items of a list come to: the least, the sum, whether one is there, whether two lists are equal."""

from __future__ import annotations

from collections.abc import Callable

from flambeau.codegen.graph import lists, native_values
from flambeau.codegen.graph.control import each
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.native_values import CannotCompileError, ListValue, Native, Scalar, TupleValue
from flambeau.codegen.graph.representation import Bool, Float, Int, Representation
from flambeau.codegen.graph.texts import are_equal, as_text, text_of
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.codegen.llvm.emitter import float_constant
from flambeau.ir.graph import Node

FALSE, TRUE = Register("false", "i1", 1), Register("true", "i1", 1)


def _kind(sequence: Native) -> Int | Float | Bool:
    """What all items of a list are."""
    reps: set[Representation] = set()
    if isinstance(sequence, ListValue):
        reps = {sequence.rep.item}
    elif isinstance(sequence, TupleValue):
        reps = {i.rep for i in sequence.items}
    if len(reps) == 1 and isinstance(kind := reps.pop(), Int | Float | Bool):
        return kind
    raise CannotCompileError(f"of {native_values.describe(sequence.rep)}")


def _items(fn: EmittedFunction, sequence: Native, body: Callable[[Register], None]) -> None:
    """``body`` of the register of each item, in order."""
    if isinstance(sequence, TupleValue):
        for one in sequence.items:
            assert isinstance(one, Scalar)
            body(one.register)
        return
    assert isinstance(sequence, ListValue)

    def iteration(k: Register) -> None:
        one = lists.item(fn, sequence, k)
        assert isinstance(one, Scalar)
        body(one.register)

    each(fn, lists.length(fn, sequence), iteration)


def _folded(
    fn: EmittedFunction, sequence: Native, start: Register, step: Callable[[Register, Register], Register]
) -> Register:
    e, slot = fn.e, fn.e.slot(start.type, 8)
    if e.lanes > 1:
        raise CannotCompileError("a list in each iteration of a loop")
    e.raw(f"store {start.type} {start}, ptr {slot}")

    def iteration(one: Register) -> None:
        state = e.define(f"load {start.type}, ptr {slot}", start.type, 1)
        e.raw(f"store {start.type} {step(state, one)}, ptr {slot}")

    _items(fn, sequence, iteration)
    return e.define(f"load {start.type}, ptr {slot}", start.type, 1)


def min_max(fn: EmittedFunction, node: Node) -> None:
    """`min` and `max` of a list of known length, as the interpreter picks: the first of equals."""
    container = fn.values.get(node.operand(0))
    if isinstance(container, ListValue):
        extreme(fn, node)
        return
    if not isinstance(container, TupleValue) or not container.items:
        raise CannotCompileError("of a list whose length is not known")
    e, best = fn.e, container.items[0]
    for item in container.items[1:]:
        assert isinstance(best, Scalar)
        assert isinstance(item, Scalar)
        if best.rep != item.rep:
            raise CannotCompileError("of numbers of several types")
        below = node.op == "prim::min"
        if isinstance(best.rep, Int):
            register = e.intrinsic("smin" if below else "smax", best.register, item.register)
        else:
            better = e.fcmp("olt" if below else "ogt", item.register, best.register)
            register = e.select(better, item.register, best.register)
        best = Scalar(best.rep, register)
    fn.values.set(node.result(), best)


def extreme(fn: EmittedFunction, node: Node) -> None:
    """`min` and `max` of a list: the first of equals; leaves the function where there are no items."""
    e, sequence = fn.e, fn.values.get(node.operand(0))
    kind = _kind(sequence)
    fn.exits.fail_if(e.icmp("eq", lists.length(fn, sequence), number(0)), node)
    first = sequence.items[0] if isinstance(sequence, TupleValue) else lists.item(fn, _list(sequence), number(0))
    assert isinstance(first, Scalar)
    below = node.op == "prim::min"

    def step(best: Register, one: Register) -> Register:
        if isinstance(kind, Float):
            better = e.fcmp("olt" if below else "ogt", one, best)
        else:
            signs = "u" if isinstance(kind, Bool) else "s"
            better = e.icmp(signs + ("lt" if below else "gt"), one, best)
        return e.select(better, one, best)

    fn.values.set(node.result(), Scalar(kind, _folded(fn, sequence, first.register, step)))


def _list(sequence: Native) -> ListValue:
    assert isinstance(sequence, ListValue)
    return sequence


def total(fn: EmittedFunction, node: Node) -> None:
    """`sum` of a list, from left to right."""
    e, sequence = fn.e, fn.values.get(node.operand(0))
    kind = _kind(sequence)
    if len(node.operands) != 1:
        raise CannotCompileError("a sum that starts elsewhere")
    if isinstance(kind, Float):
        folded = _folded(fn, sequence, float_constant(0.0, "double", 1), lambda a, b: e.user("fadd", a, b))
        fn.values.set(node.result(), Scalar(Float(), folded))
        return

    def step(a: Register, b: Register) -> Register:
        return e.binary("add", a, e.convert("zext", b, "i64") if isinstance(kind, Bool) else b)

    fn.values.set(node.result(), Scalar(Int(), _folded(fn, sequence, number(0), step)))


def some_or_all(fn: EmittedFunction, node: Node) -> None:
    """`any` and `all` of a list of bools or ints."""
    e, sequence = fn.e, fn.values.get(node.operand(0))
    kind = _kind(sequence)
    if isinstance(kind, Float):
        raise CannotCompileError("of a list of floats")
    op, start = ("or", FALSE) if node.op == "aten::any" else ("and", TRUE)

    def step(a: Register, b: Register) -> Register:
        return e.binary(op, a, b if isinstance(kind, Bool) else e.icmp("ne", b, number(0)))

    fn.values.set(node.result(), Scalar(Bool(), _folded(fn, sequence, start, step)))


def contains(fn: EmittedFunction, node: Node) -> None:
    """`item in list`, of ints: a float may be in a list that is not equal to it."""
    e, sequence = fn.e, fn.values.get(node.operand(0))
    if native_values.is_text(fn.values.get(node.operand(1)).rep):
        _contains_text(fn, node, sequence)
        return
    wanted = fn.values.scalar(node.operand(1))
    if not isinstance(_kind(sequence), Int) or not isinstance(wanted.rep, Int):
        raise CannotCompileError("in a list of floats, which Python compares as objects first")
    folded = _folded(fn, sequence, FALSE, lambda a, b: e.binary("or", a, e.icmp("eq", b, wanted.register)))
    fn.values.set(node.result(), Scalar(Bool(), folded))


def _contains_text(fn: EmittedFunction, node: Node, sequence: Native) -> None:
    """`text in list`."""
    e, wanted, slot = fn.e, text_of(fn, node.operand(1)), fn.e.slot("i1", 8)
    e.raw(f"store i1 false, ptr {slot}")

    def compare(one: Native) -> None:
        state = e.define(f"load i1, ptr {slot}", "i1", 1)
        e.raw(f"store i1 {e.binary('or', state, are_equal(fn, as_text(fn, one), wanted))}, ptr {slot}")

    if isinstance(sequence, TupleValue):
        for one in sequence.items:
            compare(one)
    else:
        listed = _list(sequence)
        each(fn, lists.length(fn, listed), lambda k: compare(lists.item(fn, listed, k)))
    fn.values.set(node.result(), Scalar(Bool(), e.define(f"load i1, ptr {slot}", "i1", 1)))


def equal(fn: EmittedFunction, node: Node) -> None:
    """`==` and `!=` of lists of ints or bools: Python compares floats as objects first."""
    a, b = fn.values.get(node.operand(0)), fn.values.get(node.operand(1))
    if not all(isinstance(s, ListValue | TupleValue) for s in (a, b)) or fn.e.lanes > 1:
        raise CannotCompileError("of what is no list")
    if isinstance(_kind(a), Float) or _kind(a) != _kind(b):
        raise CannotCompileError("of lists of floats, which Python compares as objects first")
    if isinstance(a, TupleValue) and isinstance(b, TupleValue):
        answer = _are_equal(fn, a, b)
    else:
        answer = _are_equal_in_memory(fn, a, b)
    answer = answer if node.op == "aten::eq" else fn.e.binary("xor", answer, TRUE)
    fn.values.set(node.result(), Scalar(Bool(), answer))


def _are_equal_in_memory(fn: EmittedFunction, a: Native, b: Native) -> Register:
    """Whether a list is equal to another one, or to known items."""
    e, size = fn.e, lists.length(fn, a)
    slot, same = e.slot("i1", 8), e.icmp("eq", size, lists.length(fn, b))
    e.raw(f"store i1 {same}, ptr {slot}")

    def compare(one: Native, other: Native) -> None:
        assert isinstance(one, Scalar)
        assert isinstance(other, Scalar)
        state = e.define(f"load i1, ptr {slot}", "i1", 1)
        e.raw(f"store i1 {e.binary('and', state, e.icmp('eq', one.register, other.register))}, ptr {slot}")

    if isinstance(a, ListValue) and isinstance(b, ListValue):
        pair = a, b
        each(fn, e.select(same, size, number(0)), lambda k: compare(*(lists.item(fn, s, k) for s in pair)))
    else:
        known, listed = (a, b) if isinstance(a, TupleValue) else (b, a)
        assert isinstance(known, TupleValue)
        inside, after = e.label("as_long"), e.label("compared")
        e.branch_if(same, inside, after)
        e.start(inside)
        for k, one in enumerate(known.items):
            compare(one, lists.item(fn, _list(listed), number(k)))
        e.branch(after)
        e.start(after)
    return e.define(f"load i1, ptr {slot}", "i1", 1)


def _are_equal(fn: EmittedFunction, a: TupleValue, b: TupleValue) -> Register:
    """Whether known items are equal."""
    if len(a.items) != len(b.items):
        return FALSE
    answer = TRUE
    for one, other in zip(a.items, b.items, strict=True):
        assert isinstance(one, Scalar)
        assert isinstance(other, Scalar)
        answer = fn.e.binary("and", answer, fn.e.icmp("eq", one.register, other.register))
    return answer
