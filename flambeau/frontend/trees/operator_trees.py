"""Kinds of expressions that compute from others: operators, comparisons and conditions."""

from __future__ import annotations

from typing import ClassVar

from flambeau.frontend.trees.tree_base import HIDDEN, OPERATOR_WORDS, Expr, tree_class
from flambeau.util.record import field


@tree_class
class BinOp(Expr):
    """`left op right` for + - * / // % ** @ & | ^ << >>; `op` is the sign.

    Example: `x // 2` → `(floordiv (variable (ident x)) (const 2))`
    """

    op: str = field(metadata=HIDDEN)
    left: Expr
    right: Expr

    @property
    def head(self) -> str:
        """The sign, or a word for the two that have one."""
        return OPERATOR_WORDS.get(self.op, self.op)


@tree_class
class Compare(Expr):
    """`left op right` for < > <= >= == != in is "is not". `not in` is `Not` of `in`.

    A chain `a < b < c` is `And` of two comparisons that share the tree of `b`, which is to be evaluated once.

    Example: `x == 1` → `(eq (variable (ident x)) (const 1))`
    """

    op: str = field(metadata=HIDDEN)
    left: Expr
    right: Expr

    @property
    def head(self) -> str:
        """The sign, or its short word."""
        return {"==": "eq", "!=": "ne", "<=": "le", ">=": "ge"}.get(self.op, self.op)


@tree_class
class UnaryMinus(Expr):
    """`-value`.

    Example: `-x` → `(unary minus (variable (ident x)))`
    """

    HEAD: ClassVar[str] = "unary minus"
    value: Expr


@tree_class
class Invert(Expr):
    """`~value`.

    Example: `~x` → `(~ (variable (ident x)))`
    """

    HEAD: ClassVar[str] = "~"
    value: Expr


@tree_class
class Not(Expr):
    """`not value`.

    Example: `not x` → `(not (variable (ident x)))`
    """

    HEAD: ClassVar[str] = "not"
    value: Expr


@tree_class
class And(Expr):
    """`left and right`; more operands fold to the left.

    Example: `x and y` → `(and (variable (ident x)) (variable (ident y)))`
    """

    HEAD: ClassVar[str] = "and"
    left: Expr
    right: Expr


@tree_class
class Or(Expr):
    """`left or right`; more operands fold to the left.

    Example: `x or y` → `(or (variable (ident x)) (variable (ident y)))`
    """

    HEAD: ClassVar[str] = "or"
    left: Expr
    right: Expr


@tree_class
class TernaryIf(Expr):
    """`body if condition else orelse`.

    Example: `x if y else z` → `(if (variable (ident y)) (variable (ident x)) (variable (ident z)))`
    """

    HEAD: ClassVar[str] = "if"
    condition: Expr
    body: Expr
    orelse: Expr
