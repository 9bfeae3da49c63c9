"""Compiling Python functions for tests of the front end, without the layers above it."""

from __future__ import annotations

import types
from typing import Any

from flambeau import ops as _ops
from flambeau.frontend.compile_function import compile_def
from flambeau.frontend.scopes.name_resolution import MISSING, Names, recursion_error
from flambeau.frontend.source.python_source import NameScope, parameter_defaults
from flambeau.frontend.trees.function_conversion import get_tree
from flambeau.program.function import Function
from flambeau.util.errors import CompileError
from flambeau.util.source import SourceRange

__all__ = ["Scope", "compiled"]
assert _ops is not None


class Scope(Names):
    """Resolves the names of a Python function, and compiles the functions that it calls."""

    def __init__(self, fn: Any, active: tuple[Any, ...] = ()) -> None:
        super().__init__()
        self.scope, self.active = NameScope.of_function(fn), (*active, fn)

    def resolve(self, name: str) -> Any:
        try:
            return self.scope(name)
        except KeyError:
            return MISSING

    def compile_function(self, fn: Any, where: SourceRange) -> Function | None:
        if not isinstance(fn, types.FunctionType):
            return None
        if fn in self.active:
            raise recursion_error(fn.__name__, where)
        try:
            return compile_def(get_tree(fn), Scope(fn, self.active), defaults=parameter_defaults(fn))
        except CompileError as error:
            raise error.with_caller(fn.__name__, self.active[-1].__name__, where) from None


def compiled(fn: Any) -> Function:
    """The compiled form of a Python function."""
    return compile_def(get_tree(fn), Scope(fn), defaults=parameter_defaults(fn))
