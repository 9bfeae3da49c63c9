"""Special functions against CPython's, and at their edges."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from flambeau.ops.families import numpy_gamma, numpy_special

RNG = np.random.default_rng(7)
AROUND = np.concatenate([RNG.normal(size=400) * 3, RNG.uniform(-6, 6, 400), 10.0 ** RNG.uniform(-12, 1, 200)])
INF, NAN = float("inf"), float("nan")


def ulps(ours: Any, theirs: Any) -> float:
    return float(np.max(np.abs(ours - theirs) / np.spacing(np.abs(theirs))))


@pytest.mark.parametrize("name", ["erf", "erfc"])
def test_error_functions(name: str) -> None:
    expected = np.array([getattr(math, name)(x) for x in AROUND])
    assert ulps(getattr(numpy_special, name)(AROUND), expected) <= 6


@pytest.mark.parametrize("name", ["erf", "erfc"])
def test_few_elements_have_the_bits_of_many(name: str) -> None:
    x = np.concatenate([AROUND, [0.0, -0.0, INF, -INF, NAN, 1e-40]]).astype(np.float32)
    function = getattr(numpy_special, name)
    assert x.size > numpy_special.MOST_ONE_BY_ONE
    few = np.concatenate([function(part) for part in np.array_split(x, 20)])
    assert few.tobytes() == function(x).tobytes()


def test_trigamma_is_its_sum_and_reflects() -> None:
    x = np.array([1.0, 0.5, 1e-3, 9.99, 10.0, 1e5, 1e300, -0.5, -3.25])
    known = [math.pi**2 / 6, math.pi**2 / 2, 1e6 + math.pi**2 / 6 - 2 * 1.2020569e-3 + 3 * 1.0823232e-6]
    np.testing.assert_allclose(numpy_gamma.trigamma(x)[:3], known, rtol=1e-13)
    np.testing.assert_allclose(numpy_gamma.trigamma(x[:6]), numpy_gamma.trigamma(x[:6] + 1) + x[:6] ** -2, rtol=1e-13)
    reflected = (math.pi / np.sin(math.pi * x[7:])) ** 2 - numpy_gamma.trigamma(1 - x[7:])
    np.testing.assert_allclose(numpy_gamma.trigamma(x[7:]), reflected, rtol=1e-13)
    ends = numpy_gamma.trigamma(np.array([0.0, -0.0, -1.0, -2.0, INF, -INF, NAN, 1e300]))
    np.testing.assert_array_equal(ends, [INF, INF, INF, INF, 0, NAN, NAN, 1e-300])


def test_the_far_tail_keeps_its_digits() -> None:
    x = RNG.uniform(5, 26, 200)
    expected = np.array([math.erfc(v) for v in x])
    assert ulps(numpy_special.erfc(x), expected) <= 8


def test_erfinv_inverts() -> None:
    y = np.concatenate([RNG.uniform(-1, 1, 400), 1 - 10.0 ** RNG.uniform(-15, -1, 200)])
    x = numpy_special.erfinv(y)
    slope = 2 / math.sqrt(math.pi) * np.exp(-x * x)
    error = np.array([math.erf(v) for v in x]) - y
    tail = np.array([math.erfc(v) for v in np.abs(x)]) - (1 - np.abs(y))
    off = np.where(np.abs(y) < 0.5, error, tail) / slope / np.maximum(np.abs(x), 1e-300)
    assert np.max(np.abs(off)) < 2e-15


@pytest.mark.parametrize(
    "values",
    [RNG.uniform(0, 15, 400), 10.0 ** RNG.uniform(-8, 5, 200), RNG.uniform(0.9, 1.1, 200), RNG.uniform(1.9, 2.1, 200)],
    ids=["small", "all sizes", "near one", "near two"],
)
def test_lgamma(values: Any) -> None:
    expected = np.array([math.lgamma(v) for v in values])
    error = np.abs(numpy_special.lgamma(values) - expected)
    assert np.max(error / np.maximum(np.abs(expected), 1)) < 1e-14


def test_lgamma_keeps_its_digits_beside_its_roots() -> None:
    step = np.array([2.0**-10, -(2.0**-10), 2.0**-20, -(2.0**-20), 2.0**-40])
    euler, zeta3 = 0.5772156649015329, 1.2020569031595942
    near_one = -euler * step + math.pi**2 / 12 * step**2 - zeta3 / 3 * step**3 + math.pi**4 / 360 * step**4
    assert np.allclose(numpy_special.lgamma(1 + step), near_one, rtol=1e-11, atol=0)
    assert np.allclose(numpy_special.lgamma(2 + step), near_one + np.log1p(step), rtol=1e-11, atol=0)


def test_lgamma_of_negative_numbers() -> None:
    x = -RNG.uniform(0, 20, 300)
    expected = np.array([math.lgamma(v) for v in x])
    assert np.max(np.abs(numpy_special.lgamma(x) - expected) / np.maximum(np.abs(expected), 1)) < 1e-14


def test_digamma_is_the_slope_of_lgamma() -> None:
    x = np.concatenate([RNG.uniform(0.5, 30, 200), -RNG.uniform(0.1, 0.9, 50)])
    step = 1e-5
    slope = np.array([(math.lgamma(v + step) - math.lgamma(v - step)) / (2 * step) for v in x])
    assert np.allclose(numpy_special.digamma(x), slope, rtol=1e-5, atol=1e-6)
    assert numpy_special.digamma(np.array([1.0]))[0] == pytest.approx(-0.5772156649015329, rel=1e-15)
    known = numpy_special.digamma(np.array([1.0, 2.0, 3.0, 10.0]))
    assert np.diff(known[:3]).tolist() == pytest.approx([1.0, 0.5], rel=1e-14)


@pytest.mark.parametrize(
    ("name", "x", "expected"),
    [
        ("erf", INF, 1.0), ("erf", -INF, -1.0), ("erf", NAN, NAN), ("erf", -0.0, -0.0), ("erfc", -INF, 2.0),
        ("erfc", 30.0, 0.0), ("erfinv", 1.0, INF), ("erfinv", -1.0, -INF), ("erfinv", 1.5, NAN), ("erfinv", -0.0, -0.0),
        ("lgamma", 0.0, INF), ("lgamma", -3.0, INF), ("lgamma", INF, INF), ("lgamma", -INF, INF), ("lgamma", 1.0, 0.0),
        ("lgamma", 2.0, 0.0), ("digamma", 0.0, -INF), ("digamma", -0.0, INF),
        ("digamma", -2.0, NAN), ("digamma", INF, INF), ("digamma", NAN, NAN),
    ],
)  # fmt: skip
def test_edges(name: str, x: float, expected: float) -> None:
    found = float(getattr(numpy_special, name)(np.array([x]))[0])
    assert found == expected or (math.isnan(found) and math.isnan(expected))
    assert math.isnan(expected) or math.copysign(1, found) == math.copysign(1, expected)


def test_single_precision_in_single_precision_out() -> None:
    for name in ("erf", "erfc", "erfinv", "lgamma", "digamma"):
        found = getattr(numpy_special, name)(np.array([0.25, 0.75], np.float32))
        assert found.dtype == np.float32
        wide = getattr(numpy_special, name)(np.array([0.25, 0.75]))
        assert found.tolist() == wide.astype(np.float32).tolist()
