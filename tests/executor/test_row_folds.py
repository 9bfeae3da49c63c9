"""Folds along rows of many float32 numbers: as exact as NumPy's, and NumPy's where squares do not fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.executor import row_folds
from flambeau.util.inversions import LARGE

SHAPES = [(LARGE,), (LARGE + 77,), (300, 1000), (257, 256), (1 << 12, 16), (3, 5, 7, 1024), (40, 2500)]


def values(shape: tuple[int, ...], kind: str) -> Any:
    random = np.random.default_rng(0)
    x = random.random(shape) if kind == "positive" else random.standard_normal(shape) if kind == "mixed" else 1.1
    return np.asarray(np.broadcast_to(x, shape), np.float32)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", ["positive", "mixed", "equal"])
def test_sums_have_the_error_of_numpys(shape: tuple[int, ...], kind: str) -> None:
    x = values(shape, kind)
    wide = x.astype(np.float64)
    t = flambeau.from_numpy(x)
    for axis in (None, -1):
        got = (t.sum() if axis is None else t.sum(axis)).numpy()
        magnitude, unit = np.abs(wide).sum(axis=axis), np.finfo(np.float32).eps
        ours = np.abs(got - wide.sum(axis=axis)) / magnitude / unit
        numpys = np.abs(x.sum(axis=axis) - wide.sum(axis=axis)) / magnitude / unit
        assert np.sqrt((ours**2).mean()) <= max(1.1 * np.sqrt((numpys**2).mean()), 0.5)
        assert ours.max() <= max(1.5 * numpys.max(), 1.5)
        mean = (t.mean() if axis is None else t.mean(axis)).numpy()
        np.testing.assert_allclose(mean, wide.mean(axis=axis), rtol=1e-5, atol=1e-6)
    assert row_folds._entries


def test_hostile_rows_are_summed_as_numpy_does() -> None:
    x = values((300, 1000), "mixed").copy()
    x[0, 5], x[1, 999], x[2, 300], x[3, 3], x[3, 700] = np.nan, np.inf, -np.inf, np.inf, -np.inf
    x[4] = -0.0
    t = flambeau.from_numpy(x)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(t.sum(1).numpy(), x.sum(1), rtol=1e-4, atol=1e-3)
        np.testing.assert_allclose(t.sum(1, keepdim=True).numpy(), x.sum(1, keepdims=True), rtol=1e-4, atol=1e-3)
        np.testing.assert_allclose(t.nansum(1).numpy(), np.nansum(x, 1), rtol=1e-4, atol=1e-3)
    assert t.sum().isnan()


def test_products_are_numpys() -> None:
    x = (1 + values((300, 1000), "mixed") / 100).astype(np.float32)
    t = flambeau.from_numpy(x)
    np.testing.assert_allclose(t.prod(1).numpy(), x.astype(np.float64).prod(1), rtol=1e-4)
    x[5, 17] = 0
    assert flambeau.from_numpy(x).prod(1)[5] == 0


@pytest.mark.parametrize("scale", [1.0, 1e25, 1e-25, 0.0])
def test_norms_do_not_overflow(scale: float) -> None:
    x = (values((300, 1000), "mixed") * np.float32(scale)).astype(np.float32)
    t = flambeau.from_numpy(x)
    for dims, axis in ((None, None), (1, 1), ([0, 1], (0, 1))):
        for keepdim in (False, True):
            expected = np.sqrt((x.astype(np.float64) ** 2).sum(axis=axis, keepdims=keepdim))
            got = flambeau.norm(t, 2.0, dims, keepdim=keepdim).numpy()
            assert got.shape == expected.shape
            np.testing.assert_allclose(got, expected.astype(np.float32), rtol=1e-6)
