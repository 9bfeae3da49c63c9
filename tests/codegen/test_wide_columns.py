"""Folds down the columns of large arrays: long runs of each row, shorter ones for what is left, and a masked rest."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau
from flambeau import Tensor

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
    for shape, schedule in (((4096, 768), "x512+256"), ((256, 1024), "x256 ")):
        unit.summed(flambeau.ones(*shape))
        assert schedule in unit.summed.loops


@pytest.mark.parametrize("shape", [(2200, 512), (1050, 1300)])
def test_c20_passes_over_columns_go_down_and_up(shape: tuple[int, int]) -> None:
    def likely(x: Tensor) -> Tensor:
        return flambeau.softmax(x, 0)

    def first_and_spread(x: Tensor) -> tuple[Tensor, Tensor]:
        return x.argmax(0), x.var(0, unbiased=False)

    x = np.random.default_rng(1).integers(-9, 9, shape).astype(np.float32)
    e = np.exp(x.astype(np.float64) - x.max(0))
    np.testing.assert_allclose(flambeau.script(likely)(flambeau.from_numpy(x)).numpy(), e / e.sum(0), rtol=1e-4)
    places, variance = flambeau.script(first_and_spread)(flambeau.from_numpy(x))
    assert (places.numpy() == x.argmax(0)).all()
    np.testing.assert_allclose(variance.numpy(), x.astype(np.float64).var(0), rtol=1e-4)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("offset", [0.0, 1000.0])
def test_c20_variances_of_columns_far_from_zero(dtype: type, offset: float) -> None:
    unit = flambeau.jit.CompilationUnit(UNIT)
    x = (np.random.default_rng(2).standard_normal((2500, 700)) + offset).astype(dtype)
    exact = x.astype(np.float64).var(0)
    tolerance = 1e-10 if dtype is np.float64 else 1e-5 * max(1.0, offset / 100)
    np.testing.assert_allclose(unit.varied(flambeau.from_numpy(x)).numpy(), exact, rtol=tolerance)


def test_c20_columns_with_what_is_no_number_stay_by_themselves() -> None:
    unit = flambeau.jit.CompilationUnit(UNIT)
    x = np.random.default_rng(3).standard_normal((3000, 520)).astype(np.float32)
    x[7, 3], x[0, 5], x[2999, 6], x[1, 8] = np.nan, np.inf, -np.inf, 3e38
    x[:, 9] = 0.25
    with np.errstate(all="ignore"):
        exact = x.var(0)
    found = unit.varied(flambeau.from_numpy(x)).numpy()
    assert np.isnan(found[[3, 5, 6]]).all()
    assert found[8] == np.inf
    assert found[9] == 0.0
    others = np.setdiff1d(np.arange(520), [3, 5, 6, 8])
    np.testing.assert_allclose(found[others], exact[others], rtol=1e-5)
