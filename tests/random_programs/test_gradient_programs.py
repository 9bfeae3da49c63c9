"""Gradients of random programs are those of finite differences, on every path; what is planted is found."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from tests.random_programs.gradients import check
from tests.random_programs.gradients.__main__ import main
from tests.random_programs.gradients.check import disagreement, paths_for, points, report
from tests.random_programs.gradients.generate import PARAMETERS, generate
from tests.random_programs.model import Program, Statement, unused

CHUNKS, PER_CHUNK = 2, 3
SEEDS = range(CHUNKS * PER_CHUNK)


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_all_paths_agree(chunk: int) -> None:
    for seed in SEEDS[chunk * PER_CHUNK : (chunk + 1) * PER_CHUNK]:
        program, paths = generate(seed), paths_for(seed)
        found = disagreement(program, seed, paths)
        if found is not None:
            pytest.fail(report(seed, program, found, paths=paths), pytrace=False)


def test_programs_reach_what_they_are_for() -> None:
    wanted = (
        "while n", "break", "continue", "else:", "return total + ", ".append(", ".pop()", "helper", "[i", ".mul_(", ".t().mul_(",
        ".diagonal()", "softmax", ".item()", "math.exp(", " @ ", "+= ", "range(k",
        "State(", ".step(", "Optional[", "def inner", ".tolist()", "[1:] + ", "rows", ".split(", ".index_add(", "max(c", "for key",
        "folded(parts", "descend(", "Store(", ".rows", ".rows.append(", "list[Optional[Tensor]]", "cummax", "] *= 0.9",
    )  # fmt: skip
    assert unused(wanted, (generate(seed).source() for seed in range(300))) == []


def test_most_programs_are_short() -> None:
    lengths = sorted(len(generate(seed).source().partition("def main")[2].splitlines()) for seed in range(200))
    assert lengths[100] <= 20
    assert lengths[-1] >= 50


def test_the_command_goes_on_where_it_was(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state = str(tmp_path / "state.json")
    for _ in range(2):
        assert main(["--seeds", "2:4", "--state", state]) == 0
        assert "2 programs, 0 differ" in capsys.readouterr().out
    assert json.loads(Path(state).read_text())["shares"] == [2]
    with pytest.raises(SystemExit):
        main(["--seeds", "4:2"])
    assert "expected two seeds as in 0:1000, the second greater, got '4:2'" in capsys.readouterr().err


def test_points_have_other_sizes() -> None:
    assert len({tuple(a.shape for a in arrays) for seed in range(30) for arrays, _ in points(seed)}) > 8


def body(*lines: str) -> Program:
    return Program("main", PARAMETERS, "Tensor", [Statement(line) for line in lines])


def test_a_wrong_derivative_is_found_and_made_small() -> None:
    cut = body("y = x.detach().sin()", "z = w * 2", "return (x * 0).sum() + y.sum()")
    assert (disagreement(cut, 1) or "").startswith("point 0, tape: the derivative is ")
    assert "z = w * 2" not in report(1, cut, "").rpartition("def main")[2]
    assert disagreement(body("return (x.sin() * v).sum() + w.sum()"), 0) is None


def test_a_wrong_second_derivative_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "second_along", lambda *arguments: math.pi)
    assert "the second derivative is" in (disagreement(body("return (x.sin() * v).sum() + w.sum()"), 0) or "")
