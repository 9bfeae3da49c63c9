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
    """`+value`.

    Example: `+x` → `(unary plus (variable (ident x)))`
    """

    HEAD: ClassVar[str] = "unary plus"
    value: Expr


@tree_class
class Walrus(Expr):
    """`(target := value)`.

    Example: `(a := x)` → `(walrus (variable (ident a)) (variable (ident x)))`
    """

    HEAD: ClassVar[str] = "walrus"
    target: Var
    value: Expr


@tree_class
class SetLiteral(Expr):
    """`{items}`, which only `in` understands.

    Example: `x in {1, 2}` → `(set-literal (list (const 1) (const 2)))`
    """

    HEAD: ClassVar[str] = "set-literal"
    items: tuple[Expr, ...]


@tree_class
class Formatted(Expr):
    """`{value!conversion:spec}` of an f-string; one of the two is there.

    Example: `f'{x:.2f}'` →
    `(formatted (variable (ident x)) (option (apply (. (string_literal .2f) (ident format)) (list) (list))))`
    """

    HEAD: ClassVar[str] = "formatted"
    value: Expr
    conversion: str
    spec: Expr | None = field(metadata=OPTION)


@tree_class
class Clause(Tree):
    """`for target in iterable if conditions…` of a comprehension.

    Example: `[a for a in x if a]` → `(clause (variable (ident a)) (variable (ident x)) (list (variable (ident a))))`
    """

    HEAD: ClassVar[str] = "clause"
    target: Expr
    iterable: Expr
    conditions: tuple[Expr, ...]


@tree_class
class Comprehension(Expr):
    """A comprehension of several clauses, or with conditions: `[element …]`, or `{key: element …}` with a key.

    Example: `[a for a in x if a]` →
    `(comprehension (option) (variable (ident a)) (list (clause (variable (ident a)) (variable (ident x)) (list
    (variable (ident a))))))`
    """

    HEAD: ClassVar[str] = "comprehension"
    key: Expr | None = field(metadata=OPTION)
    element: Expr
    clauses: tuple[Clause, ...]


@tree_class
class GeneratorComp(Comprehension):
    """`(element for …)` of several clauses, or with conditions.

    Example: `f(a for a in x if a)` →
    `(comprehension (option) (variable (ident a)) (list (clause (variable (ident a)) (variable (ident x)) (list
    (variable (ident a))))))`
    """


@tree_class
class Lambda(Expr):
    """`lambda params: body`.

    Example: `lambda a: a` →
    `(lambda (decl (list (param (ident a) (option) (option) (False))) (option)) (variable (ident a)))`
    """

    HEAD: ClassVar[str] = "lambda"
    decl: Decl
    body: Expr


@tree_class
class Bind(Expr):
    """Binds a name and is true: a capture in a `match` case with a guard.

    >>> from flambeau.frontend.trees.function_conversion import get_tree
    >>> tree = get_tree("def f(x):\\n    match x:\\n        case [a] if a: return a\\n")
    >>> print(*(part for part in tree.walk() if isinstance(part, Bind)))
    (bind
      (variable (ident a))
      (subscript
        (variable (ident x))
        (list (const 0))))
    """

    HEAD: ClassVar[str] = "bind"
    target: Var
    value: Expr


@tree_class
class Length(Expr):
    """Whether a sequence has this length, or at least this length: of a pattern in a `match`.

    >>> from flambeau.frontend.trees.function_conversion import get_tree
    >>> tree = get_tree("def f(x):\\n    match x:\\n        case [a, *_]: return a\\n")
    >>> print(*(part for part in tree.walk() if isinstance(part, Length)))
    (length (variable (ident x)) (>= 1))
    """

    HEAD: ClassVar[str] = "length"
    value: Expr
    count: int
    at_least: bool

    def shape(self) -> Shape:
        """The number as a literal."""
        return self.HEAD, (self.value, (f"{'>=' if self.at_least else '=='} {self.count}", ()))


@tree_class
class Import(Stmt):
    """`import module as name`, or `from module import member as name`.

    Example: `import math as m` → `(import math (ident m))`
    """

    HEAD: ClassVar[str] = "import"
    module: str
    member: str
    ident: Ident


