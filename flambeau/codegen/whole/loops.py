"""Loops: carried values in slots, polls for interrupts, and two copies of an innermost counted loop.

The innermost loop of a nest that counts its turns is emitted twice. The fast copy has no checks of the element
accesses in its straight part whose indexes move evenly; it runs if the first and the last turn stay within bounds,
which is found out once before the loop, in exact arithmetic. The other copy checks every access, and so fails at the
turn, the line and the state of memory that the language says.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.codegen.whole import memory, values
from flambeau.codegen.whole.memory import number
from flambeau.codegen.whole.representation import Array, Int, Representation
from flambeau.codegen.whole.values import Affine, CannotCompile, Scalar
from flambeau.ir.node import Block, Node
from flambeau.ir.value import Value
from flambeau.schema.types import TensorType
from flambeau.util.record import dataclass, field

if TYPE_CHECKING:
    from flambeau.codegen.whole.function import FunctionEmitter

CHUNK = 1 << 22
"""Turns of an innermost counted loop between two polls."""
FEWEST_NODES_TO_SHARE = 400
"""Nodes of a body from which a second copy of it costs more time to compile than it saves."""


@dataclass(slots=True)
class Turns:
    """The fast copy of a counted loop."""

    index: Register
    before: int
    """The number of the last register made before the loop."""
    needs: dict[tuple[Affine, Register], None] = field(default_factory=dict)
    """Indexes and the sizes they must stay within."""
    is_straight: bool = True
    """Whether every turn comes by here, so that what is needed here may be needed of all turns."""

    def is_outside(self, register: Register) -> bool:
        """Whether a register was set before the loop. Registers are numbered as they are made."""
        digits = register.text.lstrip("%abcdefghijklmnopqrstuvwxyz")
        return not register.text.startswith("%") or not digits or int(digits) <= self.before


@dataclass(slots=True)
class _Carried:
    outputs: Sequence[Value]
    parameters: Sequence[Value]
    reps: list[Representation]
    slots: list[list[Register]]


def emit_loop(fn: FunctionEmitter, node: Node) -> None:
    """A `prim::Loop`."""
    body = node.blocks[0]
    trip, condition = fn.index(node.input(0)), fn.truth(node.input(1))
    carried = _start(fn, node, body)
    counts = condition.text == "true" and _is_true(body.outputs[0])
    outer, fn.scope.turns = fn.scope.turns, None
    fn.loop_depth += 1
    is_innermost, operators = _is_innermost(body), len(fn.operators)
    if counts and is_innermost:
        _chunks(fn, body, carried, trip)
    else:
        _plain(fn, body, carried, trip, None if counts else condition)
    fn.scope.turns = outer
    fn.loop_depth -= 1
    fn.tight_loops += is_innermost and len(fn.operators) == operators
    for value, rep, slots in zip(node.outputs, carried.reps, carried.slots, strict=True):
        fn.set_new(value, fn.load_slots(slots, rep))


def _start(fn: FunctionEmitter, node: Node, body: Block) -> _Carried:
    """Slots for what the loop carries, filled with what it starts from."""
    carried = _Carried(node.outputs, body.inputs[1:], [], [])
    for parameter, given in zip(carried.parameters, node.inputs[2:], strict=True):
        native = fn.get(given)
        rep = fn.assume(parameter, native.rep)
        slots = fn.slots(rep)
        native = fn.fit(parameter, native, rep)
        fn.keep(native, given, [], ())
        fn.store_slots(slots, native)
        carried.reps.append(rep)
        carried.slots.append(slots)
    return carried


def _is_true(value: Value) -> bool:
    return value.node is not None and value.node.kind == "prim::Constant" and value.node.attributes.get("value") is True


def _is_innermost(body: Block) -> bool:
    """Whether no other loop, and nothing that may take long, is inside."""
    for node in body:
        if node.kind in ("prim::Loop", "prim::FusionGroup") and not _is_small_group(node):
            return False
        if any(not _is_innermost(b) for b in node.blocks):
            return False
    return True


def _is_small_group(node: Node) -> bool:
    """Whether it is a fused group of tensors without axes, which is made scalar code."""
    tensors = [v.type for v in node.inputs if isinstance(v.type, TensorType)]
    return node.kind == "prim::FusionGroup" and all(t.sizes is not None and not t.sizes for t in tensors)


def _round(fn: FunctionEmitter, body: Block, carried: _Carried, index: Register, affine: Affine | None) -> None:
    """One turn: the body on what the slots hold, and the slots filled for the next."""
    fn.set(body.inputs[0], Scalar(Int(), index, affine))
    before = []
    for parameter, rep, slots in zip(carried.parameters, carried.reps, carried.slots, strict=True):
        native = fn.load_slots(slots, rep)
        before.append(native)
        fn.set(parameter, native)
        fn.owned.discard(parameter)
    at_return = fn.block(body, ())
    following = []
    for parameter, given, rep in zip(carried.parameters, body.outputs[1:], carried.reps, strict=True):
        native = fn.fit(parameter, fn.get(given), rep)
        fn.keep(native, given, at_return, body.outputs)
        following.append(native)
    for native in before:
        fn.drop(native)
    for value in at_return:
        fn.release(value)
    for native, slots in zip(following, carried.slots, strict=True):
        fn.store_slots(slots, native)


def _tick(fn: FunctionEmitter, turns: Register) -> None:
    """Count turns, and look at the clock when there have been many."""
    e = fn.e
    left = e.define(f"load i64, ptr {fn.ticks}", "i64", 1)
    less = e.binary("sub", left, turns)
    e.raw(f"store i64 {less}, ptr {fn.ticks}")
    look, on = e.label("look"), e.label("on")
    e.raw(f"br i1 {e.icmp('slt', less, number(0))}, label %{look}, label %{on}, !prof !20")
    e.start(look)
    e.raw(f"store i64 65536, ptr {fn.ticks}")
    code = e.define(f"call i64 @look_at_clock(ptr {fn.context})", "i64", 1)
    stop = e.label("stop")
    e.raw(f"br i1 {e.icmp('ne', code, number(0))}, label %{stop}, label %{on}, !prof !20")
    e.start(stop)
    fn.leave_with(code)
    e.start(on)


def _plain(fn: FunctionEmitter, body: Block, carried: _Carried, trip: Register, condition: Register | None) -> None:
    """A loop that is emitted once; with a condition it also stops when that does not hold."""
    e = fn.e
    counter = e.slot("i64", 8)
    again = e.slot("i1", 8)
    e.raw(f"store i64 0, ptr {counter}")
    if condition is not None:
        e.raw(f"store i1 {condition}, ptr {again}")
    head, turn, after = e.label("loop"), e.label("turn"), e.label("after")
    e.branch(head)
    e.start(head)
    index = e.define(f"load i64, ptr {counter}", "i64", 1)
    if memory.literal(trip) == (1 << 63) - 1:
        more = Register("true", "i1", 1)
    else:
        more = e.icmp("slt", index, trip)
    if condition is not None:
        holds = e.define(f"load i1, ptr {again}", "i1", 1)
        more = holds if more.text == "true" else e.binary("and", more, holds)
    e.branch_if(more, turn, after)
    e.start(turn)
    _tick(fn, number(1))
    _round(fn, body, carried, index, None)
    e.raw(f"store i64 {e.binary('add nuw nsw', index, number(1))}, ptr {counter}")
    if condition is not None:
        e.raw(f"store i1 {fn.truth(body.outputs[0])}, ptr {again}")
    e.branch(head)
    e.start(after)


def _chunks(fn: FunctionEmitter, body: Block, carried: _Carried, trip: Register) -> None:
    """An innermost counted loop, in runs of many turns with a poll before each."""
    e = fn.e
    held, e.lines = e.lines, []
    copies = []
    start, end = Register(e.name("from"), "i64", 1), Register(e.name("to"), "i64", 1)
    heads = [e.label("fast"), e.label("checked")]
    again = e.label("again")
    turns = Turns(Register("", "i64", 1), e.counter)
    for head, fast in ((heads[0], turns), (heads[1], None)):
        e.lines = []
        e.start(head)
        fn.scope.turns = fast
        _turns(fn, body, carried, start, end, fast)
        e.branch(again)
        copies.append(e.lines)
        if not turns.needs:
            break
    fn.scope.turns = None
    e.lines = held
    is_fast = _stays_within(fn, turns, trip) if turns.needs else Register("true", "i1", 1)
    place, chunk, after, before = e.label("chunks"), e.label("chunk"), e.label("after"), e.label("before")
    e.branch(before)
    e.start(before)
    e.branch(place)
    e.start(place)
    e.raw(f"{start} = phi i64 [0, %{before}], [{end}, %{again}]")
    e.branch_if(e.icmp("slt", start, trip), chunk, after)
    e.start(chunk)
    left = e.binary("sub nsw", trip, start)
    few = e.icmp("slt", left, number(CHUNK))
    size = e.select(few, left, number(CHUNK))
    e.raw(f"{end} = add nuw nsw i64 {start}, {size}")
    _tick(fn, size)
    if len(copies) == 2:
        e.branch_if(is_fast, heads[0], heads[1])
    else:
        e.branch(heads[0])
    for lines in copies:
        e.lines.extend(lines)
    e.start(again)
    e.branch(place)
    e.start(after)


def _turns(
    fn: FunctionEmitter, body: Block, carried: _Carried, start: Register, end: Register, turns: Turns | None
) -> None:
    """``for index in start..end`` with the body; falls out of it at the end."""
    e = fn.e
    counter = e.slot("i64", 8)
    head, done = e.label("turn"), e.label("done")
    e.raw(f"store i64 {start}, ptr {counter}")
    e.branch(head)
    e.start(head)
    index = e.define(f"load i64, ptr {counter}", "i64", 1)
    affine = None
    if turns is not None:
        turns.index = index
        affine = Affine(slope=1)
    _round(fn, body, carried, index, affine)
    following = e.binary("add nuw nsw", index, number(1))
    e.raw(f"store i64 {following}, ptr {counter}")
    e.branch_if(e.icmp("slt", following, end), head, done)
    e.start(done)


def _stays_within(fn: FunctionEmitter, turns: Turns, trip: Register) -> Register:
    """Whether every index is within its size in the first and in the last turn."""
    e = fn.e
    last = e.binary("sub", trip, number(1))
    answer: Register | None = None
    for affine, size in turns.needs:
        for fits in _fits(fn, affine, size, last):
            answer = fits if answer is None else e.binary("and", answer, fits)
    assert answer is not None
    return answer


def _fits(fn: FunctionEmitter, affine: Affine, size: Register, last: Register) -> list[Register]:
    """Whether the index of the first turn, and that of the last, are within a size."""
    e = fn.e
    if affine.step is None and len(affine.invariants) <= 1 and affine.slope in (-1, 0, 1):
        # The first index is what the program computes, wrapped or not. The last cannot wrap: both parts have 63 bits.
        first = number(affine.offset)
        for invariant in affine.invariants:
            first = memory.add(e, invariant, first)
        fits = [e.icmp("ult", first, size)]
        if affine.slope:
            fits.append(e.icmp("ult", e.binary("add" if affine.slope > 0 else "sub", first, last), size))
        return fits
    first = Register(str(affine.offset), "i128", 1)
    for invariant in affine.invariants:
        first = e.binary("add", e.convert("sext", invariant, "i128"), first)
    bound, turns = e.convert("sext", size, "i128"), e.convert("sext", last, "i128")
    fits = [e.icmp("ult", first, bound)]
    end = first
    if affine.slope:
        end = e.binary("add", end, e.binary("mul", turns, Register(str(affine.slope), "i128", 1)))
    if affine.step is not None:
        end = e.binary("add", end, e.binary("mul", turns, e.convert("sext", affine.step, "i128")))
    if end is not first:
        fits.append(e.icmp("ult", end, bound))
    return fits


def affine_of(fn: FunctionEmitter, scalar: Scalar) -> Affine | None:
    """How an index moves over the turns of the fast loop being emitted; None where that is not known."""
    turns = fn.scope.turns
    if turns is None:
        return None
    known = memory.literal(scalar.register)
    if known is not None:
        return Affine(offset=known)
    return Affine((scalar.register,)) if turns.is_outside(scalar.register) else scalar.affine


def added(a: Affine | None, b: Affine | None, sign: int = 1) -> Affine | None:
    """A sum, or a difference of which the second has no invariants."""
    if a is None or b is None or (sign < 0 and (b.invariants or b.step is not None)):
        return None
    if a.step is not None and b.step is not None or len(a.invariants) + len(b.invariants) > 4:
        return None
    return Affine(
        (*a.invariants, *b.invariants), a.slope + sign * b.slope, a.offset + sign * b.offset, a.step or b.step
    )


def scaled(a: Affine | None, b: Affine | None) -> Affine | None:
    """A product with a literal, or of the turn with an invariant."""
    for x, y in ((a, b), (b, a)):
        if x is None or y is None or x.step is not None or y.step is not None or y.slope or x.invariants:
            continue
        if not y.invariants and abs(y.offset) < 1 << 31 and abs(x.offset) < 1 << 31:
            return Affine((), x.slope * y.offset, x.offset * y.offset)
        if len(y.invariants) == 1 and not y.offset and (x.slope, x.offset) == (1, 0):
            return Affine(step=y.invariants[0])
    return None


def checked_index(fn: FunctionEmitter, scalar: Scalar, size: Register, node: Node) -> Register:
    """An index into an axis, counted from the end if negative; leaves the function where it is out of range."""
    e = fn.e
    affine, turns = affine_of(fn, scalar), fn.scope.turns
    if turns is not None and affine is not None and turns.is_outside(size):
        if turns.is_straight:
            turns.needs[affine, size] = None
        if (affine, size) in turns.needs:
            return _index_of(fn, affine)
    index, known = scalar.register, memory.literal(scalar.register)
    if known is not None and known >= 0:
        fn.fail_if(e.icmp("sge", number(known), size), node)
        return index
    negative = e.icmp("slt", index, number(0))
    wrapped = e.select(negative, e.binary("add", index, size), index)
    fn.fail_if(e.icmp("uge", wrapped, size), node)
    return wrapped


def _index_of(fn: FunctionEmitter, affine: Affine) -> Register:
    """The index again, from what it is made of, in arithmetic that is known not to wrap."""
    e = fn.e
    turns = fn.scope.turns
    assert turns is not None
    start = number(affine.offset)
    for invariant in affine.invariants:
        start = memory.add(e, invariant, start)
    if affine.slope:
        start = memory.add(e, start, memory.multiply(e, turns.index, number(affine.slope), " nsw"), " nsw")
    if affine.step is not None:
        start = memory.add(e, start, memory.multiply(e, turns.index, affine.step, " nsw"), " nsw")
    return start


def array_rep(rep: Representation) -> Array:
    """The representation of a tensor in memory. Raises `CannotCompile` for others."""
    if not isinstance(rep, Array):
        raise CannotCompile(f"expected a tensor in memory, got {values.describe(rep)}")
    return rep
