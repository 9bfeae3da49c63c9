"""Loops cut into loops, and two loops made one."""

from __future__ import annotations

from flambeau.te.copies import copied
from flambeau.te.errors import ScheduleError
from flambeau.te.expressions import Expr, Var, integer
from flambeau.te.intrinsics import minimum
from flambeau.te.linear import ceil_div, constant_of, simplify, variables
from flambeau.te.nest import Nest
from flambeau.te.statements import SERIAL, Loop, When, replace_in

MASK, TAIL, NEVER = "mask", "loop", "never"


def is_plain(loop: Loop, what: str) -> None:
    """Raise ScheduleError for a loop that is marked as one that does not run one by one."""
    if loop.kind != SERIAL:
        raise ScheduleError(
            f"{loop.name} is marked as {loop.kind}: {what} it first, and mark the loops that come of it"
        )


def positive(count: object, what: str) -> int:
    """A number of iterations. Raises ScheduleError for what is none."""
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise ScheduleError(f"{what} is a whole number from 1 on, got {count!r}")
    return count


def check_tiles(nest: Nest, first: Loop, second: Loop, factors: tuple[int, int], tail: str) -> None:
    """Raise ScheduleError for loops that cannot be cut into tiles."""
    is_plain(second, "split")
    for factor in factors:
        positive(factor, "factor")
    if not any(around is first for around in nest.path(second)):
        raise ScheduleError(f"{second.name} does not lie in {first.name}: tile takes the outer of two loops first")
    if tail == NEVER:
        for loop, factor in zip((first, second), factors, strict=True):
            if (constant_of(loop.extent) or 1) % factor or constant_of(loop.extent) is None:
                raise ScheduleError(f"{loop.name} has {loop.extent} iterations, which {factor} is not known to divide")


def _check_split(loop: Loop, factor: int | None, parts: int | None, tail: str) -> None:
    is_plain(loop, "split")
    if (factor is None) == (parts is None):
        raise ScheduleError(
            f"split({loop.name}) takes either factor, the iterations of the inner loop, or parts, those of the outer"
        )
    if tail not in (MASK, TAIL, NEVER):
        raise ScheduleError(f"tail={tail!r} is not known; write 'mask', 'loop' or 'never'")
    if tail == TAIL and parts is not None:
        raise ScheduleError("tail='loop' goes with factor; with parts, write tail='mask'")


def split(nest: Nest, loop: Loop, factor: int | None, parts: int | None, tail: str) -> tuple[Loop, Loop, Loop | None]:
    """(outer loop, inner loop, loop over the rest or None)."""
    _check_split(loop, factor, parts, tail)
    amount = positive(factor, "factor") if parts is None else positive(parts, "parts")
    extent, inner = loop.extent, integer(amount)
    size: Expr = inner if parts is None else ceil_div(extent, inner)
    count = ceil_div(extent, inner) if parts is None else inner
    known = constant_of(extent)
    is_whole = known is not None and known % amount == 0
    if tail == NEVER and not is_whole:
        raise ScheduleError(
            f"{loop.name} has {extent} iterations, which {amount} is not known to divide; write tail='mask' or "
            f"tail='loop'"
        )
    rest: Loop | None = None
    if tail == TAIL and not is_whole:
        count = simplify(extent // inner)
        rest = _rest_of(nest, loop, simplify(loop.start + count * inner))
    outer_var, inner_var = Var(nest.fresh(f"{loop.name}_outer")), Var(nest.fresh(f"{loop.name}_inner"))
    index = simplify(loop.start + outer_var * size + inner_var)
    is_guarded = not is_whole and rest is None
    body = loop.body
    replace_in(body, {loop.var: index})
    if is_guarded:
        body = [When(simplify(index < loop.stop), body)]
    inner_loop = Loop(inner_var, integer(0), size, body, reduces=loop.reduces)
    outer = Loop(outer_var, integer(0), count, [inner_loop], reduces=loop.reduces)
    nest.put(loop, [outer] if rest is None else [outer, rest])
    return outer, inner_loop, rest


def _rest_of(nest: Nest, loop: Loop, start: Expr) -> Loop:
    var = Var(nest.fresh(f"{loop.name}_tail"))
    return Loop(var, start, loop.stop, copied(loop.body, nest.fresh, {loop.var: var}), reduces=loop.reduces)


def sliced(nest: Nest, loop: Loop, count: int, *, is_head: bool) -> tuple[Loop, Loop]:
    """The first iterations and the others, or the others and the last ones, as loops one after the other."""
    is_plain(loop, "slice")
    some = minimum(positive(count, "the count of a slice"), loop.extent)
    middle = simplify(loop.start + some if is_head else loop.stop - some)
    var = Var(nest.fresh(f"{loop.name}_{'head' if is_head else 'body'}"))
    first = Loop(var, loop.start, middle, copied(loop.body, nest.fresh, {loop.var: var}), reduces=loop.reduces)
    other = Var(nest.fresh(f"{loop.name}_{'body' if is_head else 'tail'}"))
    replace_in(loop.body, {loop.var: other})
    nest.release([Loop(loop.var, loop.start, loop.stop, [])])
    second = Loop(other, middle, loop.stop, loop.body, reduces=loop.reduces)
    nest.put(loop, [first, second])
    return first, second


def check_fusible(outer: Loop, inner: Loop) -> None:
    """Raise ScheduleError for two loops that cannot become one."""
    is_plain(outer, "fuse")
    is_plain(inner, "fuse")
    if len(outer.body) != 1 or outer.body[0] is not inner:
        raise ScheduleError(
            f"{inner.name} is not all that {outer.name} holds: fuse takes a loop and the one directly inside it, with "
            f"nothing between (reorder makes such loops)"
        )
    if outer.var in variables(inner.start) | variables(inner.stop):
        raise ScheduleError(f"the range of {inner.name} depends on {outer.name}: such loops are no rectangle to fuse")
    if outer.reduces != inner.reduces:
        which = inner if inner.reduces else outer
        raise ScheduleError(f"{which.name} goes along a reduction and the other does not: one loop cannot do both")


def fuse(nest: Nest, outer: Loop, inner: Loop) -> Loop:
    """One loop over both."""
    check_fusible(outer, inner)
    size = inner.extent
    var = Var(nest.fresh(f"{outer.name}_{inner.name}"))
    substitution: dict[Var, Expr] = {
        outer.var: simplify(outer.start + var // size), inner.var: simplify(inner.start + var % size)
    }  # fmt: skip
    replace_in(inner.body, substitution)
    fused = Loop(var, integer(0), simplify(outer.extent * size), inner.body, reduces=inner.reduces)
    nest.put(outer, [fused])
    return fused
