"""`flambeau warm`: code that most models need is in the cache afterwards."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from flambeau.tools import cli, warm
from flambeau.util.progress_bar import ProgressBar


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLAMBEAU_CACHE_DIR", str(tmp_path / "cache"))


def test_a_part_is_made_once(capsys: pytest.CaptureFixture[str]) -> None:
    """In a process of its own: another test may have made the part in this one."""
    twice = (
        "from flambeau.tools import warm\n"
        "first, second = (warm.warm('average pooling float32') for _ in range(2))\n"
        "print(first.steps, first.files > 0, second.files)"
    )
    made = subprocess.run([sys.executable, "-c", twice], capture_output=True, text=True, check=True, timeout=120)
    assert made.stdout.split() == ["1", "True", "0"]
    assert cli.main(["warm", "--only", "average pooling float32"]) == 0
    assert capsys.readouterr().out.startswith("1 kinds of code are ready in ")


def test_each_step_has_a_name_of_its_own() -> None:
    names = [name for name, _ in warm.steps()]
    assert len(set(names)) == len(names)
    assert {"entries", "convolution 3x3 float32", "lstm float64", "linear 64 gelu float32"} <= set(names)


def test_what_cannot_be_warmed_says_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["warm", "--only", "coffee"]) == 1
    assert "nothing to warm is called 'coffee'; there are entries, convolution 3x3 float32" in capsys.readouterr().err
    monkeypatch.setenv("FLAMBEAU_CACHE", "off")
    assert cli.main(["warm"]) == 1
    assert "there is no cache to warm: FLAMBEAU_CACHE turns it off" in capsys.readouterr().err


def test_nothing_is_drawn_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    bar = ProgressBar("warming", 2)
    bar.step("one")
    bar.end()
    assert capsys.readouterr().err == ""
    assert bar.line("two", 1) == "warming [##############..............] 1/2 two"
