"""Trees of a program: what was written, in the language's own kinds, each with its place.

The front end turns Python's `ast` into these trees, and the emitter turns them into IR. They are immutable and compare
by identity. `str(tree)` is the s-expression of TorchScript's tree views:

    y = x + 1   →   (assign
                      (list (variable (ident y)))
                      (option
                        (+ (variable (ident x)) (const 1)))
                      (option))

A field that holds a tuple prints as `(list …)`, one that may be absent as `(option …)`, the others as themselves.
A range ends where its last part ends: closing brackets and quotes are not part of it, as in TorchScript.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, TypeVar, dataclass_transform

from flambeau.frontend.tree_text import Shape, layout
from flambeau.util.source import SourceRange

_OPTION = {"option": True}
_HIDDEN = {"hidden": True}
_OPERATOR_WORDS = {"//": "floordiv", "**": "pow operator"}

_Class = TypeVar("_Class")


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field,))
def _tree(cls: type[_Class]) -> type[_Class]:
    return dataclass(frozen=True, slots=True, eq=False, repr=False)(cls)


@_tree
class Tree:
    """Anything written in a program; `range` is its place."""

    HEAD: ClassVar[str] = "tree"
    """First word of the s-expression."""

    range: SourceRange

    @property
    def head(self) -> str:
        """First word of this tree's s-expression."""
        return self.HEAD

    @property
    def children(self) -> tuple[Tree, ...]:
        """Direct subtrees, in printed order, absent ones left out."""
        return tuple(child for value in self._values() for child in _subtrees(value))

    def walk(self) -> Iterator[Tree]:
        """This tree and all trees in it, parents first; a subtree that is shared appears each time."""
        pending: list[Tree] = [self]
        while pending:
            tree = pending.pop()
            yield tree
            pending.extend(reversed(tree.children))

    def shape(self) -> Shape:
        """Head and parts for printing: trees, texts, and further shapes for lists and options."""
        parts: list[Any] = []
        for item in fields(self)[1:]:
            value = getattr(self, item.name)
            if item.metadata.get("hidden"):
                continue
            if item.metadata.get("option"):
                parts.append(("option", () if value is None else (value,)))
            elif isinstance(value, tuple):
                parts.append(("list", value))
            else:
                parts.append(value)
        return self.head, tuple(parts)

    def _values(self) -> list[Any]:
        return [getattr(self, item.name) for item in fields(self)[1:]]

    def __str__(self) -> str:
        return layout(self)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {self.range}>"


def _subtrees(value: object) -> tuple[Tree, ...]:
    if isinstance(value, Tree):
        return (value,)
    return tuple(item for item in value if isinstance(item, Tree)) if isinstance(value, tuple) else ()


@_tree
class Ident(Tree):
    """A name as such: of a variable, parameter, attribute or keyword."""

    HEAD: ClassVar[str] = "ident"
    name: str


# Expressions


@_tree
class Expr(Tree):
    """Something with a value, or a type where types are written."""


@_tree
class Var(Expr):
    """A name used as a value or as the target of an assignment."""

    HEAD: ClassVar[str] = "variable"
    ident: Ident

    @property
    def name(self) -> str:
        """The name itself."""
        return self.ident.name


@_tree
class Const(Expr):
    """An int, float or complex literal; never negative, for a sign is an operator."""

    HEAD: ClassVar[str] = "const"
    value: int | float | complex

    def shape(self) -> Shape:
        """The number as Python writes it."""
        return self.HEAD, (repr(self.value),)


@_tree
class StringLiteral(Expr):
    """A text, with escapes already read and adjacent literals joined."""

    HEAD: ClassVar[str] = "string_literal"
    value: str


@_tree
class TrueLit(Expr):
    """`True`."""

    HEAD: ClassVar[str] = "True"


@_tree
class FalseLit(Expr):
    """`False`."""

    HEAD: ClassVar[str] = "False"


@_tree
class NoneLit(Expr):
    """`None`, also of a `return` without a value."""

    HEAD: ClassVar[str] = "None"


@_tree
class Dots(Expr):
    """`...`, which has a meaning only in a subscript."""

    HEAD: ClassVar[str] = "dots"


@_tree
class Select(Expr):
    """`value.name`."""

    HEAD: ClassVar[str] = "."
    value: Expr
    ident: Ident

    @property
    def name(self) -> str:
        """The attribute's name."""
        return self.ident.name


