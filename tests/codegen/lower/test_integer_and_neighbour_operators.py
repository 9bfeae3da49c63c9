"""`nextafter` and `gcd` in kernels, to the bit, at the ends of every dtype."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.codegen import available

pytestmark = pytest.mark.skipif(not available(), reason="needs LLVM")


@flambeau.script
def neighbours(x: Tensor, y: Tensor) -> Tensor:
    return flambeau.nextafter(x, y)


@flambeau.script
def divisors(x: Tensor, y: Tensor) -> Tensor:
    return flambeau.gcd(x, y)


def pairs(values: list[float], dtype: str, random: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All pairs of some values, and pairs of random ones: more than a vector, and a part of one."""
    a, b = (v.ravel() for v in np.meshgrid(np.array(values, dtype), np.array(values, dtype)))
    return np.concatenate([a, random[0].astype(dtype)]), np.concatenate([b, random[1].astype(dtype)])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_next_number(dtype: str) -> None:
    limits = np.finfo(dtype)
    ends = [limits.max, limits.tiny, limits.smallest_subnormal, 1.0, 0.0, np.inf]
    values = [*ends, *[-v for v in ends], np.nan]
    x, y = pairs(values, dtype, np.random.default_rng(0).standard_normal((2, 517)))
    with np.errstate(all="ignore"):
        want = np.nextafter(x, y)
    got = neighbours(flambeau.from_numpy(x), flambeau.from_numpy(y)).numpy()
    np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(np.signbit(got[~np.isnan(want)]), np.signbit(want[~np.isnan(want)]))


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8"])
def test_common_divisors(dtype: str) -> None:
    limits = np.iinfo(dtype)
    values = [limits.min, limits.min + 1, limits.max, limits.max - 1, 0, 1, 2, 3, 6, 12, 64, 100]
    random = np.random.default_rng(0).integers(limits.min, limits.max, (2, 517), dtype, endpoint=True)
    x, y = pairs(values, dtype, random)  # type: ignore[arg-type]
    got = divisors(flambeau.from_numpy(x), flambeau.from_numpy(y)).numpy()
    np.testing.assert_array_equal(got, np.gcd(x, y))


def test_they_are_native() -> None:
    x = flambeau.ones(40)
    neighbours(x, x)
    divisors(x.long(), x.long())
    for f in (neighbours, divisors):
        assert "interpreted" not in str(f.explain()), f.name
