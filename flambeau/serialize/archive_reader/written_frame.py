"""A call of one function of an archive while its code is run as text: its variables, and the run that it is part of."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol

from flambeau.program.function import Function
from flambeau.program.written import GivenUpError
from flambeau.schema.types import Type
from flambeau.serialize.archive_reader.code_file import CodeFile
from flambeau.serialize.archive_reader.written_memory import ForeignMemory
from flambeau.serialize.archive_reader.written_operators import Call
from flambeau.util.names import ROOT

GLOBALS: Final = frozenset({"torch", "ops", "CONSTANTS", ROOT})
"""Names that no variable has."""
GOES_ON: Final = object()
"""What a statement gives that does not return."""
Part = Callable[["Frame"], Any]
"""A statement or an expression, as what runs it."""


class Run(Protocol):
    """The call from outside that a function is called in."""

    memory: ForeignMemory
    constants: Sequence[Any]

    def call(self, function: Function, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
        """The result of a function of the archive."""

    def operator(self, call: Call) -> tuple[Any, int]:
        """The results of an operator, and how many they are."""

    def named(self, name: str) -> Function | Type | None:
        """What has a qualified name; None if nothing has."""

    def type(self, file: CodeFile, annotation: ast.expr) -> Type:
        """The type that is written for something."""

    def qualified(self, name: str, values: Sequence[Any], keywords: Mapping[str, Any]) -> str:
        """The operator that `torch.name` is for such values."""

    def begin_round(self) -> None:
        """Count a round of a loop."""

    def begin_steps(self, count: int) -> None:
        """Count statements."""


class Frame:
    """A call of one function."""

    __slots__ = ("run", "variables")

    def __init__(self, run: Run, variables: dict[str, Any]) -> None:
        if not GLOBALS.isdisjoint(variables):
            raise GivenUpError("a parameter hides what names of the language mean")
        self.run, self.variables = run, variables
