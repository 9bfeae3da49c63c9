"""One file of an archive's code: its classes and functions as Python's own trees, of which nothing is executed."""

from __future__ import annotations

import ast
import platform
import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

from flambeau.frontend.source.python_source import ParsedText, parse_text
from flambeau.frontend.trees.conversion_rules import Context
from flambeau.frontend.trees.conversion_stack import convert_node
from flambeau.frontend.trees.tree_views import Def, Expr
from flambeau.serialize.archive_reader.limits import DEFAULT, LoadLimits, exceeded
from flambeau.util.errors import FrontendError, NotSupportedError
from flambeau.util.source import Source, SourceRange

STRING: Final = r'"(?:\\.|[^"\\\n])*"?' + r"|'(?:\\.|[^'\\\n])*'?"
"""A string, up to the end of the line where it is not closed: so each character is looked at once."""
_WORDS: Final = "lambda|try|except|finally|async|await|yield|nonlocal|from|del|global|raise|assert|import"
_ANY_WORD: Final = tuple(_WORDS.split("|"))
_ODD: Final = re.compile(rf"{STRING}|#[^\n]*|(?<![\w.])({_WORDS})(?=\s*[:=,)\]\.(])|(?<=\.)({_WORDS})\b")
_WORD: Final = re.compile(r"\w+")
_FULL_WIDTH: Final = 0xFEE0
"""What lies between a letter and the one that Python reads as the same letter in names, but not in its own words."""


class CodeFile:
    """The definitions in one code record. Raises FrontendError for text that is not of the language."""

    def __init__(self, text: str, title: str, limits: LoadLimits = DEFAULT) -> None:
        self._limits = limits
        self._parsed = parsed = parse_code(text, title)
        self.definitions: dict[str, ast.ClassDef | ast.FunctionDef] = {}
        """By name. Older files begin with the version of the operators, and with imports; both say nothing more."""
        for node in parsed.body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                self.definitions[node.name] = node
            elif not isinstance(node, ast.Import | ast.ImportFrom | ast.Assign):
                kind = type(node).__name__
                raise FrontendError(f"expected a class or a function, got {kind}", parsed.range(node))

    @property
    def _context(self) -> Context:
        return Context(self._parsed, "", None, is_text=True)

    def expression(self, node: ast.expr) -> Expr:
        """An expression as the front end's tree."""
        self.check_nesting(node)
        tree = convert_node(self._context, node)
        assert isinstance(tree, Expr)
        return tree

    def text(self, node: ast.expr) -> str:
        """What is written for an expression."""
        return self._parsed.range(node).text

    def range(self, node: ast.stmt) -> SourceRange:
        """Where a definition stands."""
        return self._parsed.range(node)

    def last_words(self, statements: Sequence[ast.stmt]) -> list[set[str]]:
        """Of each statement the words in its lines that no later one has: names that are not needed any more behind it
        are among them. One that Python reads in another spelling than it is written may be there too early.
        """
        source, above = self._parsed.source, 1 + self._parsed.wrapped
        text, starts = source.text or "", (*source.line_starts, len(source.text or ""))
        ends = [starts[(one.end_lineno or one.lineno) - above + 1] for one in statements]
        return last_words(text[starts[s.lineno - above] : end] for s, end in zip(statements, ends, strict=True))

    def function(self, node: ast.FunctionDef) -> Def:
        """A function as the front end's tree, without the defaults of its parameters."""
        fields: dict[str, Any] = {name: getattr(node, name) for name in node._fields}
        parameters = {name: getattr(node.args, name) for name in node.args._fields}
        parameters.update(defaults=[], kw_defaults=[None] * len(node.args.kwonlyargs))
        fields.update(args=ast.arguments(**parameters))
        tree = convert_node(self._context, ast.copy_location(ast.FunctionDef(**fields), node))
        assert isinstance(tree, Def)
        return tree

    def check_nesting(self, node: ast.expr | ast.stmt) -> None:
        """Raise FrontendError for what is nested more deeply than the limit."""
        limit = self._limits.code_nesting
        waiting: list[tuple[ast.AST, int]] = [(node, 1)]
        while waiting:
            part, depth = waiting.pop()
            if depth > limit:
                raise self.error(f"it has {exceeded(self._limits, 'code_nesting')}", node)
            # Each level takes a character at least: what is written on one line is seldom long enough.
            for child in _children(part):
                is_on_line = isinstance(child, ast.expr | ast.stmt) and child.lineno == child.end_lineno
                if not is_on_line or depth + 1 + child.end_col_offset - child.col_offset > limit:
                    waiting.append((child, depth + 1))

    def error(self, text: str, node: ast.expr | ast.stmt) -> FrontendError:
        """A refusal of a node, with its place."""
        return FrontendError(text, self._parsed.range(node))


def last_words(texts: Iterable[str]) -> list[set[str]]:
    """Of each text the words that no later one has.

    >>> [sorted(words) for words in last_words(["a = b", "c = a"])]
    [['b'], ['a', 'c']]
    """
    words: list[set[str]] = []
    later: set[str] = set()
    for text in reversed(list(texts)):
        words.append(set(_WORD.findall(text)) - later)
        later |= words[-1]
    return words[::-1]


def _children(node: ast.AST) -> Iterable[Any]:
    if isinstance(node, ast.If):
        return [node.test, *node.body, *node.orelse]
    return ast.iter_child_nodes(node)


def parse_code(text: str, title: str) -> ParsedText:
    """The statements of a code record. Raises FrontendError."""
    try:
        return _parsed(text, title)
    except FrontendError:
        if not any(word in text for word in _ANY_WORD):
            raise
        return _parsed(with_odd_names(text), title)


def _parsed(text: str, title: str) -> ParsedText:
    source = Source(text, title, is_local=False)
    try:
        return parse_text(source)
    except NotSupportedError:  # some releases of Python give up before our own limit is reached
        problem = f"it has more levels of nested code than the parser of Python {platform.python_version()} reads"
        raise FrontendError(problem, source.range(0, 1)) from None


def with_odd_names(text: str) -> str:
    """The text with names that Python reserves and TorchScript does not, written so that Python takes them for names.

    >>> import ast
    >>> ast.unparse(ast.parse(with_odd_names("self.lambda = x")))
    'self.lambda = x'
    """

    def replaced(match: re.Match[str]) -> str:
        word = match.group(1) or match.group(2)
        return chr(ord(word[0]) + _FULL_WIDTH) + word[1:] if word else match.group()

    return _ODD.sub(replaced, text)
