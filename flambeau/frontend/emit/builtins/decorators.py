"""Decorators of functions inside of functions: those that are no functions of the user's own.

@functools.wraps(fn)              the function below it, as it is
def inner(*args): ...
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, Final

from flambeau.frontend.emit.values.sugared import Emitter, FormValue, Given, Sugared
from flambeau.frontend.trees.tree_views import Apply
from flambeau.schema.types import Type
from flambeau.util.errors import CompileError, NotSupportedError
from flambeau.util.record import dataclass
from flambeau.util.source import SourceRange

NO_CACHE = (
    "a cache isn't supported on a function inside a function: define the function outside of this one, or keep results "
    "in a dict"
)


@dataclass(slots=True)
class Unchanged(Sugared):
    """A decorator that gives back the function it is given."""

    name: str

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return self.name

    def call_tree(self, e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
        """The function."""
        if len(tree.args) != 1 or tree.keywords:
            raise CompileError(f"{self.name} decorates one function", tree.callee.range)
        return e.sugared(tree.args[0])


@dataclass(slots=True)
class NoCache(Sugared):
    """`functools.cache`, `functools.lru_cache` inside a function."""

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return "cache"

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """Refused: it would live as long as one call."""
        raise NotSupportedError(NO_CACHE, where)

    def call_tree(self, e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
        """Refused."""
        raise NotSupportedError(NO_CACHE, tree.callee.range)


def _emit_wraps(e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
    """`functools.wraps(fn)`."""
    return Unchanged("wraps")


DECORATORS: Final[dict[Any, Sugared]] = {
    functools.wraps: FormValue("wraps", _emit_wraps),
    functools.cache: NoCache(),
    functools.lru_cache: NoCache(),
}
"""What each of Python's own decorators is in a program."""
