"""`flambeau inspect` and `flambeau run`: what is in a saved model, and whether it gives what it should."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import flambeau
from flambeau import nn
from flambeau.tools import cli
from flambeau.tools.inspection import inspected


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saved network, its argument and its answer beside it."""
    flambeau.manual_seed(1)
    net = nn.Sequential(nn.Linear(3, 4), nn.Sequential(nn.ReLU(), nn.BatchNorm1d(4)))
    net.eval()
    path = tmp_path_factory.mktemp("models") / "net.pt"
    scripted = flambeau.script(net)
    scripted.save(path)
    x = flambeau.randn(2, 3)
    np.savez(path.parent / "x.npz", x=x.numpy())
    np.save(path.parent / "x.npy", x.numpy())
    np.savez(path.parent / "y.npz", y=scripted(x).detach().numpy())
    np.savez(path.parent / "wrong.npz", y=np.ones((2, 4), np.float32))
    np.savez(path.parent / "two.npz", y=np.ones(2), z=np.ones(2))
    np.savez(path.parent / "wide.npz", y=np.ones((2, 5), np.float32))
    return path


def test_inspect_lists_parts_weights_methods_and_operators(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["inspect", str(model)]) == 0
    text = capsys.readouterr().out
    lines = text.splitlines()
    assert lines[0] == f"{model}  {model.stat().st_size:,} bytes, evaluation mode"
    assert lines[2].split() == ["Sequential", "24"]
    assert [line.split() for line in lines[3:7]] == [["0:", "Linear", "16"], ["1:", "Sequential", "8"], ["0:", "ReLU"],
                                                     ["1:", "BatchNorm1d", "8"]]  # fmt: skip
    assert "parameters  24 elements, 96 bytes: 4 float32" in lines
    assert "buffers     9 elements, 40 bytes: 2 float32, 1 int64" in lines
    assert "forward(Tensor input) -> Tensor" in lines
    assert "aten::linear" in text
    shallow = inspected(model, depth=0, every_operator=True)
    assert "  (4 modules inside)" in shallow.splitlines()
    assert "others" not in shallow


def test_run_times_and_compares(model: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folder, saved = model.parent, tmp_path / "out.npz"
    for name in ("x.npz", "x.npy"):
        arguments = ["run", str(model), "--inputs", str(folder / name), "--expect", str(folder / "y.npz")]
        assert cli.main([*arguments, "--repeat", "3", "--save", str(saved), "--explain"]) == 0
        text = capsys.readouterr().out
        assert "later calls" in text
        assert "the median of 3" in text
        assert "  float32 2x4: least" in text
        assert "  0: equal, at most by 0" in text
        assert "forward: " in text
    with np.load(saved) as written, np.load(folder / "y.npz") as expected:
        np.testing.assert_array_equal(written["0"], expected["y"])


def test_run_says_what_differs(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = model.parent
    call = ["run", str(model), "--args", "flambeau.ones(2, 3)", "--repeat", "0", "--expect"]
    assert cli.main([*call, str(folder / "wrong.npz")]) == 1
    assert "  0: DIFFERS, at most by" in capsys.readouterr().out
    assert cli.main([*call, str(folder / "wide.npz")]) == 1
    assert "  0: DIFFERS, of sizes (2, 4), expected (2, 5)" in capsys.readouterr().out
    assert cli.main([*call, str(folder / "two.npz")]) == 1
    assert "the model gives 1 tensors, but 2 arrays are expected" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["run", "{model}"], "forward() is missing value for argument 'input'"),
        (["run", "{model}", "--inputs", "{folder}/none.npz"], "there is no file {folder}/none.npz"),
        (["run", "{model}", "--inputs", "{model}"], "is no file of arrays, .npz or .npy"),
        (["inspect", "{folder}/x.npz"], "x.npz: its first record is 'x.npy', and should be in a directory"),
        (["inspect", "{folder}/x.npy"], "{folder}/x.npy is no model.pt"),
        (["inspect", "{folder}/none.pt"], "there is no file {folder}/none.pt"),
    ],
)
def test_what_is_no_model_or_array_is_refused(
    arguments: list[str], text: str, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = {"model": model, "folder": model.parent}
    assert cli.main([argument.format(**names) for argument in arguments]) == 1
    shown = capsys.readouterr().err
    assert text.format(**names) in shown
    assert "Traceback" not in shown
