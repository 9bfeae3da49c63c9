"""Every layer while training and not, on its inputs and on empty batches, beside PyTorch; and a row for every layer."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

import flambeau
from flambeau import nn
from tests.nn.layer_table import draw
from tests.nn.test_layers import IDS, ROWS, assert_same, tensors

ELSEWHERE = {
    "CTCLoss": "test_random_layers",
    "DataParallel": "test_other_devices",
    "FractionalMaxPool2d": "test_more_layers",
    "FractionalMaxPool3d": "test_more_layers",
    "NLLLoss2d": "test_more_layers",
    "Module": "test_module",
    "ModuleDict": "test_module_surface",
    "ModuleList": "test_module_surface",
    "ParameterDict": "test_module_surface",
    "ParameterList": "test_module_surface",
    "RNNBase": "test_recurrent",
    "RNNCellBase": "test_recurrent",
    "Sequential": "test_module_surface",
}
"""What has no row in the table, and where it is tested."""
EMPTY = {
    "InstanceNorm2d": "theirs takes the statistics of an instance that is not there",
    "PixelUnshuffle": "theirs gives back sizes as they were",
    "MultiLabelMarginLoss": "theirs gives memory that nothing was written to; here a mean of nothing is nan",
    "MultiMarginLoss": "the same",
}
"""Layers whose results for an empty batch differ, and why."""


def test_every_layer_has_a_row() -> None:
    named = {re.findall(r"nn\.(\w+)", make)[0] for make, _, _ in ROWS}
    layers = {name for name, value in vars(nn).items() if isinstance(value, type) and issubclass(value, nn.Module)}
    lazy = {name for name in layers if name.startswith("Lazy")}  # in test_lazy
    assert layers - lazy - named - set(ELSEWHERE) == set()


def emptied(text: str) -> str:
    """An input with nothing in its first dimension."""
    kind, colon, sizes = text.rpartition(":")
    return f"{kind}{colon}0,{','.join(sizes.split(',')[1:])}".rstrip(",")


def outcome(run: Callable[[], Any]) -> Any:
    """What a call gives, or that it fails."""
    try:
        return run()
    except (RuntimeError, ValueError, IndexError) as error:
        return type(error)


@pytest.mark.filterwarnings("ignore:.*:UserWarning", "ignore:.*:RuntimeWarning")
@pytest.mark.parametrize("is_empty", [False, True], ids=["full", "empty"])
@pytest.mark.parametrize(("make", "inputs", "remark"), ROWS, ids=IDS)
def test_modes(make: str, inputs: list[str], remark: str, is_empty: bool) -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    given = [emptied(i) for i in inputs] if is_empty else inputs
    for training in (False,) if remark == "eval" else (False, True):
        mine, theirs = eval(make, {"nn": nn}).train(training), eval(make, {"nn": torch.nn}).train(training)
        state = theirs.state_dict()
        mine.load_state_dict({name: flambeau.from_numpy(value.numpy().copy()) for name, value in state.items()})
        want = outcome(lambda theirs=theirs: theirs(*map(torch.from_numpy, draw(given, "float32"))))
        scripted = flambeau.script(mine, backend="interpreter")
        results = [outcome(lambda run=run: run(*tensors(given))) for run in (mine, scripted)]
        if is_empty and re.findall(r"nn\.(\w+)", make)[0] in EMPTY:
            assert_same(results[0], results[1], 0.0)
            continue
        for found in results:
            if isinstance(want, type) or isinstance(found, type):
                assert isinstance(want, type) == isinstance(found, type), (want, found)
            else:
                assert_same(found, want, 2e-5)
