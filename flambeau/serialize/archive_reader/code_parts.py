"""Parts of an archive's code that are parsed by themselves, each text once: layers of a model are written alike.

>>> parts = CodeParts()
>>> file, function = parts.body("    return 1\\n")
>>> parts.body("    return 1\\n")[1] is function, type(function.body[0]).__name__
(True, 'Return')
"""

from __future__ import annotations

import ast
from typing import Final

from flambeau.serialize.archive_reader.code_file import CodeFile
from flambeau.serialize.archive_reader.limits import DEFAULT, LoadLimits
from flambeau.util.errors import FrontendError
from flambeau.util.source import Source

_TITLE: Final = "<part of an archive's code>"
_BODY: Final = "def part():\n{}"
_SIGNATURE: Final = "def part(self{}:\n  pass\n"
_PARAMETERS: Final = "def part({}:\n  pass\n"
_TYPE: Final = "def part() -> (\n  {}\n  ):\n  pass\n"
_VALUE: Final = "def part(\n  value=\n  {}\n  ):\n  pass\n"


class CodeParts:
    """What was parsed of the parts of an archive. Raises FrontendError for text that is not what it is said to be."""

    def __init__(self, limits: LoadLimits = DEFAULT) -> None:
        self._limits = limits
        self._known: dict[str, tuple[CodeFile, ast.FunctionDef]] = {}

    def body(self, text: str) -> tuple[CodeFile, ast.FunctionDef]:
        """The indented statements of a function, as those of one without parameters."""
        return self._function(_BODY.format(text))

    def signature(self, text: str, *, is_method: bool) -> tuple[CodeFile, ast.FunctionDef]:
        """The parameters and the result of a function; of a method, those behind the first parameter."""
        return self._function((_SIGNATURE if is_method else _PARAMETERS).format(text))

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
