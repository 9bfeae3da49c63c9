"""`flambeau.save` beside `torch.load`: tensors and plain values around them."""

from __future__ import annotations

import io
import warnings
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest

import flambeau
from flambeau import Tensor, nn


def everything() -> dict[str, Any]:
    base = flambeau.arange(6).to(flambeau.float32)
    return {
        "tensor": base, "view": base.reshape(2, 3).t(), "list": [base[2:], 1, 2.5, True, None, "text ü"],
        "tuple": (1, (flambeau.tensor(3), flambeau.zeros(0))), "size": flambeau.Size([2, 3]), "empty": [{}, [], ()],
        "dtype": flambeau.bfloat16, "device": flambeau.device("cpu"), "number": 1 - 2j, "large": -(2**40),
        "parameter": nn.Parameter(flambeau.ones(2)), 3: {"inner": flambeau.ones(2).to(flambeau.bfloat16)},
    }  # fmt: skip


def test_torch_reads_it(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    value = everything()
    value["again"] = value["list"]
    flambeau.save(value, tmp_path / "values.pt")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = torch.load(tmp_path / "values.pt", weights_only=True)
    assert list(found) == list(value)
    assert found["view"].tolist() == [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]
    assert found["view"].stride() == (1, 3)
    assert found["view"].data_ptr() == found["tensor"].data_ptr() == found["list"][0].data_ptr() - 8
    assert found["again"] is found["list"]
    assert found["list"][1:] == [1, 2.5, True, None, "text ü"]
    assert found["tuple"][1][0].item() == 3
    assert found["tuple"][1][1].shape == (0,)
    assert found["size"] == torch.Size([2, 3])
    assert (found["dtype"], found["device"], found["number"]) == (torch.bfloat16, torch.device("cpu"), 1 - 2j)
    assert found["large"] == -(2**40)
    assert found["empty"] == [{}, [], ()]
    assert isinstance(found["parameter"], torch.nn.Parameter)
    assert found[3]["inner"].dtype is torch.bfloat16


def test_the_state_of_a_module_goes_into_pytorchs() -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    file = io.BytesIO()
    flambeau.save(OrderedDict(model.state_dict()), file)
    theirs = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))
    state = torch.load(io.BytesIO(file.getvalue()), weights_only=True)
    assert type(state) is OrderedDict
    theirs.load_state_dict(state)
    x = [[1.0, 2.0, 3.0], [0.0, -1.0, 4.0]]
    expected = model.eval()(flambeau.tensor(x))
    assert flambeau.allclose(expected, flambeau.tensor(theirs.eval()(torch.tensor(x)).tolist()), 1e-5, 1e-5)


def save_pair(x: Tensor, name: str) -> Tensor:
    flambeau.save((x, x.t(), [x], {"a": x}), name)
    return x + 1


def save_one(x: Tensor, name: str) -> int:
    flambeau.save(x * 2, name)
    return 3


@pytest.mark.parametrize("backend", ["native", "interpreter", "reference"])
def test_programs_save(backend: Any, tmp_path: Path) -> None:
    x, name = flambeau.ones(2, 3), str(tmp_path / "x.pt")
    assert flambeau.script(save_one, backend=backend)(x, name) == 3
    first = Path(name).read_bytes()
    assert flambeau.script(save_pair, backend=backend)(x, name).sum().item() == 12.0
    assert Path(name).read_bytes() != first
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    plain, turned, items, table = torch.load(name, weights_only=True)
    assert plain.data_ptr() == turned.data_ptr() == items[0].data_ptr() == table["a"].data_ptr()
    assert turned.shape == (3, 2)


def test_refusals(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r"cannot save \['a'\]\[1\]: a value of type Linear has no form"):
        flambeau.save({"a": [1, nn.Linear(1, 1)]}, io.BytesIO())
    with pytest.raises(RuntimeError, match=r"flambeau.save\(m.state_dict\(\), f\)"):
        flambeau.save(nn.ReLU(), io.BytesIO())
    with pytest.raises(OverflowError, match="does not fit in 64 bits"):
        flambeau.save(2**70, io.BytesIO())
    knot: list[Any] = []
    knot.append(knot)
    with pytest.raises(RuntimeError, match=r"cannot save \[0\]: the list there is reached from itself"):
        flambeau.save(knot, io.BytesIO())
    with pytest.raises(RuntimeError, match=r"Parent directory .* does not exist"):
        flambeau.save(1, tmp_path / "none" / "x")
    assert not list(tmp_path.iterdir())
