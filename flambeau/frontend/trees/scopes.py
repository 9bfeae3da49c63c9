"""Which names statements bind, and which a nested function takes from the function around it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from flambeau.frontend.trees.base import Expr, Stmt, Tree
from flambeau.frontend.trees.expressions import Starred, Var
from flambeau.frontend.trees.extras import Import, Lambda, Nonlocal
from flambeau.frontend.trees.statements import Def

BINDING: Final = frozenset({"Assign", "AugAssign", "For", "PythonBlock", "Walrus", "WithItem"})
"""Trees whose targets are assigned."""


class Scope(NamedTuple):
    """What a nested function takes from outside."""

    free: tuple[str, ...]
    """Names it reads, or has functions read, and does not bind."""
    nonlocals: frozenset[str]
    """Those of them that it assigns, or has functions assign."""


def assigned_names(body: Sequence[Stmt]) -> set[str]:
    """The names that statements bind. Assigned somewhere in a function, they are its own everywhere, as in Python."""
    found: set[str] = set()
    for part in _own(body):
        targets = getattr(part, "targets", ())
        single = getattr(part, "target", None)
        for target in (*targets, *(() if single is None else (single,))):
            if type(part).__name__ in BINDING and isinstance(target, Expr):
                found |= {v.name for v in _names(target)}
        if isinstance(part, Import):
            found.add(part.ident.name)
        elif isinstance(part, Def):
            found.add(part.name)
    return found


def scope_of(tree: Def) -> Scope:
    """What a nested function takes from outside."""
    decl = tree.decl
    declared = {name for part in _own(tree.body) if isinstance(part, Nonlocal) for name in part.names}
    bound = {p.name for p in decl.params} | {p.name for p in (decl.vararg, decl.kwarg) if p is not None}
    bound |= assigned_names(tree.body)
    used: dict[str, None] = {}
    nonlocals = set(declared)
    for part in _own(tree.body):
        if isinstance(part, Var):
            used[part.name] = None
        elif isinstance(part, Def):
            inner = scope_of(part)
            used.update(dict.fromkeys(inner.free))
            nonlocals |= inner.nonlocals - bound
    bound -= declared
    free = [name for name in (*used, *sorted(declared)) if name not in bound]
    return Scope(tuple(dict.fromkeys(free)), frozenset(nonlocals))


def _own(body: Sequence[Stmt]) -> Iterator[Tree]:
    """The trees of statements, but for what is inside nested functions; lambdas count as part of what is around."""
    pending: list[Tree] = list(reversed(body))
    while pending:
        part = pending.pop()
        yield part
        if isinstance(part, Lambda | Def):  # its defaults are computed around it
            pending.extend(p.default for p in part.decl.params if p.default is not None)
        if isinstance(part, Lambda):
            pending.append(part.body)
        elif not isinstance(part, Def):
            pending.extend(reversed(part.children))


def _names(target: Expr) -> list[Var]:
    """The names that a target binds; items and attributes bind none."""
    if isinstance(target, Var):
        return [target]
    if isinstance(target, Starred):
        return _names(target.value)
    items = getattr(target, "items", ())
    return [name for item in items for name in _names(item)]
