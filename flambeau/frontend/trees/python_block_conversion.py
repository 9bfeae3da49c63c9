"""Statements that stay Python, with what goes in and comes out declared.

with _IgnoreContextManager(a="inp:int", b="out:int"):        def python_block(a):
    b = a + random.randint(0, 9)                       →         b = a + random.randint(0, 9)
                                                                 return b
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator

from flambeau.frontend.trees.conversion_rules import Context
from flambeau.frontend.trees.expression_trees import StringLiteral, Var
from flambeau.frontend.trees.python_trees import PythonBlock
from flambeau.frontend.trees.tree_base import Ident
from flambeau.util.errors import NotSupportedError

NAME = "_IgnoreContextManager"
WRONG_ARGUMENT = (
    '{name} takes what its statements read and write by name, with the types: {name}(a="inp:int", b="out:float")'
)
LEAVES = "'{word}' cannot leave statements that stay Python; end the block and do it behind"
_ARMS = (ast.excepthandler, ast.match_case)
_LEAVING = {ast.Return: "return", ast.Break: "break", ast.Continue: "continue"}


def is_python_block(node: ast.With) -> bool:
    """Whether the statements of a `with` are to stay Python."""
    called = node.items[0].context_expr
    if len(node.items) != 1 or not isinstance(called, ast.Call):
        return False
    return getattr(called.func, "attr", getattr(called.func, "id", "")) == NAME


def python_block(context: Context, node: ast.With) -> PythonBlock:
    """The tree of such a `with`. Raises NotSupportedError for other arguments, and where a statement leaves it."""
    called = node.items[0].context_expr
    assert isinstance(called, ast.Call)
    for leaving in _leaving(node.body, in_loop=False):
        word = _LEAVING[type(leaving)]
        raise NotSupportedError(LEAVES.format(word=word), context.text.first(leaving, word))
    sides: dict[str, list[tuple[Var, StringLiteral]]] = {"inp": [], "out": []}
    for keyword in called.keywords:
        direction, name, annotation = _declared(context, keyword)
        sides[direction].append((name, annotation))
    if called.args:
        raise NotSupportedError(WRONG_ARGUMENT.format(name=NAME), context.range(called.args[0]))
    inputs, outputs = sides["inp"], sides["out"]
    return PythonBlock(
        context.text.first(node, "with"),
        tuple(var for var, _ in inputs),
        tuple(type_ for _, type_ in inputs),
        tuple(var for var, _ in outputs),
        tuple(type_ for _, type_ in outputs),
        _function(context, node, [v.name for v, _ in inputs], [v.name for v, _ in outputs]),
    )


def _declared(context: Context, keyword: ast.keyword) -> tuple[str, Var, StringLiteral]:
    """`x="inp: Tensor"`: which way a variable goes, its name and its type."""
    value = keyword.value.value if isinstance(keyword.value, ast.Constant) else None
    direction, colon, annotation = value.partition(":") if isinstance(value, str) else ("", "", "")
    if keyword.arg is None or direction not in ("inp", "out") or not colon:
        raise NotSupportedError(WRONG_ARGUMENT.format(name=NAME), context.range(keyword))
    where = context.range(keyword)
    ident = Ident(context.text.source.range(where.start, where.start + len(keyword.arg)), keyword.arg)
    return direction, Var(ident.range, ident), StringLiteral(context.range(keyword.value), annotation.strip())


def _leaving(body: list[ast.stmt], in_loop: bool) -> Iterator[ast.stmt]:
    """The statements that go on outside of `body`."""
    for statement in body:
        if isinstance(statement, ast.Return) or (isinstance(statement, ast.Break | ast.Continue) and not in_loop):
            yield statement
        if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            loops = in_loop or isinstance(statement, ast.For | ast.While)
            for child in ast.iter_child_nodes(statement):
                inner = getattr(child, "body", ()) if isinstance(child, _ARMS) else (child,)
                yield from _leaving([c for c in inner if isinstance(c, ast.stmt)], loops)


def _function(context: Context, node: ast.With, inputs: list[str], outputs: list[str]) -> ast.FunctionDef:
    """The statements as a function of the user's file."""
    read: list[ast.expr] = [ast.Name(name, ast.Load()) for name in outputs]
    result = read[0] if len(read) == 1 else ast.Tuple(read, ast.Load()) if read else ast.Constant(None)
    arguments = ast.arguments([], [ast.arg(name) for name in inputs], None, [], [], None, [])
    body = [*copy.deepcopy(node.body), ast.Return(result)]
    function = ast.copy_location(ast.FunctionDef("python_block", arguments, body, []), node)
    function.type_params = []  # type: ignore[attr-defined]  # wanted from Python 3.12 on
    ast.fix_missing_locations(function)
    ast.increment_lineno(function, context.text.source.first_line - 1 - context.text.wrapped)
    return function
