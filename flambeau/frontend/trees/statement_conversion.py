"""Conversion of statements, one rule a kind of node.

for i in range(3):    →   (for (list i) (list (apply range 3))
    x += i                  (list (aug_assign x (+) i)))
"""

from __future__ import annotations

import ast
from collections.abc import Generator
from typing import Any

from flambeau.frontend.trees.conversion_rules import Context, Rule, Statements, Step, Wanted, all_of, optional, refused
from flambeau.frontend.trees.definition_conversion import define
from flambeau.frontend.trees.expression_conversion import BINARY_SIGNS
from flambeau.frontend.trees.match_conversion import convert_match
from flambeau.frontend.trees.python_block_conversion import is_python_block, python_block
from flambeau.frontend.trees.tree_views import (
    Apply,
    Assert,
    Assign,
    AugAssign,
    Break,
    ClassDef,
    Continue,
    Def,
    Delete,
    Expr,
    ExprStmt,
    For,
    Handler,
    Ident,
    If,
    Import,
    LoopElse,
    NoneLit,
    Nonlocal,
    Pass,
    Raise,
    Reraise,
    Return,
    Select,
    Stmt,
    Subscript,
    TrueLit,
    Try,
    Var,
    While,
    With,
    WithItem,
    Yield,
)
from flambeau.util.errors import FrontendError, NotSupportedError, UnsupportedNodeError
from flambeau.util.record import replace

NO_VALUE = "annotated assignments without assigned value"
NO_VALUE_INSTEAD = "give the variable its first value here"
WITH_TARGET = "the target of a with item must be a plain name"
DELETE_SLICE = "del statements only support deletion at a single index or slice of a list. Delete one after the other"
DELETE_OTHER = "del statements are only supported for deleting list and dict items and variables"
INSTANCE_ANNOTATION = (
    "Type annotations on instance attributes must be declared in __init__, but this one is in '{function}'"
)
OUTSIDE_LOOP = "Syntax error: '{word}' outside loop"


class InstanceAnnotationError(NotSupportedError, ValueError):
    """`self.x: T = …` outside of `__init__`."""


def _assign(context: Context, node: ast.Assign) -> Step:
    value: Expr = yield node.value
    targets: tuple[Expr, ...] = yield from all_of(node.targets)
    return Assign(context.span(node, (value, *targets)), targets, value, None)


def _annotated_assign(context: Context, node: ast.AnnAssign) -> Step:
    target: Expr = yield node.target
    of_self = isinstance(target, Select) and isinstance(target.value, Var) and target.value.name == "self"
    if of_self and context.function not in ("", "__init__"):
        raise InstanceAnnotationError(INSTANCE_ANNOTATION.format(function=context.function), target.range)
    if node.value is None and context.function:
        raise UnsupportedNodeError.of(NO_VALUE, context.range(node), NO_VALUE_INSTEAD)
    value = yield from optional(node.value)
    annotation: Expr = yield node.annotation
    parts = (target, annotation) if value is None else (target, annotation, value)
    return Assign(context.span(node, parts), (target,), value, annotation)


def _augmented_assign(context: Context, node: ast.AugAssign) -> Step:
    target: Expr = yield node.target
    value: Expr = yield node.value
    return AugAssign(context.span(node, (value,)), target, BINARY_SIGNS[type(node.op)], value)


def _expression(context: Context, node: ast.Expr) -> Step:
    if isinstance(node.value, ast.Yield | ast.YieldFrom):
        return (yield from _yield(context, node.value))
    value: Expr = yield node.value
    return ExprStmt(value.range, value)


def _yield(context: Context, node: ast.Yield | ast.YieldFrom) -> Step:
    where = context.text.first(node, "yield")
    value: Expr | None = yield from optional(node.value)
    return Yield(where, NoneLit(where) if value is None else value, isinstance(node, ast.YieldFrom))


def _if(context: Context, node: ast.If) -> Step:
    condition: Expr = yield node.test
    body: Statements = yield from all_of(node.body)
    orelse: Statements = yield from all_of(node.orelse)
    return If(context.span(node, (*body, *orelse), "if"), condition, body, orelse)


def _for(context: Context, node: ast.For) -> Step:
    target: Expr = yield node.target
    iterable: Expr = yield node.iter
    flag = _flag(node)
    body = yield from _loop_body(context, node.body, flag)
    loop = For(context.span(node, body, "for"), (target,), (iterable,), body)
    return loop if not node.orelse else (yield from _with_else(context, node, loop, flag))


