"""`math.gamma` and `math.lgamma` in native code: the bits of Python's, and its answers where there is no number."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

import flambeau
from flambeau.codegen import available

pytestmark = pytest.mark.skipif(not available(), reason="there is no native code here")


def gammas(x: np.ndarray) -> np.ndarray:
    result = np.empty_like(x)
    for i in range(len(x)):
        result[i] = math.gamma(x[i])
    return result


def log_gammas(x: np.ndarray) -> np.ndarray:
    result = np.empty_like(x)
    for i in range(len(x)):
        result[i] = math.lgamma(x[i])
    return result


def of_whole(n: int):
    return math.gamma(n), math.lgamma(n)


def arguments() -> np.ndarray:
    rng = np.random.RandomState(5)
    spread = [rng.uniform(0, high, 700) for high in (1, 5, 30, 171)]
    near = [math.nextafter(n, n + way) for n in (1.0, 2.0, 5.0, 23.0, 140.0) for way in (-1, 1)]
    small = [*10.0 ** rng.uniform(-25, 0, 200), 1e-20, 1e-21]
    return np.concatenate([*spread, near, small, np.arange(1.0, 171.0)])


@pytest.mark.parametrize(("scripted", "python"), [(gammas, math.gamma), (log_gammas, math.lgamma)])
def test_the_bits_are_those_of_python(
    scripted: Callable[[np.ndarray], np.ndarray], python: Callable[[float], float]
) -> None:
    function = flambeau.script(scripted)
    x = arguments()
    is_native = x >= 1e-20
    usual, outside = x[is_native], np.concatenate([-np.random.RandomState(6).uniform(0, 30, 200), x[~is_native]])
    for x in (usual, usual[::-1].copy()):
        assert np.array_equal(function(x), np.array([python(v) for v in x]))
    assert "interpreted" not in str(function.explain())
    assert np.array_equal(function(outside), np.array([python(v) for v in outside]))
    assert "for sizes, layouts or values such as these" in str(function.explain())


def test_what_is_too_large_or_no_number() -> None:
    ends = np.array([172.0, 1e308, np.inf, np.nan, 0.0, -0.0, -1.0])
    expected = [np.inf, np.inf, np.inf, np.nan, np.inf, -np.inf, np.nan]
    assert np.array_equal(flambeau.script(gammas)(ends), expected, equal_nan=True)
    large = np.array([1e15, 1e300, np.inf, np.nan])
    assert np.array_equal(flambeau.script(log_gammas)(large), [math.lgamma(v) for v in large], equal_nan=True)


def test_ints() -> None:
    function = flambeau.script(of_whole)
    assert [function(n) for n in (1, 2, 5, 23, 24, 100)] == [of_whole(n) for n in (1, 2, 5, 23, 24, 100)]
