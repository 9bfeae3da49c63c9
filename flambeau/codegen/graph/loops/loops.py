"""Loops: carried values in slots, polls for interrupts, and two copies of an innermost counted loop.

The innermost loop of a nest that counts its iterations is emitted twice. The fast copy has no checks of the element
accesses whose indexes move evenly; it runs the iterations in which all of these stay within bounds, also those of
branches that an iteration may not take. Which iterations these are is found out once before the loop, in exact
arithmetic. The other copy runs the iterations before and after, and checks every access: so indexes from the end mean
what they do, and a loop fails at the iteration, the line and the state of memory that the language says.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from flambeau.analysis.parallel_loops import is_parallel
from flambeau.codegen.graph import memory
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.loops import bit_counts, counted_while, lanes_emit, meetings, neighbours
from flambeau.codegen.graph.loops.control import poll, rounds
from flambeau.codegen.graph.loops.hoisted_bounds_checks import Span, all_fit, span_of
from flambeau.codegen.graph.loops.hoisted_conditions import hoists
from flambeau.codegen.graph.loops.lanes import lane_schedule
from flambeau.codegen.graph.loops.lanes_emitter import Accesses
from flambeau.codegen.graph.loops.parallel_loops import emit_parallel
from flambeau.codegen.graph.loops.strided_loads import gains_by_vectors
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.native_values import Affine, Scalar, words_of
from flambeau.codegen.graph.representation import Float, Int, Representation
from flambeau.codegen.graph.scope import Iterations
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.ir.constants import is_true
from flambeau.ir.graph import Block, Node, Value
from flambeau.schema.types import TensorType
from flambeau.util.record import dataclass

LEAVES = ", !prof !2"
"""What branches say of which one way is rare: out of the loop. LLVM makes no vectors of a loop that has several."""
CHUNK = 1 << 22
"""Iterations of an innermost counted loop between two polls."""
LARGEST_TWICE = 250
"""Lines of a checked copy that is emitted twice, at most: for the iterations before the fast ones, and behind."""


@dataclass(slots=True)
class _Carried:
    outputs: Sequence[Value]
    parameters: Sequence[Value]
    reps: list[Representation]
    slots: list[list[Register]]


def emit_loop(fn: EmittedFunction, node: Node) -> None:
    """A `prim::Loop`."""
    if is_parallel(node) and fn.can_share and emit_parallel(fn, node):
        return
    count = bit_counts.bit_count(node)
    if count is not None:
        bit_counts.emit(fn, node, count)
        return
    body = node.nested_blocks[0]
    trip, condition = fn.values.index(node.operand(0)), fn.values.truth(node.operand(1))
    carried = _start(fn, node, body)
    outer, fn.scope.iterations = fn.scope.iterations, None
    fn.scope.loop_depth += 1
    is_innermost, operators = _is_innermost(body), len(fn.parts.operators)
    _all_rounds(fn, node, carried, trip, condition, is_innermost=is_innermost)
    fn.scope.iterations = outer
    fn.scope.loop_depth -= 1
    fn.parts.tight_loops += is_innermost and len(fn.parts.operators) == operators
    for value, rep, slots in zip(node.results, carried.reps, carried.slots, strict=True):
        fn.values.set_new(value, fn.slots.load(slots, rep))


def _all_rounds(
    fn: EmittedFunction, node: Node, carried: _Carried, trip: Register, condition: Register, *, is_innermost: bool
) -> None:
    """The iterations of a loop, in the way that its kind has."""
    body = node.nested_blocks[0]
    begins = condition.text == "true"
    counts = begins and is_true(body.returns[0])
    if is_innermost and begins and (counts or memory.literal(trip) != counted_while.ENDLESS):
        _counted(fn, body, carried, trip, may_stop=not counts)
        return
    first = _lanes_first(fn, node, carried, trip) if counts else None
    further = _count_first(fn, node, carried) if is_innermost else None
    _plain(fn, body, carried, trip, None if counts else further or condition, first or number(0))


def _counted(fn: EmittedFunction, body: Block, carried: _Carried, trip: Register, *, may_stop: bool) -> None:
    """An innermost loop of so many iterations, or fewer where it may stop."""
    if not may_stop:
        _chunks(fn, body, carried, trip)
        return
    stop = fn.e.label("stopped")
    _chunks(fn, body, carried, trip, stop=stop)
    fn.e.branch(stop)
    fn.e.start(stop)


def _lanes_first(fn: EmittedFunction, node: Node, carried: _Carried, trip: Register) -> Register | None:
    """The iterations of a counted loop that run several at a time; gives with which one the others begin."""
    schedule = lane_schedule(node)
    first = None if schedule is None else lanes_emit.emit(fn, node.nested_blocks[0], schedule, carried.slots, trip)
    if first is not None:
        fn.parts.lanes.append(node)
    return first


def _count_first(fn: EmittedFunction, node: Node, carried: _Carried) -> Register | None:
    """The iterations of a `while` that can be counted; gives whether the loop as it was written has more to do."""
    e, induction = fn.e, counted_while.induction_of(node)
    distance = None if induction is None else counted_while.distance_of(fn, induction)
    if induction is None or distance is None:
        return None
    counted, after = e.label("counted"), e.label("uncounted")
    e.branch_if(counted_while.is_far(fn, distance), counted, after)
    e.start(counted)
    trip, affine = counted_while.iterations_of(fn, distance)
    _chunks(fn, node.nested_blocks[0], carried, trip, (carried.parameters[induction.position], affine))
    e.branch(after)
    e.start(after)
    variable = fn.slots.load(carried.slots[induction.position], carried.reps[induction.position])
    return counted_while.holds(fn, induction, next(words_of(variable)))


def _start(fn: EmittedFunction, node: Node, body: Block) -> _Carried:
    """Slots for what the loop carries, filled with what it starts from."""
    carried = _Carried(node.results, body.parameters[1:], [], [])
    for parameter, initial in zip(carried.parameters, node.operands[2:], strict=True):
        native = fn.values.get(initial)
        rep = fn.slots.assume(parameter, native.rep)
        slots = fn.slots.new(rep)
        native = fn.slots.fit(parameter, native, rep)
        fn.values.keep(native, initial, [], ())
        fn.slots.store(slots, native)
        carried.reps.append(rep)
        carried.slots.append(slots)
    return carried


def _is_innermost(body: Block) -> bool:
    """Whether no other loop, and nothing that may take long, is inside."""
    for node in body:
        if node.op == "prim::Loop" and bit_counts.bit_count(node) is not None:
            continue
        if node.op in ("prim::Loop", "prim::FusionGroup") and not _is_small_group(node):
            return False
        if any(not _is_innermost(b) for b in node.nested_blocks):
            return False
    return True


def _is_small_group(node: Node) -> bool:
    """Whether it is a fused group of tensors without axes, which is made scalar code."""
    tensors = [v.static_type for v in node.operands if isinstance(v.static_type, TensorType)]
    return node.op == "prim::FusionGroup" and all(t.sizes is not None and not t.sizes for t in tensors)


def _round(fn: EmittedFunction, body: Block, carried: _Carried, index: Register, affine: Affine | None) -> None:
    """One iteration: the body on what the slots hold, and the slots filled for the next."""
    fn.values.set(body.parameters[0], Scalar(Int(), index, affine))
    before, moving = [], None if fn.scope.iterations is None else fn.scope.iterations.moving
    for parameter, rep, slots in zip(carried.parameters, carried.reps, carried.slots, strict=True):
        native = fn.slots.load(slots, rep)
        if moving is not None and moving[0] is parameter:
            native = Scalar(Int(), next(words_of(native)), moving[1])
        before.append(native)
        fn.values.set(parameter, native)
        fn.values.owned.discard(parameter)
    at_return = fn.block(body, ())
    following = []
    for parameter, returned, rep in zip(carried.parameters, body.returns[1:], carried.reps, strict=True):
        native = fn.slots.fit(parameter, fn.values.get(returned), rep)
        fn.values.keep(native, returned, at_return, body.returns)
        following.append(native)
    for native in before:
        fn.values.drop(native)
    for value in at_return:
        fn.values.release(value)
    for native, slots in zip(following, carried.slots, strict=True):
        fn.slots.store(slots, native)


def _plain(
    fn: EmittedFunction, body: Block, carried: _Carried, trip: Register, condition: Register | None, first: Register
) -> None:
    """A loop that is emitted once, from an iteration on; with a condition it also stops when that does not hold."""
    e = fn.e
    counter = e.slot("i64", 8)
    again = e.slot("i1", 8)
    e.raw(f"store i64 {first}, ptr {counter}")
    if condition is not None:
        e.raw(f"store i1 {condition}, ptr {again}")
    again_at = rounds(fn) if _is_innermost(body) else ""
    head, iteration, after = e.label("loop"), e.label("iteration"), e.label("after")
    e.branch(head)
    e.start(head)
    index = e.define(f"load i64, ptr {counter}", "i64", 1)
    is_endless = memory.literal(trip) == counted_while.ENDLESS
    more = Register("true", "i1", 1) if is_endless else e.icmp("slt", index, trip)
    if condition is not None:
        holds = e.define(f"load i1, ptr {again}", "i1", 1)
        more = holds if more.text == "true" else e.binary("and", more, holds)
    e.branch_if(more, iteration, after)
    e.start(iteration)
    poll(fn, number(1), again_at)
    _round(fn, body, carried, index, None)
    e.raw(f"store i64 {e.binary('add nuw nsw', index, number(1))}, ptr {counter}")
    if condition is not None:
        e.raw(f"store i1 {fn.values.truth(body.returns[0])}, ptr {again}")
    e.branch(head)
    e.start(after)


def _chunks(
    fn: EmittedFunction, body: Block, carried: _Carried, trip: Register, moving: tuple[Value, Affine] | None = None,
    stop: str = "",
) -> None:  # fmt: skip
    """An innermost counted loop, in runs of many iterations with a poll before each; `moving` is a parameter of which
    is known how it moves: then only the iterations that need no checks are run. A loop that may end earlier, by a
    `break`, goes on at ``stop`` then.
    """
    e = fn.e
    lines_before, e.lines = e.lines, []
    iterations, accesses = Iterations(Register("", "i64", 1), e.counter, moving), Accesses()
    fast = _copy(fn, body, carried, "fast", iterations, None if stop else accesses, stop)
    is_checked = iterations.are_checked and moving is None
    checked = _copy(fn, body, carried, "checked", None, None, stop) if is_checked else None
    e.lines = [*lines_before, *iterations.ahead]
    neighbours.note(fn.parts, accesses)
    apart = meetings.iterations_of(e, accesses)
    span = span_of(fn, iterations, trip) if iterations.are_checked else Span(number(0), trip)
    if moving is not None:  # the loop as it was written does the rest
        is_first = e.icmp("sle", span.first, number(0))
        trip = e.select(is_first, e.intrinsic("smin", span.end, trip), number(0))
        span = Span(number(0), trip)
    begins_fast = memory.literal(span.first) == 0
    if apart or (checked is not None and not begins_fast and len(checked.lines) > LARGEST_TWICE):
        _choosing(fn, fast, checked, span, trip, apart)
    elif checked is None:
        _run(fn, fast, number(0), trip)
    else:
        entry = _enter_whole(fn, all_fit(fn, iterations, trip, CHUNK), trip, fast.head)
        start = number(0)
        if not begins_fast:
            start = e.intrinsic("smax", e.intrinsic("smin", span.first, trip), number(0))
            _run(fn, _copy(fn, body, carried, "before", None, None, stop), number(0), start)
        rest = e.intrinsic("smax", start, span.end)
        _run(fn, checked, _run_entered(fn, fast, start, span.end, rest, entry), trip)
        e.branch(entry.end)
        e.start(entry.end)


@dataclass(slots=True)
class _Copy:
    """A loop over iterations from one on up to another, whose registers are not defined yet."""

    head: str
    start: Register
    end: Register
    again: str
    lines: list[str]


def _copy(
    fn: EmittedFunction, body: Block, carried: _Carried, stem: str, iterations: Iterations | None,
    accesses: Accesses | None, stop: str = "",
) -> _Copy:  # fmt: skip
    """The iterations of an innermost loop, checked unless the fast ones are given."""
    e = fn.e
    before, e.lines = e.lines, []
    start, end = Register(e.name("from"), "i64", 1), Register(e.name("to"), "i64", 1)
    copied = _Copy(e.label(stem), start, end, e.label("again"), e.lines)
    e.start(copied.head)
    fn.scope.iterations, e.accesses = iterations, accesses
    if iterations is not None:
        fn.exits.hoist = functools.partial(hoists, e, iterations)
    _iterations(fn, body, carried, start, end, iterations, stop)
    e.branch(copied.again)
    fn.scope.iterations = e.accesses = fn.exits.hoist = None
    e.lines = before
    return copied


def _run(fn: EmittedFunction, copied: _Copy, low: Register, high: Register) -> None:
    """Iterations from one on up to another, in runs with a poll before each."""
    e = fn.e
    chunk, after, before = e.label("chunk"), e.label("after"), e.label("before")
    e.branch(before)
    e.start(before)
    e.branch_if(e.icmp("slt", low, high), chunk, after)
    e.start(chunk)
    e.raw(f"{copied.start} = phi i64 [{low}, %{before}], [{copied.end}, %{copied.again}]")
    _assume(fn, "sge", copied.start)
    size = e.intrinsic("smin", e.binary("sub nsw", high, copied.start), number(CHUNK))
    _assume(fn, "sgt", size)
    e.raw(f"{copied.end} = add nuw nsw i64 {copied.start}, {size}")
    poll(fn, size)
    e.branch(copied.head)
    e.lines.extend(copied.lines)
    e.start(copied.again)
    e.branch_if(e.icmp("slt", copied.end, high), chunk, after)
    e.start(after)


@dataclass(slots=True)
class _Entry:
    """A way into the fast copy for all iterations at once."""

    block: str
    trip: Register
    end: str
    """Where the loop has done all."""


def _enter_whole(fn: EmittedFunction, whole: Register, trip: Register, head: str) -> _Entry:
    """Run all iterations by the fast copy, in one run, where they can be; else go on here. Short loops have little more
    before their first iteration than one comparison then.
    """
    e = fn.e
    all_, some, pieces, end = e.label("whole"), e.label("some"), e.label("pieces"), e.label("end")
    e.raw(f"br i1 {whole}, label %{all_}, label %{pieces}, !prof !21")
    e.start(all_)
    e.branch_if(e.icmp("sgt", trip, number(0)), some, end)
    e.start(some)
    poll(fn, trip)
    entry = _Entry(e.block, trip, end)
    e.branch(head)
    e.start(pieces)
    return entry


def _run_entered(
    fn: EmittedFunction, copied: _Copy, low: Register, high: Register, rest: Register, entry: _Entry
) -> Register:
    """As `_run`, of a copy that has a way in for all iterations; gives from where on others run, which is ``rest``
    unless nothing is left.
    """
    e = fn.e
    chunk, more, after, before = e.label("chunk"), e.label("more"), e.label("after"), e.label("before")
    start, until, limit, left = (Register(e.name(stem), "i64", 1) for stem in ("start", "until", "limit", "left"))
    own_limit, own_left = Register(e.name("limit"), "i64", 1), Register(e.name("left"), "i64", 1)
    e.branch(before)
    e.start(before)
    e.branch_if(e.icmp("slt", low, high), chunk, after)
    e.start(chunk)
    for register, first, later in ((start, low, copied.end), (own_limit, high, limit), (own_left, rest, left)):
        e.raw(f"{register} = phi i64 [{first}, %{before}], [{later}, %{more}]")
    _assume(fn, "sge", start)
    size = e.intrinsic("smin", e.binary("sub nsw", own_limit, start), number(CHUNK))
    _assume(fn, "sgt", size)
    e.raw(f"{until} = add nuw nsw i64 {start}, {size}")
    poll(fn, size)
    here = e.block
    e.branch(copied.head)
    e.start(copied.head)
    trip, zero = entry.trip, number(0)
    ways = ((copied.start, zero, start), (copied.end, trip, until), (limit, trip, own_limit), (left, trip, own_left))
    for register, whole, part in ways:
        e.raw(f"{register} = phi i64 [{whole}, %{entry.block}], [{part}, %{here}]")
    e.lines.extend(copied.lines[1:])
    e.start(copied.again)
    e.branch_if(e.icmp("slt", copied.end, entry.trip), more, entry.end)
    e.start(more)
    e.branch_if(e.icmp("slt", copied.end, limit), chunk, after)
    e.start(after)
    result = Register(e.name("rest"), "i64", 1)
    e.raw(f"{result} = phi i64 [{rest}, %{before}], [{left}, %{more}]")
    return result


def _assume(fn: EmittedFunction, predicate: str, count: Register) -> None:
    """Say how a number of iterations compares with 0: of one that is not negative, shifts by it have no way out."""
    fn.e.declare("declare void @llvm.assume(i1)")
    fn.e.raw(f"call void @llvm.assume(i1 {fn.e.icmp(predicate, count, number(0))})")


def _choosing(
    fn: EmittedFunction, fast: _Copy, checked: _Copy | None, span: Span, trip: Register, apart: Sequence[Register]
) -> None:
    """The same in one loop that chooses a copy for each run of iterations; those `apart` have runs of their own."""
    e = fn.e
    next_chunk, chunk, after, before = e.label("chunks"), e.label("chunk"), e.label("after"), e.label("before")
    start, end, again = Register(e.name("from"), "i64", 1), Register(e.name("to"), "i64", 1), e.label("again")
    copies = [fast] if checked is None else [fast, checked]
    e.branch(before)
    e.start(before)
    e.branch(next_chunk)
    e.start(next_chunk)
    e.raw(f"{start} = phi i64 [0, %{before}], [{end}, %{again}]")
    e.branch_if(e.icmp("slt", start, trip), chunk, after)
    e.start(chunk)
    _assume(fn, "sge", start)
    is_fast = e.icmp("slt", start, span.end)
    limit = trip if checked is None else e.select(is_fast, span.end, trip)
    if memory.literal(span.first) != 0:
        is_before = e.icmp("slt", start, span.first)
        limit = e.select(is_before, e.intrinsic("smin", span.first, trip), limit)
        is_fast = e.select(is_before, Register("false", "i1", 1), is_fast)
    for iteration in apart:
        until = e.select(e.icmp("slt", start, iteration), iteration, e.binary("add", iteration, number(1)))
        limit = e.intrinsic("smin", limit, e.select(e.icmp("slt", start, until), until, limit))
    size = e.intrinsic("smin", e.binary("sub nsw", limit, start), number(CHUNK))
    _assume(fn, "sgt", size)
    e.raw(f"{end} = add nuw nsw i64 {start}, {size}")
    poll(fn, size)
    heads = [copied.head for copied in copies]
    here = e.block
    if checked is None:
        e.branch(heads[0])
    else:
        e.branch_if(is_fast, *heads)
    for copied in copies:
        e.lines.append(f"{copied.head}:")
        e.lines.append(f"  {copied.start} = phi i64 [{start}, %{here}]")
        e.lines.append(f"  {copied.end} = phi i64 [{end}, %{here}]")
        e.lines.extend(copied.lines[1:])
        e.start(copied.again)
        e.branch(again)
    e.start(again)
    e.branch(next_chunk)
    e.start(after)


def _iterations(
    fn: EmittedFunction, body: Block, carried: _Carried, start: Register, end: Register, iterations: Iterations | None,
    stop: str,
) -> None:  # fmt: skip
    """``for index in start..end`` with the body; falls out of it at the end, and goes to ``stop`` where the body ends
    the loop.
    """
    e = fn.e
    counter = e.slot("i64", 8)
    head, done = e.label("iteration"), e.label("done")
    e.raw(f"store i64 {start}, ptr {counter}")
    e.branch(head)
    e.start(head)
    first_line = len(e.lines)
    index = e.define(f"load i64, ptr {counter}", "i64", 1)
    affine = None
    if iterations is not None:
        iterations.index = index
        affine = Affine(slope=1)
    _round(fn, body, carried, index, affine)
    following = e.binary("add nuw nsw", index, number(1))
    e.raw(f"store i64 {following}, ptr {counter}")
    if stop:
        goes_on = e.label("goes_on")
        e.branch_if(fn.values.truth(body.returns[0]), goes_on, stop)
        e.start(goes_on)
    leaves = any(LEAVES in line for line in e.lines[first_line:])
    may_unroll = iterations is not None and (leaves or _is_chain(fn, carried))
    note = _noted(fn, "!22") if may_unroll and _is_plain(body, e.lines[first_line:]) else ""
    stays_scalar = iterations is not None and (
        iterations.strides
        or (e.accesses is not None and not gains_by_vectors(e.target, e.accesses, len(e.lines) - first_line))
    )
    if stays_scalar:
        note = _noted(fn, "!23")
    e.raw(f"br i1 {e.icmp('slt', following, end)}, label %{head}, label %{done}{note}")
    e.start(done)


def _is_chain(fn: EmittedFunction, carried: _Carried) -> bool:
    """Whether each iteration waits for the one before it: sums of floats have an order, where it is not given up."""
    return not fn.e.target.user_flags and any(isinstance(rep, Float) for rep in carried.reps)


LARGEST_UNROLLED = 256
"""Lines of a loop's body, at most: LLVM warns of a loop that it cannot unroll, and of a large one nothing is gained."""


def _is_plain(body: Block, lines: list[str]) -> bool:
    """Whether LLVM will be able to unroll several iterations: nothing that loops or may yet be inlined, and
    little.
    """
    has_loops = any(n.op == "prim::Loop" for n in body.walk())
    calls = any(" call " in line and "@llvm." not in line for line in lines)
    return not has_loops and not calls and len(lines) <= LARGEST_UNROLLED


def _noted(fn: EmittedFunction, hint: str) -> str:
    """What to say at the end of a loop, so that LLVM heeds one of `control.HINTS` in it."""
    number_ = 30 + len(fn.parts.notes)
    fn.parts.notes.append(f"!{number_} = distinct !{{!{number_}, {hint}}}")
    return f", !llvm.loop !{number_}"
