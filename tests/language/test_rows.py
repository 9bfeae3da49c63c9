"""Every row of the language table does what it says: in CPython, in each backend, and in TorchScript where it is there."""

from __future__ import annotations

import importlib
import warnings
from pathlib import Path
from typing import Any

import pytest

import flambeau
from tests.language.rows import Row, load
from tests.together import together

SECTIONS = [
    importlib.import_module(f"tests.language.{path.stem}")
    for path in sorted(Path(__file__).parent.glob("*.py"))
    if path.stem not in ("__init__", "rows") and not path.stem.startswith("test_")
]
ROWS: list[tuple[str, Row]] = [(s.__name__.rpartition(".")[2], row) for s in SECTIONS for row in s.ROWS]


def marked(rows: list[tuple[str, Row]]) -> list[Any]:
    return [pytest.param(row, id=f"{section}: {row.construct}") for section, row in rows]


def outcome(call: str, namespace: dict[str, Any]) -> str:
    """What a call gives or raises, as text."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return repr(eval(call, dict(namespace)))
        except Exception as error:
            return f"raises {str(error).rpartition(': ')[2].strip()}"


@together("row", marked([(s, r) for s, r in ROWS if not r.error]))
def test_accepted(row: Row) -> None:
    namespace = load(row.source)
    expected = row.differs or tuple(outcome(call, namespace) for call in row.calls)
    for backend in row.backends:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            script = flambeau.script(namespace["f"], backend=backend, verify=True)
        scripted = {**namespace, "f": script}
        assert tuple(outcome(call, scripted) for call in row.calls) == expected, backend
    if row.differs:
        python = tuple(outcome(call, namespace) for call in row.calls)
        assert python != expected, "this row does not differ from Python"


def run(row: Row) -> None:
    """Compile a row's program and make its calls."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        namespace = load(row.source)
        script = flambeau.script(namespace["f"])
        for call in row.calls:
            eval(call, {**namespace, "f": script})


@together("row", marked([(s, r) for s, r in ROWS if r.error]))
def test_refused(row: Row) -> None:
    with pytest.raises(row.kind) as caught:
        run(row)
    assert row.error in str(caught.value)
    place = getattr(caught.value, "range", None)
    if row.at:
        assert place is not None
        assert place.text == row.at
    if row.line:
        assert place is not None
        assert place.file_line_col()[1] == row.line
