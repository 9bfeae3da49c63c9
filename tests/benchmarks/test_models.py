"""The command that measures saved models, on one that is saved here."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import flambeau
from benchmarks import models
from flambeau import Tensor, nn
from flambeau.codegen import available

pytestmark = pytest.mark.skipif(not available(), reason="needs native code")


class Layers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 8), nn.Linear(8, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.second(flambeau.relu(self.first(x)))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    flambeau.jit.save(flambeau.jit.script(Layers()), tmp_path / "layers.pt")
    value = {"t": "tensor", "a": "x", "dtype": "float32", "shape": [3, 4], "stride": [4, 1]}
    spec = json.dumps([{"method": "forward", "args": [value], "kwargs": {}}])
    np.savez(tmp_path / "layers.inputs.npz", spec=spec, x=np.ones((3, 4), np.float32))
    return tmp_path


def test_a_row_and_what_it_comes_to(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert models.main([str(folder), "--rounds", "1", "--seconds", "0.001"]) == 0
    printed = capsys.readouterr().out
    [line] = [line for line in printed.splitlines() if line.startswith("layers")]
    assert line.split()[1] == "yes"
    assert float(line.split()[2].replace(",", "")) > 0
    assert "native from end to end: 1 of 1" in printed


def test_the_least_on_two_threads_at_a_level(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--rounds", "2", "--seconds", "0.001", "--threads", "2", "--least", "--cpu", "x86-64-v2"]
    assert models.main([str(folder), *options]) == 0
    assert "native from end to end: 1 of 1" in capsys.readouterr().out


def test_what_is_chosen_of_the_turns() -> None:
    ticks = iter([0.0, 3.0, 10.0, 11.0, 20.0, 22.0])
    figures = models.figures_of({"a": lambda: None}, 3, 1.0, clock=lambda: next(ticks), choose=min)
    assert figures == {"a": 1e6}


def test_rows_are_said_as_they_come_and_runs_go_on_where_they_were_cut_off(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "figures.jsonl"
    figures = {"native": True, "flambeau": 1.0, "torch.jit": 8.0}
    kept.write_text(f"{json.dumps(['layers', {'error': 'it died'}])}\n{json.dumps(['layers', figures])}\n")
    options = [str(folder), "--rounds", "1", "--seconds", "0.001", "--kept", str(kept)]
    assert models.main(options) == 0
    printed = capsys.readouterr()
    assert "8.00x" in printed.out
    assert printed.err.startswith("layers  yes")
    assert len(kept.read_text().splitlines()) == 2
    kept.unlink()
    assert models.main(options) == 0
    [line] = kept.read_text().splitlines()
    name, measured = json.loads(line)
    assert name == "layers"
    assert measured["native"]


def test_a_model_that_takes_too_long_says_so(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert models.main([str(folder), "--timeout", "0.01"]) == 0
    assert "longer than 0.01 s" in capsys.readouterr().out


def test_summaries_are_geometric_means() -> None:
    rows = [{"flambeau": 1.0, "torch.jit": 2.0}, {"flambeau": 4.0, "torch.jit": 2.0}, {"flambeau": 1.0}]
    assert models.summary(rows, "torch.jit") == "torch.jit: geometric mean 1.00x over 2 models, the least 0.50x"
    assert models.summary(rows, "onnxruntime") == "onnxruntime: none"


def test_what_cannot_be_called_is_a_row_too(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "broken.pt").write_bytes(b"no archive")
    np.savez(folder / "broken.inputs.npz", spec=json.dumps([{"method": "forward", "args": []}]))
    assert models.main([str(folder), "--only", "broken"]) == 0
    assert "broken" in capsys.readouterr().out


def test_answers_are_compared_before_speeds() -> None:
    x = np.array([1.0, np.nan, -0.0], np.float32)
    assert models.answers_alike([x, np.asarray(2)], (flambeau.from_numpy(x), 2))
    assert models.answers_alike([x], {"a": [flambeau.from_numpy(x * np.float32(1.001))]})
    assert not models.answers_alike([x], flambeau.from_numpy(x[:2]))
    assert not models.answers_alike([x], flambeau.from_numpy(x + 1))
    assert not models.answers_alike([x], (flambeau.from_numpy(x), flambeau.from_numpy(x)))
    assert not models.answers_alike([], 1.0)
