"""From a lambda to its expression: the one in its file whose body stands where the code says its instructions do.

square = lambda x: x * x    →    def lambda_(x): return x * x,  with places in the user's file
"""

from __future__ import annotations

import ast
import copy
import functools
import inspect
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Final

from flambeau.util.errors import FrontendError
from flambeau.util.python_text import parse
from flambeau.util.source import Source

NAME: Final = "lambda_"
NO_SOURCE: Final = (
    "cannot get the source of a lambda ({reason}). Give it a name with def, in a file, or compile a text with "
    "CompilationUnit(text)"
)
SEVERAL: Final = "several lambdas stand here, and nothing tells which is meant. Give it a name with def"
Place = tuple[int, int]
"""A line, and a column in UTF-8 bytes, as `ast` counts them."""


def lambda_definition(function: FunctionType) -> tuple[Source, ast.FunctionDef]:
    """The lines that a lambda stands in, and a function that returns its body, whose lines are counted from the first.

    Raises `FrontendError` where no file has it, or several stand at one place.
    """
    try:
        lines, _ = inspect.findsource(function)
        filename = inspect.getsourcefile(function) or function.__code__.co_filename
        written = [node for node in _lambdas("".join(lines)) if _fits(node, function.__code__)]
        written.sort(key=lambda node: (_begin(node), _end(node)), reverse=True)  # the innermost first
    except (OSError, TypeError, SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise FrontendError(NO_SOURCE.format(reason=error)) from None
    if not written:
        raise FrontendError(NO_SOURCE.format(reason="the file has changed since it was imported"))
    first, last = written[0].lineno, written[0].end_lineno or written[0].lineno
    source = Source("".join(lines[first - 1 : last]).replace("\r\n", "\n"), filename, first)
    if len(written) > 1 and not any(_spans(function.__code__)):
        raise FrontendError(SEVERAL, source.between(0, written[0].col_offset, 0, written[0].col_offset + len("lambda")))
    return source, _as_function(written[0])


def _as_function(node: ast.Lambda) -> ast.FunctionDef:
    """A function that returns a lambda's body, with lines counted from the lambda's own."""
    own = copy.deepcopy(node)
    returned = ast.copy_location(ast.Return(own.body), own.body)
    function = ast.FunctionDef(name=NAME, args=own.args, body=[returned], decorator_list=[], returns=None)
    if "type_params" in ast.FunctionDef._fields:
        function.type_params = []  # type: ignore[attr-defined]
    ast.copy_location(function, own)
    for part in ast.walk(function):
        if isinstance(part, ast.expr | ast.stmt | ast.arg | ast.keyword):
            part.lineno -= node.lineno - 1
            part.end_lineno = None if part.end_lineno is None else part.end_lineno - node.lineno + 1
    return function


@functools.lru_cache(maxsize=4)
def _lambdas(text: str) -> tuple[ast.Lambda, ...]:
    """All lambdas of a file."""
    return tuple([node for node in ast.walk(parse(text)) if isinstance(node, ast.Lambda)])


def _fits(node: ast.Lambda, code: CodeType) -> bool:
    """Whether the code may be that of a lambda, or of one within: it begins in its line, has its parameters, and its
    instructions stand within its body."""
    arguments = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
    if node.lineno != code.co_firstlineno or tuple(a.arg for a in arguments) != code.co_varnames[: len(arguments)]:
        return False
    begin, end = _begin(node.body), _end(node.body)
    return all(begin <= span[:2] and span[2:] <= end for span in _spans(code))


def _spans(code: CodeType) -> Iterator[tuple[int, int, int, int]]:
    """Where the instructions of a code stand: line and column of the beginning and of the end."""
    for line, end_line, column, end_column in code.co_positions():
        if line is None or end_line is None or column is None or end_column is None:
            continue
        if (line, column) != (end_line, end_column):
            yield line, column, end_line, end_column


def _begin(node: ast.expr) -> Place:
    return node.lineno, node.col_offset


def _end(node: ast.expr) -> Place:
    return node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