def _while(context: Context, node: ast.While) -> Step:
    condition: Expr = yield node.test
    flag = _flag(node)
    body = yield from _loop_body(context, node.body, flag)
    loop = While(context.span(node, body, "while"), condition, body)
    return loop if not node.orelse else (yield from _with_else(context, node, loop, flag))


def _loop_body(context: Context, nodes: list[ast.stmt], flag: str) -> Generator[Wanted, Any, Statements]:
    inner = replace(context, in_loop=True, broken=flag)
    return (yield from all_of((inner, node) for node in nodes))


def _flag(node: ast.For | ast.While) -> str:
    """The variable that tells whether a loop with an `else` was left by `break`; empty where nobody has to know."""
    return f"$broken{node.lineno}_{node.col_offset}" if node.orelse and _has_break(node.body) else ""


def _has_break(body: list[ast.stmt]) -> bool:
    """Whether statements of a loop leave it. Those of inner loops leave the inner ones, but for their `else`."""
    pending: list[ast.AST] = list(body)
    while pending:
        statement = pending.pop()
        if isinstance(statement, ast.Break):
            return True
        if isinstance(statement, ast.For | ast.While):
            pending += statement.orelse
        elif not isinstance(statement, ast.FunctionDef | ast.expr):
            pending += ast.iter_child_nodes(statement)
    return False


def _with_else(context: Context, node: ast.For | ast.While, loop: Stmt, flag: str) -> Step:
    """A loop with its `else`, which runs if no `break` was met."""
    orelse: Statements = yield from all_of(node.orelse)
    where = context.span(node, (loop, *orelse))
    if not flag:
        return If(where, TrueLit(where), (loop, *orelse), ())
    variable = Var(loop.range, Ident(loop.range, flag))
    return LoopElse(where, variable, loop, orelse)


def _return(context: Context, node: ast.Return) -> Step:
    value: Expr | None = yield from optional(node.value)
    if value is None:
        where = context.text.first(node, "return")
        return Return(where, NoneLit(where))
    return Return(context.span(node, (value,), "return"), value)


def _raise(context: Context, node: ast.Raise) -> Step:
    if node.exc is None:
        return Reraise(context.text.first(node, "raise"))
    value: Expr = yield node.exc
    return Raise(context.span(node, (value,), "raise"), value)


def _assert(context: Context, node: ast.Assert) -> Step:
    condition: Expr = yield node.test
    message: Expr | None = yield from optional(node.msg)
    parts = (condition,) if message is None else (condition, message)
    return Assert(context.span(node, parts, "assert"), condition, message)


def _pass(context: Context, node: ast.Pass) -> Step:
    yield from ()
    return Pass(context.range(node))


def _break(context: Context, node: ast.Break) -> Step:
    yield from ()
    if not context.in_loop:
        raise FrontendError(OUTSIDE_LOOP.format(word="break"), context.range(node))
    where = context.range(node)
    if not context.broken:
        return Break(where)
    note = Assign(where, (Var(where, Ident(where, context.broken)),), TrueLit(where), None)
    return If(where, TrueLit(where), (note, Break(where)), ())


def _continue(context: Context, node: ast.Continue) -> Step:
    yield from ()
    if not context.in_loop:
        raise FrontendError(OUTSIDE_LOOP.format(word="continue"), context.range(node))
    return Continue(context.range(node))


def _delete(context: Context, node: ast.Delete) -> Step:
    targets: tuple[Expr, ...] = yield from all_of(node.targets)
    for target in targets:
        if isinstance(target, Subscript) and len(target.indices) != 1:
            raise NotSupportedError(DELETE_SLICE, target.range)
        if not isinstance(target, (Subscript, Var)):
            raise NotSupportedError(DELETE_OTHER, target.range)
    return Delete(context.span(node, targets, "del"), targets)


def _with(context: Context, node: ast.With) -> Step:
    if is_python_block(node):
        return python_block(context, node)
    items = []
    for item in node.items:
        value: Expr = yield item.context_expr
        target: Expr | None = yield from optional(item.optional_vars)
        if target is not None and not isinstance(target, Var):
            raise NotSupportedError(WITH_TARGET, target.range)
        where = value.range if target is None else value.range.union(target.range)
        items.append(WithItem(where, value, target))
    body: Statements = yield from all_of(node.body)
    return With(context.span(node, body, "with"), tuple(items), body)


