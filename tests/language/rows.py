"""Rows of the language table: what a program may say, or may not, each with an example that the tests run.

A module of this folder with a `TITLE` and `ROWS` is a section of the table. An accepted row names calls of its
function `f`, which give in every backend what CPython gives; a refused one says what the message must contain.
"""

from __future__ import annotations

import linecache
import math
import sys
import textwrap
import types
import typing
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import flambeau

_numbers = count()


@dataclass(frozen=True)
class Row:
    """One row of the table."""

    construct: str
    """What it is about."""
    source: str
    """The program; its entry is `f`."""
    calls: tuple[str, ...] = ()
    """Calls, as expressions."""
    error: str = ""
    """What the message of a refusal contains; empty for a program that is accepted."""
    at: str = ""
    """What a refusal underlines; not looked at if empty."""
    line: int = 0
    """Its line; not looked at if 0."""
    kind: type[BaseException] = RuntimeError
    """What class of error a refusal is."""
    differs: tuple[str, ...] = ()
    """What the calls give here where Python gives something else, as `repr` shows it."""
    why: str = ""
    """Why it differs."""
    torch: bool = True
    """Whether TorchScript says the same of this source."""
    backends: tuple[str, ...] = ("reference", "interpreter", "native")
    tags: frozenset[str] = field(default_factory=frozenset)


def accepted(construct: str, source: str, *calls: str, **more: Any) -> Row:
    """A program that runs as in Python."""
    return Row(construct, textwrap.dedent(source).strip("\n") + "\n", calls, **more)


def refused(construct: str, source: str, error: str, at: str = "", **more: Any) -> Row:
    """A program that is refused, or a call that is."""
    return Row(construct, textwrap.dedent(source).strip("\n") + "\n", error=error, at=at, **more)


def names(package: Any = flambeau) -> dict[str, Any]:
    """What every example may use without importing it."""
    shown = ("Any", "Dict", "Final", "List", "NamedTuple", "Optional", "Set", "Tuple", "Union", "TYPE_CHECKING")
    return {
        "__name__": "example",
        "flambeau": package,
        "jit": package.jit,
        "Tensor": package.Tensor,
        "math": math,
        **{name: getattr(typing, name) for name in shown},
    }


def load(source: str, package: Any = flambeau) -> dict[str, Any]:
    """The namespace after running a source text as if it were a file of its own."""
    number = next(_numbers)
    filename = f"<example {number}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    module = sys.modules[f"example_{number}"] = types.ModuleType(f"example_{number}")
    module.__file__ = filename  # where tools that want the source of a class look for it
    namespace = vars(module)
    namespace.update({**names(package), "__name__": module.__name__})
    exec(compile(source, filename, "exec", dont_inherit=True), namespace)
    return namespace
