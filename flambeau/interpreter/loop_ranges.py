"""Which sums and products of a loop stay within 64 bits, provided that what comes in is small.

    for i in range(n):                     n, i and s within [-2**31, 2**31] at the start:
        s = (s * 31 + i) % 1000003             s within [-2**31, 2**31] in every iteration, s * 31 + i within 64 bits

Ranges are those of Python's own, unbounded sums; one that may leave 64 bits gives a number of which nothing is known.
What a loop carries is taken for as large as at the start, then for as large as iterations can make it: a number to
which every iteration adds a bounded one grows by the trip count times that, any other is what an iteration makes of it.
A guess counts once an iteration keeps to it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from itertools import count
from typing import Any, Final, NamedTuple

from flambeau.interpreter.code import LOOPS, Code, Instruction, Op
from flambeau.interpreter.loop_structure import (
    NotTranslatedError,
    Straight,
    blocks_inside,
    constants,
    end_of_round,
    ends_round,
    operands,
    results,
    written_in,
)  # fmt: skip
from flambeau.ops.language import int64
from flambeau.ops.language.int64 import MAX, MIN
from flambeau.ops.language.structural import derive_index

BOUNDS: Final = (1 << 31, 1 << 20, 1 << 15)
"""What numbers may be assumed to lie within at the start: the largest comes first."""
_FUEL: Final = 4_000
"""Instructions looked at, some of them again and again, before a loop is given up."""
_GUESSES: Final = 3
"""Ways of taking what a loop carries before nothing is taken to be known of it."""

Origin = tuple[int, int]
"""A register at the start of an iteration of the loop with this head."""


class Range(NamedTuple):
    """An int of 64 bits, and how far it is from what a register held at the start of an iteration."""

    low: int
    high: int
    origin: Origin | None = None
    least: int = 0
    most: int = 0


State = dict[int, Range | None]
_OPPOSITE: Final[dict[Any, Any]] = {
    operator.lt: operator.ge, operator.le: operator.gt, operator.gt: operator.le, operator.ge: operator.lt,
}  # fmt: skip
"""Comparisons that bound their operands, and what holds where they do not."""


class Small(NamedTuple):
    """What small numbers at the start prove of a loop."""

    bound: int
    unchecked: frozenset[int]
    """Identities of the instructions whose results stay within 64 bits."""
    numbers: frozenset[int]
    """The registers that must hold ints within the bound, as far as they are read before they are written."""


def prove(code: Code, head: int) -> Small | None:
    """The largest bound that proves most; None where nothing is proven, or where it takes too long to find out."""
    analysis = _Analysis(code, head)
    best: Small | None = None
    try:
        for bound in BOUNDS:
            small = analysis.under(bound)
            if len(small.unchecked) > (len(best.unchecked) if best is not None else 0):
                best = small
            if all(analysis.proven.values()):
                break
    except NotTranslatedError:
        pass
    return best


class _Analysis:
    """A walk over a loop, through inner loops again and again until nothing changes."""

    def __init__(self, code: Code, head: int) -> None:
        self.code = code
        self.head = head
        self.proven: dict[int, bool] = {}
        """By an instruction's identity: whether its result stayed within 64 bits when it was looked at last."""
        self._fixed = {register: Range(int(value), int(value)) for register, value in constants(code).items()}
        self._numbers = _numbers(code, head) - self._fixed.keys()
        self._start = Range(0, 0)
        self._fuel = _FUEL
        self._loops: dict[int, tuple[Instruction, Straight, frozenset[int]]] = {}
        """By their heads: ends of iterations, what is before them in the block, and what iterations write."""

    def under(self, bound: int) -> Small:
        """What is proven by one bound. Raises NotTranslatedError for a loop that takes too long to look at."""
        self._start = Range(-bound, bound)
        self._fuel = _FUEL
        self.loop(self.head, None, (), {})
        unchecked = frozenset(identity for identity, is_proven in self.proven.items() if is_proven)
        return Small(bound, unchecked, frozenset(self._numbers))

    def _loop_of(self, head: int) -> tuple[Instruction, Straight, frozenset[int]]:
        if head not in self._loops:
            self._loops[head] = (*end_of_round(self.code, head), frozenset(written_in(self.code, head)))
        return self._loops[head]

    def _value(self, state: State, register: int) -> Range | None:
        if register in state:
            return state[register]
        return self._fixed.get(register, self._start if register in self._numbers else None)

    # -- control ------------------------------------------------------------------------------------------------------

    def loop(self, head: int, entry: Instruction | None, before: Straight, state: State) -> None:
        """A loop whose iterations start in one state, which its entry tests; afterwards, the state behind it."""
        back, ending, written = self._loop_of(head)
        op, d = back[:2]
        inside = dict(state)
        counter: State = {}
        trip_count = None
        if op is Op.WHILE:
            if entry is not None:
                self._narrow(before, d, inside, holds=True)
        else:
            trip_count, counter[d] = self._count(back, written, state, is_entered=entry is not None)
            written -= {d}
        first = {r: self._value(inside, r) for r in written}
        guess: State = {r: _from_here(value, (r, head)) for r, value in first.items()}
        for attempt in count():
            end: State = {**inside, **guess, **counter}
            self._walk(head, -1, head, end)
            behind = dict(end)
            if op is Op.WHILE:
                self._narrow(ending, d, end, holds=True)
            grown = {
                r: _over_iterations(first[r], guess[r], self._value(end, r), trip_count, (r, head)) for r in written
            }
            if grown == guess:
                break
            if attempt >= _GUESSES:
                grown = {r: v if v == guess[r] and attempt == _GUESSES else None for r, v in grown.items()}
            guess = grown
        state.update({
            r: _behind(self._value(state, r), self._value(behind, r), trip_count, (r, head)) for r in written
        })  # fmt: skip
        state.update(dict.fromkeys(counter))

    def _count(
        self, back: Instruction, written: frozenset[int], state: State, *, is_entered: bool
    ) -> tuple[int | None, Range | None]:
        """How many iterations there are at most, and what the counter is in them."""
        _, d, _, a, _, _ = back
        first, limit = self._value(state, d), self._value(state, a)
        if {d, a} & written or first is None or limit is None:
            return None, None
        low = first.low + is_entered
        return max(0, limit.high - low), Range(low, max(low, limit.high - 1))

    def _walk(self, block: int, stop: int, head: int, state: State) -> None:
        """Blocks from one on, up to another or to the end of an iteration."""
        while block != stop:
            straight, last = self.code.blocks[block]
            self._fuel -= len(straight) + 1
            if self._fuel < 0:
                raise NotTranslatedError("too much to look at")
            for instruction in straight:
                self._instruction(instruction, state)
            op, d, f, a, b, _ = last
            if op is Op.JUMP:
                block = a
            elif op is Op.BRANCH:
                other = dict(state)
                for arm, way, holds in ((a, state, True), (b, other, False)):
                    self._narrow(straight, d, way, holds=holds)
                    self._walk(arm, f, head, way)
                for r in {*state, *other}:
                    state[r] = _either(self._value(state, r), self._value(other, r))
                block = f
            elif op in LOOPS:
                if ends_round(last, head):
                    return
                self.loop(b[0], last, straight, state)
                block = b[1]
            else:
                raise NotTranslatedError(op.name)

    def _narrow(self, straight: Straight, condition: int, state: State, *, holds: bool) -> None:
        """What a comparison at the end of a block says of the numbers that it compares."""
        if not straight:
            return
        op, d, compare, a, b, _ = straight[-1]
        opposite = _opposite(compare)
        if op is not Op.CALL2 or opposite is None or d != condition or d in (a, b):
            return
        compare = compare if holds else opposite
        if compare in (operator.gt, operator.ge):
            a, b = b, a
        x, y = self._value(state, a), self._value(state, b)
        if x is None or y is None:
            return
        gap = 1 if compare in (operator.lt, operator.gt) else 0
        if x.low <= y.high - gap:
            state[a] = x._replace(high=min(x.high, y.high - gap))
            state[b] = y._replace(low=max(y.low, x.low + gap))

    # -- instructions -------------------------------------------------------------------------------------------------

    def _instruction(self, instruction: Instruction, state: State) -> None:
        op, d, _, a, _, _ = instruction
        rule = _rule(instruction)
        if op is Op.MOVE:
            state[d] = self._value(state, a)
        elif op is Op.MOVES:
            state.update(zip(d, [self._value(state, r) for r in a], strict=True))
        elif rule is not None:
            result = rule(*[self._value(state, r) for r in operands(instruction)])
            state[d] = result if result is not None and MIN <= result.low <= result.high <= MAX else None
            self.proven[id(instruction)] = state[d] is not None
        else:
            state.update(dict.fromkeys(results(instruction)))


