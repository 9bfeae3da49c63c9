"""Sums over windows in stretches: exact where all sums are; of many steps, with errors of short sums."""

from __future__ import annotations

import numpy as np
import pytest

from flambeau.codegen import available
from flambeau.codegen.convolutions import problem
from flambeau.codegen.convolutions.stages import Stage
from flambeau.codegen.convolutions.tile import STRETCH
from tests.codegen.test_stages import convolved, has_masks

torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
pytestmark = pytest.mark.skipif(not available(), reason="needs LLVM")

LIMITS = [1, STRETCH - 1, STRETCH, STRETCH * 3 // 2 - 1, STRETCH * 3 // 2, STRETCH * 2, STRETCH * 5 // 2 + 1, 1153]
"""Steps, around those at which a stretch more begins."""


def integers(seed: int, *shape: int, dtype: str) -> np.ndarray:
    return np.random.default_rng(seed).integers(-9, 10, shape).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("steps", LIMITS)
@pytest.mark.parametrize("size", [7, 12], ids=lambda n: f"{n}x{n}")
def test_no_step_is_left_out_or_taken_twice(steps: int, size: int, dtype: str) -> None:
    x, w = integers(0, 2, steps, size, size, dtype=dtype), integers(1, 15, steps, 1, 1, dtype=dtype)
    bias = integers(2, 15, dtype=dtype)
    y, _ = convolved(x, w, bias, 1, 0, 1)
    np.testing.assert_array_equal(y, np.einsum("ncij,oc->noij", x, w[:, :, 0, 0]) + bias[:, None, None])


@has_masks
@pytest.mark.parametrize("planes", [15, 22, 40])
def test_stages_have_stretches_of_their_own(planes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(problem, "stage_of", lambda *_: Stage(planes, 48))
    x, w = integers(0, 1, 61, 20, 21, dtype="float32"), integers(1, 15, 61, 3, 3, dtype="float32")
    bias = integers(2, 15, dtype="float32")
    y, _ = convolved(x, w, bias, 1, 1, 1)
    exact = torch.conv2d(*[torch.tensor(a).double() for a in (x, w, bias)], padding=1)
    np.testing.assert_array_equal(y, exact.numpy())


def test_many_steps_have_errors_of_short_sums() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((1, 512, 7, 7), dtype=np.float32)
    w = rng.standard_normal((64, 512, 3, 3), dtype=np.float32) / np.float32(np.sqrt(512 * 9))
    y, _ = convolved(x, w, None, 1, 1, 1)
    exact = torch.conv2d(torch.tensor(x).double(), torch.tensor(w).double(), padding=1).numpy()
    assert np.abs(y - exact).max() < 6e-6  # 4,608 terms one after another: 1.4e-5
