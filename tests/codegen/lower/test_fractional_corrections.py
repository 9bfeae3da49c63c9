"""Variances with a correction that is no whole number, which kernels are given as a number of the call."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau
from flambeau import Tensor


def spread(x: Tensor, correction: float) -> Tensor:
    return flambeau.var(x, dim=[1], correction=correction) + 1


@pytest.mark.parametrize("correction", [1.3, 0.5, 2.0])
def test_fractional_corrections(correction: float) -> None:
    x = np.random.default_rng(0).standard_normal((40, 5, 30))
    expected = x.var(1) * 5 / (5 - correction)
    values = flambeau.tensor(x)
    for _ in range(3):
        np.testing.assert_allclose(flambeau.var(values, dim=(1,), correction=correction).numpy(), expected)
        np.testing.assert_allclose(flambeau.std(values, dim=1, correction=correction).numpy(), np.sqrt(expected))
    np.testing.assert_allclose(flambeau.script(spread)(values, correction).numpy(), expected + 1)
