"""Context managers of Python that programs may enter: `no_grad()` and its like.

with no_grad(): ...    →    %c : Any = ^no_grad()    prim::Enter(%c)    ...    prim::Exit(%c)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau.frontend.emit.emission import Emission
from flambeau.frontend.values.sugared import Given, Sugared
from flambeau.ir.value import Value
from flambeau.schema.types import ANY
from flambeau.util.errors import CompileError
from flambeau.util.record import dataclass
from flambeau.util.source import SourceRange


@dataclass(slots=True)
class ContextClass(Sugared):
    """A class of context managers."""

    python: Any

    @property
    def kind(self) -> str:
        """As messages call it."""
        return f"class {self.python.__name__}"

    def call(self, e: Emission, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """The context, made where it is entered."""
        if keywords:
            raise CompileError(f"{self.python.__name__} takes its arguments by position", where)
        return ContextValue(self.python, [a.value for a in args])


@dataclass(slots=True)
class ContextValue(Sugared):
    """A context manager, good for `with` alone."""

    python: Any
    arguments: list[Value]

    @property
    def kind(self) -> str:
        """As messages call it."""
        return f"context manager {self.python.__name__}"

    def made(self, e: Emission, where: SourceRange) -> Value:
        """The node that makes it."""
        with e.graph.at_range(where):
            return e.emit(f"^{self.python.__name__}", self.arguments, ANY, callable=self.python)
