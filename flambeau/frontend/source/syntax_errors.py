"""Python's syntax errors in the words that users of string sources look for."""

from __future__ import annotations

import re

_LOOKED_AT = 10_000
"""Characters in front of an error in which an open bracket is looked for."""
_CLOSERS = {"(": ")", "[": "]", "{": "}"}

_BY_FRAGMENT = (
    ("unterminated", "expected a valid token here"),
    ("invalid character", "expected a valid token here"),
    ("invalid non-printable", "expected a valid token here"),
    ("literal", "expected a valid token here"),
    ("illegal expression for augmented assignment", "augmented assignment can only have one LHS expression"),
    ("cannot assign to", "unexpected expression on the left of an assignment"),
)


def syntax_message(error: SyntaxError, before: str, line_shift: int = 0) -> str:
    """The message for a syntax error; `before` is the source up to the place of the error.

    `line_shift` is added to line numbers in Python's own words, to make them lines of the user's file.

    >>> syntax_message(SyntaxError("invalid syntax. Perhaps you forgot a comma?"), "return [")
    'Syntax error: expected ] or a comma (invalid syntax. Perhaps you forgot a comma?)'
    """
    text = re.sub(r"(?<=\bline )\d+", lambda number: str(int(number[0]) + line_shift), error.msg)
    for fragment, message in _BY_FRAGMENT:
        if fragment in text and not (fragment == "literal" and "assign" in text):
            return f"Syntax error: {message} ({text})"
    closer = _innermost_closer(before[-_LOOKED_AT:]) if text.startswith("invalid syntax") else ""
    return f"Syntax error: expected {closer} or a comma ({text})" if closer else f"Syntax error: {text}"


def _innermost_closer(before: str) -> str:
    """What closes the innermost bracket left open; brackets inside strings on the last line may mislead it."""
    opened: list[str] = []
    for character in before:
        if character in _CLOSERS:
            opened.append(_CLOSERS[character])
        elif opened and character == opened[-1]:
            opened.pop()
    return opened[-1] if opened else ""
