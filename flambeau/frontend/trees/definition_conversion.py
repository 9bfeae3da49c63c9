"""Conversion of function definitions: parameters, types from annotations or `# type:` comments, body.

def f(x, y: int):       (def (ident f) (decl (list (param (ident x) …) (param (ident y) …))
    # type: …      →      (option R)) (list …))
"""

from __future__ import annotations

import ast
from collections.abc import Generator
from typing import Any

from flambeau.frontend.source.type_comments import TypeComments, find_type_comments
from flambeau.frontend.trees.conversion_rules import Context, Statements, Step, Wanted, all_of, optional
from flambeau.frontend.trees.tree_views import Decl, Def, Expr, Ident, Param, Var
from flambeau.util.errors import NotSupportedError
from flambeau.util.record import replace
from flambeau.util.source import SourceRange

TYPE_PARAMETERS = "type parameters aren't supported. Write a function for each type"


def define(context: Context, node: ast.FunctionDef) -> Step:
    """The `Def` of a function. Raises `NotSupportedError` for parameters that the language does not have."""
    is_nested = bool(context.function)
    self_name = None if is_nested else context.self_name
    inner = replace(
        context,
        function=node.name,
        in_loop=False,
        broken="",
        self_name=self_name,
        is_nested=is_nested,
        assigned=None if is_nested else _assigned(node, context.text.source.text or ""),
    )
    _check_parameters(context, node)
    ident = context.ident_after(context.text.start(node) + len("def"), node.name)
    comments = find_type_comments(context.text, node, context.self_name is not None and not context.function)
    params = yield from _parameters(inner, node.args, comments)
    vararg = yield from _collector(inner, node.args.vararg, "*")
    kwarg = yield from _collector(inner, node.args.kwarg, "**")
    returns: Expr | None = yield from optional(comments.returns if comments.returns is not None else node.returns)
    body: Statements = yield from all_of((inner, statement) for statement in node.body)
    start = context.text.start(node)
    end = max(part.range.end for part in (ident, *params, *body))
    decl = replace(_decl(ident, params, returns), vararg=vararg, kwarg=kwarg)
    return Def(context.text.source.range(start, end), ident, decl, body)


def _assigned(node: ast.FunctionDef, text: str) -> frozenset[str] | None:
    """The names that are assigned anywhere in a function that names globals; None for other functions."""
    if "global" not in text:
        return None
    inside = list(ast.walk(node))
    if not any(isinstance(part, ast.Global) for part in inside):
        return None
    stored = {part.id for part in inside if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load)}
    defined = {part.name for part in inside if isinstance(part, ast.FunctionDef | ast.ExceptHandler) and part.name}
    imported = {(part.asname or part.name).partition(".")[0] for part in inside if isinstance(part, ast.alias)}
    return frozenset(stored | defined | imported)


def declaration(context: Context, node: ast.Lambda) -> Step:
    """The parameters of a lambda."""
    inner = replace(context, self_name=None, is_nested=True)
    params = yield from _parameters(inner, node.args, TypeComments({}, None))
    vararg = yield from _collector(inner, node.args.vararg, "*")
    kwarg = yield from _collector(inner, node.args.kwarg, "**")
    return Decl(context.span(node, params, "lambda"), params, None, vararg, kwarg)


def _decl(ident: Ident, params: tuple[Param, ...], returns: Expr | None) -> Decl:
    parts = params if returns is None else (*params, returns)
    where = ident.range
    for part in parts:
        where = where.union(part.range)
    return Decl(where, params, returns)


def _check_parameters(context: Context, node: ast.FunctionDef) -> None:
    type_parameters = getattr(node, "type_params", None)
    if type_parameters:
        raise NotSupportedError(TYPE_PARAMETERS, context.range(type_parameters[0]))


def _collector(context: Context, argument: ast.arg | None, stars: str) -> Generator[Wanted, Any, Param | None]:
    """`*args` or `**options` as a parameter whose place includes the stars."""
    if argument is None:
        return None
    annotation: Expr | None = yield from optional(argument.annotation)
    ident = context.ident(argument, argument.arg)
    return Param(_with_stars(context, argument, stars), ident, annotation, None, False)


def _with_stars(context: Context, variable: ast.arg, stars: str) -> SourceRange:
    start = context.text.start(variable)
    position = (context.text.source.text or "").rfind(stars, 0, start)
    return context.text.source.range(start if position < 0 else position, start + len(variable.arg))


def _parameters(
    context: Context, args: ast.arguments, comments: TypeComments
) -> Generator[Wanted, Any, tuple[Param, ...]]:
    params: list[Param] = []
    positional_defaults: list[ast.expr | None] = [None] * (len(args.posonlyargs) + len(args.args) - len(args.defaults))
    defaults = [*positional_defaults, *args.defaults, *args.kw_defaults]
    arguments = (*args.posonlyargs, *args.args, *args.kwonlyargs)
    for index, (argument, default) in enumerate(zip(arguments, defaults, strict=True)):
        ident = context.ident(argument, argument.arg)
        annotation: Expr | None = yield from optional(comments.params.get(index, argument.annotation))
        if annotation is None and index == 0 and context.self_name is not None and argument.arg != "cls":
            annotation = Var(ident.range, Ident(ident.range, context.self_name))
        # A Python function's defaults are values it already has; only a source text's are read from the text.
        written: Expr | None = yield from optional(default if context.is_text or context.is_nested else None)
        where = context.text.range(argument)
        is_named = index >= len(args.posonlyargs) + len(args.args)
        params.append(Param(where, ident, annotation, written, is_named, index < len(args.posonlyargs)))
    return tuple(params)
