"""What holds of integer expressions whatever the loops are at: used to see that accesses lie within their buffers.

Sizes are zero or more, and at least one within a loop over them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from flambeau.te.expressions import Const, Expr, Op, Var, integer
from flambeau.te.linear import Linear, constant_of, linear
from flambeau.util.record import dataclass, replace

MOST_STEPS = 200


@dataclass(frozen=True, slots=True)
class Known:
    """What is known at one place."""

    ranges: Mapping[Var, tuple[Expr, Expr]]
    """Of each loop around, where it starts and where it stops; those outside first."""
    positive: tuple[Linear, ...] = ()
    """Sums that are zero or more here, by conditions around."""

    def under(self, condition: Expr) -> Known:
        """What is known where a condition holds besides."""
        return replace(self, positive=self.positive + tuple(_holds(condition)))

    def otherwise(self, condition: Expr) -> Known:
        """What is known where a condition does not hold."""
        if isinstance(condition, Op) and condition.op in _OPPOSITE:
            return self.under(Op(_OPPOSITE[condition.op], condition.args, "bool"))
        return self

    def inside(self, var: Var, start: Expr, stop: Expr) -> Known:
        """What is known inside a loop."""
        return replace(self, ranges={**self.ranges, var: (start, stop)})


_OPPOSITE = {"lt": "ge", "ge": "lt", "gt": "le", "le": "gt", "ne": "eq"}
"""Comparisons by those that hold where they do not."""


def _holds(condition: Expr) -> Iterator[Linear]:
    """Sums that are zero or more where a condition holds."""
    if not isinstance(condition, Op):
        return
    if condition.op == "logical_and":
        for part in condition.args:
            yield from _holds(part)
        return
    if len(condition.args) != 2 or condition.args[0].dtype != "int64":
        return
    a, b = map(linear, condition.args)
    if condition.op in ("lt", "le", "eq"):
        yield b.plus(a, -1).plus(Linear(-(condition.op == "lt"), {}))
    if condition.op in ("gt", "ge", "eq"):
        yield a.plus(b, -1).plus(Linear(-(condition.op == "gt"), {}))


def never_negative(e: Expr | Linear, known: Known) -> bool:
    """Whether an integer expression is zero or more in every iteration; False where that cannot be told."""
    start = linear(e) if isinstance(e, Expr) else e
    budget = [MOST_STEPS]
    if _proved(start, known, budget):
        return True
    return any(_proved(start.plus(more, -1), known, budget) for more in known.positive)


def is_within(index: Expr, size: Expr, known: Known) -> bool:
    """Whether an index is proved to lie within 0 and a size."""
    return never_negative(index, known) and never_negative(size - index - 1, known)


def _proved(total: Linear, known: Known, budget: list[int]) -> bool:
    budget[0] -= 1
    if budget[0] < 0:
        return False
    for e, factor in total.terms.values():
        if isinstance(e, Op) and e.op in _CASES:
            rest = total.without(e)
            return _CASES[e.op](e, rest, factor, known, budget)
    for var in reversed(list(known.ranges)):  # the innermost first: its bounds may depend on those outside
        factor = total.factor_of(var)
        if factor:
            start, stop = known.ranges[var]
            extreme = linear(start) if factor > 0 else linear(stop).plus(Linear(-1, {}))
            return _proved(total.without(var).plus(extreme, factor), known, budget)
    return _sizes_allow(total, known)


def _sizes_allow(total: Linear, known: Known) -> bool:
    """Whether a sum of sizes is zero or more when every size is as small as it may be."""
    least = total.constant
    at_least_one = {stop for _, stop in known.ranges.values() if isinstance(stop, Var)}
    for e, factor in total.terms.values():
        if factor < 0 or not _is_size(e):
            return False
        least += factor * (e in at_least_one)
    return least >= 0


def _is_size(e: Expr) -> bool:
    if isinstance(e, Var):
        return e.dtype == "int64"
    if isinstance(e, Const):
        return e.value >= 0
    return isinstance(e, Op) and e.op in ("mul", "add") and all(map(_is_size, e.args))


def _least_or_most(e: Op, rest: Linear, factor: int, known: Known, budget: list[int]) -> bool:
    """A minimum or maximum: one of its operands, the one that makes the sum smaller where it is added."""
    both = (e.op == "minimum") == (factor > 0)
    proofs = (_proved(rest.plus(linear(a), factor), known, budget) for a in e.args)
    return all(proofs) if both else any(proofs)


def _chosen(e: Op, rest: Linear, factor: int, known: Known, budget: list[int]) -> bool:
    branches = ((e.args[1], known.under(e.args[0])), (e.args[2], known.otherwise(e.args[0])))
    return all(
        _proved(total, inside, budget) or any(_proved(total.plus(p, -1), inside, budget) for p in inside.positive)
        for a, inside in branches
        for total in (rest.plus(linear(a), factor),)
    )


def _quotient(e: Op, rest: Linear, factor: int, known: Known, budget: list[int]) -> bool:
    """A quotient rounded down: divided by the divisor less one at most, so the sum is bounded by the dividend's."""
    divisor = constant_of(e.args[1])
    if divisor is None or divisor <= 0:
        return False
    low, high = extremes(e.args[0], known)
    bound = low if factor > 0 else high
    if bound is None:
        return False
    return _proved(rest.plus(linear(bound.expr() // divisor), factor), known, budget)


def _remainder(e: Op, rest: Linear, factor: int, known: Known, budget: list[int]) -> bool:
    divisor = e.args[1]
    if not (constant_of(divisor) or 0) > 0 and not isinstance(divisor, Var):
        return False
    extreme: Expr = integer(0) if factor > 0 else divisor - 1
    return _proved(rest.plus(linear(extreme), factor), known, budget)


_CASES = {
    "minimum": _least_or_most, "maximum": _least_or_most, "select": _chosen, "floordiv": _quotient,
    "remainder": _remainder,
}  # fmt: skip
"""Operations of which something is known beside that they are integers."""


def extremes(e: Expr, known: Known) -> tuple[Linear | None, Linear | None]:
    """The smallest and the largest that a sum of indices of loops can be, in terms of what the loops depend on; None
    where that cannot be told.
    """
    low = high = linear(e)
    for var in reversed(list(known.ranges)):
        start, stop = known.ranges[var]
        first, last = linear(start), linear(stop).plus(Linear(-1, {}))
        for_low, for_high = low.factor_of(var), high.factor_of(var)
        low = low.without(var).plus(first if for_low > 0 else last, for_low)
        high = high.without(var).plus(last if for_high > 0 else first, for_high)
    bounds = [total if _is_plain(total, known) else None for total in (low, high)]
    return bounds[0], bounds[1]


def _is_plain(total: Linear, known: Known) -> bool:
    """Whether no index of a loop is left in a sum."""
    from_loops = set(known.ranges)
    return not any(_mentions(e, from_loops) for e, _ in total.terms.values())


def _mentions(e: Expr, wanted: set[Var]) -> bool:
    if isinstance(e, Var):
        return e in wanted
    parts = e.args if isinstance(e, Op) else getattr(e, "indices", ())
    return any(_mentions(part, wanted) for part in parts)
