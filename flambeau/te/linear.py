"""Integer expressions as sums: a constant and whole multiples of what is not a sum itself.

>>> from flambeau.te.expressions import var
>>> i = var("i")
>>> print(simplify((i * 8 + 3) - 8 * i + 1), simplify((i * 8 + 3) // 8))
4 i
"""

from __future__ import annotations

from collections.abc import Hashable

from flambeau.te.expressions import INDEX, Const, Expr, Load, Op, Var, integer
from flambeau.util.record import dataclass


def key_of(e: Expr) -> Hashable:
    """What equal expressions have in common."""
    if isinstance(e, Const):
        return (e.dtype, repr(e.value))
    if isinstance(e, Var):
        return id(e)
    if isinstance(e, Load):
        return ("load", id(e.buffer), *map(key_of, e.indices))
    assert isinstance(e, Op)
    return (e.op, e.dtype, *map(key_of, e.args))


def is_same(a: Expr, b: Expr) -> bool:
    """Whether two expressions are written alike."""
    return a is b or key_of(a) == key_of(b)


@dataclass(slots=True, eq=False)
class Linear:
    """`constant` and so many times each term."""

    constant: int
    terms: dict[Hashable, tuple[Expr, int]]

    def plus(self, other: Linear, times: int = 1) -> Linear:
        """The sum with a multiple of another."""
        terms = dict(self.terms)
        for key, (e, factor) in other.terms.items():
            total = terms[key][1] + factor * times if key in terms else factor * times
            terms[key] = (e, total)
            if not total:
                del terms[key]
        return Linear(self.constant + other.constant * times, terms)

    def times(self, factor: int) -> Linear:
        """A multiple."""
        return Linear(0, {}).plus(self, factor)

    def factor_of(self, e: Expr) -> int:
        """How often a term is in it."""
        return self.terms.get(key_of(e), (e, 0))[1]

    def without(self, e: Expr) -> Linear:
        """The sum without a term."""
        return Linear(self.constant, {k: t for k, t in self.terms.items() if k != key_of(e)})

    def expr(self) -> Expr:
        """As an expression; what is added stands before what is subtracted."""
        total: Expr | None = None
        ordered = sorted(self.terms.values(), key=lambda t: t[1] < 0)
        for e, factor in ordered:
            part = e if abs(factor) == 1 else Op("mul", (e, integer(abs(factor))), INDEX)
            if total is None:
                start: Expr = integer(self.constant) if factor < 0 else part
                total = Op("sub", (start, part), INDEX) if factor < 0 else part
                if factor < 0:
                    continue
            else:
                total = Op("sub" if factor < 0 else "add", (total, part), INDEX)
        if total is None:
            return integer(self.constant)
        if self.constant and not (ordered[0][1] < 0):
            total = Op("add" if self.constant > 0 else "sub", (total, integer(abs(self.constant))), INDEX)
        return total


def linear(e: Expr) -> Linear:
    """An integer expression as a sum."""
    form = _linear(e)
    for part, factor in list(form.terms.values()):
        if isinstance(part, Op) and part.op == "remainder":  # x // y * y + x % y is x
            top, divisor = part.args
            whole = _linear(Op("mul", (Op("floordiv", (top, divisor), INDEX), divisor), INDEX)).times(factor)
            if len(whole.terms) == 1 and all(form.terms.get(k, (e, 0))[1] == f for k, (_, f) in whole.terms.items()):
                form = form.plus(whole, -1).without(part).plus(_linear(top), factor)
    return form


def _linear(e: Expr) -> Linear:
    if isinstance(e, Const):
        return Linear(int(e.value), {})
    if isinstance(e, Op):
        if e.op in ("add", "sub"):
            return linear(e.args[0]).plus(linear(e.args[1]), 1 if e.op == "add" else -1)
        if e.op == "neg":
            return linear(e.args[0]).times(-1)
        if e.op == "mul":
            a, b = map(linear, e.args)
            if not a.terms or not b.terms:
                return b.times(a.constant) if not a.terms else a.times(b.constant)
            return _atom(Op("mul", (a.expr(), b.expr()), e.dtype))
        if e.op in ("floordiv", "remainder"):
            return _divided(e)
        if e.op in ("minimum", "maximum"):
            return _extreme(e)
        return _atom(Op(e.op, tuple(map(simplify, e.args)), e.dtype))
    if isinstance(e, Load):
        return _atom(Load(e.buffer, tuple(map(simplify, e.indices)), e.checked))
    return _atom(e)


