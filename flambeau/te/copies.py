"""Statements copied with loops and local memory of their own."""

from __future__ import annotations

from collections.abc import Callable

from flambeau.te.expressions import Buffer, Expr, Var, integer
from flambeau.te.statements import Allocate, Body, Loop, Statement, Store, When, substituted, with_loads


def copied(body: Body, name: Callable[[str], str], values: dict[Var, Expr] | None = None) -> Body:
    """A copy of some statements, with variables replaced, whose loops and memory have names of their own."""
    return _Copy(name, dict(values or {})).body(body)


class _Copy:
    def __init__(self, name: Callable[[str], str], values: dict[Var, Expr]) -> None:
        self.name, self.values = name, values
        self.buffers: dict[Buffer, Buffer] = {}

    def expr(self, e: Expr) -> Expr:
        offsets = {b: (integer(0),) * len(b.shape) for b in self.buffers}
        return with_loads(substituted(e, self.values), self.buffers, offsets)

    def body(self, body: Body) -> Body:
        return [self.statement(s) for s in body]

    def statement(self, s: Statement) -> Statement:
        if isinstance(s, Loop):
            var = Var(self.name(s.name))
            start, stop = self.expr(s.start), self.expr(s.stop)
            self.values[s.var] = var
            return Loop(var, start, stop, self.body(s.body), s.kind, s.reduces)
        if isinstance(s, When):
            return When(self.expr(s.condition), self.body(s.body))
        if isinstance(s, Allocate):
            old = s.buffer
            new = Buffer(self.name(old.name), tuple(map(self.expr, old.shape)), old.dtype, old.definition)
            self.buffers[old] = new
            return Allocate(new)
        buffer = self.buffers.get(s.buffer, s.buffer)
        return Store(buffer, tuple(map(self.expr, s.indices)), self.expr(s.value), s.reducer, s.tensor, s.is_wide)
