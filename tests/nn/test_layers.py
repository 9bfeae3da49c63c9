"""Every layer: eager beside PyTorch where that is installed; scripted and traced beside eager."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor, nn
from tests.nn.layer_table import draw, rows

ROWS = rows()
IDS = [f"{make}-{remark}" if remark else make for make, _, remark in ROWS]


def flat(value: Any) -> list[Any]:
    """The tensors of a result, in order."""
    if isinstance(value, tuple | list):
        return [one for item in value for one in flat(item)]
    return [] if value is None else [value]


def assert_same(mine: Any, theirs: Any, tolerance: float) -> None:
    for a, b in zip(flat(mine), flat(theirs), strict=True):
        x, y = a.detach().numpy(), b.detach().numpy()
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


def made(make: str, remark: str) -> nn.Module:
    flambeau.manual_seed(1)
    layer: nn.Module = eval(make, {"nn": nn})
    return layer.eval() if remark == "eval" else layer


def tensors(inputs: list[str], dtype: Any = np.float32) -> list[Tensor]:
    return [flambeau.from_numpy(array) for array in draw(inputs, dtype)]


@pytest.mark.filterwarnings("ignore:.*:UserWarning:torch")
@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
@pytest.mark.parametrize(("make", "inputs", "remark"), ROWS, ids=IDS)
def test_same_as_torch(make: str, inputs: list[str], remark: str, dtype: Any) -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    mine, theirs = made(make, remark), eval(make, {"nn": torch.nn})
    if "ModuleList" not in repr(mine):  # PyTorch's shows equal members once
        assert repr(mine) == repr(theirs)
    if remark == "eval":
        theirs.eval()
    if dtype is np.float64:
        mine, theirs = mine.double(), theirs.double()
    state = theirs.state_dict()
    assert list(mine.state_dict()) == list(state)
    mine.load_state_dict({name: flambeau.from_numpy(value.numpy().copy()) for name, value in state.items()})
    want = theirs(*[torch.from_numpy(array) for array in draw(inputs, dtype)])
    tolerance = 2e-5 if dtype is np.float32 else 1e-9
    assert_same(mine(*tensors(inputs, dtype)), want, tolerance)
    for name, value in theirs.state_dict().items():
        assert_same(mine.state_dict()[name], value, tolerance)


@pytest.mark.parametrize(("make", "inputs", "remark"), ROWS, ids=IDS)
def test_scripted_and_traced(make: str, inputs: list[str], remark: str) -> None:
    eager = made(make, remark)
    want = eager(*tensors(inputs))
    layer = made(make, remark)
    assert_same(flambeau.script(layer)(*tensors(inputs)), want, 2e-5)
    for name, value in eager.state_dict().items():
        assert_same(layer.state_dict()[name], value, 2e-5)
    if remark != "untraced":
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            layer = made(make, remark)
            traced = flambeau.trace(layer, tuple(tensors(inputs)), check_trace=not layer.training)
        layer.load_state_dict(made(make, remark).state_dict())
        assert_same(traced(*tensors(inputs)), want, 2e-5)
