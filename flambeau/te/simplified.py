"""A nest without what never runs, and without loops of one iteration."""

from __future__ import annotations

from flambeau.te.expressions import Const, Expr, Op
from flambeau.te.linear import constant_of
from flambeau.te.nest import Nest
from flambeau.te.proofs import Known, never_negative
from flambeau.te.statements import SERIAL, Allocate, Body, Loop, When, replace_in


def simplify_body(nest: Nest) -> None:
    """Simplify a nest in place."""
    nest.body = _simple(nest.body, Known({}))


def _simple(body: Body, known: Known) -> Body:
    found: Body = []
    for s in body:
        if isinstance(s, Loop):
            found += _loop(s, known)
        elif isinstance(s, When):
            s.body = _simple(s.body, known.under(s.condition))
            if _holds(s, known):
                found += s.body
            elif s.body and not (isinstance(s.condition, Const) and not s.condition.value):
                found.append(s)
        else:
            found.append(s)
    return found


def _loop(s: Loop, known: Known) -> Body:
    count = constant_of(s.extent)
    if count is not None and count < 1:
        return []
    if count == 1 and s.kind == SERIAL and not any(isinstance(one, Allocate) for one in s.body):
        replace_in(s.body, {s.var: s.start})
        return _simple(s.body, known)
    s.body = _simple(s.body, known.inside(s.var, s.start, s.stop))
    return [s] if s.body else []


def _holds(s: When, known: Known) -> bool:
    from_condition = Known({}).under(s.condition).positive
    parts = _parts_of(s)
    return len(from_condition) == parts and all(never_negative(p, known) for p in from_condition)


def _parts_of(s: When) -> int:
    """How many comparisons a condition consists of; more than are understood where it has others."""
    def count(e: Expr) -> int:
        if isinstance(e, Op) and e.op == "logical_and":
            return sum(map(count, e.args))
        return 1 if isinstance(e, Op) and e.op in ("lt", "le", "gt", "ge") else 1000

    return count(s.condition)
