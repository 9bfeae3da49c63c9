"""Indexes that move evenly over a loop's turns, and are checked once for all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.codegen.whole import memory
from flambeau.codegen.whole.memory import number
from flambeau.codegen.whole.values import Affine, Scalar
from flambeau.ir.node import Node
from flambeau.util.record import dataclass, field

if TYPE_CHECKING:
    from flambeau.codegen.whole.function import FunctionEmitter


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


def stays_within(fn: FunctionEmitter, turns: Turns, trip: Register) -> Register:
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
    if (a.step is not None and b.step is not None) or len(a.invariants) + len(b.invariants) > 4:
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
