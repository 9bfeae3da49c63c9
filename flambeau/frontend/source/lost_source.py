"""Source that no file holds: of functions made by `exec`, by `python -c`, or typed at a prompt.

A text is taken for a function's source only if compiling it gives that very code at that very line, so a wrong one
cannot be found. Texts are looked for where they usually still are: in the variables and constants of the callers
(`exec(text)`), on the command line, in the history of the prompt.
"""

from __future__ import annotations
import __future__

import inspect
import sys
import tokenize
from collections.abc import Iterator
from types import CodeType, FunctionType

FUTURE = sum(getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)
"""The flags of `from __future__ import ...` in a code's flags."""
LONGEST_TYPED = 400
"""Lines of history that are searched."""


def find_lines(function: FunctionType) -> tuple[list[str], int] | None:
    """The lines of a function's definition and the number of the first; None if they are nowhere."""
    wanted = function.__code__
    for text in _texts(wanted):
        if wanted.co_name in text and _holds(text, wanted):
            lines = text.splitlines(keepends=True)
            try:
                return inspect.getblock(lines[wanted.co_firstlineno - 1 :]), wanted.co_firstlineno
            except (IndentationError, SyntaxError, tokenize.TokenError):
                continue
    return None


def _texts(wanted: CodeType) -> Iterator[str]:
    yield from _typed(wanted)
    if "-c" in sys.orig_argv:
        yield sys.orig_argv[sys.orig_argv.index("-c") + 1]
    frame = sys._getframe(1)
    while frame is not None:
        for value in (*frame.f_locals.values(), *frame.f_code.co_consts):
            if isinstance(value, str) and "def" in value:
                yield value
        frame = frame.f_back  # type: ignore[assignment]


def _typed(wanted: CodeType) -> Iterator[str]:
    """What was typed at the prompt, from each line that may begin the definition, the latest first."""
    history = sys.modules.get("readline")
    if history is None:
        return
    length = history.get_current_history_length()
    typed = [history.get_history_item(i) or "" for i in range(max(1, length - LONGEST_TYPED), length + 1)]
    for start in reversed(range(len(typed))):
        if typed[start].startswith(("@", "def ")):
            block = [typed[start], *_rest_of_block(typed[start + 1 :])]
            yield "\n" * (wanted.co_firstlineno - 1) + "\n".join(block) + "\n"


def _rest_of_block(lines: list[str]) -> Iterator[str]:
    in_body = False
    for line in lines:
        if in_body and line[:1] not in (" ", "\t", "#", ")", ""):
            return
        in_body = in_body or line[:1] in (" ", "\t")
        yield line


def _holds(text: str, wanted: CodeType) -> bool:
    """Whether compiling `text` gives the code `wanted`, at the same line."""
    try:
        waiting = [compile(text, wanted.co_filename, "exec", wanted.co_flags & FUTURE, dont_inherit=True)]
    except (SyntaxError, ValueError):
        return False
    while waiting:
        code = waiting.pop()
        if code == wanted:  # constants, names, instructions and lines
            return True
        waiting.extend(c for c in code.co_consts if isinstance(c, CodeType))
    return False
