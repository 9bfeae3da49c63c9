"""Which part of a buffer some statements touch, along each dimension from one index on for so many."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from flambeau.te.expressions import Buffer, Expr, Load, Op, Var, integer
from flambeau.te.linear import Linear, conjuncts, constant_of, is_same, linear, simplify
from flambeau.te.proofs import Known, extremes, never_negative
from flambeau.te.statements import Body, Loop, Store, When, expressions_of, loads_in, loops_of, path_to, stores, walk
from flambeau.util.record import dataclass


@dataclass(slots=True, eq=False)
class Region:
    """A part of a buffer."""

    buffer: Buffer
    low: tuple[Expr, ...]
    """The first index of each dimension, in terms of what is outside."""
    size: tuple[Expr, ...]
    is_exact: bool
    """Whether every element of it that the buffer has is touched."""


def region_of(buffer: Buffer, body: Body) -> Region:
    """The part of a buffer that statements touch."""
    at = [load.indices for load in loads_of(buffer, body)] + [s.indices for s in _stores_to(buffer, body)]
    checked = {d for load in loads_of(buffer, body) for d in load.checked}
    inner = Known({s.var: (s.start, s.stop) for s in loops_of(body)})
    low: list[Expr] = []
    size: list[Expr] = []
    is_exact = all(_keeps_to_bounds(s, body) for s in _stores_to(buffer, body))
    for d, whole in enumerate(buffer.shape):
        span = None if d in checked else _span([indices[d] for indices in at], inner)
        low.append(integer(0) if span is None else simplify(span[0].expr()))
        size.append(whole if span is None else simplify(span[1].plus(span[0], -1).plus(linear(integer(1))).expr()))
        is_exact = is_exact and span is not None and all(_covers(indices[d], inner) for indices in at)
    return Region(buffer, tuple(low), tuple(size), is_exact)


def loads_of(buffer: Buffer, body: Body) -> Iterator[Load]:
    """The elements of a buffer that statements read."""
    for s in walk(body):
        for e in expressions_of(s):
            yield from (load for load in loads_in(e) if load.buffer is buffer)


def _stores_to(buffer: Buffer, body: Body) -> list[Store]:
    return [s for s in stores(body) if s.buffer is buffer]


def _span(indices: list[Expr], inner: Known) -> tuple[Linear, Linear] | None:
    """The smallest and the largest of some indices over the loops inside; None where that cannot be told."""
    low: Linear | None = None
    high: Linear | None = None
    for e in indices:
        least, most = extremes(e, inner)
        if least is None or most is None:
            return None
        if low is None or high is None:
            low, high = least, most
            continue
        below, above = constant_of(least.plus(low, -1).expr()), constant_of(most.plus(high, -1).expr())
        if below is None or above is None:
            return None
        low = least if below < 0 else low
        high = most if above > 0 else high
    return None if low is None or high is None else (low, high)


def _keeps_to_bounds(s: Store, body: Body) -> bool:
    """Whether all that keeps a store from happening is that its element is not there."""
    for around in path_to(body, s) or ():
        if isinstance(around, When) and not all(_is_bound(part, s) for part in conjuncts(around.condition)):
            return False
    return True


def _is_bound(condition: Expr, s: Store) -> bool:
    """Whether a comparison says that an index of a store lies within its buffer."""
    if not isinstance(condition, Op) or condition.op not in ("lt", "ge"):
        return False
    left, right = condition.args
    for index, size in zip(s.indices, s.buffer.shape, strict=True):
        if is_same(simplify(left), simplify(index)):
            return constant_of(right) == 0 if condition.op == "ge" else is_same(simplify(right), simplify(size))
    return False


def _covers(index: Expr, inner: Known) -> bool:
    """Whether an index takes every value between its smallest and its largest."""
    total = linear(index)
    steps = sorted((abs(total.factor_of(v)), v.name, v) for v in inner.ranges if total.factor_of(v))
    reach = 1
    for k, (step, _, var) in enumerate(steps):
        if step > reach:
            return False
        start, stop = inner.ranges[var]
        count = constant_of(stop - start)
        if count is None:
            return k == len(steps) - 1
        reach += step * (count - 1)
    return True


def loops_over(
    region: Region, names: list[Var], known: Known, inner: Callable[[tuple[Expr, ...]], Body]
) -> tuple[list[Loop], Body]:
    """Loops over a region, one in the other, around what `inner` makes for the indices of the buffer there.

    Where a region goes beyond its buffer, conditions keep to what the buffer has.
    """
    loops = [Loop(v, integer(0), size, []) for v, size in zip(names, region.size, strict=True)]
    at = tuple(simplify(low + v) for low, v in zip(region.low, names, strict=True))
    conditions: list[Expr | None] = []
    for loop, index, size in zip(loops, at, region.buffer.shape, strict=True):
        known = known.inside(loop.var, loop.start, loop.stop)
        conditions.append(_bounds(index, size, known))
    body = inner(at)
    for loop, condition in reversed(list(zip(loops, conditions, strict=True))):
        loop.body = body if condition is None else [When(condition, body)]
        body = [loop]
    return loops, body


def _bounds(index: Expr, size: Expr, known: Known) -> Expr | None:
    """A condition under which an index lies within; None where it is known to."""
    conditions = [] if never_negative(index, known) else [index >= 0]
    conditions += [] if never_negative(size - index - 1, known) else [index < size]
    if not conditions:
        return None
    return simplify(conditions[0] & conditions[1] if len(conditions) == 2 else conditions[0])
