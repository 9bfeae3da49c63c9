"""Steps of recurrent layers as kernels: what NumPy gives, there and back, in every size and direction."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.executor.recurrent_kernels import step_kernel
from flambeau.util import inversions


def _trained(dtype: Any, sizes: tuple[int, int, int, int], reverse: bool) -> list[Any]:
    """Results and gradients of one direction of a layer."""
    time, batch, _width, size = sizes
    draw = np.random.default_rng(0).standard_normal
    shapes = [(time, batch, 4 * size), (batch, size), (batch, size), (4 * size, size), (4 * size,)]
    operands = [flambeau.from_numpy((draw(s) * 0.5).astype(dtype)).requires_grad_() for s in shapes]
    layer = flambeau.ops.flambeau.recurrent_layer
    results = layer(operands, "lstm", reverse)[:3]
    loss = sum((r * r).sum() for r in results)
    return [t.detach().numpy() for t in (*results, *flambeau.autograd.grad(loss, operands))]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("sizes", [(3, 2, 1, 5), (1, 1, 1, 1), (2, 300, 1, 120)])
def test_kernels_give_what_numpy_gives(
    dtype: Any, reverse: bool, sizes: tuple[int, int, int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert step_kernel("lstm", dtype) is not None
    natively = _trained(dtype, sizes, reverse)
    monkeypatch.setattr(inversions.STEP_KERNEL, "implementation", lambda name, dtype: None)
    tolerance = 2e-4 if dtype == np.float32 else 1e-11
    for got, want in zip(natively, _trained(dtype, sizes, reverse), strict=True):
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance * max(1.0, np.abs(want).max()))


def test_an_empty_batch_has_gradients() -> None:
    results = _trained(np.float32, (2, 0, 1, 3), False)
    assert results[0].shape == (2, 0, 3)
    assert not results[-1].any()
