"""Overloads of methods: one implementation, compiled for each declared signature; a call takes the first that fits.

class Scale(nn.Module):
    @flambeau.jit._overload_method
    def forward(self, x: int) -> int: ...
    @flambeau.jit._overload_method
    def forward(self, x: float) -> float: ...
    def forward(self, x): return x * 2
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from flambeau.frontend.emit.schema_matching import match_schemas
from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.emit.values.sugared import Emitter, Given, Sugared
from flambeau.ir.graph import Value
from flambeau.jit.overloads import check_body
from flambeau.nn.module import Module
from flambeau.program.function import Function
from flambeau.util.errors import CompileError
from flambeau.util.record import dataclass
from flambeau.util.source import SourceRange

F = TypeVar("F", bound=Callable[..., Any])
TABLE = "__flambeau_overloads__"
"""The attribute of a class with the signatures declared in its body, by the name of the method."""
MISSING = (
    'Implementation for the method "{name}" is missing. Please make sure a definition is provided and defined after '
    "all overload declarations"
)


def _overload_method(func: F) -> F:
    """A decorator: `func` declares a signature of the method of the same name that follows in the class.

    Raises RuntimeError when it has a body.
    """
    check_body(func)
    body = sys._getframe(1).f_locals
    body.setdefault(TABLE, {}).setdefault(func.__name__, []).append(func)
    return func


def declared_overloads(module: Module, name: str) -> list[Callable[..., Any]]:
    """The signatures declared for a method, in order; none for one that is not overloaded.

    Raises CompileError if there is nothing behind the declarations.
    """
    for base in type(module).__mro__:
        overloads: list[Callable[..., Any]] = vars(base).get(TABLE, {}).get(name, [])
        if overloads:
            if inspect.getattr_static(module, name, None) in overloads:
                raise CompileError(MISSING.format(name=name))
            return overloads
        if name in vars(base):
            break
    return []


def overload_name(name: str, number: int) -> str:
    """What the method compiled for a signature is called."""
    return f"{name}__{number}"


@dataclass(slots=True)
class OverloadedMethod(Sugared):
    """A method with several signatures, with its object."""

    owner: Value
    functions: Sequence[Function]

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return "overloaded method"

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """A call of the first signature that fits. Raises CompileError with all of them if none does."""
        arguments = [Given(self.owner, where), *args]
        match = match_schemas([f.schema for f in self.functions], arguments, keywords, where)
        function = next(f for f in self.functions if f.schema is match.schema)
        with e.graph.at_range(where):
            operands = match.operands(e)
            return SimpleValue(
                e.emit("prim::CallMethod", operands, match.returns[0], name=function.name.rpartition(".")[2])
            )
