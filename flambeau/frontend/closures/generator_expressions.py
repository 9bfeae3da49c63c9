"""Generator expressions that are kept: nested generators of the same statements.

it = (v * v for v in x if v)    →    def genexpr(first): for v in first: if v: yield v * v        it = genexpr(x)
"""

from __future__ import annotations

from collections.abc import Callable

from flambeau.frontend.closures.call_arguments import Argument
from flambeau.frontend.closures.nested_functions import closure
from flambeau.frontend.emit.values.generator_calls import generator_call
from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.emit.values.sugared import Emitter, Sugared
from flambeau.frontend.scopes.scope_tree import scope_tree
from flambeau.frontend.trees.tree_views import (
    Clause,
    Decl,
    Def,
    Expr,
    For,
    GeneratorComp,
    GeneratorListComp,
    Ident,
    If,
    Param,
    Stmt,
    Var,
    Yield,
)
from flambeau.ir.graph import Value
from flambeau.program.function import Function

FIRST = "first_iterable__"


def keep_expression(e: Emitter, tree: Expr, compile_: Callable[..., Function]) -> Sugared | None:
    """The generator that a generator expression is; None for another expression."""
    if isinstance(tree, GeneratorListComp):
        clauses: tuple[Clause, ...] = (Clause(tree.range, tree.target, tree.iterable, ()),)
    elif isinstance(tree, GeneratorComp):
        clauses = tree.clauses
    else:
        return None
    where = tree.range
    first = Ident(where, FIRST)
    body: Stmt = Yield(where, tree.element, False)
    for number, clause in reversed(list(enumerate(clauses))):
        for condition in reversed(clause.conditions):
            body = If(where, condition, (body,), ())
        iterable = clause.iterable if number else Var(where, first)
        body = For(where, (clause.target,), (iterable,), (body,))
    decl = Decl(where, (Param(where, first, None, None, False),), None)
    function = Def(where, Ident(where, "genexpr"), decl, (body,))
    function_value = closure(e, function, scope_tree(function, e.scope.symbols), compile_)
    source = e.sugared(clauses[0].iterable).kept(e, where)
    value = source.stored_value(e, where)
    argument = Argument(source if value is None else SimpleValue(value), where)

    def listed(e: Emitter) -> Value:
        return e.value(tree)

    body = function_value.template.tree
    call = generator_call(e, body, e.scope.resolver, {}, [argument], {}, listed, compile_, function_value)
    return None if call is None else call.kept(e, where)
