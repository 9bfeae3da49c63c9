"""Kinds of expressions: names, literals, calls and subscripts, which are also how types and targets are written."""

from __future__ import annotations

from typing import ClassVar

from flambeau.frontend.trees.tree_base import OPTION, Expr, Ident, Tree, tree_class
from flambeau.frontend.trees.tree_text import Shape
from flambeau.util.record import field


@tree_class
class Var(Expr):
    """A name used as a value or as the target of an assignment.

    Example: `x` → `(variable (ident x))`
    """

    HEAD: ClassVar[str] = "variable"
    ident: Ident

    @property
    def name(self) -> str:
        """The name itself."""
        return self.ident.name


@tree_class
class Const(Expr):
    """An int, float or complex literal; never negative, for a sign is an operator.

    Example: `3` → `(const 3)`
    """

    HEAD: ClassVar[str] = "const"
    value: int | float | complex

    def shape(self) -> Shape:
        """The number as Python writes it."""
        return self.HEAD, (repr(self.value),)


@tree_class
class StringLiteral(Expr):
    """A text, with escapes already read and adjacent literals joined.

    Example: `'a' 'b'` → `(string_literal ab)`
    """

    HEAD: ClassVar[str] = "string_literal"
    value: str


@tree_class
class TrueLit(Expr):
    """`True`.

    Example: `True` → `(True)`
    """

    HEAD: ClassVar[str] = "True"


@tree_class
class FalseLit(Expr):
    """`False`.

    Example: `False` → `(False)`
    """

    HEAD: ClassVar[str] = "False"


@tree_class
class NoneLit(Expr):
    """`None`, also of a `return` without a value.

    Example: `None` → `(None)`
    """

    HEAD: ClassVar[str] = "None"


@tree_class
class Dots(Expr):
    """`...`, which has a meaning only in a subscript.

    Example: `x[...]` → `(dots)`
    """

    HEAD: ClassVar[str] = "dots"


@tree_class
class Select(Expr):
    """`value.name`.

    Example: `x.size` → `(. (variable (ident x)) (ident size))`
    """

    HEAD: ClassVar[str] = "."
    value: Expr
    ident: Ident

    @property
    def name(self) -> str:
        """The attribute's name."""
        return self.ident.name


@tree_class
class Attribute(Tree):
    """`name=value` in a call.

    Example: `f(k=1)` → `(attribute (ident k) (const 1))`
    """

    HEAD: ClassVar[str] = "attribute"
    ident: Ident
    value: Expr

    @property
    def name(self) -> str:
        """The keyword."""
        return self.ident.name


@tree_class
class Apply(Expr):
    """`callee(*args, **keywords)`; an argument may be `Starred`.

    Example: `f(x)` → `(apply (variable (ident f)) (list (variable (ident x))) (list))`
    """

    HEAD: ClassVar[str] = "apply"
    callee: Expr
    args: tuple[Expr, ...]
    keywords: tuple[Attribute, ...]


@tree_class
class Subscript(Expr):
    """`value[indices]`; an index may be a `SliceExpr` or `Dots`.

    Example: `x[0]` → `(subscript (variable (ident x)) (list (const 0)))`
    """

    HEAD: ClassVar[str] = "subscript"
    value: Expr
    indices: tuple[Expr, ...]


@tree_class
class SliceExpr(Expr):
    """`lower:upper:step` in a subscript.

    Example: `x[1:]` → `(slice expr (option (const 1)) (option) (option))`
    """

    HEAD: ClassVar[str] = "slice expr"
    lower: Expr | None = field(metadata=OPTION)
    upper: Expr | None = field(metadata=OPTION)
    step: Expr | None = field(metadata=OPTION)


@tree_class
class ListLiteral(Expr):
    """`[items]`.

    Example: `[1, 2]` → `(list-literal (list (const 1) (const 2)))`
    """

    HEAD: ClassVar[str] = "list-literal"
    items: tuple[Expr, ...]


@tree_class
class TupleLiteral(Expr):
    """`(items)`, and several targets or values beside each other.

    Example: `(1, 2)` → `(tuple-literal (list (const 1) (const 2)))`
    """

    HEAD: ClassVar[str] = "tuple-literal"
    items: tuple[Expr, ...]


@tree_class
class DictLiteral(Expr):
    """`{keys[i]: values[i]}`.

    Example: `{1: 2}` → `(dict-literal (list (const 1)) (list (const 2)))`
    """

    HEAD: ClassVar[str] = "dict-literal"
    keys: tuple[Expr, ...]
    values: tuple[Expr, ...]


@tree_class
class ListComp(Expr):
    """`[element for target in iterable]`.

    Example: `[a for a in x]` → `(list comprehension (variable (ident a)) (variable (ident a)) (variable (ident x)))`
    """

    HEAD: ClassVar[str] = "list comprehension"
    element: Expr
    target: Expr
    iterable: Expr


@tree_class
class GeneratorListComp(ListComp):
    """`(element for target in iterable)`.

    Example: `f(a for a in x)` → `(list comprehension (variable (ident a)) (variable (ident a)) (variable (ident x)))`
    """


@tree_class
class DictComp(Expr):
    """`{key: value for target in iterable}`.

    Example: `{a: 1 for a in x}` →
    `(dict comprehension (variable (ident a)) (const 1) (variable (ident a)) (variable (ident x)))`
    """

    HEAD: ClassVar[str] = "dict comprehension"
    key: Expr
    value: Expr
    target: Expr
    iterable: Expr


@tree_class
class Starred(Expr):
    """`*value` in a call, a literal or a target.

    Example: `f(*x)` → `(starred (variable (ident x)))`
    """

    HEAD: ClassVar[str] = "starred"
    value: Expr
