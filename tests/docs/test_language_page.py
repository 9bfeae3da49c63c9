"""The table of differences from Python is what happens."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import flambeau

PAGE = (Path(__file__).parents[2] / "docs" / "language.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| `([^`]+)` \| `([^`]+)` \| `([^`]+)` \|", PAGE, re.MULTILINE)
WON = re.findall(r"^\| [a-z][^|`]*`([^`]+)` \| `([^`]+)` \|", PAGE, re.MULTILINE)
ARGUMENTS: dict[str, Any] = {"n": 3, "x": 2.5, "big": 2**63 - 1}


def outcome(run: Any) -> str:
    try:
        return repr(run())
    except ZeroDivisionError as error:
        return type(error).__name__


@pytest.mark.parametrize(("expression", "here", "python"), ROWS)
def test_rows(expression: str, here: str, python: str) -> None:
    unit = flambeau.CompilationUnit(f"def f(n: int, x: float, big: int):\n    return {expression}\n")
    assert outcome(lambda: unit.f(**ARGUMENTS)) == here
    assert outcome(lambda: eval(expression, dict(ARGUMENTS))) == python


def test_the_table_is_there() -> None:
    assert len(ROWS) >= 9


@pytest.mark.parametrize(("expression", "here"), WON)
def test_where_python_wins(expression: str, here: str) -> None:
    unit = flambeau.CompilationUnit(f"def f(n: int, x: float, big: int):\n    return {expression}\n")
    assert outcome(lambda: unit.f(**ARGUMENTS)) == here
    assert outcome(lambda: eval(expression, dict(ARGUMENTS))) == here


def test_the_second_table_is_there() -> None:
    assert len(WON) >= 7
