"""The line on the terminal: only there, only after a while, gone at the end."""

from __future__ import annotations

import io
import time

import pytest

from flambeau.util import progress as lines
from flambeau.util.progress import CLEAR, progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def on_terminal(monkeypatch: pytest.MonkeyPatch, after: float = 0.05) -> Terminal:
    found = Terminal()
    monkeypatch.setattr("sys.stderr", found)
    monkeypatch.setattr(lines, "AFTER", after)
    monkeypatch.setattr(lines, "EVERY", 0.02)
    return found


def wait_for(terminal: Terminal, text: str) -> None:
    end = time.monotonic() + 10
    while text not in terminal.getvalue():
        assert time.monotonic() < end, terminal.getvalue()
        time.sleep(0.005)


def test_quick_work_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch, after=5.0)
    with progress("compiling f") as tell:
        tell("passes")
    assert terminal.getvalue() == ""


def test_long_work_shows_its_stage_and_goes_away(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    with progress("compiling f") as tell:
        tell("passes")
        wait_for(terminal, "compiling f: passes, 0 s")
        with progress("compiling kernel k") as tell_inner:
            wait_for(terminal, "compiling f: compiling kernel k, 0 s")
            tell_inner("linking")
            wait_for(terminal, "compiling f: compiling kernel k, linking, 0 s")
        tell("bytecode")
        wait_for(terminal, "compiling f: bytecode, 0 s")
    assert terminal.getvalue().endswith(CLEAR)


def test_the_line_goes_away_after_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)

    def fail() -> None:
        with progress("compiling f"):
            wait_for(terminal, "compiling f, 0 s")
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        fail()
    assert terminal.getvalue().endswith(CLEAR)
    with progress("compiling g"):
        wait_for(terminal, "compiling g, 0 s")


def test_nothing_where_nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    found = io.StringIO()
    monkeypatch.setattr("sys.stderr", found)
    monkeypatch.setattr(lines, "AFTER", 0.0)
    with progress("compiling f") as tell:
        tell("passes")
        time.sleep(0.02)
    assert found.getvalue() == ""