def _atom(e: Expr) -> Linear:
    return Linear(0, {key_of(e): (e, 1)})


def _divided(e: Op) -> Linear:
    """A quotient or a remainder; what the divisor divides leaves the quotient."""
    a, b = map(linear, e.args)
    divisor = b.constant
    if b.terms or divisor <= 0:
        top, bottom = a.expr(), b.expr()
        if e.op == "floordiv" and is_same(top, bottom):
            return Linear(1, {})
        return _atom(Op(e.op, (top, bottom), e.dtype))
    whole = Linear(a.constant // divisor, {k: (t, f // divisor) for k, (t, f) in a.terms.items() if f % divisor == 0})
    rest = Linear(a.constant % divisor, {k: (t, f) for k, (t, f) in a.terms.items() if f % divisor})
    if divisor == 1 or not rest.terms:
        return whole if e.op == "floordiv" else Linear(rest.constant if divisor > 1 else 0, {})
    left = _atom(Op(e.op, (rest.expr(), integer(divisor)), e.dtype))
    return whole.plus(left) if e.op == "floordiv" else left


def _extreme(e: Op) -> Linear:
    a, b = map(linear, e.args)
    difference = a.plus(b, -1)
    if not difference.terms:
        is_first = (difference.constant <= 0) == (e.op == "minimum")
        return a if is_first or not difference.constant else b
    return _atom(Op(e.op, (a.expr(), b.expr()), e.dtype))


def simplify(e: Expr) -> Expr:
    """The expression with its integer parts written as sums, and what is known of them worked out."""
    if isinstance(e, Const | Var):
        return e
    if e.dtype == INDEX:
        return linear(e).expr()
    if isinstance(e, Load):
        return Load(e.buffer, tuple(map(simplify, e.indices)), e.checked)
    assert isinstance(e, Op)
    args = tuple(map(simplify, e.args))
    if e.op in _COMPARED and args[0].dtype == INDEX:
        difference = linear(args[0]).plus(linear(args[1]), -1)
        if not difference.terms:
            return Const(_COMPARED[e.op](difference.constant), "bool")
    if e.op == "logical_and":
        for a, b in (args, args[::-1]):
            if isinstance(a, Const):
                return b if a.value else a
    if e.op == "select" and isinstance(args[0], Const):
        return args[1] if args[0].value else args[2]
    return Op(e.op, args, e.dtype)


_COMPARED = {
    "lt": lambda d: d < 0, "le": lambda d: d <= 0, "gt": lambda d: d > 0, "ge": lambda d: d >= 0,
    "eq": lambda d: d == 0, "ne": lambda d: d != 0,
}  # fmt: skip
"""Comparisons with zero of the difference of two integers."""


def constant_of(e: Expr) -> int | None:
    """The integer that an expression always is; None if it depends on something."""
    form = linear(e)
    return None if form.terms else form.constant


def variables(e: Expr) -> set[Var]:
    """The variables that it depends on."""
    if isinstance(e, Var):
        return {e}
    parts = e.args if isinstance(e, Op) else e.indices if isinstance(e, Load) else ()
    return {v for part in parts for v in variables(part)}


def conjuncts(condition: Expr) -> list[Expr]:
    """The conditions that hold together where one holds."""
    if isinstance(condition, Op) and condition.op == "logical_and":
        return [part for a in condition.args for part in conjuncts(a)]
    return [condition]


def ceil_div(a: Expr, b: Expr) -> Expr:
    """How many pieces of `b` there are in `a`, the last one begun counted."""
    return simplify((a + b - 1) // b)