@tree_class
class Handler(Tree):
    """`except kind as ident: body`; without a kind it takes every exception.

    >>> from flambeau.frontend.trees.function_conversion import get_tree
    >>> tree = get_tree("def f(x):\\n    try: x()\\n    except ValueError as e: pass\\n")
    >>> print(tree.body[0].handlers[0])
    (except
      (option
        (variable (ident ValueError)))
      (option (ident e))
      (list (pass)))
    """

    HEAD: ClassVar[str] = "except"
    kind: Expr | None = field(metadata=OPTION)
    ident: Ident | None = field(metadata=OPTION)
    body: tuple[Stmt, ...]


@tree_class
class Try(Stmt):
    """`try: body` with handlers and an `else`, or with a `finally` alone.

    >>> from flambeau.frontend.trees.function_conversion import get_tree
    >>> tree = get_tree("def f(x):\\n    try: x()\\n    finally: x()\\n")
    >>> print(len(tree.body[0].handlers), len(tree.body[0].finalbody))
    0 1
    """

    HEAD: ClassVar[str] = "try"
    body: tuple[Stmt, ...]
    handlers: tuple[Handler, ...]
    orelse: tuple[Stmt, ...]
    finalbody: tuple[Stmt, ...]


@tree_class
class Reraise(Stmt):
    """`raise` alone.

    >>> from flambeau.frontend.trees.function_conversion import get_tree
    >>> tree = get_tree("def f(x):\\n    try: x()\\n    except ValueError: raise\\n")
    >>> print(tree.body[0].handlers[0].body[0])
    (reraise)
    """

    HEAD: ClassVar[str] = "reraise"


@tree_class
class Nonlocal(Stmt):
    """`nonlocal names` of a nested function.

    >>> from flambeau.frontend.trees.function_conversion import get_tree
    >>> tree = get_tree("def f(x):\\n    def g():\\n        nonlocal x\\n    g()\\n")
    >>> print(tree.body[0].body[0])
    (nonlocal (x))
    """

    HEAD: ClassVar[str] = "nonlocal"
    names: tuple[str, ...]

    def shape(self) -> Shape:
        """The names as words."""
        return self.HEAD, tuple((name, ()) for name in self.names)


@tree_class
class LoopElse(Stmt):
    """A loop with an `else`, and the variable that its `break`s set.

    >>> from flambeau.frontend.trees.function_conversion import get_tree
    >>> tree = get_tree("def f(x):\\n    while x: break\\n    else: x()\\n")
    >>> print(tree.body[-1].flag.name)
    $broken2_4
    """

    HEAD: ClassVar[str] = "loop-else"
    flag: Var
    loop: Stmt
    orelse: tuple[Stmt, ...]


@tree_class
class Yield(Stmt):
    """`yield value`, or `yield from value` on a line of its own.

    Example: `yield x` → `(yield (variable (ident x)))`
    """

    HEAD: ClassVar[str] = "yield"
    value: Expr
    is_from: bool

    def shape(self) -> Shape:
        """The flag prints as a word."""
        return self.HEAD, (self.value, ("from", ())) if self.is_from else (self.value,)


@tree_class
class PythonBlock(Stmt):
    """Statements that stay Python: what they read and what they assign, each with its type.

    >>> from flambeau.frontend.trees.function_conversion import get_tree
    >>> kept = "with _IgnoreContextManager(a='inp:int', b='out:float'): b = a / 2"
    >>> tree = get_tree(f"def f(a):\\n    {kept}\\n    return b\\n")
    >>> block = tree.body[0]
    >>> print(block.targets[0].name, block.target_types[0])
    b (string_literal float)
    """

    HEAD: ClassVar[str] = "python"
    inputs: tuple[Var, ...]
    input_types: tuple[Expr, ...]
    targets: tuple[Var, ...]
    target_types: tuple[Expr, ...]
    code: ast.FunctionDef = field(metadata=HIDDEN)
    """The statements as a function of the inputs that returns the targets."""
