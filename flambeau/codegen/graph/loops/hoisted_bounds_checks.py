"""Indexes that move evenly over a loop's iterations, and are checked once for all of them."""

from __future__ import annotations

import functools

from flambeau.codegen.graph import memory
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.loops.lanes_emitter import LaneEmitter
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.native_values import Affine, Scalar
from flambeau.codegen.graph.scope import Iterations, is_simple
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.ir.graph import Node
from flambeau.util.record import dataclass

LARGE = 1 << 30
"""Literals in indexes are smaller: sums and products of what has 32 bits then stay within 64."""


@dataclass(slots=True)
class Span:
    """The iterations that the fast copy may run: from ``first`` up to ``end``, none where that is not after it."""

    first: Register
    end: Register


def span_of(fn: EmittedFunction, iterations: Iterations, trip: Register) -> Span:
    """The iterations in which every index is within its size; none also where numbers are so large that this takes more
    than 64 bits to find out.
    """
    e = fn.e
    last: Register | None = None
    answers = [e.binary("xor", refusal, e.like(refusal, 1)) for refusal in iterations.refusals]
    factors: dict[Register, None] = {}
    starts: dict[Register, None] = {}
    ends = {trip: None}
    for affine, size in iterations.needs:
        first = first_of(e, affine)
        if not is_simple(affine):
            last = last or e.binary("sub", trip, number(1))
            answers += _fits(e, affine, first, size, last)
            factors |= dict.fromkeys((last, *affine.invariants, *([affine.step] if affine.step is not None else [])))
        elif not affine.slope:
            answers.append(e.icmp("ult", first, size))
        else:
            start, end = (_rising if affine.slope > 0 else _falling)(e, first, size)
            starts[start], ends[end] = None, None
    if factors:
        answers.append(are_small(e, list(factors)))
    end = functools.reduce(lambda a, b: e.intrinsic("smin", a, b), ends)
    if answers:
        end = e.select(functools.reduce(lambda a, b: e.binary("and", a, b), answers), end, number(0))
    starts.pop(number(0), None)
    return Span(functools.reduce(lambda a, b: e.intrinsic("smax", a, b), starts, number(0)), end)


def all_fit(fn: EmittedFunction, iterations: Iterations, trip: Register, most: int) -> Register:
    """Whether there are at most so many iterations, fewer than 2**23, and in all of them every index is within its
    size: one comparison of what has a sign bit where one is not.

    An index moves evenly, so that the first and the last say it for all. What the first leaves of the size, and how far
    the last is from the first, are below 2**54 where it matters: so no difference is wrapped unless another term is
    negative already.
    """
    e = fn.e
    terms: dict[Register, None] = {memory.subtract(e, number(most), trip): None}
    steps: dict[Register, None] = {}
    last = e.binary("sub", trip, number(1))
    for affine, size in iterations.needs:
        first = first_of(e, affine)
        left = memory.subtract(e, memory.subtract(e, size, number(1)), first)
        terms |= dict.fromkeys((first, left))
        if not affine.slope and affine.step is None:
            continue
        away = memory.multiply(e, last, number(affine.slope))
        if affine.step is not None:
            steps[affine.step] = None
            away = memory.add(e, away, memory.multiply(e, last, affine.step))
        if affine.slope > 0 or affine.step is not None:
            terms[memory.subtract(e, left, away)] = None
        if affine.slope < 0 or affine.step is not None:
            terms[memory.add(e, first, away)] = None
    fits = e.icmp("sge", functools.reduce(lambda a, b: e.binary("or", a, b), terms), number(0))
    answers = [fits, *(e.binary("xor", refusal, e.like(refusal, 1)) for refusal in iterations.refusals)]
    if steps:
        answers.append(are_small(e, list(steps)))
    return functools.reduce(lambda a, b: e.binary("and", a, b), answers)


def first_of(e: LaneEmitter, affine: Affine) -> Register:
    """The index of iteration 0."""
    first = number(affine.offset)
    for invariant in affine.invariants:
        first = memory.add(e, invariant, first)
    return first


def _rising(e: LaneEmitter, first: Register, size: Register) -> tuple[Register, Register]:
    """From which iteration, and up to which, ``first + iteration`` is within a size."""
    known = memory.literal(first)
    if known is None:
        return e.intrinsic("ssub.sat", number(0), first), e.intrinsic("ssub.sat", size, first)
    if known >= 0:
        return number(0), memory.subtract(e, size, first)
    return number(-known), e.intrinsic("ssub.sat", size, first)


def _falling(e: LaneEmitter, first: Register, size: Register) -> tuple[Register, Register]:
    """From which iteration, and up to which, ``first - iteration`` is within a size."""
    less = memory.subtract(e, size, number(1))
    return e.intrinsic("ssub.sat", first, less), e.intrinsic("sadd.sat", first, number(1))


