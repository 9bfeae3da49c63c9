"""Long runs: shares, workers that die or do not end, state that a later run goes on from, the command."""

from __future__ import annotations

import json
import os
import signal
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.random_programs import __main__ as command
from tests.random_programs import longrun
from tests.random_programs.families import FAMILIES
from tests.random_programs.model import Program, Statement


def planted(seed: int) -> Program:
    return Program("main", "n: int", "int", [Statement(f"return {seed}")])


def finds(program: Program, seed: int, paths: Any) -> str | None:
    if seed == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    if seed == 5:
        raise ValueError("a check that fails")
    return "differs" if seed == 4 else None


def tells(seed: int, program: Program, found: str, **how: Any) -> str:
    return f"seed {seed}: {found}; again: {how['disagree'](program, seed, how['paths'])}"


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    family = replace(FAMILIES["native"], name="planted", generate=planted, disagreement=finds, report=tells)
    monkeypatch.setattr(longrun, "FAMILIES", {"planted": family})
    monkeypatch.setattr(longrun, "SHARE", 4)


@pytest.mark.usefixtures("small")
def test_a_process_that_dies_is_a_finding_and_the_rest_is_done(tmp_path: Path) -> None:
    told: list[str] = []
    state = tmp_path / "state.json"
    progress = longrun.run("planted", seed=0, count=10, jobs=2, state=state, tell=told.append)
    assert sorted(progress.found) == ["3", "4", "5"]
    assert progress.found["3"] == "seed 3: the process died: SIGKILL; again: the process died: SIGKILL"
    assert progress.found["4"] == "seed 4: differs; again: differs"
    assert "a check that fails" in progress.found["5"]
    assert sorted(progress.shares) == [0, 4, 8]
    assert told[-1].startswith("10 of 10 programs, 3 differ")
    assert json.loads(state.read_text())["found"] == progress.found


@pytest.mark.usefixtures("small")
def test_a_later_run_goes_on(tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    longrun.run("planted", seed=8, count=4, jobs=1, state=state, tell=lambda text: None)
    told: list[str] = []
    progress = longrun.run("planted", seed=8, count=8, jobs=1, state=state, tell=told.append)
    assert sorted(progress.shares) == [8, 12]
    assert told[-1].startswith("4 of 4 programs, 0 differ")
    with pytest.raises(ValueError, match="is the state of a run of the family 'planted', not 'native'"):
        longrun.Progress.load(state, "native")


def test_what_does_not_end_is_stopped() -> None:
    assert longrun.apart(lambda: time.sleep(60), wait=0.2) == "waits for more than 0 s"
    assert longrun.apart(lambda: str(all(True for _ in iter(int, 1))), patience=1.0) == "does not end in 1 s of processor time"
    assert longrun.apart(lambda: None) is None
    assert longrun.apart(lambda: "found") == "found"


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--count", "2", "--seed", "11"]) == 0
    assert "2 programs of the family native, 0 differ" in capsys.readouterr().out
    assert command.main(["--show", "--seed", "11"]) == 0
    shown = capsys.readouterr().out
    assert "def main(" in shown
    assert "all paths agree" in shown
