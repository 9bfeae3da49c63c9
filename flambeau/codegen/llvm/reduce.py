"""Carried states of reductions: how they start, fold a value in, and come together across lanes in a fixed tree."""

from __future__ import annotations

import math

from flambeau.codegen.kernel.dtypes import ElementType
from flambeau.codegen.llvm.arith_float import extremum
from flambeau.codegen.llvm.emitter import Emitter, Value, float_constant, int_constant

State = list[Value]
"""One value, or a value and its position for argmax and argmin; a position below zero means none yet."""


def is_positional(reducer: str) -> bool:
    """Whether the state keeps a position."""
    return reducer in ("argmax", "argmin")


def identity(reducer: str, t: ElementType, lanes: int) -> State:
    """The state that has met no value."""
    if t.is_float:
        number = {"sum": 0.0, "prod": 1.0, "min": math.inf, "argmin": math.inf}.get(reducer, -math.inf)
        start = float_constant(number, t.llvm, lanes)
    else:
        start = int_constant(_integer_start(reducer, t), t.llvm, lanes)
    return [start, int_constant(-1, "i64", lanes)] if is_positional(reducer) else [start]


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
    greater = reducer == "argmax"
    if not t.is_float:
        return e.icmp(("s" if t.kind == "int" else "u") + ("gt" if greater else "lt"), new, old)
    # Unordered or better, unless the old one is a nan already.
    ahead = e.fcmp("ugt" if greater else "ult", new, old)
    return e.binary("and", ahead, e.fcmp("ord", old, old))


def fold_positional(e: Emitter, reducer: str, t: ElementType, state: State, value: State) -> State:
    """``combine`` for a value that comes after all that the state has met: the first of equals stays."""
    empty = e.icmp("slt", state[1], e.like(state[1], 0))
    take = e.binary("or", empty, _better(e, reducer, t, value[0], state[0]))
    return [e.select(take, value[0], state[0]), e.select(take, value[1], state[1])]


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
    while state[0].lanes > 2:
        half = state[0].lanes // 2
        state = combine(e, reducer, t, [e.part(v, 0, half) for v in state], [e.part(v, half, half) for v in state])
    if state[0].lanes == 1:
        return state
    ends = [[e.define(f"extractelement {v.full_type} {v}, i64 {k}", v.type, 1) for v in state] for k in (0, 1)]
    return combine(e, reducer, t, ends[0], ends[1])
