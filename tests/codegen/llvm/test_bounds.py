"""Values held within constant bounds: one instruction each, with the same nans and zeros as the elements' own."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau

UNIT = """
def bounded(x: Tensor) -> Tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    return (
        x.clamp(min=0.0) * 1.0, x.clamp(max=0.0) * 1.0, x.clamp(min=-0.0) * 1.0, x.clamp(max=-0.0) * 1.0,
        x.clamp(-1.5, 1.5) * 1.0, x.relu() * 1.0,
    )
"""


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_e1_bounds_keep_nans_and_choose_the_bound_of_two_zeros(dtype: type) -> None:
    unit = flambeau.jit.CompilationUnit(UNIT)
    x = np.array([-0.0, 0.0, np.nan, np.inf, -np.inf, 3.0, -3.0, 1.5, -1.5] * 5, dtype)
    zero, minus = dtype(0.0), dtype(-0.0)
    expected = [
        np.maximum(x, zero), np.minimum(x, zero), np.maximum(x, minus), np.minimum(x, minus),
        np.minimum(np.maximum(x, dtype(-1.5)), dtype(1.5)), np.maximum(x, zero),
    ]  # fmt: skip
    for _ in range(3):
        results = unit.bounded(flambeau.from_numpy(x))
    for result, want in zip(results, expected, strict=True):
        got = result.numpy()
        np.testing.assert_array_equal(got, want)
        np.testing.assert_array_equal(np.signbit(got[~np.isnan(got)]), np.signbit(want[~np.isnan(want)]))
