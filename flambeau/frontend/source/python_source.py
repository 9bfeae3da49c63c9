"""From a Python function to the lines that define it, as `ast` with places in the user's own file.

The lines are never dedented: an indented definition is parsed below an `if`, so that strings over several lines keep
their text and every column is the user's column.
"""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
import re
import tokenize
from collections.abc import Callable, Mapping
from types import FrameType, FunctionType

from flambeau.frontend.source.decorated import beyond_decorator
from flambeau.frontend.source.enclosing import enclosing_types
from flambeau.frontend.source.lambdas import lambda_definition
from flambeau.frontend.source.lost_source import find_lines
from flambeau.frontend.source.syntax_errors import syntax_message
from flambeau.util.errors import FrontendError, NotSupportedError
from flambeau.util.python_text import parse
from flambeau.util.record import dataclass
from flambeau.util.source import Source, SourceRange

_FIRST_LINE = re.compile(r"^[ \t\f]*+[^ \t\f#\n]", re.MULTILINE)
_WRAPPER = "if 1:\n"
"""Put above indented definitions; one line, which `ParsedText` takes off again."""

NO_SOURCE = (
    "cannot get the source of function '{name}' ({reason}). A function made by exec, or typed where lines are not "
    "kept, may have none left: put it in a file, or compile its text with CompilationUnit(text)"
)
NOT_A_FUNCTION = "expected a Python function, a method or a source text, but got {value!r} of type {type}"
CHANGED = (
    "the source found for function '{name}' is not its definition: the file has changed since it was imported, "
    "or the function was renamed. Import it again"
)
LAMBDA = "<lambda>"
"""What Python calls a function without a name."""
ASYNC = "Expected a single top-level function, but got an async function. Remove 'async'"
TOO_DEEP = "the source is nested too deeply for Python's own parser. Split the expression into several statements"


@dataclass(frozen=True)
class ParsedText:
    """The statements of a source, and where each of their nodes stands in it."""

    source: Source
    body: tuple[ast.stmt, ...]
    wrapped: bool
    """Whether line numbers of `body` count one line too many."""

    def offset(self, line: int, utf8_column: int) -> int:
        """Character offset of a node's 1-based line and column in UTF-8 bytes."""
        return self.source.offset(line - 1 - self.wrapped, utf8_column)

    def start(self, node: ast.expr | ast.stmt | ast.arg | ast.keyword) -> int:
        """Where a node begins."""
        return self.offset(node.lineno, node.col_offset)

    def end(self, node: ast.expr | ast.stmt | ast.arg | ast.keyword) -> int:
        """Where a node ends."""
        return self.offset(node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)

    def range(self, node: ast.expr | ast.stmt | ast.arg | ast.keyword) -> SourceRange:
        """All of a node."""
        above = 1 + self.wrapped
        end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
        return self.source.between(node.lineno - above, node.col_offset, end_line - above, end_column)

    def first(self, node: ast.expr | ast.stmt, token: str) -> SourceRange:
        """The first token of a node."""
        start = self.start(node)
        return self.source.range(start, start + len(token))


def parse_text(source: Source) -> ParsedText:
    """The statements of a source text, which may be indented as a whole.

    Raises `FrontendError` for a syntax error and `NotSupportedError` when it is nested too deeply.
    """
    text = source.text or ""
    wrapped = _is_indented(text)
    try:
        body = parse((_WRAPPER if wrapped else "") + text).body
    except SyntaxError as error:
        raise _syntax_error(source, error, int(wrapped)) from None
    except (RecursionError, MemoryError):
        raise NotSupportedError(TOO_DEEP, source.range(0, 1)) from None
    except ValueError as error:
        raise FrontendError(f"Syntax error: {error}", source.range(0, 1)) from None
    if wrapped:
        outer = body[0]
        assert isinstance(outer, ast.If)
        body = outer.body + body[1:]
    return ParsedText(source, tuple(body), wrapped)


def _syntax_error(source: Source, error: SyntaxError, lines_above: int) -> FrontendError:
    # At the end of the text the parser points below the last line.
    index = min(max((error.lineno or 1) - 1 - lines_above, 0), len(source.line_starts) - 1)
    start = source.line_starts[index] + min(max((error.offset or 1) - 1, 0), len(source.line(index)))
    message = syntax_message(error, (source.text or "")[:start], source.first_line - 1 - lines_above)
    return FrontendError(message, source.range(start, start + 1))


def _is_indented(text: str) -> bool:
    """Whether the first line that is neither empty nor a comment begins with blanks."""
    first = _FIRST_LINE.search(text)
    return first is not None and first[0][0] in " \t\f"


def innermost_function(fn: object) -> FunctionType:
    """The function that is meant: below bound methods, static and class methods, and decorators that change no value.

    Where a decorator does, it is one that calls what the decorator made.

    Raises `FrontendError` for what is no function.
    """
    value = fn
    for _ in range(1000):
        if inspect.ismethod(value) or isinstance(value, (staticmethod, classmethod)):
            value = value.__func__
        elif hasattr(value, "__wrapped__") and not inspect.isclass(value):
            value = beyond_decorator(value)
        else:
            break
    if isinstance(value, FunctionType):
        return value
    hint = ". Compile the function it was made from" if isinstance(value, functools.partial) else ""
    raise FrontendError(NOT_A_FUNCTION.format(value=value, type=type(value).__name__) + hint)


