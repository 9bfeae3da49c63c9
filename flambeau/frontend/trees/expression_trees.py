"""Kinds of expressions, which are also how types and targets are written."""

from __future__ import annotations

from typing import ClassVar

from flambeau.frontend.trees.tree_base import HIDDEN, OPERATOR_WORDS, OPTION, Expr, Ident, Tree, tree_class
from flambeau.frontend.trees.tree_text import Shape
from flambeau.util.record import field


@tree_class
class Var(Expr):
    """A name used as a value or as the target of an assignment."""

    HEAD: ClassVar[str] = "variable"
    ident: Ident

    @property
    def name(self) -> str:
        """The name itself."""
        return self.ident.name


@tree_class
class Const(Expr):
    """An int, float or complex literal; never negative, for a sign is an operator."""

    HEAD: ClassVar[str] = "const"
    value: int | float | complex

    def shape(self) -> Shape:
        """The number as Python writes it."""
        return self.HEAD, (repr(self.value),)


@tree_class
class StringLiteral(Expr):
    """A text, with escapes already read and adjacent literals joined."""

    HEAD: ClassVar[str] = "string_literal"
    value: str


@tree_class
class TrueLit(Expr):
    """`True`."""

    HEAD: ClassVar[str] = "True"


@tree_class
class FalseLit(Expr):
    """`False`."""

    HEAD: ClassVar[str] = "False"


@tree_class
class NoneLit(Expr):
    """`None`, also of a `return` without a value."""

    HEAD: ClassVar[str] = "None"


@tree_class
class Dots(Expr):
    """`...`, which has a meaning only in a subscript."""

    HEAD: ClassVar[str] = "dots"


@tree_class
class Select(Expr):
    """`value.name`."""

    HEAD: ClassVar[str] = "."
    value: Expr
    ident: Ident

    @property
    def name(self) -> str:
        """The attribute's name."""
        return self.ident.name


@tree_class
class Attribute(Tree):
    """`name=value` in a call."""

    HEAD: ClassVar[str] = "attribute"
    ident: Ident
    value: Expr

    @property
    def name(self) -> str:
        """The keyword."""
        return self.ident.name


@tree_class
class Apply(Expr):
    """`callee(*args, **keywords)`; an argument may be `Starred`."""

    HEAD: ClassVar[str] = "apply"
    callee: Expr
    args: tuple[Expr, ...]
    keywords: tuple[Attribute, ...]


@tree_class
class Subscript(Expr):
    """`value[indices]`; an index may be a `SliceExpr` or `Dots`."""

    HEAD: ClassVar[str] = "subscript"
    value: Expr
    indices: tuple[Expr, ...]


@tree_class
class SliceExpr(Expr):
    """`lower:upper:step` in a subscript."""

    HEAD: ClassVar[str] = "slice expr"
    lower: Expr | None = field(metadata=OPTION)
    upper: Expr | None = field(metadata=OPTION)
    step: Expr | None = field(metadata=OPTION)


@tree_class
class ListLiteral(Expr):
    """`[items]`."""

    HEAD: ClassVar[str] = "list-literal"
    items: tuple[Expr, ...]


@tree_class
class TupleLiteral(Expr):
    """`(items)`, and several targets or values beside each other."""

    HEAD: ClassVar[str] = "tuple-literal"
    items: tuple[Expr, ...]


@tree_class
class DictLiteral(Expr):
    """`{keys[i]: values[i]}`."""

    HEAD: ClassVar[str] = "dict-literal"
    keys: tuple[Expr, ...]
    values: tuple[Expr, ...]


@tree_class
class ListComp(Expr):
    """`[element for target in iterable]`."""

    HEAD: ClassVar[str] = "list comprehension"
    element: Expr
    target: Expr
    iterable: Expr


@tree_class
class GeneratorListComp(ListComp):
    """`(element for target in iterable)`."""


@tree_class
class DictComp(Expr):
    """`{key: value for target in iterable}`."""

    HEAD: ClassVar[str] = "dict comprehension"
    key: Expr
    value: Expr
    target: Expr
    iterable: Expr


@tree_class
class Starred(Expr):
    """`*value` in a call, a literal or a target."""

    HEAD: ClassVar[str] = "starred"
    value: Expr


@tree_class
class BinOp(Expr):
    """`left op right` for + - * / // % ** @ & | ^ << >>; `op` is the sign."""

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
    """`-value`."""

    HEAD: ClassVar[str] = "unary minus"
    value: Expr


@tree_class
class Invert(Expr):
    """`~value`."""

    HEAD: ClassVar[str] = "~"
    value: Expr


@tree_class
class Not(Expr):
    """`not value`."""

    HEAD: ClassVar[str] = "not"
    value: Expr


@tree_class
class And(Expr):
    """`left and right`; more operands fold to the left."""

    HEAD: ClassVar[str] = "and"
    left: Expr
    right: Expr


@tree_class
class Or(Expr):
    """`left or right`; more operands fold to the left."""

    HEAD: ClassVar[str] = "or"
    left: Expr
    right: Expr


@tree_class
class TernaryIf(Expr):
    """`body if condition else orelse`."""

    HEAD: ClassVar[str] = "if"
    condition: Expr
    body: Expr
    orelse: Expr
