"""Kinds of expressions that Python has and TorchScript's trees have not."""

from __future__ import annotations

import ast
from typing import ClassVar

from flambeau.frontend.trees.expression_trees import Var
from flambeau.frontend.trees.statement_trees import Decl
from flambeau.frontend.trees.tree_base import HIDDEN, OPTION, Expr, Ident, Stmt, Tree, tree_class
from flambeau.frontend.trees.tree_text import Shape
from flambeau.util.record import field


@tree_class
class UnaryPlus(Expr):
    """`+value`."""

    HEAD: ClassVar[str] = "unary plus"
    value: Expr


@tree_class
class Walrus(Expr):
    """`(target := value)`."""

    HEAD: ClassVar[str] = "walrus"
    target: Var
    value: Expr


@tree_class
class SetLiteral(Expr):
    """`{items}`, which only `in` understands."""

    HEAD: ClassVar[str] = "set-literal"
    items: tuple[Expr, ...]


@tree_class
class Formatted(Expr):
    """`{value!conversion:spec}` of an f-string; one of the two is there."""

    HEAD: ClassVar[str] = "formatted"
    value: Expr
    conversion: str
    spec: Expr | None = field(metadata=OPTION)


@tree_class
class Clause(Tree):
    """`for target in iterable if conditions…` of a comprehension."""

    HEAD: ClassVar[str] = "clause"
    target: Expr
    iterable: Expr
    conditions: tuple[Expr, ...]


@tree_class
class Comprehension(Expr):
    """A comprehension of several clauses, or with conditions: `[element …]`, or `{key: element …}` with a key."""

    HEAD: ClassVar[str] = "comprehension"
    key: Expr | None = field(metadata=OPTION)
    element: Expr
    clauses: tuple[Clause, ...]


@tree_class
class GeneratorComp(Comprehension):
    """`(element for …)` of several clauses, or with conditions."""


@tree_class
class Lambda(Expr):
    """`lambda params: body`."""

    HEAD: ClassVar[str] = "lambda"
    decl: Decl
    body: Expr


@tree_class
class Bind(Expr):
    """Binds a name and is true: a capture in a `match` case with a guard."""

    HEAD: ClassVar[str] = "bind"
    target: Var
    value: Expr


@tree_class
class Length(Expr):
    """Whether a sequence has this length, or at least this length: of a pattern in a `match`."""

    HEAD: ClassVar[str] = "length"
    value: Expr
    count: int
    at_least: bool

    def shape(self) -> Shape:
        """The number as a literal."""
        return self.HEAD, (self.value, (f"{'>=' if self.at_least else '=='} {self.count}", ()))


@tree_class
class Import(Stmt):
    """`import module as name`, or `from module import member as name`."""

    HEAD: ClassVar[str] = "import"
    module: str
    member: str
    ident: Ident


@tree_class
class Handler(Tree):
    """`except kind as ident: body`; without a kind it takes every exception."""

    HEAD: ClassVar[str] = "except"
    kind: Expr | None = field(metadata=OPTION)
    ident: Ident | None = field(metadata=OPTION)
    body: tuple[Stmt, ...]


@tree_class
class Try(Stmt):
    """`try: body` with handlers and an `else`, or with a `finally` alone."""

    HEAD: ClassVar[str] = "try"
    body: tuple[Stmt, ...]
    handlers: tuple[Handler, ...]
    orelse: tuple[Stmt, ...]
    finalbody: tuple[Stmt, ...]


@tree_class
class Reraise(Stmt):
    """`raise` alone."""

    HEAD: ClassVar[str] = "reraise"


@tree_class
class Nonlocal(Stmt):
    """`nonlocal names` of a nested function."""

    HEAD: ClassVar[str] = "nonlocal"
    names: tuple[str, ...]

    def shape(self) -> Shape:
        """The names as words."""
        return self.HEAD, tuple((name, ()) for name in self.names)


@tree_class
class LoopElse(Stmt):
    """A loop with an `else`, and the variable that its `break`s set."""

    HEAD: ClassVar[str] = "loop-else"
    flag: Var
    loop: Stmt
    orelse: tuple[Stmt, ...]


@tree_class
class Yield(Stmt):
    """`yield value`, or `yield from value` on a line of its own."""

    HEAD: ClassVar[str] = "yield"
    value: Expr
    is_from: bool

    def shape(self) -> Shape:
        """The flag prints as a word."""
        return self.HEAD, (self.value, ("from", ())) if self.is_from else (self.value,)


@tree_class
class PythonBlock(Stmt):
    """Statements that stay Python: what they read and what they assign, each with its type."""

    HEAD: ClassVar[str] = "python"
    inputs: tuple[Var, ...]
    input_types: tuple[Expr, ...]
    targets: tuple[Var, ...]
    target_types: tuple[Expr, ...]
    code: ast.FunctionDef = field(metadata=HIDDEN)
    """The statements as a function of the inputs that returns the targets."""
