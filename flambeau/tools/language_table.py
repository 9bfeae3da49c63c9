"""`docs/language-table.md`: every row of the language table as the tests run it, with what it gives.

A module of `tests/language` with a `TITLE` and `ROWS` is a section. Adding a row to one, or a module, adds it here.
"""

from __future__ import annotations

import contextlib
import html
import importlib
import io
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import flambeau

INTRODUCTION = """# The language, row by row

Every row is run by the tests (`tests/language`): an accepted program gives the same in CPython, the reference
evaluator, the interpreter and natively, and where it is TorchScript's, in TorchScript. *Beyond* marks what TorchScript
does not have, or says otherwise. A refused program shows what the message says. Examples assume

```python
import math
from typing import Any, Dict, Final, List, NamedTuple, Optional, Tuple, Union, TYPE_CHECKING
import flambeau
from flambeau import Tensor, jit
```

{count} rows, {refused} of them refusals.
"""
DIFFERS = "In Python: {python} ({why})"


def sections(root: Path) -> list[Any]:
    """The modules with rows, in the order of their `ORDER`, then by name."""
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    names = [p.stem for p in sorted((root / "tests" / "language").glob("*.py"))]
    skipped = ("__init__", "rows")
    modules = [importlib.import_module(f"tests.language.{n}") for n in names if n not in skipped and n[:5] != "test_"]
    return sorted(modules, key=lambda module: (getattr(module, "ORDER", 50), module.__name__))


def language_table(root: Path) -> str:
    """The page."""
    modules = sections(root)
    rows = [row for module in modules for row in module.ROWS]
    text = INTRODUCTION.format(count=len(rows), refused=sum(bool(row.error) for row in rows))
    for module in modules:
        text += f"\n## {module.TITLE}\n\n| construct | example | gives |\n|---|---|---|\n"
        text += "".join(_row(row) for row in module.ROWS)
    return text


def _row(row: Any) -> str:
    beyond = "" if row.torch or row.error else "<br>*beyond*"
    gives = "<br>".join(_gives(row))
    return f"| {_escaped(row.construct)}{beyond} | {_block(row.source)} | {gives} |\n"


def _gives(row: Any) -> Iterator[str]:
    """What the calls of an accepted row give, or what a refusal says."""
    if row.error:
        call = f"{_code(row.calls[-1])}: " if row.calls else ""
        yield f"refused: {call}{_code(row.error)}"
        return
    namespace = load(row.source)
    for call, here in zip(row.calls, row.differs or [None] * len(row.calls), strict=True):
        python = outcome(call, namespace)
        yield f"{_code(call)} → {_code(here or python)}"
        if here is not None and here != python:
            yield DIFFERS.format(python=_code(python), why=_escaped(row.why))


def load(source: str) -> dict[str, Any]:
    """What the source of a row defines, as Python."""
    rows = importlib.import_module("tests.language.rows")
    namespace: dict[str, Any] = rows.load(source, flambeau)
    return namespace


def outcome(call: str, namespace: dict[str, Any]) -> str:
    """What a call gives in Python: its `repr`, or what it raises."""
    said = io.StringIO()
    with warnings.catch_warnings(), contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        warnings.simplefilter("ignore")
        try:
            return repr(eval(call, dict(namespace)))
        except Exception as error:
            return f"raises {type(error).__name__}: {error}"


def _escaped(text: str) -> str:
    return html.escape(text, quote=False).replace("|", "&#124;").replace("\n", " ")


def _code(text: str) -> str:
    return f"<code>{_escaped(text)}</code>"


def _block(source: str) -> str:
    """A program in a cell: one line of the table whatever its length."""
    lines = [_escaped(line).replace("*", "&#42;").replace("_", "&#95;") for line in source.rstrip("\n").split("\n")]
    return f"<pre>{'<br>'.join(lines)}</pre>"