def _numbers(code: Code, head: int) -> set[int]:
    """Registers that hold ints: operands of arithmetic, what is moved there, and what is compared with these."""
    numbers: set[int] = set()
    links: list[tuple[int, int]] = []
    for straight, last in blocks_inside(code, head):
        for instruction in straight:
            op, d, f, a, b, _ = instruction
            if op is Op.MOVE:
                links.append((d, a))
            elif op is Op.MOVES:
                links += zip(d, a, strict=True)
            elif op is Op.CALL2 and _opposite(f) is not None:
                links += [(a, b), (b, a)]
            elif _rule(instruction) is not None:
                numbers.update(operands(instruction))
        if last[0] in (Op.FOR, Op.LOOP):
            numbers |= {last[1], last[3]}
    size = -1
    while size != len(numbers):
        size = len(numbers)
        numbers.update(source for target, source in links if target in numbers)
    return numbers


# -- of ranges --------------------------------------------------------------------------------------------------------


def _from_here(value: Range | None, origin: Origin) -> Range | None:
    return None if value is None else Range(value.low, value.high, origin)


def _either(x: Range | None, y: Range | None) -> Range | None:
    if x is None or y is None:
        return None
    low, high = min(x.low, y.low), max(x.high, y.high)
    if x.origin is None or x.origin != y.origin:
        return Range(low, high)
    return Range(low, high, x.origin, min(x.least, y.least), max(x.most, y.most))


