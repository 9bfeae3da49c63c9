"""Functions without parameters that give a literal: `lambda: [0, 0]` is called where a program only sees what it gives.

defaultdict(lambda: [0, math.inf])    →    the factory of its class is a `LiteralFactory` of `[0, inf]`
"""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.emit.values.sugared import Emitter, Given, Sugared
from flambeau.frontend.trees.tree_views import (
    Apply,
    Const,
    Expr,
    FalseLit,
    ListLiteral,
    Select,
    StringLiteral,
    TrueLit,
    TupleLiteral,
    UnaryMinus,
    Var,
)
from flambeau.util.record import dataclass, replace
from flambeau.util.source import SourceRange


@dataclass(frozen=True, slots=True)
class LiteralFactory(Sugared):
    """What makes the same value anew with each call."""

    tree: Expr
    """A literal, without names."""

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return "function"

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """The value, of containers a new one."""
        return SimpleValue(e.value(self.tree))


def as_literal(e: Emitter, tree: Expr) -> Expr | None:
    """An expression with numbers in the place of names for them; None for one that is more than a literal.

    Lists in it must have items: what an empty one holds the factory does not say.
    """
    if isinstance(tree, Const | StringLiteral | TrueLit | FalseLit):
        return tree
    if isinstance(tree, UnaryMinus):
        value = as_literal(e, tree.value)
        return None if value is None else replace(tree, value=value)
    if isinstance(tree, ListLiteral | TupleLiteral):
        items = [as_literal(e, item) for item in tree.items]
        known = tuple([item for item in items if item is not None])
        return replace(tree, items=known) if items and len(known) == len(items) else None
    return _number(e, tree)


def _number(e: Emitter, tree: Expr) -> Expr | None:
    """`math.inf` and `float("inf")` as what they are."""
    if isinstance(tree, Apply):
        text = tree.args[0] if len(tree.args) == 1 and not tree.keywords else None
        if not isinstance(text, StringLiteral) or e.python_value(tree.callee) is not float:
            return None
        try:
            return Const(tree.range, float(text.value))
        except ValueError:
            return None
    value = e.python_value(tree) if isinstance(tree, Var | Select) else None
    if isinstance(value, int | float) and not isinstance(value, bool):
        return Const(tree.range, value)
    return None
