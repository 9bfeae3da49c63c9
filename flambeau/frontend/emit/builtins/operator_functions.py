"""The functions of Python's `operator` module: each means the expression that it is documented by.

operator.mul(a, b)    →    what `a * b` becomes        itemgetter(1, 0)(t)    →    what `(t[1], t[0])` becomes
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar, Final

from flambeau.frontend.emit.values.container_methods import named
from flambeau.frontend.emit.values.operator_value import OperatorValue
from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.emit.values.sugared import Emitter, FormValue, Given, Sugared
from flambeau.frontend.trees.function_conversion import get_tree
from flambeau.frontend.trees.tree_views import (
    Apply,
    Attribute,
    Def,
    Expr,
    Ident,
    Return,
    Select,
    Subscript,
    TupleLiteral,
)
from flambeau.schema.types import Type
from flambeau.util.errors import CompileError
from flambeau.util.record import dataclass
from flambeau.util.source import SourceRange

BINARY: Final = {
    "add": "+", "concat": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**",
    "matmul": "@", "and_": "&", "or_": "|", "xor": "^", "lshift": "<<", "rshift": ">>", "lt": "<", "le": "<=",
    "eq": "==", "ne": "!=", "gt": ">", "ge": ">=", "is_": "is", "is_not": "is not",
}  # fmt: skip
UNARY: Final = {"neg": "-a", "pos": "+a", "not_": "not a", "inv": "~a", "invert": "~a"}
OTHERS: Final = {
    "contains": "(a, b): return b in a", "getitem": "(a, b): return a[b]", "countOf": "(a, b): return a.count(b)",
    "indexOf": "(a, b): return a.index(b)", "truth": "(a): return True if a else False",
    "setitem": "(a, b, c): a[b] = c", "delitem": "(a, b): del a[b]",
}  # fmt: skip
SOURCES: Final = {
    **{name: f"(a, b): return a {sign} b" for name, sign in BINARY.items()},
    **{name: f"(a): return {text}" for name, text in UNARY.items()},
    **OTHERS,
}
GETTERS: Final = (operator.itemgetter, operator.attrgetter, operator.methodcaller)


@functools.cache
def _tree(name: str) -> Def:
    return get_tree(f"def {name}{SOURCES[name]}\n")


@dataclass(slots=True)
class OperatorFunction(Sugared):
    """A function of `operator`, by name."""

    name: str

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return f"operator.{self.name}"

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """The expression that it means."""
        tree = _tree(self.name)
        params = tree.decl.params
        if len(args) != len(params) or keywords:
            count = f"{len(args)} positional and {len(keywords)} keyword" if keywords else str(len(args))
            raise CompileError(f"{self.kind} expected {len(params)} arguments, got {count}", where)
        with e.scope.nested():
            for param, argument in zip(params, args, strict=True):
                named(e, where, param.name, SimpleValue(argument.value))
            try:
                with e.graph.at_range(where):
                    [statement] = tree.body
                    if isinstance(statement, Return):
                        return SimpleValue(e.value(statement.value))
                    e.statements(tree.body)
            except CompileError as error:
                error.range = where
                raise
        return SimpleValue(e.constant(None))


@dataclass(slots=True)
class Getter(Sugared):
    """`itemgetter(...)`, `attrgetter(...)`, `methodcaller(...)`: what to take of the thing it is called with."""

    is_function: ClassVar[bool] = True

    name: str
    args: list[Sugared]
    keywords: dict[str, Sugared]

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return self.name

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """What it takes of one value."""
        if len(args) != 1 or keywords:
            raise CompileError(f"{self.name} expected 1 argument, got {len(args) + len(keywords)}", where)
        with e.scope.nested():
            owner = named(e, where, "$owner", SimpleValue(args[0].value))
            parts = [named(e, where, f"$part{i}", part) for i, part in enumerate(self.args)]
            return SimpleValue(e.value(self._tree(e, where, owner, parts)))

    def _tree(self, e: Emitter, where: SourceRange, owner: Expr, parts: Sequence[Expr]) -> Expr:
        if self.name == "itemgetter":
            trees: list[Expr] = [Subscript(where, owner, (part,)) for part in parts]
        elif self.name == "attrgetter":
            paths = [_text(part, where).split(".") for part in self.args]
            trees = [functools.reduce(partial(_select, where), path, owner) for path in paths]
        else:
            keywords = [
                Attribute(where, Ident(where, name), named(e, where, f"$part_{name}", value))
                for name, value in self.keywords.items()
            ]
            method = _select(where, owner, _text(self.args[0], where))
            trees = [Apply(where, method, tuple(parts[1:]), tuple(keywords))]
        return trees[0] if len(trees) == 1 else TupleLiteral(where, tuple(trees))


def _select(where: SourceRange, owner: Expr, name: str) -> Expr:
    return Select(where, owner, Ident(where, name))


def _text(part: Sugared, where: SourceRange) -> str:
    """A name that is written as a literal. Raises CompileError for another."""
    node = part.value.defining_node if isinstance(part, SimpleValue) else None
    constant = node.attributes.get("value") if node is not None and node.op == "prim::Constant" else None
    if not isinstance(constant, str):
        raise CompileError("attrgetter and methodcaller take names as text literals", where)
    return constant


def _getter(name: str) -> FormValue:
    def emit(e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
        if not tree.args:
            raise CompileError(f"{name} expected at least 1 argument, got 0", tree.callee.range)
        keywords = {k.name: e.sugared(k.value) for k in tree.keywords}
        if keywords and name != "methodcaller":
            raise CompileError(f"{name} takes no keyword arguments", tree.callee.range)
        return Getter(name, [e.sugared(arg) for arg in tree.args], keywords)

    return FormValue(name, emit)


def wrap_getter(e: Emitter, value: Any, where: SourceRange) -> Getter | None:
    """What a getter that the program finds outside of it is; None for anything else."""
    if not isinstance(value, GETTERS):
        return None
    reduced: Any = value.__reduce__()
    cls, arguments = reduced[0], reduced[1]
    keywords = cls.keywords if isinstance(cls, partial) else {}
    args = (*cls.args, *arguments) if isinstance(cls, partial) else arguments
    return Getter(
        type(value).__name__,
        [e.wrap(arg, where) for arg in args],
        {name: e.wrap(part, where) for name, part in keywords.items()},
    )


OPERATOR_FUNCTIONS: Final[dict[Any, Sugared]] = {
    **{getattr(operator, name): OperatorFunction(name) for name in SOURCES},
    **{getter: _getter(getter.__name__) for getter in GETTERS},
    operator.abs: OperatorValue("prim::abs"),
}
"""What each function of `operator` is in a program."""
