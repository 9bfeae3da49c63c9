"""Tokens of schema, type and IR text.

>>> [t.text for t in Tokens("aten::add.Tensor(Tensor(a!) self)").rest()]
['aten::add.Tensor', '(', 'Tensor', '(', 'a', '!', ')', 'self', ')']
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple, NoReturn

from flambeau.util.errors import ParseError
from flambeau.util.source import Source, SourceRange


class Token(NamedTuple):
    """A piece of text with its place. `kind` is ident, value, number, string, comment, newline, punct, other or end."""

    kind: str
    text: str
    start: int
    end: int


_PATTERN = re.compile(
    r"""(?P<space>[ \t\r]+)
      | (?P<newline>\n)
      | (?P<comment>\#[^\n]*)
      | (?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
      | (?P<number>(?:0x[0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?j?)(?![A-Za-z_]|::))
      | (?P<value>%[A-Za-z0-9_.$]+(?:-[A-Za-z0-9_.$]+)*)
      | (?P<ident>[^\W\d][\w$]*(?:(?:::|\.)[\w$]+)*)
      | (?P<punct>->|\.\.\.|[-()\[\]{}<>:,=!?*|^+.;])""",
    re.VERBOSE | re.DOTALL,
)
ESCAPES = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "\\": "\\",
    "'": "'",
    '"': '"',
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "v": "\v",
    "0": "\0",
}


def unescape(literal: str) -> str:
    """The text of a quoted string literal with its escapes (`\\n`, octal `\\016`, `\\x0e`) replaced."""

    def one(match: re.Match[str]) -> str:
        code = match.group(1)
        if code[0] == "x":
            return chr(int(code[1:], 16))
        if code.isdigit() and len(code) > 1:
            return chr(int(code, 8))
        return ESCAPES.get(code, "\\" + code)

    return re.sub(r"\\(x[0-9a-fA-F]{2}|[0-7]{3}|.)", one, literal[1:-1], flags=re.DOTALL)


def escape(text: str) -> str:
    """A double-quoted literal that `unescape` reads back."""
    plain = {v: "\\" + k for k, v in ESCAPES.items() if k not in "'0"}
    return '"' + "".join(plain.get(c, c if c.isprintable() else _octal(c)) for c in text) + '"'


def _octal(char: str) -> str:
    return f"\\{ord(char):03o}" if ord(char) < 512 else char


class Tokens:
    """A cursor over the tokens of a text; every error it raises shows the place.

    With `lines` (IR text), newlines and comments are tokens too, and so is any character that starts no other token
    (scopes and Python arguments hold such); otherwise the former are space and the latter an error.
    """

    def __init__(self, text: str, filename: str = "<string>", *, lines: bool = False) -> None:
        self.source = Source(text, filename)
        self._text = text
        self._tokens = list(self._scan(lines))
        self._at = 0

    def _scan(self, lines: bool) -> Iterator[Token]:
        at = 0
        while at < len(self._text):
            match = _PATTERN.match(self._text, at)
            if match is None and lines:
                yield Token("other", self._text[at], at, at + 1)
                at += 1
                continue
            if match is None:
                raise ParseError(
                    f"expected a valid token, got {self._text[at]!r}", SourceRange(self.source, at, at + 1)
                )
            kind = match.lastgroup or ""
            if kind != "space" and (lines or kind not in ("newline", "comment")):
                yield Token(kind, match.group(), at, match.end())
            at = match.end()
        yield Token("end", "", at, at)

    @property
    def current(self) -> Token:
        """The next token."""
        return self._tokens[self._at]

    def peek(self, ahead: int = 1) -> Token:
        """A later token, without moving."""
        return self._tokens[min(self._at + ahead, len(self._tokens) - 1)]

    def rest(self) -> Iterator[Token]:
        """The tokens left, except the end."""
        return iter(self._tokens[self._at : -1])

    def next(self) -> Token:
        """Take the next token."""
        token = self.current
        if token.kind != "end":
            self._at += 1
        return token

    def accept(self, text: str) -> bool:
        """Take the next token if it is this punctuation or word; say whether it was."""
        if self.current.text == text and self.current.kind in ("punct", "ident"):
            self._at += 1
            return True
        return False

    def expect(self, text: str) -> Token:
        """Take this punctuation or word. Raises ParseError naming what stands there."""
        if self.current.text != text or self.current.kind == "string":
            self.fail(f"expected {text!r} but found {self.shown()}")
        return self.next()

    def expect_kind(self, kind: str, what: str) -> Token:
        """Take a token of this kind, called `what` in the error."""
        if self.current.kind != kind:
            self.fail(f"expected {what} but found {self.shown()}")
        return self.next()

    def shown(self) -> str:
        """The next token as messages name it."""
        return "the end of the text" if self.current.kind == "end" else repr(self.current.text)

    def mark(self) -> int:
        """A position to come back to."""
        return self._at

    def reset(self, mark: int) -> None:
        """Go back to a position."""
        self._at = mark

    def skip_to(self, offset: int) -> None:
        """Go on to the first token that starts at or after this offset of the text."""
        while self.current.kind != "end" and self.current.start < offset:
            self._at += 1

    def fail(self, message: str, at: Token | None = None) -> NoReturn:
        """Raise ParseError at the next token, or at the one given."""
        token = self.current if at is None else at
        raise ParseError(message, SourceRange(self.source, token.start, max(token.end, token.start + 1)))
