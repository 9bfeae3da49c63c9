"""What all items of a list come to: the least, the sum, whether one of them is true."""

from __future__ import annotations

from collections.abc import Callable

from flambeau.codegen.graph import native_values
from flambeau.codegen.graph.containers import lists
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.loops.control import each
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.native_values import CannotCompileError, ListValue, Native, Scalar, TupleValue
from flambeau.codegen.graph.representation import Bool, Float, Int, Representation
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


def product(fn: EmittedFunction, node: Node) -> None:
    """`math.prod` of a list, from left to right."""
    e, sequence = fn.e, fn.values.get(node.operand(0))
    kind = _kind(sequence)
    if isinstance(kind, Float):
        folded = _folded(fn, sequence, float_constant(1.0, "double", 1), lambda a, b: e.user("fmul", a, b))
        fn.values.set(node.result(), Scalar(Float(), folded))
    elif isinstance(kind, Int):
        whole = _folded(fn, sequence, number(1), lambda a, b: e.binary("mul", a, b))
        fn.values.set(node.result(), Scalar(Int(), whole))
    else:
        raise CannotCompileError("of a list of bools")


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
