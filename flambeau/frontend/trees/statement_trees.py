"""Kinds of statements and definitions."""

from __future__ import annotations

from typing import ClassVar

from flambeau.frontend.trees.expression_trees import Var
from flambeau.frontend.trees.tree_base import HIDDEN, OPERATOR_WORDS, OPTION, Expr, Ident, Stmt, Tree, tree_class
from flambeau.frontend.trees.tree_text import Shape
from flambeau.util.record import field


@tree_class
class Assign(Stmt):
    """`targets[0] = targets[1] = … = value`, or `target: annotation = value`.

    In a class body the value may be absent; in a function it is always there.

    Example: `a = x` → `(assign (list (variable (ident a))) (option (variable (ident x))) (option))`
    """

    HEAD: ClassVar[str] = "assign"
    targets: tuple[Expr, ...]
    value: Expr | None = field(metadata=OPTION)
    annotation: Expr | None = field(metadata=OPTION)


@tree_class
class AugAssign(Stmt):
    """`target op= value`; `op` is the sign without the equals sign.

    Example: `x += 1` → `(aug_assign (variable (ident x)) (+) (const 1))`
    """

    HEAD: ClassVar[str] = "aug_assign"
    target: Expr
    op: str
    value: Expr

    def shape(self) -> Shape:
        """The sign stands between its operands."""
        return self.HEAD, (self.target, (OPERATOR_WORDS.get(self.op, self.op), ()), self.value)


@tree_class
class ExprStmt(Stmt):
    """An expression whose value is dropped; a docstring too.

    Example: `f(x)` → `(expression statement (apply (variable (ident f)) (list (variable (ident x))) (list)))`
    """

    HEAD: ClassVar[str] = "expression statement"
    value: Expr


@tree_class
class If(Stmt):
    """`if condition: body else: orelse`; `elif` is an `If` alone in `orelse`.

    Example: `if x: pass` → `(if (variable (ident x)) (list (pass)) (list))`
    """

    HEAD: ClassVar[str] = "if"
    condition: Expr
    body: tuple[Stmt, ...]
    orelse: tuple[Stmt, ...]


@tree_class
class For(Stmt):
    """`for target in iterable: body`.

    Example: `for a in x: pass` → `(for (list (variable (ident a))) (list (variable (ident x))) (list (pass)))`
    """

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


@tree_class
class While(Stmt):
    """`while condition: body`.

    Example: `while x: pass` → `(while (variable (ident x)) (list (pass)))`
    """

    HEAD: ClassVar[str] = "while"
    condition: Expr
    body: tuple[Stmt, ...]


@tree_class
class Return(Stmt):
    """`return value`; without a value the value is `NoneLit`.

    Example: `return x` → `(return (variable (ident x)))`
    """

    HEAD: ClassVar[str] = "return"
    value: Expr


@tree_class
class Raise(Stmt):
    """`raise value`; a `from` clause is dropped.

    Example: `raise f(x)` → `(raise (apply (variable (ident f)) (list (variable (ident x))) (list)))`
    """

    HEAD: ClassVar[str] = "raise"
    value: Expr


@tree_class
class Assert(Stmt):
    """`assert condition, message`.

    Example: `assert x` → `(assert (variable (ident x)) (option))`
    """

    HEAD: ClassVar[str] = "assert"
    condition: Expr
    message: Expr | None = field(metadata=OPTION)


@tree_class
class Pass(Stmt):
    """`pass`.

    Example: `pass` → `(pass)`
    """

    HEAD: ClassVar[str] = "pass"


@tree_class
class Break(Stmt):
    """`break`.

    Example: `while x: break` → `(break)`
    """

    HEAD: ClassVar[str] = "break"


@tree_class
class Continue(Stmt):
    """`continue`.

    Example: `while x: continue` → `(continue)`
    """

    HEAD: ClassVar[str] = "continue"


@tree_class
class Delete(Stmt):
    """`del targets`: variables, and items at one index.

    Example: `del x[0]` → `(del (list (subscript (variable (ident x)) (list (const 0)))))`
    """

    HEAD: ClassVar[str] = "del"
    targets: tuple[Expr, ...]


@tree_class
class WithItem(Tree):
    """`value as target` in a `with`.

    Example: `with f(x) as y: pass` →
    `(withitem (apply (variable (ident f)) (list (variable (ident x))) (list)) (option (variable (ident y))))`
    """

    HEAD: ClassVar[str] = "withitem"
    value: Expr
    target: Var | None = field(metadata=OPTION)


@tree_class
class With(Stmt):
    """`with items: body`.

    Example: `with f(x): pass` →
    `(with (list (withitem (apply (variable (ident f)) (list (variable (ident x))) (list)) (option))) (list (pass)))`
    """

    HEAD: ClassVar[str] = "with"
    items: tuple[WithItem, ...]
    body: tuple[Stmt, ...]


@tree_class
class Param(Tree):
    """One parameter. `default` is written only in string sources; a Python function's defaults are its own values.

    Example: `def f(x: int): pass` → `(param (ident x) (option (variable (ident int))) (option) (False))`
    """

    HEAD: ClassVar[str] = "param"
    ident: Ident
    annotation: Expr | None = field(metadata=OPTION)
    default: Expr | None = field(metadata=OPTION)
    keyword_only: bool
    positional_only: bool = False

    @property
    def name(self) -> str:
        """The parameter's name."""
        return self.ident.name

    def shape(self) -> Shape:
        """A flag prints as a literal; parameters that have no keyword print like others, as in TorchScript."""
        head, parts = Tree.shape(self)
        return head, (*parts[:3], (str(self.keyword_only), ()))


@tree_class
class Decl(Tree):
    """Parameters and declared result of a function; types from annotations or from `# type:` comments.

    Example: `def f(x) -> int: pass` →
    `(decl (list (param (ident x) (option) (option) (False))) (option (variable (ident int))))`
    """

    HEAD: ClassVar[str] = "decl"
    params: tuple[Param, ...]
    returns: Expr | None = field(metadata=OPTION)
    vararg: Param | None = field(metadata=HIDDEN, default=None)
    """`*args`: what is left of the positional arguments."""
    kwarg: Param | None = field(metadata=HIDDEN, default=None)
    """`**options`: what is left of the keyword arguments."""


@tree_class
class Def(Stmt):
    """A function. As a statement (a closure) it occurs only in string sources.

    Example: `def f(x): pass` →
    `(def (ident f) (decl (list (param (ident x) (option) (option) (False))) (option)) (list (pass)))`
    """

    HEAD: ClassVar[str] = "def"
    ident: Ident
    decl: Decl
    body: tuple[Stmt, ...]

    @property
    def name(self) -> str:
        """The function's name."""
        return self.ident.name

    def __repr__(self) -> str:
        return str(self)


@tree_class
class ClassDef(Stmt):
    """A class of a string source: `class name(superclass): body`, where `body` has assignments and methods.

    Example: `class A: x: int` →
    `(class (ident A) (option) (list (assign (list (variable (ident x))) (option) (option (variable (ident int))))))`
    """

    HEAD: ClassVar[str] = "class"
    ident: Ident
    superclass: Expr | None = field(metadata=OPTION)
    body: tuple[Stmt, ...]

    @property
    def name(self) -> str:
        """The class's name."""
        return self.ident.name
