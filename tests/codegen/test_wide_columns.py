"""Folds down the columns of large arrays: long runs of each row, shorter ones for what is left, and a masked rest."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau

UNIT = """
def summed(x: Tensor) -> Tensor:
    return x.sum(0)

def varied(x: Tensor) -> Tensor:
    return x.var(0, unbiased=False)

def normed(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    return flambeau.batch_norm(x, w, b, None, None, True, 0.1, 1e-5, False)
"""


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(2200, 512), (4100, 768), (2048, 1023), (1050, 1300), (1030, 2300)])
def test_e4_columns_of_large_arrays(shape: tuple[int, int], dtype: type) -> None:
    unit = flambeau.jit.CompilationUnit(UNIT)
    random = np.random.default_rng(0)
    arrays = [random.standard_normal(s).astype(dtype) for s in (shape, shape[1:], shape[1:])]
    x, w, b = (flambeau.from_numpy(a) for a in arrays)
    exact = arrays[0].astype(np.float64)
    mean, variance = exact.mean(0), exact.var(0)
    expected = (exact - mean) / np.sqrt(variance + 1e-5) * arrays[1] + arrays[2]
    for _ in range(2):
        np.testing.assert_allclose(unit.summed(x).numpy(), exact.sum(0), atol=1e-3 * shape[0] ** 0.5)
        np.testing.assert_allclose(unit.varied(x).numpy(), variance, rtol=1e-4)
        np.testing.assert_allclose(unit.normed(x, w, b).numpy(), expected, rtol=1e-3, atol=1e-4)


def test_e4_only_large_arrays_are_gone_over_in_long_runs() -> None:
    unit = flambeau.jit.CompilationUnit(UNIT)
    for shape, schedule in (((4096, 1024), "x512+256"), ((256, 1024), "x256 ")):
        unit.summed(flambeau.ones(*shape))
        assert schedule in unit.summed.loops