def function_source(fn: object) -> Source:
    """The lines of a function's definition, its decorators included, as they stand in the user's file.

    Raises `FrontendError` where there is no source.
    """
    function = innermost_function(fn)
    if function.__code__.co_name == LAMBDA:
        return lambda_definition(function)[0]
    try:
        lines, first_line = inspect.getsourcelines(function)
        filename = inspect.getsourcefile(function) or function.__code__.co_filename
        if filename.startswith("<") and not _names(lines, function):
            # Since Python 3.13 the text of `python -c` is found for all that `exec` made, too.
            raise OSError(f"{filename} is another text")
    except (OSError, TypeError, IndentationError, tokenize.TokenError) as error:
        located = find_lines(function)
        if located is None:
            raise FrontendError(NO_SOURCE.format(name=function.__name__, reason=error)) from None
        (lines, first_line), filename = located, function.__code__.co_filename
    return Source("".join(lines).replace("\r\n", "\n"), filename, first_line)


def _names(lines: list[str], function: FunctionType) -> bool:
    """Whether the function's definition could be in these lines."""
    return any(re.search(rf"\bdef\s+{function.__code__.co_name}\b", line) for line in lines)


def parse_function(fn: object) -> tuple[ParsedText, ast.FunctionDef]:
    """A function's definition as `ast`. Raises what `function_source` and `parse_text` raise."""
    function = innermost_function(fn)
    if function.__code__.co_name == LAMBDA:
        source, definition = lambda_definition(function)
        return ParsedText(source, (definition,), False), definition
    text = parse_text(function_source(function))
    node = text.body[0] if text.body else None
    if isinstance(node, ast.AsyncFunctionDef):
        raise NotSupportedError(ASYNC, text.first(node, "async def"))
    if not isinstance(node, ast.FunctionDef) or not _defines(node, function):
        raise FrontendError(CHANGED.format(name=function.__code__.co_name), text.source.range(0, 1))
    return text, node


def _defines(node: ast.FunctionDef, function: FunctionType) -> bool:
    written = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
    # Inside a class body the compiler mangles names with two leading underscores.
    named = zip(function.__code__.co_varnames, written, strict=False)
    return node.name == function.__code__.co_name and all(name.endswith(argument) for name, argument in named)


def parameter_defaults(fn: object) -> dict[str, object]:
    """The values of a function's defaults by parameter name.

    >>> parameter_defaults(lambda x, y=2, *, k=3: 0)
    {'y': 2, 'k': 3}
    """
    function = innermost_function(fn)
    code, values = function.__code__, function.__defaults__ or ()
    positional = code.co_varnames[: code.co_argcount]
    defaults: dict[str, object] = dict(zip(positional[len(positional) - len(values) :], values, strict=True))
    return defaults | (function.__kwdefaults__ or {})


class NameScope:
    """What the names of a program mean: enclosing functions, then globals, then builtins.

    >>> scope = NameScope({"x": 1}, {"x": 2, "y": 3})
    >>> scope("x"), scope("y"), scope("len") is len, "z" in scope
    (1, 3, True, False)
    """

    def __init__(
        self,
        *levels: Mapping[str, object],
        closure: Callable[[], Mapping[str, object]] | None = None,
        own: FunctionType | None = None,
    ) -> None:
        """`own` is a function that its own name means, if that means nothing yet, or what it was before."""
        self._levels = levels
        self._closure = closure
        self._own = own

    @classmethod
    def of_function(cls, fn: object, *outer: Mapping[str, object]) -> NameScope:
        """The scope of a function's body. `outer` has further names, such as those of the frame that compiles it.

        Globals and closure variables are read when asked for, so a function defined later is found; classes local to
        functions around it are those of now. A function that is being decorated has no name yet, or that of the
        definition before it: its name means itself.
        """
        function = innermost_function(fn)
        levels = (enclosing_types(function), function.__globals__, *outer)
        is_named = function.__qualname__.rpartition("<locals>.")[2] == function.__name__  # a method's name is none here
        return cls(*levels, closure=lambda: closure_variables(function), own=function if is_named else None)

    @classmethod
    def of_frame(cls, frame: FrameType) -> NameScope:
        """The names visible in a running frame, for source texts."""
        return cls(dict(frame.f_locals), frame.f_globals)

    def __call__(self, name: str) -> object:
        """The value of `name`. Raises `KeyError` when nothing has this name."""
        levels = (self._closure(), *self._levels) if self._closure else self._levels
        for level in levels:
            if name in level:
                value = level[name]
                return self._own if self._is_former(name, value) else value
        if self._own is not None and name == self._own.__name__:
            return self._own
        if hasattr(builtins, name):
            return getattr(builtins, name)
        raise KeyError(name)

    def _is_former(self, name: str, value: object) -> bool:
        """Whether it is a definition that the function's own replaces."""
        own = self._own
        if own is None or name != own.__name__:
            return False
        value = getattr(value, "__wrapped__", value)
        is_same_place = (getattr(value, "__module__", ""), getattr(value, "__qualname__", "")) == (
            own.__module__, own.__qualname__
        )  # fmt: skip
        return isinstance(value, FunctionType) and is_same_place and value is not own

    def __contains__(self, name: str) -> bool:
        try:
            self(name)
        except KeyError:
            return False
        return True


def closure_variables(function: FunctionType) -> dict[str, object]:
    """The variables of functions around that a function reads, those that have a value.

    >>> x = 3
    >>> (lambda k: closure_variables(lambda: k))(x)
    {'k': 3}
    """
    variables: dict[str, object] = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            variables[name] = cell.cell_contents
        except ValueError:  # an enclosing variable that has no value yet
            continue
    return variables
