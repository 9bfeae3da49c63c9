"""Loops put in another order.

What stands between the loops gets loops of its own first, where it may run before or after all iterations.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from flambeau.te.copies import copied
from flambeau.te.errors import ScheduleError
from flambeau.te.expressions import Buffer, Expr, Var
from flambeau.te.linear import constant_of, linear, variables
from flambeau.te.nest import Nest
from flambeau.te.proofs import Known, extremes
from flambeau.te.splitting import is_plain
from flambeau.te.statements import (
    Allocate,
    Body,
    Loop,
    Statement,
    Store,
    When,
    expressions_of,
    loads_in,
    loops_of,
    stores,
    walk,
)


def reorder(nest: Nest, loops: Sequence[Loop]) -> None:
    """Put loops that lie in one another in this order, in the places that they have now."""
    chain = _chain(nest, loops)
    ordered = [s for s in chain if any(s is loop for loop in loops)]
    stay = next((k for k, (a, b) in enumerate(zip(ordered, loops, strict=True)) if a is not b), None)
    if stay is None:
        return
    loops = loops[stay:]  # those further outside stay around all that they hold
    chain = chain[next(k for k, s in enumerate(chain) if s is ordered[stay]) :]
    for loop in loops:
        is_plain(loop, "reorder")
    _check_bounds(chain, loops)
    for around in reversed(chain[:-1]):
        _check_apart(nest, around, chain)
    for around in reversed(chain[:-1]):
        _isolate(nest, around, chain)
    _permute(nest, chain, list(loops))


def _chain(nest: Nest, loops: Sequence[Loop]) -> list[Loop | When]:
    """From the outermost of the loops to the innermost, with what lies between."""
    if len({id(loop) for loop in loops}) != len(loops) or len(loops) < 2:
        raise ScheduleError("reorder takes two loops or more, each once")
    deepest = max(loops, key=lambda loop: len(nest.path(loop)))
    path: list[Loop | When] = [*nest.path(deepest), deepest]
    for loop in loops:
        if not any(s is loop for s in path):
            raise ScheduleError(
                f"{loop.name} and {deepest.name} do not lie in one another: reorder takes loops of one nest of loops, "
                f"as {', '.join(s.name for s in path if isinstance(s, Loop))}"
            )
    first = next(k for k, s in enumerate(path) if any(s is loop for loop in loops))
    return path[first:]


def _check_bounds(chain: Sequence[Loop | When], loops: Sequence[Loop]) -> None:
    """A loop whose range depends on another's index stays inside it."""
    wanted = iter(loops)
    order = [next(wanted) if any(s is loop for loop in loops) else s for s in chain]
    before: set[Var] = set()
    inside = {s.var for s in chain if isinstance(s, Loop)}
    for s in order:
        if isinstance(s, Loop):
            needs = (variables(s.start) | variables(s.stop)) & inside
            for var in sorted(needs - before, key=lambda v: v.name):
                raise ScheduleError(
                    f"the range of {s.name} is {s.start} to {s.stop}, which depends on {var.name}: it cannot go "
                    f"outside that loop"
                )
            before.add(s.var)


def _parts(around: Loop | When, chain: Sequence[Loop | When]) -> tuple[Body, Statement, Body]:
    """What stands before the chain in a body, the chain, and what stands behind."""
    at = next(k for k, s in enumerate(around.body) if any(s is c for c in chain))
    return around.body[:at], around.body[at], around.body[at + 1 :]


def _check_apart(nest: Nest, around: Loop | When, chain: Sequence[Loop | When]) -> None:
    before, inner, after = _parts(around, chain)
    for others in (before, after):
        if not others:
            continue
        local = next((s for s in others if isinstance(s, Allocate)), None)
        if local is not None:
            name = around.name if isinstance(around, Loop) else "if"
            raise ScheduleError(
                f"{local.buffer.name} lives in one iteration of {name}: loops inside cannot go outside it; reorder "
                f"them before compute_at and cache"
            )
        if isinstance(around, Loop):
            refused = _conflict(nest, around, others, [inner])
            if refused is not None:
                raise ScheduleError(
                    f"what stands beside {_name(inner)} in {around.name} and what is inside share {refused.name}, "
                    f"which is not known to be other elements in each iteration of {around.name}: they cannot get "
                    f"loops of their own"
                )


def _name(s: Statement) -> str:
    return s.name if isinstance(s, Loop) else "what it holds"


