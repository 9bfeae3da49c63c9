"""Which accesses of an expression are proved to lie within their buffers, which are looked at while the nest runs, and
which are refused at once.
"""

from __future__ import annotations

from collections.abc import Mapping

from flambeau.te.errors import ScheduleError
from flambeau.te.expressions import Expr, Load, Op, Var, integer
from flambeau.te.linear import linear, simplify
from flambeau.te.proofs import Known, extremes, is_within, never_negative


def checked_body(name: str, body: Expr, sizes: Mapping[Var, Expr]) -> Expr:
    """The body of a tensor over indices of these sizes, in which each access knows what it has to look at.

    Raises ScheduleError for an access that lies outside in some iteration, whatever calls give.
    """
    return _checked(name, body, Known({v: (integer(0), size) for v, size in sizes.items()}), is_always=True)


def _checked(name: str, e: Expr, known: Known, *, is_always: bool) -> Expr:
    """`is_always`: the expression is evaluated in every iteration."""
    if isinstance(e, Op):
        asked = e.args[0]
        if e.op == "select":
            branches = zip(e.args[1:], (known.under(asked), known.otherwise(asked)), strict=True)
            taken = [_checked(name, a, inside, is_always=False) for a, inside in branches]
            return Op("select", (_checked(name, asked, known, is_always=is_always), *taken), e.dtype)
        return Op(e.op, tuple(_checked(name, a, known, is_always=is_always) for a in e.args), e.dtype)
    if not isinstance(e, Load):
        return e
    indices = tuple(_checked(name, i, known, is_always=is_always) for i in e.indices)
    unproved = []
    for k, (index, size) in enumerate(zip(indices, e.buffer.shape, strict=True)):
        if is_within(index, size, known):
            continue
        if is_always:
            _refuse_outside(name, e, k, known)
        unproved.append(k)
    return Load(e.buffer, indices, tuple(unproved))


def _refuse_outside(name: str, e: Load, dimension: int, known: Known) -> None:
    """Raise ScheduleError where the smallest or the largest index is known to lie outside."""
    size = linear(e.buffer.shape[dimension])
    low, high = extremes(e.indices[dimension], known)
    is_low = low is not None and never_negative(low.times(-1).plus(linear(integer(-1))), known)
    is_high = high is not None and never_negative(high.plus(size, -1), known)
    if not is_low and not is_high:
        return
    bound = low if is_low else high
    assert bound is not None
    reached = simplify(bound.expr())
    raise ScheduleError(
        f"{name} reads {e} at index {reached} of dimension {dimension}, whose size is {e.buffer.shape[dimension]}; "
        f"write te.where(condition, {e}, other) for the iterations that lie outside, or other sizes"
    )
