"""The ways to run an operator. Every column must agree with the first on every call of the matrix.

A column is a name and a function from an overload and its arguments to its results; it may return `SKIPPED` for what
it does not cover. Eager is the first; scripted, traced, interpreted and native runs are columns too, added below it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from flambeau.ir.parser import parse_ir
from flambeau.jit.compilation_unit import create_function_from_graph
from flambeau.jit.function import ScriptFunction
from flambeau.schema.opdef import OpDef
from flambeau.tensor import dispatch

SKIPPED: Final = object()


@dataclass(frozen=True)
class Column:
    """One way to run an overload on all its arguments in schema order."""

    name: str
    run: Callable[[OpDef, Sequence[Any]], Any]


def _by_python_call(definition: OpDef, arguments: Sequence[Any]) -> Any:
    """As a Python caller would write it: positional arguments by position, the others by name."""
    schema = definition.schema
    positional = [v for a, v in zip(schema.arguments, arguments, strict=True) if not a.kwarg_only]
    named = {a.name: v for a, v in zip(schema.arguments, arguments, strict=True) if a.kwarg_only}
    return dispatch.call(definition.name, *positional, **named)


@cache
def _as_graph(definition: OpDef) -> ScriptFunction:
    """A program of one node."""
    names = [f"%{i}" for i in range(len(definition.schema.arguments))]
    inputs = ", ".join(f"{n} : {a.type}" for n, a in zip(names, definition.schema.arguments, strict=True))
    results = [f"%r{i}" for i in range(len(definition.schema.returns))]
    typed = ", ".join(f"{n} : {r.type}" for n, r in zip(results, definition.schema.returns, strict=True))
    text = f"graph({inputs}):\n  {typed} = {definition.name}({', '.join(names)})\n  return ({', '.join(results)})\n"
    return create_function_from_graph("one_node", parse_ir(text))


def _in_a_program(definition: OpDef, arguments: Sequence[Any]) -> Any:
    """As a graph of one node, compiled and run as every script is: this covers the kernels of native code too."""
    if not definition.schema.returns:
        return SKIPPED
    return _as_graph(definition)(*arguments)


EAGER: Final = Column("eager", dispatch.run)
COLUMNS: Final[list[Column]] = [EAGER, Column("called", _by_python_call), Column("graph", _in_a_program)]
