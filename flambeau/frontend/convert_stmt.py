"""Conversion of statements, one rule a kind of node.

    for i in range(3):    →   (for (list i) (list (apply range 3))
        x += i                  (list (aug_assign x (+) i)))
"""

from __future__ import annotations

import ast
from collections.abc import Generator
from typing import Any

from flambeau.frontend.convert_def import define
from flambeau.frontend.convert_expr import BINARY_SIGNS
from flambeau.frontend.convert_rules import Context, Rule, Statements, Step, Wanted, all_of, optional, refused
from flambeau.frontend.tree_views import (
    Assert,
    Assign,
    AugAssign,
    Break,
    ClassDef,
    Continue,
    Delete,
    Expr,
    ExprStmt,
    For,
    Ident,
    If,
    NoneLit,
    Pass,
    Raise,
    Return,
    Select,
    SliceExpr,
    Subscript,
    Var,
    While,
    With,
    WithItem,
)
from flambeau.util.errors import FrontendError, NotSupportedError, UnsupportedNodeError
from flambeau.util.record import replace

FOR_ELSE = "else branches of for loops"
WHILE_ELSE = "else branches of while loops"
ELSE_INSTEAD = "set a flag before break and test it after the loop"
NO_VALUE = "annotated assignments without assigned value"
NO_VALUE_INSTEAD = "give the variable its first value here"
AUGMENTED = "unsupported kind of augmented assignment: {kind}. Write the operation and the assignment out"
BARE_RAISE = "raise without an exception isn't supported. Name the exception to raise"
WITH_TARGET = "the target of a with item must be a plain name"
DELETE_SLICE = (
    "del statements only support deletion at a single index, slicing is not supported. "
    "Assign the items that stay instead"
)
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
    if isinstance(node.op, (ast.FloorDiv, ast.MatMult)):
        raise NotSupportedError(AUGMENTED.format(kind=type(node.op).__name__), context.range(node))
    target: Expr = yield node.target
    value: Expr = yield node.value
    return AugAssign(context.span(node, (value,)), target, BINARY_SIGNS[type(node.op)], value)


def _expression(context: Context, node: ast.Expr) -> Step:
    value: Expr = yield node.value
    return ExprStmt(value.range, value)


def _if(context: Context, node: ast.If) -> Step:
    condition: Expr = yield node.test
    body: Statements = yield from all_of(node.body)
    orelse: Statements = yield from all_of(node.orelse)
    return If(context.span(node, (*body, *orelse), "if"), condition, body, orelse)


def _for(context: Context, node: ast.For) -> Step:
    if node.orelse:
        raise UnsupportedNodeError.of(FOR_ELSE, context.text.first(node, "for"), ELSE_INSTEAD)
    target: Expr = yield node.target
    iterable: Expr = yield node.iter
    body = yield from _loop_body(context, node.body)
    return For(context.span(node, body, "for"), (target,), (iterable,), body)


def _while(context: Context, node: ast.While) -> Step:
    if node.orelse:
        raise UnsupportedNodeError.of(WHILE_ELSE, context.text.first(node, "while"), ELSE_INSTEAD)
    condition: Expr = yield node.test
    body = yield from _loop_body(context, node.body)
    return While(context.span(node, body, "while"), condition, body)


def _loop_body(context: Context, nodes: list[ast.stmt]) -> Generator[Wanted, Any, Statements]:
    inner = replace(context, in_loop=True)
    return (yield from all_of((inner, node) for node in nodes))


def _return(context: Context, node: ast.Return) -> Step:
    value: Expr | None = yield from optional(node.value)
    if value is None:
        where = context.text.first(node, "return")
        return Return(where, NoneLit(where))
    return Return(context.span(node, (value,), "return"), value)


def _raise(context: Context, node: ast.Raise) -> Step:
    if node.exc is None:
        raise NotSupportedError(BARE_RAISE, context.text.first(node, "raise"))
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
    return Break(context.range(node))


def _continue(context: Context, node: ast.Continue) -> Step:
    yield from ()
    if not context.in_loop:
        raise FrontendError(OUTSIDE_LOOP.format(word="continue"), context.range(node))
    return Continue(context.range(node))


def _delete(context: Context, node: ast.Delete) -> Step:
    targets: tuple[Expr, ...] = yield from all_of(node.targets)
    for target in targets:
        if isinstance(target, Subscript) and any(isinstance(index, SliceExpr) for index in target.indices):
            raise NotSupportedError(DELETE_SLICE, target.range)
        if isinstance(target, Subscript) and len(target.indices) != 1:
            raise NotSupportedError(DELETE_SLICE, target.range)
        if not isinstance(target, (Subscript, Var)):
            raise NotSupportedError(DELETE_OTHER, target.range)
    return Delete(context.span(node, targets, "del"), targets)


def _with(context: Context, node: ast.With) -> Step:
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


def _function(context: Context, node: ast.FunctionDef) -> Step:
    if not context.is_text:
        raise refused(context, node)
    return (yield from define(context, node))


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
    ast.Pass: _pass,
    ast.Raise: _raise,
    ast.Return: _return,
    ast.While: _while,
    ast.With: _with,
}
"""Every kind of statement that the language has."""
