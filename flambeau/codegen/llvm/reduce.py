"""Carried states of reductions: how they start, fold a value in, and come together across lanes in a fixed tree."""

from __future__ import annotations

import math

from flambeau.codegen.kernel.dtypes import ElementType
from flambeau.codegen.kernel.nest import Accumulate, Loop, Position, Statement, walk
from flambeau.codegen.llvm.arith_float import extremum
from flambeau.codegen.llvm.emitter import Emitter, Value, float_constant, int_constant

State = list[Value]
"""One value, or a value and its position for argmax and argmin; a position below zero means none yet."""


def plain_places(body: tuple[Statement, ...]) -> set[str]:
    """The carried states whose positions count the iterations of their loops."""
    carries_of_positions: set[str] = set()
    for loop in (s for s in body if isinstance(s, Loop)):
        inner = list(walk((loop,)))
        axes = tuple(a for s in inner if isinstance(s, Loop) for a in s.axes)
        positions = {s.name for s in inner if isinstance(s, Position) and s.axes == axes}
        carries = {c.name for c in loop.carries}
        folds = [s for s in inner if isinstance(s, Accumulate) and s.carry in carries]
        carries_of_positions |= {s.carry for s in folds if s.position in positions}
        carries_of_positions |= plain_places(loop.body)
    return carries_of_positions


def is_positional(reducer: str) -> bool:
    """Whether the state keeps a position."""
    return reducer in ("argmax", "argmin")


def identity(reducer: str, t: ElementType, lanes: int, position: str = "i64") -> State:
    """The state that has met no value; `position` is the type of places."""
    if t.is_float:
        number = {"sum": 0.0, "prod": 1.0, "min": math.inf, "argmin": math.inf}.get(reducer, -math.inf)
        start = float_constant(number, t.llvm, lanes)
    else:
        start = int_constant(_integer_start(reducer, t), t.llvm, lanes)
    return [start, int_constant(-1, position, lanes)] if is_positional(reducer) else [start]


def _integer_start(reducer: str, t: ElementType) -> int:
    if reducer in ("sum", "any"):
        return 0
    if reducer in ("prod", "all"):
        return 1
    smallest = reducer in ("min", "argmin")
    if t.kind == "bool":
        return 1 if smallest else 0
    if t.kind == "uint":
        return (1 << t.bits) - 1 if smallest else 0
    return (1 << (t.bits - 1)) - 1 if smallest else -(1 << (t.bits - 1))


def combine(e: Emitter, reducer: str, t: ElementType, a: State, b: State) -> State:
    """The state that has met what ``a`` and ``b`` have."""
    if is_positional(reducer):
        return _combine_positional(e, reducer, t, a, b)
    x, y = a[0], b[0]
    if reducer in ("sum", "prod"):
        return [e.binary(("f" if t.is_float else "") + ("add" if reducer == "sum" else "mul"), x, y)]
    if reducer in ("any", "all"):
        return [e.binary("or" if reducer == "any" else "and", x, y)]
    if reducer == "maxnum":
        return [e.select(e.fcmp("olt", x, y), y, x)]
    if t.is_float:
        return [extremum(e, "minimum" if reducer == "min" else "maximum", x, y)]
    if t.kind == "bool":
        return [e.binary("and" if reducer == "min" else "or", x, y)]
    return [e.intrinsic(("u" if t.kind == "uint" else "s") + reducer, x, y)]


def _better(e: Emitter, reducer: str, t: ElementType, new: Value, old: Value) -> Value:
    """Whether ``new`` beats ``old``; a nan beats every number."""
    ahead = _ahead(e, reducer, t, new, old)
    return e.binary("and", ahead, e.fcmp("ord", old, old)) if t.is_float else ahead


def _ahead(e: Emitter, reducer: str, t: ElementType, new: Value, old: Value) -> Value:
    """Whether ``new`` beats ``old``, or either is a nan."""
    greater = reducer == "argmax"
    if t.is_float:
        return e.fcmp("ugt" if greater else "ult", new, old)
    return e.icmp(("s" if t.kind == "int" else "u") + ("gt" if greater else "lt"), new, old)


def fold_positional(
    e: Emitter, reducer: str, t: ElementType, state: State, value: State, *, starts_at_first: bool
) -> State:
    """``combine`` for a value that comes after all that the state has met: the first of equals stays.

    `starts_at_first`: the state began with the place of its first value, which therefore need not replace it.
    """
    take = _better(e, reducer, t, value[0], state[0])
    if not starts_at_first:
        take = e.binary("or", e.icmp("slt", state[1], e.like(state[1], 0)), take)
    return [e.select(take, value[0], state[0]), e.select(take, value[1], state[1])]


def is_wide(e: Emitter, state: State) -> bool:
    """Whether a state does not fit into the registers beside what is folded, so that to change it is to go through
    memory."""
    return sum(v.lanes * v.bits for v in state) >= e.target.vector_bits * e.target.vector_registers


