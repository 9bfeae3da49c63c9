"""Builds the body of a thread-mapped kernel: fresh names, nested bodies, unrolled folds."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

from flambeau.codegen.cuda.mapped import (
    WARP,
    Assign,
    AtomicAdd,
    Barrier,
    For,
    If,
    Index,
    Operand,
    Read,
    ReadVector,
    Shuffle,
    Special,
    Statement,
    Var,
    Write,
    WriteVector,
)
from flambeau.codegen.kernel.dtypes import element_type
from flambeau.codegen.kernel.nest import Const, Let, Number
from flambeau.codegen.kernel.opset import result_dtype

State = list[str]
"""Names of a fold's value, and of its position for argmax and argmin; a position below zero means none yet."""


class Builder:
    """Collects statements."""

    def __init__(self) -> None:
        self.dtypes: dict[str, str] = {}
        self._bodies: list[list[Statement]] = [[]]
        self._count = 0

    @property
    def body(self) -> tuple[Statement, ...]:
        """What was added so far."""
        return tuple(self._bodies[0])

    def fresh(self, dtype: str = "int64") -> str:
        """A new name."""
        name = f"%{self._count}"
        self._count += 1
        self.dtypes[name] = dtype
        return name

    def add(self, statement: Statement) -> None:
        """Append a statement."""
        self._bodies[-1].append(statement)

    @contextmanager
    def inside(self) -> Iterator[list[Statement]]:
        """Collect the statements of a nested body."""
        self._bodies.append([])
        yield self._bodies[-1]
        self._bodies.pop()

    @contextmanager
    def loop(self, start: Operand, stop: Operand, step: Operand) -> Iterator[str]:
        """``for`` over what is added inside; gives the index."""
        index = self.fresh()
        with self.inside() as body:
            yield index
        self.add(For(index, start, stop, step, tuple(body)))

    @contextmanager
    def when(self, condition: str) -> Iterator[None]:
        """``if`` around what is added inside."""
        with self.inside() as body:
            yield
        self.add(If(condition, tuple(body)))

    # --- values

    def special(self, what: str) -> str:
        """``thread``, ``block`` or ``blocks``."""
        name = self.fresh()
        self.add(Special(name, what))
        return name

    def index(self, op: str, a: Operand, b: Operand) -> Operand:
        """Index arithmetic, done here where both are literals or one changes nothing."""
        if (op, b) in (("add", 0), ("mul", 1), ("div", 1)):
            return a
        if (op, a) in (("add", 0), ("mul", 1)):
            return b
        if (op, b) == ("rem", 1):
            return 0
        name = self.fresh("bool" if op in ("lt", "eq") else "int64")
        self.add(Index(name, op, (a, b)))
        return name

    def test(self, op: str, a: Operand, b: Operand) -> str:
        """A comparison of indices."""
        name = self.fresh("bool")
        self.add(Index(name, op, (a, b)))
        return name

    def const(self, value: Number, dtype: str) -> str:
        name = self.fresh(dtype)
        self.add(Const(name, dtype, value))
        return name

    def let(self, op: str, *args: str) -> str:
        """A scalar operation."""
        dtype = result_dtype(op, tuple(self.dtypes[a] for a in args))
        name = self.fresh(dtype)
        self.add(Let(name, dtype, op, args))
        return name

    def cast(self, value: str, dtype: str) -> str:
        name = self.fresh(dtype)
        self.add(Let(name, dtype, "cast", (value,)))
        return name

    def read(self, memory: str, dtype: str, *at: Operand) -> str:
        name = self.fresh(dtype)
        self.add(Read(name, dtype, memory, at))
        return name

    def write(self, memory: str, value: str, *at: Operand) -> None:
        self.add(Write(memory, at, value))

    def atomic_add(self, memory: str, value: str, *at: Operand) -> None:
        self.add(AtomicAdd(memory, at, value))

    def read_vector(self, memory: str, dtype: str, count: int, dimension: int, *at: Operand) -> list[str]:
        """Neighbours along a dimension."""
        names = [self.fresh(dtype) for _ in range(count)]
        self.add(ReadVector(tuple(names), dtype, memory, at, dimension))
        return names

    def write_vector(self, memory: str, values: list[str], dimension: int, *at: Operand) -> None:
        self.add(WriteVector(memory, at, tuple(values), dimension))

    def var(self, initial: Operand, dtype: str) -> str:
        name = self.fresh(dtype)
        self.add(Var(name, dtype, initial))
        return name

    def assign(self, var: str, value: str) -> None:
        self.add(Assign(var, value))

    def barrier(self) -> None:
        self.add(Barrier())

    # --- folds

    def identity(self, reducer: str, dtype: str) -> State:
        """The state that has met no value."""
        value = self.const(identity_value(reducer, dtype), dtype)
        return [value, self.const(-1, "int64")] if is_positional(reducer) else [value]

    def combine(self, reducer: str, a: State, b: State) -> State:
        """The state that has met what ``a`` has, then what ``b`` has."""
        if is_positional(reducer):
            return self._combine_positional(reducer, a, b)
        if reducer == "maxnum":
            return [self.let("select", self.let("lt", a[0], b[0]), b[0], a[0])]
        return [self.let(_OPERATION[reducer], a[0], b[0])]

    def _better(self, reducer: str, new: str, old: str) -> str:
        """Whether ``new`` beats ``old``; a nan beats every number."""
        greater = reducer == "argmax"
        if not element_type(self.dtypes[new]).is_float:
            return self.let("gt" if greater else "lt", new, old)
        ahead = self.let("logical_not", self.let("le" if greater else "ge", new, old))
        return self.let("logical_and", ahead, self.let("eq", old, old))

    def _combine_positional(self, reducer: str, a: State, b: State) -> State:
        zero = self.const(0, "int64")
        tie = self.let("logical_not", self._better(reducer, a[0], b[0]))
        tie = self.let("logical_and", tie, self.let("lt", b[1], a[1]))
        take = self.let("logical_or", self._better(reducer, b[0], a[0]), tie)
        take = self.let("logical_and", take, self.let("ge", b[1], zero))
        take = self.let("logical_or", take, self.let("lt", a[1], zero))
        return [self.let("select", take, x, y) for x, y in zip(b, a, strict=True)]

    def fold_states(self, reducer: str, states: list[State]) -> State:
        """Several states folded in a fixed tree."""
        while len(states) > 1:
            half = (len(states) + 1) // 2
            rest = [self.combine(reducer, a, b) for a, b in zip(states, states[half:], strict=False)]
            states = rest + states[len(rest) : half]
        return states[0]

    def fold_warp(self, reducer: str, state: State) -> State:
        """The states of a warp folded in a fixed tree; every thread gets lane 0's answer."""
        lanes = WARP // 2
        while lanes:
            state = self.combine(reducer, state, [self._shuffle("down", v, lanes) for v in state])
            lanes //= 2
        return [self._shuffle("from", v, 0) for v in state]

    def scan_warp(self, reducer: str, state: State, lane: Operand) -> State:
        """For each thread of a warp the states of the threads up to it, folded."""
        step = 1
        while step < WARP:
            joined = self.combine(reducer, [self._shuffle("up", v, step) for v in state], state)
            is_first = self.test("lt", lane, step)
            state = [self.let("select", is_first, own, both) for own, both in zip(state, joined, strict=True)]
            step *= 2
        return state

    def before_in_warp(self, reducer: str, state: State, lane: Operand) -> State:
        """The state of the thread before; for the first of a warp the state that has met nothing."""
        is_first = self.test("eq", lane, 0)
        start = self.identity(reducer, self.dtypes[state[0]])
        moved = [self._shuffle("up", v, 1) for v in state]
        return [self.let("select", is_first, none, v) for none, v in zip(start, moved, strict=True)]

    def last_of_warp(self, state: State) -> State:
        """The state of a warp's last thread."""
        return [self._shuffle("from", v, WARP - 1) for v in state]

    def _shuffle(self, how: str, value: str, lane: int) -> str:
        name = self.fresh(self.dtypes[value])
        self.add(Shuffle(name, self.dtypes[value], how, value, lane))
        return name


_OPERATION = {
    "sum": "add",
    "prod": "mul",
    "max": "maximum",
    "min": "minimum",
    "any": "logical_or",
    "all": "logical_and",
}


def is_positional(reducer: str) -> bool:
    """Whether a fold's state keeps a position."""
    return reducer in ("argmax", "argmin")


def identity_value(reducer: str, dtype: str) -> Number:
    """The value of the state that has met none."""
    t = element_type(dtype)
    if reducer in ("sum", "prod"):
        one = reducer == "prod"
        return float(one) if t.is_float else int(one)
    smallest = reducer in ("min", "argmin", "all")
    if t.kind == "bool":
        return smallest
    if t.is_float:
        return math.inf if smallest else -math.inf
    if t.kind == "uint":
        return (1 << t.bits) - 1 if smallest else 0
    return (1 << (t.bits - 1)) - 1 if smallest else -(1 << (t.bits - 1))