def _try(context: Context, node: ast.Try) -> Step:
    """`try … except … else … finally` is a `try … except … else` in a `try … finally`."""
    where = context.text.first(node, "try")
    body: Statements = yield from all_of(node.body)
    handlers = []
    for handler in node.handlers:
        kind: Expr | None = yield from optional(handler.type)
        start = context.text.offset(handler.lineno, handler.col_offset)
        word = context.text.source.range(start, start + len("except"))
        inner: Statements = yield from all_of(handler.body)
        ident = None if handler.name is None else Ident(word, handler.name)
        handlers.append(Handler(word, kind, ident, inner))
    orelse: Statements = yield from all_of(node.orelse)
    finalbody: Statements = yield from all_of(node.finalbody)
    if handlers:
        body = (Try(where, body, tuple(handlers), orelse, ()),)
    return Try(where, body, (), (), finalbody) if finalbody else body[0]


def _import(context: Context, node: ast.Import | ast.ImportFrom) -> Step:
    yield from ()
    where = context.range(node)
    if isinstance(node, ast.ImportFrom) and node.level:
        raise refused(context, node)
    imports: list[Stmt] = []
    for alias in node.names:
        if alias.name == "*":
            raise refused(context, node)
        of = node.module or "" if isinstance(node, ast.ImportFrom) else ""
        name = alias.asname or (alias.name if of else alias.name.partition(".")[0])
        module = of or (alias.name if alias.asname else name)
        imports.append(Import(where, module, alias.name if of else "", Ident(where, name)))
    return imports[0] if len(imports) == 1 else If(where, TrueLit(where), tuple(imports), ())


def _global(context: Context, node: ast.Global) -> Step:
    """Reading a global needs no such statement, which may stand there; what a function assigns is its own."""
    yield from ()
    if context.assigned is None or context.assigned & set(node.names):
        raise refused(context, node)
    return Pass(context.text.first(node, "global"))


def _nonlocal(context: Context, node: ast.Nonlocal) -> Step:
    yield from ()
    return Nonlocal(context.text.first(node, "nonlocal"), tuple(node.names))


def _function(context: Context, node: ast.FunctionDef) -> Step:
    """A function; decorators of one inside of a function are called with it, the last one first."""
    tree = yield from define(context, node)
    assert isinstance(tree, Def)
    statements: list[Stmt] = [tree]
    for decorator in reversed(node.decorator_list if context.function else []):
        callee: Expr = yield (context, decorator)
        name = Var(callee.range, tree.ident)
        call = Apply(callee.range, callee, (name,), ())
        statements.append(Assign(callee.range, (name,), call, None))
    return tree if len(statements) == 1 else If(tree.range, TrueLit(tree.range), tuple(statements), ())


def _class(context: Context, node: ast.ClassDef) -> Step:
    if not context.is_text or context.function:
        raise refused(context, node)
    superclass: Expr | None = yield from optional(node.bases[0] if node.bases else None)
    if len(node.bases) > 1:
        raise NotSupportedError("a class of a source text has at most one base", context.range(node.bases[1]))
    body: Statements = yield from all_of(node.body)
    ident: Ident = context.ident_after(context.text.start(node) + len("class"), node.name)
    return ClassDef(context.span(node, (ident, *body), "class"), ident, superclass, body)


STATEMENTS: dict[type[ast.AST], Rule] = {
    ast.AnnAssign: _annotated_assign,
    ast.Assert: _assert,
    ast.Assign: _assign,
    ast.AugAssign: _augmented_assign,
    ast.Break: _break,
    ast.ClassDef: _class,
    ast.Continue: _continue,
    ast.Delete: _delete,
    ast.Expr: _expression,
    ast.For: _for,
    ast.FunctionDef: _function,
    ast.If: _if,
    ast.Match: convert_match,
    ast.Import: _import,
    ast.ImportFrom: _import,
    ast.Global: _global,
    ast.Nonlocal: _nonlocal,
    ast.Pass: _pass,
    ast.Raise: _raise,
    ast.Return: _return,
    ast.Try: _try,
    ast.While: _while,
    ast.With: _with,
}
"""Every kind of statement that the language has."""
