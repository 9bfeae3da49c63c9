"""The statements of a function itself: those of `if`s, loops and handlers, and not those of nested functions."""

from __future__ import annotations

from collections.abc import Iterator

from flambeau.frontend.trees.tree_base import Tree
from flambeau.frontend.trees.tree_views import Def, Expr, Stmt


def own_statements(body: tuple[Stmt, ...]) -> Iterator[Stmt]:
    """Statements and those inside them, but for nested functions."""
    pending: list[Tree] = list(body)
    while pending:
        part = pending.pop()
        if isinstance(part, Stmt):
            yield part
        if not isinstance(part, Def | Expr):  # statements are also in what is neither, as handlers are
            pending += part.children
