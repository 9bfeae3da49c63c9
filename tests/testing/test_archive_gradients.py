"""Recorded gradients of archives: those that PyTorch computed for the same calls."""

from __future__ import annotations

import os
import subprocess
import sys
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


def test_a_second_process_has_the_same_gradients(tmp_path: Path) -> None:
    """What it finds on disk has the ways back of single operators too, which are no kernels of groups."""
    check = (
        "from pathlib import Path; from flambeau.testing.archive_gradients import gradient_differences; "
        f"print(list(gradient_differences(Path({str(FOLDER / 'wordlm_lstm_trace.pt')!r}))))"
    )
    environment = {**os.environ, "FLAMBEAU_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", check]
    for _ in range(2):
        ran = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)
        assert (ran.returncode, ran.stdout) == (0, "[]\n"), ran.stderr


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