def _isolate(nest: Nest, around: Loop | When, chain: Sequence[Loop | When]) -> None:
    """Give what stands beside the chain a copy of what is around it."""
    before, inner, after = _parts(around, chain)
    if not before and not after:
        return
    around.body = [inner]
    copies = [_around(nest, around, part) for part in (before, after)]
    nest.put(around, [*copies[0], around, *copies[1]])


def _around(nest: Nest, around: Loop | When, body: Body) -> Body:
    if not body:
        return []
    if isinstance(around, When):
        return [When(around.condition, body)]
    nest.release(body)
    var = Var(nest.fresh(around.name))
    return [Loop(var, around.start, around.stop, copied(body, nest.fresh, {around.var: var}), reduces=around.reduces)]


def _permute(nest: Nest, chain: Sequence[Loop | When], loops: list[Loop]) -> None:
    """Put loops of a chain of nothing but loops and conditions in order; each condition as far outside as it goes."""
    wanted = iter(loops)
    order = [next(wanted) if any(s is loop for loop in loops) else s for s in chain if isinstance(s, Loop)]
    conditions = [s for s in chain if isinstance(s, When)]
    inner = chain[-1].body
    container, at = nest.container(chain[0]), chain[0]
    placed: list[Loop | When] = []
    inside = {s.var for s in order}
    met: set[Var] = set()
    for loop in order:
        placed.append(loop)
        met.add(loop.var)
        for condition in [c for c in conditions if variables(c.condition) & inside <= met]:
            conditions.remove(condition)
            placed.append(condition)
    position = next(k for k, s in enumerate(container) if s is at)
    for s, following in pairwise(placed):
        s.body = [following]
    placed[-1].body = inner
    container[position] = placed[0]


# --- whether statements may get loops of their own


def _accesses(body: Body) -> tuple[dict[Buffer, list[tuple[Expr, ...]]], dict[Buffer, list[tuple[Expr, ...]]]]:
    """Where a body reads and writes, by buffer."""
    read: dict[Buffer, list[tuple[Expr, ...]]] = {}
    written: dict[Buffer, list[tuple[Expr, ...]]] = {}
    for s in walk(body):
        for e in expressions_of(s):
            for load in loads_in(e):
                read.setdefault(load.buffer, []).append(load.indices)
        if isinstance(s, Store):
            written.setdefault(s.buffer, []).append(s.indices)
            if s.reducer:
                read.setdefault(s.buffer, []).append(s.indices)
    return read, written


def _conflict(nest: Nest, loop: Loop, some: Body, others: Body) -> Buffer | None:
    """A buffer that keeps two groups of statements of a loop's body from having loops of their own."""
    (reads_1, writes_1), (reads_2, writes_2) = _accesses(some), _accesses(others)
    shared = {*(b for b in writes_1 if b in reads_2 or b in writes_2), *(b for b in writes_2 if b in reads_1)}
    for buffer in shared:
        at = [*reads_1.get(buffer, ()), *writes_1.get(buffer, ()), *reads_2.get(buffer, ()), *writes_2.get(buffer, ())]
        if not _is_own_part(loop, at) and not _starts_its_reduction(loop, buffer, some, others):
            return buffer
    return None


def _starts_its_reduction(loop: Loop, buffer: Buffer, some: Body, others: Body) -> bool:
    """Whether all that is shared are the elements of one tensor, of which each iteration of a loop has its own."""
    both = [s for s in (*stores(some), *stores(others)) if s.buffer is buffer]
    own = {id(s.tensor) for s in both}
    is_read = any(load.buffer is buffer for part in (some, others) for s in walk(part) for e in expressions_of(s)
                  for load in loads_in(e))  # fmt: skip
    return len(own) == 1 and both[0].tensor is not None and not loop.reduces and not is_read


def _is_own_part(loop: Loop, at: list[tuple[Expr, ...]]) -> bool:
    """Whether some dimension's indices are other ones in each iteration of a loop."""
    return any(_is_own(loop, [indices[d] for indices in at]) for d in range(len(at[0])))


def _is_own(loop: Loop, indices: list[Expr]) -> bool:
    """Whether the indices of different iterations lie apart: the same step of the loop, and less than that inside."""
    inner = Known({s.var: (s.start, s.stop) for s in loops_of(loop.body)})
    lows, highs = [], []
    factors = {linear(e).factor_of(loop.var) for e in indices}
    if len(factors) != 1 or not (factor := factors.pop()):
        return False
    for e in indices:
        low, high = extremes(linear(e).without(loop.var).expr(), inner)
        if low is None or high is None:
            return False
        lows.append(low)
        highs.append(high)
    spans = [constant_of(high.plus(low, -1).expr()) for high in highs for low in lows]
    return all(span is not None and abs(span) < abs(factor) for span in spans)
