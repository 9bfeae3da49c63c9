"""The ways to run an operator. Every column must agree with the first on every call of the matrix.

A column is a name and a function from an overload and its arguments to its results; it may return `SKIPPED` for what
it does not cover. Eager is the first; scripted, traced, interpreted and native runs are columns too, added below it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

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


EAGER: Final = Column("eager", dispatch.run)
COLUMNS: Final[list[Column]] = [EAGER, Column("called", _by_python_call)]
