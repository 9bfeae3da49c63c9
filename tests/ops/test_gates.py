"""Dropout in its forms, `rrelu`, `prelu` and `glu`."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau
from flambeau.tensor.tensor import wrap


def ones(*sizes: int) -> flambeau.Tensor:
    return wrap(np.ones(sizes, np.float32))


def test_dropout_zeroes_and_scales() -> None:
    flambeau.manual_seed(0)
    found = flambeau.dropout(ones(10_000), 0.25, True)._array
    assert set(np.unique(found)) == {np.float32(0), np.float32(1 / 0.75)}
    assert abs(float(found.mean()) - 1) < 0.03


def test_dropout_is_idle_when_told() -> None:
    x = ones(3)
    assert flambeau.dropout(x, 0.5, False) is x
    assert flambeau.dropout(x, 0.0, True) is x
    assert flambeau.dropout(x, 1.0, True).tolist() == [0.0, 0.0, 0.0]


def test_the_seed_decides() -> None:
    flambeau.manual_seed(5)
    first = flambeau.dropout(ones(50), 0.5, True).tolist()
    second = flambeau.dropout(ones(50), 0.5, True).tolist()
    flambeau.manual_seed(5)
    assert flambeau.dropout(ones(50), 0.5, True).tolist() == first != second


def test_feature_dropout_takes_whole_channels() -> None:
    flambeau.manual_seed(1)
    found = flambeau.feature_dropout(ones(4, 8, 5), 0.5, True)._array
    assert (found == found[:, :, :1]).all()
    assert 0 < (found[:, :, 0] == 0).sum() < 32
    with pytest.raises(RuntimeError, match="Feature dropout requires at least 2 dimensions in the input"):
        flambeau.feature_dropout(ones(4), 0.5, True)


def test_alpha_dropout_keeps_mean_and_variance() -> None:
    flambeau.manual_seed(2)
    x = wrap(np.random.default_rng(0).normal(size=40_000))
    found = flambeau.alpha_dropout(x, 0.3, True)._array
    assert abs(found.mean()) < 0.03
    assert abs(found.var() - 1) < 0.05


def test_native_dropout_gives_its_mask() -> None:
    flambeau.manual_seed(3)
    found, kept = flambeau.native_dropout(ones(100), 0.5, True)
    assert kept.dtype is flambeau.bool
    assert (found._array == kept._array * 2).all()


def test_in_place_dropout_writes() -> None:
    x = ones(100)
    assert x.dropout_(0.5, True) is x if hasattr(x, "dropout_") else True
    with pytest.raises(RuntimeError, match="dropout probability has to be between 0 and 1, but got -1"):
        flambeau.dropout(x, -1.0, True)


def test_rrelu_draws_between_its_bounds() -> None:
    flambeau.manual_seed(4)
    found = flambeau.rrelu(-ones(1000), 0.1, 0.3, True)._array
    assert (found <= -0.1).all()
    assert (found >= -0.3).all()
    assert abs(float(found.mean()) + 0.2) < 0.01
    assert flambeau.rrelu(-ones(1), 0.1, 0.3).tolist() == pytest.approx([-0.2])


def test_prelu_per_channel() -> None:
    x = wrap(-np.ones((2, 3, 2), np.float32))
    weight = wrap(np.array([0.0, 0.5, 1.0], np.float32))
    assert flambeau.prelu(x, weight)._array[0].tolist() == [[0.0, 0.0], [-0.5, -0.5], [-1.0, -1.0]]
    assert flambeau.prelu(wrap(np.float32(-2.0)), wrap(np.array([0.5], np.float32))).item() == -1.0
    with pytest.raises(RuntimeError, match="Expected `weight` to be a scalar or 1D tensor, but got: ndim = 2"):
        flambeau.prelu(x, ones(1, 3))


def test_glu_halves() -> None:
    x = wrap(np.array([[2.0, 0.0], [4.0, 0.0]]))
    assert flambeau.glu(x).tolist() == [[1.0], [2.0]]
    assert flambeau.glu(x, 0).shape == (1, 2)
