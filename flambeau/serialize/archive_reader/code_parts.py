"""Parts of an archive's code that are parsed by themselves, each text once: layers of a model are written alike.

>>> parts = CodeParts()
>>> file, function = parts.body("    return 1\\n")
>>> parts.body("    return 1\\n")[1] is function, type(function.body[0]).__name__
(True, 'Return')
"""

from __future__ import annotations

import ast
import re
from typing import Final, NamedTuple

from flambeau.schema.types import Type
from flambeau.serialize.archive_reader.code_file import CodeFile
from flambeau.serialize.archive_reader.limits import DEFAULT, LoadLimits
from flambeau.serialize.archive_reader.printed_types import plain_type
from flambeau.util.errors import FrontendError
from flambeau.util.source import Source

FEW: Final = 1_000
"""Characters."""
_TITLE: Final = "<part of an archive's code>"
_BODY: Final = "def part():\n{}"
_SIGNATURE: Final = "def part(self{}:\n  pass\n"
_PARAMETERS: Final = "def part({}:\n  pass\n"
_TYPE: Final = "def part() -> (\n  {}\n  ):\n  pass\n"
_VALUE: Final = "def part(\n  value=\n  {}\n  ):\n  pass\n"


_LINE: Final = re.compile(r"^( *)([^ \n].*)\n", re.M)
_OPENS: Final = re.compile(r"(?:if|while|for) [^\n]*:|else:")
_IS_COMPOUND: Final = re.compile(r"(?:if|elif|else|while|for|with|def|try|class|async|match)\b")


class Outline(NamedTuple):
    """Statements without the blocks in them: most branches are never gone into."""

    text: str
    """Each block is a number, that of its text."""
    blocks: list[str]
    statements: list[str]
    """The text of each statement, with its blocks."""


def outlined(body: str) -> Outline | None:
    """The outline of indented statements; None for those that are not as printers write them, and for a few, which are
    parsed as quickly.

    >>> outlined("  if a:\\n" + "    b = 1\\n" * FEW + "  else:\\n    pass\\n  return a\\n").text
    '  if a:\\n   0\\n  else:\\n   1\\n  return a\\n'
    """
    if len(body) < FEW:
        return None
    indent = len(body) - len(body.lstrip(" "))
    heads = [line for line in _LINE.finditer(body) if line.end(1) - line.start() <= indent]
    if any(line.end(1) - line.start() < indent for line in heads):
        return None
    deeper, kept = " " * (indent + 1), []
    blocks: list[str] = []
    statements: list[str] = []
    ends = [*[head.start() for head in heads[1:]], len(body)]
    for head, end in zip(heads, ends, strict=True):
        line, block = head[2], body[head.end() : end]
        opens = _OPENS.fullmatch(line) is not None
        if opens is not bool(block.strip("\n")) or (_IS_COMPOUND.match(line) and not opens):
            return None  # it goes on with what is no block, or its block stands beside it
        kept.append(head[0])
        if opens:
            kept.append(f"{deeper}{len(blocks)}\n")
            blocks.append(block)
        if line == "else:" and statements:
            statements[-1] += body[head.start() : end]
        else:
            statements.append(body[head.start() : end])
    return Outline("".join(kept), blocks, statements)


class CodeParts:
    """What was parsed of the parts of an archive. Raises FrontendError for text that is not what it is said to be."""

    def __init__(self, limits: LoadLimits = DEFAULT) -> None:
        self._limits = limits
        self._known: dict[str, tuple[CodeFile, ast.FunctionDef]] = {}

    def body(self, text: str) -> tuple[CodeFile, ast.FunctionDef]:
        """The indented statements of a function, as those of one without parameters. Raises FrontendError for what is
        nested too deeply, too."""
        file, function = self._function(_BODY.format(text))
        if len(text) > self._limits.code_nesting:  # else there are not as many levels, each takes a character at least
            file.check_nesting(function)
        return file, function

    def signature(self, text: str, *, is_method: bool) -> tuple[CodeFile, ast.FunctionDef]:
        """The parameters and the result of a function; of a method, those behind the first parameter."""
        return self._function((_SIGNATURE if is_method else _PARAMETERS).format(text))

    def plain_type(self, text: str) -> Type | None:
        """The type that is written, if it consists of types of the language and no parser is needed for it."""
        # Each level takes a character at least.
        return plain_type(text) if len(text) <= self._limits.code_nesting else None

    def type(self, text: str) -> tuple[CodeFile, ast.expr]:
        """What is written for a type."""
        file, function = self._function(_TYPE.format(text))
        if function.returns is None:
            raise FrontendError("expected a type", file.range(function))
        return file, function.returns

    def value(self, text: str) -> tuple[CodeFile, ast.expr]:
        """What is written for a value."""
        file, function = self._function(_VALUE.format(text))
        written = function.args
        if len(written.args) != 1 or written.vararg or written.kwonlyargs or written.kwarg or written.posonlyargs:
            raise FrontendError("expected a value", file.range(function))
        return file, written.defaults[0]

    def _function(self, text: str) -> tuple[CodeFile, ast.FunctionDef]:
        known = self._known.get(text)
        if known is None:
            file = CodeFile(text, _TITLE, self._limits)
            definitions = list(file.definitions.values())
            if len(definitions) != 1 or not isinstance(definitions[0], ast.FunctionDef):
                raise FrontendError("expected a function", Source(text, _TITLE).range(0, 1))
            known = self._known[text] = file, definitions[0]
        return known
