"""First calls with nothing on disk: a line for each program, and sums."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from benchmarks import cold_programs
from flambeau.codegen.llvm.engine import available

pytestmark = pytest.mark.skipif(not available(), reason="there is no native code")


def test_a_table(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    written = tmp_path / "figures.json"
    command = ["cold_programs", "--peers", "flambeau", "--only", "everyday: bits by v", "--json", str(written)]
    monkeypatch.setattr(sys, "argv", command)
    cold_programs.main()
    header, row, total = capsys.readouterr().out.splitlines()
    assert header.split() == ["flambeau"]
    assert row.startswith("everyday: bits by v &= v - 1 ")
    assert total.split()[0] == "all"
    assert total.split()[1] == row.split()[-1]
    assert list(json.loads(written.read_text())) == ["flambeau"]


def test_sums_are_of_what_both_have(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    figures = {"flambeau": {"a": 10.0, "b": 20.0}, "numba": {"b": 90.0}}
    monkeypatch.setattr(cold_programs, "measured", lambda peer, options: figures[peer])
    monkeypatch.setattr(sys, "argv", ["cold_programs", "--peers", "flambeau,numba"])
    cold_programs.main()
    lines = [line.rsplit(maxsplit=2) for line in capsys.readouterr().out.splitlines()]
    assert lines[2] == ["b", "20", "90"]
    assert lines[3] == ["all", "30", "90"]
    assert lines[4] == ["the 1 that numba has", "20", "90"]
