"""The models of `benchmarks.full_size`: that they are written as `benchmarks.models` reads them, and come out right."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import flambeau

torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def test_a_model_is_written_with_the_call_that_is_measured(tmp_path: Path) -> None:
    from benchmarks import full_size, models

    assert full_size.write(tmp_path, "depthwise.*") == ["depthwise_block_56"]
    archive = tmp_path / "depthwise_block_56.pt"
    _, found = models.runners(archive, gradients=False)
    with np.load(tmp_path / "depthwise_block_56.inputs.npz") as inputs, torch.no_grad():
        expected = torch.jit.load(str(archive))(torch.from_numpy(inputs["x"])).numpy()
    ours = found["flambeau"]()
    assert isinstance(ours, flambeau.Tensor)
    np.testing.assert_allclose(ours.numpy(), expected, rtol=1e-4, atol=1e-5)