@_tree
class Attribute(Tree):
    """`name=value` in a call."""

    HEAD: ClassVar[str] = "attribute"
    ident: Ident
    value: Expr

    @property
    def name(self) -> str:
        """The keyword."""
        return self.ident.name


@_tree
class Apply(Expr):
    """`callee(*args, **keywords)`; an argument may be `Starred`."""

    HEAD: ClassVar[str] = "apply"
    callee: Expr
    args: tuple[Expr, ...]
    keywords: tuple[Attribute, ...]


@_tree
class Subscript(Expr):
    """`value[indices]`; an index may be a `SliceExpr` or `Dots`."""

    HEAD: ClassVar[str] = "subscript"
    value: Expr
    indices: tuple[Expr, ...]


@_tree
class SliceExpr(Expr):
    """`lower:upper:step` in a subscript."""

    HEAD: ClassVar[str] = "slice expr"
    lower: Expr | None = field(metadata=_OPTION)
    upper: Expr | None = field(metadata=_OPTION)
    step: Expr | None = field(metadata=_OPTION)


@_tree
class ListLiteral(Expr):
    """`[items]`."""

    HEAD: ClassVar[str] = "list-literal"
    items: tuple[Expr, ...]


@_tree
class TupleLiteral(Expr):
    """`(items)`, and several targets or values beside each other."""

    HEAD: ClassVar[str] = "tuple-literal"
    items: tuple[Expr, ...]


@_tree
class DictLiteral(Expr):
    """`{keys[i]: values[i]}`."""

    HEAD: ClassVar[str] = "dict-literal"
    keys: tuple[Expr, ...]
    values: tuple[Expr, ...]


@_tree
class ListComp(Expr):
    """`[element for target in iterable]`."""

    HEAD: ClassVar[str] = "list comprehension"
    element: Expr
    target: Expr
    iterable: Expr


@_tree
class DictComp(Expr):
    """`{key: value for target in iterable}`."""

    HEAD: ClassVar[str] = "dict comprehension"
    key: Expr
    value: Expr
    target: Expr
    iterable: Expr


@_tree
class Starred(Expr):
    """`*value` in a call, a literal or a target."""

    HEAD: ClassVar[str] = "starred"
    value: Expr


@_tree
class BinOp(Expr):
    """`left op right` for + - * / // % ** @ & | ^ << >>; `op` is the sign."""

    op: str = field(metadata=_HIDDEN)
    left: Expr
    right: Expr

    @property
    def head(self) -> str:
        """The sign, or a word for the two that have one."""
        return _OPERATOR_WORDS.get(self.op, self.op)


@_tree
class Compare(Expr):
    """`left op right` for < > <= >= == != in is "is not". `not in` is `Not` of `in`.

    A chain `a < b < c` is `And` of two comparisons that share the tree of `b`, which is to be evaluated once.
    """

    op: str = field(metadata=_HIDDEN)
    left: Expr
    right: Expr

    @property
    def head(self) -> str:
        """The sign, or its short word."""
        return {"==": "eq", "!=": "ne", "<=": "le", ">=": "ge"}.get(self.op, self.op)


@_tree
class UnaryMinus(Expr):
    """`-value`."""

    HEAD: ClassVar[str] = "unary minus"
    value: Expr


@_tree
class Invert(Expr):
    """`~value`."""

    HEAD: ClassVar[str] = "~"
    value: Expr


@_tree
class Not(Expr):
    """`not value`."""

    HEAD: ClassVar[str] = "not"
    value: Expr


@_tree
class And(Expr):
    """`left and right`; more operands fold to the left."""

    HEAD: ClassVar[str] = "and"
    left: Expr
    right: Expr


@_tree
class Or(Expr):
    """`left or right`; more operands fold to the left."""

    HEAD: ClassVar[str] = "or"
    left: Expr
    right: Expr


@_tree
class TernaryIf(Expr):
    """`body if condition else orelse`."""

    HEAD: ClassVar[str] = "if"
    condition: Expr
    body: Expr
    orelse: Expr


# Statements


@_tree
class Stmt(Tree):
    """Something that is done."""


@_tree
class Assign(Stmt):
    """`targets[0] = targets[1] = … = value`, or `target: annotation = value`.

    In a class body the value may be absent; in a function it is always there.
    """

    HEAD: ClassVar[str] = "assign"
    targets: tuple[Expr, ...]
    value: Expr | None = field(metadata=_OPTION)
    annotation: Expr | None = field(metadata=_OPTION)


