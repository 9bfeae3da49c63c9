"""Files for phones are modules whose methods are called by name."""

from __future__ import annotations

import io
import warnings
from pathlib import Path

import pytest

import flambeau
from flambeau import Tensor, nn
from flambeau.jit.mobile import _export_operator_list, _load_for_lite_interpreter


class Scaled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(2, 1)
        with flambeau.no_grad():
            self.layer.weight.fill_(1.0)
            self.layer.bias.fill_(0.5)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x).relu()

    @flambeau.jit.export
    def more(self, n: int) -> int:
        return n + 1


def test_methods_by_name() -> None:
    extra = {"note": ""}
    buffer = io.BytesIO()
    flambeau.jit.save(flambeau.script(Scaled()), buffer, _extra_files={"note": "kept"})
    buffer.seek(0)
    module = _load_for_lite_interpreter(buffer, _extra_files=extra)
    x = flambeau.ones(3, 2)
    assert module(x).tolist() == module.forward(x).tolist() == [[2.5]] * 3
    assert module.run_method("more", 3) == 4
    assert (module.find_method("more"), module.find_method("layer")) == (True, False)
    assert _export_operator_list(module) == {"aten::add.int", "aten::linear", "aten::relu"}
    assert extra == {"note": b"kept"}
    with pytest.raises(RuntimeError, match=r"Method 'less' is not defined\. The module has .*forward.*more"):
        module.run_method("less", 3)


def test_files_of_pytorch(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = torch.jit.script(torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU()))
        theirs._save_for_lite_interpreter(str(tmp_path / "model.ptl"))
    module = _load_for_lite_interpreter(tmp_path / "model.ptl")
    x = [[0.5, -1.0]]
    wanted = theirs(torch.tensor(x)).tolist()
    assert flambeau.allclose(module(flambeau.tensor(x)), flambeau.tensor(wanted))
