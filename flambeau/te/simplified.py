"""A nest without what never runs, and without loops of one iteration."""

from __future__ import annotations

from flambeau.te.expressions import Const, Expr, Load, Op
from flambeau.te.linear import conjuncts, constant_of
from flambeau.te.nest import Nest
from flambeau.te.proofs import Known, never_negative
from flambeau.te.statements import SERIAL, Allocate, Body, Loop, Store, When, replace_in


def simplify_body(nest: Nest) -> None:
    """Simplify a nest in place."""
    nest.body = _simple(nest.body, Known({}))


def _simple(body: Body, known: Known) -> Body:
    body_so_far: Body = []
    for s in body:
        if isinstance(s, Loop):
            body_so_far += _loop(s, known)
        elif isinstance(s, When):
            s.body = _simple(s.body, known.under(s.condition))
            if _holds(s.condition, known):
                body_so_far += s.body
            elif s.body and not _never_holds(s.condition, known):
                body_so_far.append(s)
        else:
            if isinstance(s, Store):
                s.value = _chosen(s.value, known)
            body_so_far.append(s)
    return body_so_far


def _loop(s: Loop, known: Known) -> Body:
    count = constant_of(s.extent)
    if count is not None and count < 1:
        return []
    if count == 1 and s.kind == SERIAL and not any(isinstance(one, Allocate) for one in s.body):
        replace_in(s.body, {s.var: s.start})
        return _simple(s.body, known)
    s.body = _simple(s.body, known.inside(s.var, s.start, s.stop))
    return [s] if s.body else []


def _holds(condition: Expr, known: Known) -> bool:
    """Whether a condition always holds."""
    if isinstance(condition, Const):
        return bool(condition.value)
    parts = conjuncts(condition)
    if not all(isinstance(p, Op) and p.op in ("lt", "le", "gt", "ge") for p in parts):
        return False
    sums = Known({}).under(condition).positive
    return len(sums) == len(parts) and all(never_negative(total, known) for total in sums)


def _never_holds(condition: Expr, known: Known) -> bool:
    """Whether a condition never holds: the opposite of a part of it always does."""
    if isinstance(condition, Const):
        return not condition.value
    opposites = (Known({}).otherwise(part).positive for part in conjuncts(condition))
    return any(len(sums) == 1 and never_negative(sums[0], known) for sums in opposites)


def _chosen(e: Expr, known: Known) -> Expr:
    """An expression without choices whose condition always holds, or never."""
    if isinstance(e, Load):
        return Load(e.buffer, tuple(_chosen(i, known) for i in e.indices), e.checked)
    if not isinstance(e, Op):
        return e
    if e.op == "select":
        condition, first, second = e.args
        if _holds(condition, known):
            return _chosen(first, known)
        if _never_holds(condition, known):
            return _chosen(second, known)
        return Op("select", (condition, _chosen(first, known), _chosen(second, known)), e.dtype)
    return Op(e.op, tuple(_chosen(a, known) for a in e.args), e.dtype)