@_tree
class AugAssign(Stmt):
    """`target op= value`; `op` is the sign without the equals sign."""

    HEAD: ClassVar[str] = "aug_assign"
    target: Expr
    op: str
    value: Expr

    def shape(self) -> Shape:
        """The sign stands between its operands."""
        return self.HEAD, (self.target, (_OPERATOR_WORDS.get(self.op, self.op), ()), self.value)


@_tree
class ExprStmt(Stmt):
    """An expression whose value is dropped; a docstring too."""

    HEAD: ClassVar[str] = "expression statement"
    value: Expr


@_tree
class If(Stmt):
    """`if condition: body else: orelse`; `elif` is an `If` alone in `orelse`."""

    HEAD: ClassVar[str] = "if"
    condition: Expr
    body: tuple[Stmt, ...]
    orelse: tuple[Stmt, ...]


@_tree
class For(Stmt):
    """`for target in iterable: body`."""

    HEAD: ClassVar[str] = "for"
    targets: tuple[Expr, ...]
    iterables: tuple[Expr, ...]
    body: tuple[Stmt, ...]

    @property
    def target(self) -> Expr:
        """The one target."""
        return self.targets[0]

    @property
    def iterable(self) -> Expr:
        """The one iterable."""
        return self.iterables[0]


@_tree
class While(Stmt):
    """`while condition: body`."""

    HEAD: ClassVar[str] = "while"
    condition: Expr
    body: tuple[Stmt, ...]


@_tree
class Return(Stmt):
    """`return value`; without a value the value is `NoneLit`."""

    HEAD: ClassVar[str] = "return"
    value: Expr


@_tree
class Raise(Stmt):
    """`raise value`; a `from` clause is dropped."""

    HEAD: ClassVar[str] = "raise"
    value: Expr


@_tree
class Assert(Stmt):
    """`assert condition, message`."""

    HEAD: ClassVar[str] = "assert"
    condition: Expr
    message: Expr | None = field(metadata=_OPTION)


@_tree
class Pass(Stmt):
    """`pass`."""

    HEAD: ClassVar[str] = "pass"


@_tree
class Break(Stmt):
    """`break`."""

    HEAD: ClassVar[str] = "break"


@_tree
class Continue(Stmt):
    """`continue`."""

    HEAD: ClassVar[str] = "continue"


@_tree
class Delete(Stmt):
    """`del targets`: variables, and items at one index."""

    HEAD: ClassVar[str] = "del"
    targets: tuple[Expr, ...]


@_tree
class WithItem(Tree):
    """`value as target` in a `with`."""

    HEAD: ClassVar[str] = "withitem"
    value: Expr
    target: Var | None = field(metadata=_OPTION)


@_tree
class With(Stmt):
    """`with items: body`."""

    HEAD: ClassVar[str] = "with"
    items: tuple[WithItem, ...]
    body: tuple[Stmt, ...]


# Definitions


@_tree
class Param(Tree):
    """One parameter. `default` is written only in string sources; a Python function's defaults are its own values."""

    HEAD: ClassVar[str] = "param"
    ident: Ident
    annotation: Expr | None = field(metadata=_OPTION)
    default: Expr | None = field(metadata=_OPTION)
    keyword_only: bool

    @property
    def name(self) -> str:
        """The parameter's name."""
        return self.ident.name

    def shape(self) -> Shape:
        """The flag prints as a literal."""
        head, parts = Tree.shape(self)
        return head, (*parts[:-1], (str(self.keyword_only), ()))


@_tree
class Decl(Tree):
    """Parameters and declared result of a function; types from annotations or from `# type:` comments."""

    HEAD: ClassVar[str] = "decl"
    params: tuple[Param, ...]
    returns: Expr | None = field(metadata=_OPTION)


@_tree
class Def(Stmt):
    """A function. As a statement (a closure) it occurs only in string sources."""

    HEAD: ClassVar[str] = "def"
    ident: Ident
    decl: Decl
    body: tuple[Stmt, ...]

    @property
    def name(self) -> str:
        """The function's name."""
        return self.ident.name


@_tree
class ClassDef(Stmt):
    """A class of a string source: `class name(superclass): body`, where `body` has assignments and methods."""

    HEAD: ClassVar[str] = "class"
    ident: Ident
    superclass: Expr | None = field(metadata=_OPTION)
    body: tuple[Stmt, ...]

    @property
    def name(self) -> str:
        """The class's name."""
        return self.ident.name
