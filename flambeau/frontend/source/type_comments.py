"""Types of parameters and results written as comments, for code that keeps Python 2's form.

def f(x, y):                    def f(x,  # type: Tensor
    # type: (Tensor, int) -> Tensor       y,  # type: int
                                          ):
                                    # type: (...) -> Tensor

Without an arrow, `# type: (Tensor, int)`, the comment is of the parameters alone.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize

from flambeau.frontend.source.python_source import ParsedText
from flambeau.util.errors import FrontendError
from flambeau.util.python_text import parse
from flambeau.util.record import dataclass, field
from flambeau.util.source import SourceRange

_MAYBE_TYPE = re.compile(r"#\s*type\s*:(?P<text>.*)")
_IGNORE = re.compile(r"#\s*type\s*:\s*ignore\b")
_PREFIX = "# type:"

WRONG_PREFIX = "The annotation prefix in line {line} is probably invalid. It must be '# type:'"
NO_RETURN_LINE = "Return type line '# type: (...) -> ...' not found on multiline type annotation"
SEVERAL = "Return type line '# type: (A, B) -> C' found more than once in a function's type annotation"
COUNT = "Number of type annotations ({found}) did not match the number of function parameters ({wanted})"
MALFORMED = "expected a type comment like '# type: (A, B) -> C', but found '{comment}'"
MALFORMED_TYPE = "expected a type after '# type:', but found '{comment}'"
CALLS = "Type annotation should not contain calls, but '{comment}' does"


@dataclass(frozen=True)
class TypeComments:
    """Type expressions of a definition's comments, placed like nodes of its own text."""

    params: dict[int, ast.expr] = field(default_factory=dict)
    """By index of the parameter."""
    returns: ast.expr | None = None


@dataclass(frozen=True)
class _Comment:
    text: str
    """All of the comment, "#" included."""
    line: int
    """1-based, counted as nodes count."""
    column: int
    """In characters."""
    in_signature: bool
    """Between the parentheses of the parameters."""


def find_type_comments(text: ParsedText, node: ast.FunctionDef, is_method: bool) -> TypeComments:
    """The types in comments between `def` and the first statement.

    Raises `FrontendError` when they are malformed or do not fit the parameters. `# type: ignore` counts as no comment.
    """
    comments = _header_comments(text, node)
    if not comments:
        return TypeComments()
    for comment in comments:
        if not comment.text.startswith(_PREFIX):
            raise FrontendError(WRONG_PREFIX.format(line=_user_line(text, comment)), _range(text, comment))
    by_argument = [comment for comment in comments if comment.in_signature]
    signatures = [comment for comment in comments if not comment.in_signature]
    if len(signatures) > 1:
        raise FrontendError(SEVERAL, _range(text, signatures[1]))
    if not signatures:
        raise FrontendError(NO_RETURN_LINE, _range(text, by_argument[0]))
    return _combined(text, node, is_method, by_argument, signatures[0])


def _combined(
    text: ParsedText, node: ast.FunctionDef, is_method: bool, by_argument: list[_Comment], signature: _Comment
) -> TypeComments:
    if by_argument and "->" not in signature.text:
        raise FrontendError(NO_RETURN_LINE, _range(text, signature))
    function = _parsed(text, signature, "func_type", "" if "->" in signature.text else " -> _")
    assert isinstance(function, ast.FunctionType)
    types = function.argtypes
    if len(types) == 1 and isinstance(types[0], ast.Constant) and types[0].value is ...:
        types = [_expression(text, comment) for comment in by_argument]
    elif by_argument:
        raise FrontendError(NO_RETURN_LINE, _range(text, signature))
    wanted = len(node.args.args) + len(node.args.kwonlyargs)
    first = 1 if is_method and len(types) == wanted - 1 else 0
    if len(types) + first != wanted:
        raise FrontendError(COUNT.format(found=len(types), wanted=wanted), _header_range(text, node))
    return TypeComments(dict(enumerate(types, start=first)), function.returns if "->" in signature.text else None)


def _header_comments(text: ParsedText, node: ast.FunctionDef) -> list[_Comment]:
    source = text.source
    first, last = node.lineno - 1 - text.wrapped, node.body[0].lineno - 1 - text.wrapped
    lines = [source.line(index) for index in range(first, last)]
    if not any("#" in line and "type" in line for line in lines):
        return []
    comments: list[_Comment] = []
    depth = 0
    try:
        for token in tokenize.generate_tokens(io.StringIO("\n".join([*lines, ""])).readline):
            if token.type == tokenize.OP:
                depth += (token.string in "([{") - (token.string in ")]}")
            elif token.type == tokenize.COMMENT and _is_type_comment(token.string):
                line, column = token.start
                comments.append(_Comment(token.string, line + node.lineno - 1, column, depth > 0))
    except (tokenize.TokenError, IndentationError):
        pass  # the header alone is no complete program; all its comments come before its end
    return comments


def _is_type_comment(comment: str) -> bool:
    return _MAYBE_TYPE.match(comment) is not None and _IGNORE.match(comment) is None


def _expression(text: ParsedText, comment: _Comment) -> ast.expr:
    parsed = _parsed(text, comment, "eval")
    assert isinstance(parsed, ast.Expression)
    return parsed.body


def _parsed(text: ParsedText, comment: _Comment, mode: str, behind: str = "") -> ast.AST:
    """The types of a comment, with `behind` after them, as `ast`, moved to where the comment stands."""
    # A remark or an ignore may follow in the same comment.
    body = comment.text[len(_PREFIX) :].split("#")[0].rstrip()
    stripped = body.lstrip()
    try:
        tree: ast.AST = parse(stripped + behind, mode=mode)
    except SyntaxError:
        message = MALFORMED if mode == "func_type" else MALFORMED_TYPE
        raise FrontendError(message.format(comment=comment.text), _range(text, comment)) from None
    line = text.source.line(comment.line - 1 - text.wrapped)
    before = line[: comment.column + len(_PREFIX) + len(body) - len(stripped)]
    shift = len(before.encode("utf-8", "surrogatepass"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            raise FrontendError(CALLS.format(comment=comment.text), _range(text, comment))
        if isinstance(node, ast.expr):
            node.lineno = node.end_lineno = comment.line
            node.col_offset += shift
            node.end_col_offset = (node.end_col_offset or 0) + shift
    return tree


def _user_line(text: ParsedText, comment: _Comment) -> int:
    return _range(text, comment).file_line_col()[1]


def _range(text: ParsedText, comment: _Comment) -> SourceRange:
    start = text.source.line_starts[comment.line - 1 - text.wrapped] + comment.column
    return text.source.range(start, start + len(comment.text))


def _header_range(text: ParsedText, node: ast.FunctionDef) -> SourceRange:
    start = text.start(node)
    line = text.source.line_index(start)
    return text.source.range(start, text.source.line_starts[line] + len(text.source.line(line).rstrip()))
