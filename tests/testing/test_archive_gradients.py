"""Recorded gradients of archives: those that PyTorch computed for the same calls."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import flambeau
from flambeau.testing.archive_gradients import gradient_differences

FOLDER = Path(__file__).parent.parent / "data" / "archives"
RECORDED = sorted(path.name.removesuffix(".grads.npz") for path in FOLDER.glob("*.grads.npz"))


@pytest.mark.parametrize("name", RECORDED)
def test_gradients_are_those_recorded(name: str) -> None:
    assert list(gradient_differences(FOLDER / f"{name}.pt")) == []


def test_a_gradient_that_differs_is_told(tmp_path: Path) -> None:
    for kind in ("inputs.npz", "pt"):
        (tmp_path / f"newton_script.{kind}").write_bytes((FOLDER / f"newton_script.{kind}").read_bytes())
    with np.load(FOLDER / "newton_script.grads.npz") as recorded:
        np.savez(tmp_path / "newton_script.grads.npz", input0=recorded["input0"] + 1)
    (difference,) = gradient_differences(tmp_path / "newton_script.pt")
    assert difference.startswith("the gradient of input0: differs by up to 1, ")


def test_lists_of_weights_in_archives_have_the_parameters_themselves() -> None:
    module = flambeau.jit.load(FOLDER / "packed_lstm_script.pt")
    assert module.rnn._flat_weights[0] is module.rnn.weight_ih_l0
    assert isinstance(module.rnn.weight_ih_l0, flambeau.nn.Parameter)