def _fits(e: LaneEmitter, affine: Affine, first: Register, size: Register, last: Register) -> list[Register]:
    """Whether the index of the first iteration, and that of the last, are within a size."""
    end = first
    if affine.slope:
        end = memory.add(e, end, memory.multiply(e, last, number(affine.slope)))
    if affine.step is not None:
        end = memory.add(e, end, memory.multiply(e, last, affine.step))
    fits = [e.icmp("ult", first, size)]
    if end is not first:
        fits.append(e.icmp("ult", end, size))
    return fits


def are_small(e: LaneEmitter, numbers: list[Register]) -> Register:
    """Whether all have 32 bits: then sums of a few, and of products of two, have 64."""
    union: Register | None = None
    for value in numbers:
        moved = memory.add(e, value, number(1 << 31))
        union = moved if union is None else e.binary("or", union, moved)
    assert union is not None
    return e.icmp("ult", union, number(1 << 32))


def affine_of(fn: EmittedFunction, scalar: Scalar) -> Affine | None:
    """How an index moves over the iterations of the fast loop being emitted; None where that is not known."""
    iterations = fn.scope.iterations
    if iterations is None:
        return None
    known = memory.literal(scalar.register)
    if known is not None:
        return Affine(offset=known) if abs(known) < LARGE else None
    return Affine((scalar.register,)) if iterations.is_outside(scalar.register) else scalar.affine


def added(a: Affine | None, b: Affine | None, sign: int = 1) -> Affine | None:
    """A sum, or a difference of which the second has no invariants."""
    if a is None or b is None or (sign < 0 and (b.invariants or b.step is not None)):
        return None
    if (a.step is not None and b.step is not None) or len(a.invariants) + len(b.invariants) > 4:
        return None
    slope, offset = a.slope + sign * b.slope, a.offset + sign * b.offset
    if abs(slope) >= LARGE or abs(offset) >= LARGE:
        return None
    return Affine((*a.invariants, *b.invariants), slope, offset, a.step or b.step)


def scaled(a: Affine | None, b: Affine | None) -> Affine | None:
    """A product with a literal, or of the iteration with an invariant."""
    for x, y in ((a, b), (b, a)):
        if x is None or y is None or x.step is not None or y.step is not None or y.slope or x.invariants:
            continue
        if not y.invariants and abs(y.offset * x.slope) < LARGE and abs(x.offset * y.offset) < LARGE:
            return Affine((), x.slope * y.offset, x.offset * y.offset)
        if len(y.invariants) == 1 and not y.offset and (x.slope, x.offset) == (1, 0):
            return Affine(step=y.invariants[0])
    return None


def checked_index(fn: EmittedFunction, scalar: Scalar, size: Register, node: Node) -> Register:
    """An index into an axis, counted from the end if negative; leaves the function where it is out of range."""
    e = fn.e
    affine, iterations = affine_of(fn, scalar), fn.scope.iterations
    if iterations is not None and affine is not None and iterations.is_outside(size):
        if iterations.may_need(affine):
            iterations.needs[affine, size] = None
        if (affine, size) in iterations.needs:
            is_moving = iterations.moving is not None and iterations.moving[1] is affine
            return scalar.register if is_moving and affine.step is not None else _index_of(fn, affine)
    index, known = scalar.register, memory.literal(scalar.register)
    if known is not None and known >= 0:
        fn.exits.fail_if(e.icmp("sge", number(known), size), node)
        return index
    if e.lanes == 1 and known is None:
        return _usual_index(fn, index, size, node)
    negative = e.icmp("slt", index, number(0))
    wrapped = e.select(negative, e.binary("add", index, size), index)
    fn.exits.fail_if(e.icmp("uge", wrapped, size), node)
    return wrapped


def _usual_index(fn: EmittedFunction, index: Register, size: Register, node: Node) -> Register:
    """The same with what is rare out of the way: one comparison where the index counts from the front."""
    e = fn.e
    odd, fine, before = e.label("odd"), e.label("fine"), e.label("before")
    e.branch(before)
    e.start(before)
    e.raw(f"br i1 {e.icmp('ult', index, size)}, label %{fine}, label %{odd}, !prof !21")
    e.start(odd)
    wrapped = e.binary("add", index, size)
    fn.exits.fail_if(e.icmp("uge", e.select(e.icmp("slt", index, number(0)), wrapped, index), size), node)
    end = e.block
    e.branch(fine)
    e.start(fine)
    position = Register(e.name("at"), "i64", 1)
    e.phi(position.text, position, [(index, before), (wrapped, end)])
    return position


def _index_of(fn: EmittedFunction, affine: Affine) -> Register:
    """The index again, from what it is made of, in arithmetic that is known not to wrap."""
    e = fn.e
    iterations = fn.scope.iterations
    assert iterations is not None
    start = number(affine.offset)
    for invariant in affine.invariants:
        start = memory.add(e, invariant, start)
    if affine.slope:
        start = memory.add(e, start, memory.multiply(e, iterations.index, number(affine.slope), " nsw"), " nsw")
    if affine.step is not None:
        start = memory.add(e, start, memory.multiply(e, iterations.index, affine.step, " nsw"), " nsw")
    return start
