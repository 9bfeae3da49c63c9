"""`any`, `all` and `in` of generators: they take no more items than they need.

any(v > 2 for v in x)    →    a loop that breaks at the first item that is
"""

from __future__ import annotations

from typing import Final

from flambeau.frontend.emit.call_expressions import emit_arguments
from flambeau.frontend.emit.values.container_methods import named
from flambeau.frontend.emit.values.operator_value import OperatorValue
from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.emit.values.sugared import Emitter, FormValue, Given, Sugared
from flambeau.frontend.trees.tree_views import (
    Apply,
    Assign,
    Break,
    Clause,
    Compare,
    Expr,
    FalseLit,
    For,
    GeneratorComp,
    GeneratorListComp,
    Ident,
    If,
    Not,
    Stmt,
    TrueLit,
    Var,
)
from flambeau.ir.graph import Value
from flambeau.schema.types import Type
from flambeau.util.source import SourceRange

FOUND, ITEM, SOURCE, WANTED = "$found", "$item", "$source", "$wanted"


def _name(where: SourceRange, name: str) -> Var:
    return Var(where, Ident(where, name))


def _search(e: Emitter, where: SourceRange, clause: Clause, test: Expr, *, result: bool) -> Value:
    """`result` if the test holds for an item, else its opposite."""
    hit, miss = (TrueLit(where), FalseLit(where)) if result else (FalseLit(where), TrueLit(where))
    target = _name(where, FOUND)
    stop: Stmt = If(where, test, (Assign(where, (target,), hit, None), Break(where)), ())
    for condition in reversed(clause.conditions):
        stop = If(where, condition, (stop,), ())
    start = Assign(where, (target,), miss, None)
    with e.scope.nested():
        e.statements((start, For(where, (clause.target,), (clause.iterable,), (stop,))))
        return e.value(target)


def _form(name: str, *, result: bool) -> FormValue:
    def emit(e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
        where = tree.range
        if len(tree.args) == 1 and not tree.keywords:
            arg = tree.args[0]
            clause, item = _clause(arg)
            with e.scope.nested():
                if clause is None or item is None:
                    source = e.sugared(arg)
                    if not source.is_lazy:
                        argument = Given(source.as_value(e, arg.range), arg.range)
                        return OperatorValue(f"aten::{name}").call(e, tree.callee.range, [argument], ())
                    item = _name(where, ITEM)
                    clause = Clause(where, item, named(e, where, SOURCE, source), ())
                else:
                    source = e.sugared(clause.iterable)
                    clause = Clause(where, clause.target, named(e, where, SOURCE, source), clause.conditions)
                if source.is_lazy or source.iterate(e, where).unrolled is None:
                    test = item if result else Not(where, item)
                    return SimpleValue(_search(e, where, clause, test, result=result))
        args, keywords = emit_arguments(e, tree)
        return OperatorValue(f"aten::{name}").call(e, tree.callee.range, args, keywords)

    return FormValue(name, emit)


def _clause(tree: Expr) -> tuple[Clause | None, Expr | None]:
    """The one clause of a generator expression, and its element."""
    if isinstance(tree, GeneratorListComp):
        return Clause(tree.range, tree.target, tree.iterable, ()), tree.element
    if isinstance(tree, GeneratorComp) and len(tree.clauses) == 1:
        return tree.clauses[0], tree.element
    return None, None


def contains(e: Emitter, where: SourceRange, source: Sugared, item: Value) -> Value:
    """`item in source` of a generator."""
    with e.scope.nested():
        wanted = named(e, where, WANTED, SimpleValue(item))
        clause = Clause(where, _name(where, ITEM), named(e, where, SOURCE, source), ())
        return _search(e, where, clause, Compare(where, "==", _name(where, ITEM), wanted), result=True)


ANY_FORM: Final = _form("any", result=True)
ALL_FORM: Final = _form("all", result=False)