def fold_seldom(e: Emitter, reducer: str, t: ElementType, state: State, value: State) -> State:
    """``fold_positional`` for a state that began with the place of its first value: where no lane is ahead, as is so
    for most values of a long fold, nothing is done but to see that."""
    ahead = _ahead(e, reducer, t, value[0], state[0])
    before, better, done = e.block, e.label("better"), e.label("seen")
    e.branch_if(e.any_lane(ahead), better, done)
    e.start(better)
    new = fold_positional(e, reducer, t, state, value, starts_at_first=True)
    after = e.block
    e.branch(done)
    e.start(done)
    joined = []
    for old, one in zip(state, new, strict=True):
        name = e.name("state")
        e.phi(name, old, [(old, before), (one, after)])
        joined.append(Value(name, old.type, old.lanes))
    return joined


def _combine_positional(e: Emitter, reducer: str, t: ElementType, a: State, b: State) -> State:
    zero = e.like(a[1], 0)
    b_better = _better(e, reducer, t, b[0], a[0])
    a_better = _better(e, reducer, t, a[0], b[0])
    tie = e.binary("and", e.binary("xor", a_better, e.like(a_better, 1)), e.icmp("slt", b[1], a[1]))
    take = e.binary("or", b_better, tie)
    take = e.binary("and", take, e.icmp("sge", b[1], zero))
    take = e.binary("or", take, e.icmp("slt", a[1], zero))
    return [e.select(take, b[0], a[0]), e.select(take, b[1], a[1])]


def across_lanes(e: Emitter, reducer: str, t: ElementType, state: State) -> State:
    """The lanes folded in halves down to one scalar."""
    if is_positional(reducer) and state[0].lanes > 1:
        return _first_of_best(e, reducer, t, state)
    while state[0].lanes > 2:
        half = state[0].lanes // 2
        state = combine(e, reducer, t, [e.part(v, 0, half) for v in state], [e.part(v, half, half) for v in state])
    if state[0].lanes == 1:
        return state
    ends = [[e.define(f"extractelement {v.full_type} {v}, i64 {k}", v.type, 1) for v in state] for k in (0, 1)]
    return combine(e, reducer, t, ends[0], ends[1])


def _first_of_best(e: Emitter, reducer: str, t: ElementType, state: State) -> State:
    """The best value of all lanes, then the first place that has it: two plain folds in place of one with places."""
    value, position = state
    is_met = e.icmp("sge", position, e.like(position, 0))
    extreme = "max" if reducer == "argmax" else "min"
    if t.is_float:
        is_nan = e.fcmp("uno", value, value)
        any_nan = e.any_lane(is_nan)
        worst = identity(extreme, t, value.lanes)[0]
        best = _halved(e, e.select(is_nan, worst, value), "ogt" if extreme == "max" else "olt")
        is_best = e.binary("and", e.fcmp("oeq", value, e.splat(best, value.lanes)), is_met)
        is_best = e.select(e.splat(any_nan, value.lanes), is_nan, is_best)
        best = e.select(any_nan, e.like(best, math.nan), best)
    else:
        [best] = across_lanes(e, extreme, t, [value])
        is_best = e.binary("and", e.icmp("eq", value, e.splat(best, value.lanes)), is_met)
    none = 2 ** (position.bits - 1) - 1
    first = _halved(e, e.select(is_best, position, e.like(position, none)), "slt")
    return [best, e.select(e.icmp("eq", first, e.like(first, none)), e.like(first, -1), first)]


def _halved(e: Emitter, value: Value, better: str) -> Value:
    """The lane that compares best, found in halves."""
    compare = e.icmp if better == "slt" else e.fcmp
    while value.lanes > 1:
        half = value.lanes // 2
        if half > 1:
            a, b = e.part(value, 0, half), e.part(value, half, half)
        else:
            vt = value.full_type
            a, b = (e.define(f"extractelement {vt} {value}, i64 {k}", value.type, 1) for k in (0, 1))
        value = e.select(compare(better, a, b), a, b)
    return value


def prefixes(e: Emitter, reducer: str, t: ElementType, value: Value) -> State:
    """In each lane the fold of all lanes up to it, in as many rounds as the number of lanes has bits."""
    [none] = identity(reducer, t, value.lanes)
    if t.is_float and reducer == "sum":  # not zero: lanes moved beside zeros are an instruction that AVX-512 is slow at
        none = float_constant(-0.0, t.llvm, value.lanes)
    state, shift, vt = value, 1, value.full_type
    while shift < value.lanes:
        picks = ", ".join(f"i32 {k - shift if k >= shift else value.lanes + k}" for k in range(value.lanes))
        text = f"shufflevector {vt} {state}, {vt} {none}, <{value.lanes} x i32> <{picks}>"
        [state] = combine(e, reducer, t, [e.define(text, value.type, value.lanes)], [state])
        shift *= 2
    return [state]