def _over_iterations(
    first: Range | None, guess: Range | None, end: Range | None, trip_count: int | None, origin: Origin
) -> Range | None:
    """What a register holds at the start of an iteration, if iterations that start with a guess end so."""
    if first is None or guess is None or end is None:
        return None
    if trip_count is not None and end.origin == origin:
        low, high = first.low + trip_count * min(0, end.least), first.high + trip_count * max(0, end.most)
        return Range(low, high, origin) if MIN <= low <= high <= MAX else None
    return Range(min(first.low, guess.low, end.low), max(first.high, guess.high, end.high), origin)


def _behind(first: Range | None, end: Range | None, trip_count: int | None, origin: Origin) -> Range | None:
    """What a register holds behind a loop: what it held before, where there was no iteration, or at the end of one."""
    if first is None or end is None:
        return None
    if trip_count is not None and end.origin == origin:
        return _added(first, Range(trip_count * min(0, end.least), trip_count * max(0, end.most)))
    return _either(first, end)


def _added(x: Range | None, y: Range | None) -> Range | None:
    if x is None or y is None:
        return None
    if x.origin is None and y.origin is not None:
        x, y = y, x
    return Range(x.low + y.low, x.high + y.high, x.origin, x.least + y.low, x.most + y.high)


def _negated(x: Range | None) -> Range | None:
    return None if x is None else Range(-x.high, -x.low)


def _subtracted(x: Range | None, y: Range | None) -> Range | None:
    return _added(x, _negated(y)) if x is not None else None


def _multiplied(x: Range | None, y: Range | None) -> Range | None:
    if x is None or y is None:
        return None
    corners = [a * b for a in (x.low, x.high) for b in (y.low, y.high)]
    return Range(min(corners), max(corners))


def _divided(x: Range | None, y: Range | None) -> Range | None:
    """A divisor of zero gives nothing."""
    if x is None:
        return None
    if y is not None and y.low > 0:
        corners = [a // b for a in (x.low, x.high) for b in (y.low, y.high)]
        return Range(min(corners), max(corners))
    largest = max(abs(x.low), abs(x.high))
    return Range(-largest, largest)


def _remainder(x: Range | None, y: Range | None) -> Range | None:
    """Nearer to zero than the divisor, and on its side."""
    if y is None:
        return None
    least, most = min(0, y.low + 1), max(0, y.high - 1)
    return Range(least, min(most, x.high) if x is not None and x.low >= 0 <= y.low else most)


def _and(x: Range | None, y: Range | None) -> Range | None:
    """As large as the smaller one, where one is not negative."""
    bounds = [r.high for r in (x, y) if r is not None and r.low >= 0]
    return Range(0, min(bounds)) if bounds else None


def _bits(x: Range | None, y: Range | None) -> Range | None:
    """As many bits as the longer one."""
    if x is None or y is None:
        return None
    limit = 1 << max(end.bit_length() for end in (x.low, x.high, y.low, y.high))
    return Range(0 if min(x.low, y.low) >= 0 else -limit, limit - 1)


def _shifted_right(x: Range | None, y: Range | None) -> Range | None:
    if x is None:
        return None
    if y is None or y.low < 0:
        return Range(min(0, x.low), max(0, x.high))
    ends = [a >> min(b, 63) for a in (x.low, x.high) for b in (y.low, y.high)]
    return Range(min(ends), max(ends))


def _shifted_left(x: Range | None, y: Range | None) -> Range | None:
    if x is None or y is None or not 0 <= y.low <= y.high < 64:
        return None
    return _multiplied(x, Range(1 << y.low, 1 << y.high))


def _absolute(x: Range | None) -> Range | None:
    return None if x is None else Range(0, max(abs(x.low), abs(x.high)))


def _index(index: Range | None, start: Range | None, step: Range | None) -> Range | None:
    return _added(start, _multiplied(index, step))


_RULES: Final[dict[int, Callable[..., Range | None]]] = {
    id(function): rule
    for function, rule in (
        (int64.add, _added), (int64.sub, _subtracted), (int64.mul, _multiplied), (int64.neg, _negated),
        (int64.floordiv, _divided), (int64.remainder, _remainder), (int64.absolute, _absolute),
        (int64.lshift, _shifted_left), (int64.rshift, _shifted_right), (operator.and_, _and), (operator.or_, _bits),
        (operator.xor, _bits), (derive_index, _index),
    )
}  # fmt: skip
"""What operators give, by the identities of their kernels."""


def _opposite(compare: Any) -> Any:
    return next((o for c, o in _OPPOSITE.items() if c is compare), None)


def _rule(instruction: Instruction) -> Callable[..., Range | None] | None:
    op, _, f, _, _, _ = instruction
    if op is Op.ADD:
        return _added
    return _RULES.get(id(f)) if op in (Op.CALL1, Op.CALL2, Op.CALL3) else None
