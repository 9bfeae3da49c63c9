"""From definitions to the plainest nest: one loop for each axis, one tensor after another."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flambeau.codegen.cuda.build import identity_value
from flambeau.te.expressions import STORED, Buffer, Const, Expr, Var, integer
from flambeau.te.linear import simplify
from flambeau.te.statements import Body, Loop, Store, loads_in, substituted
from flambeau.te.tensors import Tensor


def neutral(reducer: str, dtype: str) -> Const:
    """What a reduction starts from."""
    kind = STORED.get(dtype, dtype)
    return Const(identity_value(reducer, kind), kind)


def in_order(outputs: Sequence[Tensor]) -> list[Tensor]:
    """The tensors that outputs are computed from, and they themselves, each after what it reads."""
    tensors: dict[int, Tensor] = {}

    def visit(t: Tensor) -> None:
        if id(t) in tensors:
            return
        for load in loads_in(t.body) if t.body is not None else ():
            if isinstance(load.buffer.definition, Tensor):
                visit(load.buffer.definition)
        tensors[id(t)] = t

    for t in outputs:
        visit(t)
    return list(tensors.values())


def statements_for(t: Tensor, name: Callable[[str], str]) -> Body:
    """Loops that compute a tensor; `name` gives names that no other loop has."""
    assert t.body is not None
    fresh = [Var(name(v.name)) for v in t.axes]
    inner = element_of(t, t.body, t.buffer, tuple(fresh), tuple(fresh), name)
    for var, size in reversed(list(zip(fresh, t.shape, strict=True))):
        inner = [Loop(var, integer(0), size, inner)]
    return inner


def element_of(
    t: Tensor, body: Expr, buffer: Buffer, at: tuple[Expr, ...], where: tuple[Expr, ...], name: Callable[[str], str]
) -> Body:
    """What computes a tensor's element at some indices by its expression, and stores it in a buffer's `where`."""
    substitution: dict[Var, Expr] = dict(zip(t.axes, at, strict=True))
    fresh = {v: Var(name(v.name)) for v, _ in t.reduced}
    inner: Body = [Store(buffer, where, simplify(substituted(body, substitution | fresh)), t.reducer, t)]
    for v, size in reversed(t.reduced):
        inner = [Loop(fresh[v], integer(0), size, inner, reduces=True)]
    if t.reducer:
        inner.insert(0, Store(buffer, where, neutral(t.reducer, t.dtype), "", t))
    return inner
