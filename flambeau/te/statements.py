"""The statements of a loop nest: loops, stores, conditions and local memory, as a tree that schedules change.

A body is a list of statements; local memory lives to the end of the body in which it is allocated.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from flambeau.te.expressions import Buffer, Expr, Load, Op, Var
from flambeau.te.linear import simplify
from flambeau.te.tensors import Tensor
from flambeau.util.record import dataclass

SERIAL, VECTOR, UNROLL, PARALLEL, BLOCK, THREAD = "serial", "vector", "unroll", "parallel", "block", "thread"


@dataclass(slots=True, eq=False, repr=False)
class Loop:
    """`for var in start .. stop`; stop is not reached.

    >>> from flambeau import te
    >>> nest = te.LoopNest(te.compute("B", (4, 10), lambda i, j: i * j))
    >>> outer, inner = nest.split("j", 4)
    >>> inner
    serial loop j_inner from 0 to 4
    """

    var: Var
    start: Expr
    stop: Expr
    body: list[Statement]
    kind: str = SERIAL
    reduces: bool = False
    """Whether it goes along what a reduction puts together."""

    @property
    def extent(self) -> Expr:
        """How many iterations it has."""
        return simplify(self.stop - self.start)

    @property
    def name(self) -> str:
        """What its index is called."""
        return self.var.name

    def __repr__(self) -> str:
        return f"{self.kind} loop {self.name} from {self.start} to {self.stop}"


@dataclass(slots=True, eq=False)
class Store:
    """`buffer[indices] = value`, or what is there and the value put together."""

    buffer: Buffer
    indices: tuple[Expr, ...]
    value: Expr
    reducer: str = ""
    tensor: Tensor | None = None
    """Whose elements it computes; None for copies."""
    is_wide: bool = False
    """Whether it may write back elements that other iterations compute."""


@dataclass(slots=True, eq=False)
class When:
    """`if condition`."""

    condition: Expr
    body: list[Statement]


@dataclass(slots=True, eq=False)
class Allocate:
    """Local memory, from here to the end of the body."""

    buffer: Buffer


Statement: TypeAlias = Loop | Store | When | Allocate
Body: TypeAlias = list[Statement]


def walk(body: Body) -> Iterator[Statement]:
    """Every statement, one that holds others before these."""
    for s in body:
        yield s
        if isinstance(s, Loop | When):
            yield from walk(s.body)


def loops_of(body: Body) -> list[Loop]:
    """The loops of a body, those inside others too."""
    return [s for s in walk(body) if isinstance(s, Loop)]


def path_to(body: Body, wanted: Statement) -> list[Loop | When] | None:
    """What a statement lies in, outermost first; None where it does not lie in the body."""
    for s in body:
        if s is wanted:
            return []
        if isinstance(s, Loop | When):
            inner = path_to(s.body, wanted)
            if inner is not None:
                return [s, *inner]
    return None


def expressions_of(s: Statement) -> tuple[Expr, ...]:
    """The expressions that a statement itself has."""
    if isinstance(s, Loop):
        return s.start, s.stop
    if isinstance(s, Store):
        return *s.indices, s.value
    return (s.condition,) if isinstance(s, When) else s.buffer.shape


def loads_in(e: Expr) -> Iterator[Load]:
    """The elements that an expression reads."""
    if isinstance(e, Load):
        yield e
    parts = e.args if isinstance(e, Op) else e.indices if isinstance(e, Load) else ()
    for part in parts:
        yield from loads_in(part)


def reads(body: Body) -> Iterator[Load]:
    """The elements that statements read, those that a reduction stores into not counted."""
    for s in walk(body):
        for e in expressions_of(s):
            yield from loads_in(e)


def stores(body: Body) -> list[Store]:
    """The stores of a body."""
    return [s for s in walk(body) if isinstance(s, Store)]


def substituted(e: Expr, values: Mapping[Var, Expr]) -> Expr:
    """An expression with variables replaced."""
    if isinstance(e, Var):
        return values.get(e, e)
    if isinstance(e, Op):
        return Op(e.op, tuple(substituted(a, values) for a in e.args), e.dtype)
    if isinstance(e, Load):
        return Load(e.buffer, tuple(substituted(i, values) for i in e.indices), e.checked)
    return e


def replace_in(body: Body, values: Mapping[Var, Expr]) -> None:
    """Replace variables in statements."""
    for s in walk(body):
        if isinstance(s, Loop):
            s.start, s.stop = (simplify(substituted(e, values)) for e in (s.start, s.stop))
        elif isinstance(s, Store):
            s.indices = tuple(simplify(substituted(i, values)) for i in s.indices)
            s.value = simplify(substituted(s.value, values))
        elif isinstance(s, When):
            s.condition = simplify(substituted(s.condition, values))
        else:
            s.buffer.shape = tuple(simplify(substituted(e, values)) for e in s.buffer.shape)


def with_loads(e: Expr, other: Mapping[Buffer, Buffer], offsets: Mapping[Buffer, tuple[Expr, ...]]) -> Expr:
    """An expression that reads other buffers in place of some, so much further in front along each dimension."""
    if isinstance(e, Op):
        return Op(e.op, tuple(with_loads(a, other, offsets) for a in e.args), e.dtype)
    if isinstance(e, Load):
        indices = tuple(with_loads(i, other, offsets) for i in e.indices)
        if e.buffer in other:
            moved = tuple(i - o for i, o in zip(indices, offsets[e.buffer], strict=True))
            return Load(other[e.buffer], moved, e.checked)
        return Load(e.buffer, indices, e.checked)
    return e
