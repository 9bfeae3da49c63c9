"""Running sums and products of which some lanes together leave the range of their dtype where no state does, or come
back where a state has left it: one element after another, as NumPy has them.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.codegen import available

pytestmark = pytest.mark.skipif(not available(), reason="needs LLVM")


@flambeau.script
def sums(x: Tensor) -> Tensor:
    return x.cumsum(1)


@flambeau.script
def products(x: Tensor) -> Tensor:
    return x.cumprod(1)


def check(f: object, row: list[float], dtype: str, *, scale: float = 1.0) -> None:
    with np.errstate(all="ignore"):
        x = (np.array([row, row[::-1]]) * scale).astype(dtype)
        want = (np.cumsum if f is sums else np.cumprod)(x, 1)
        got = f(flambeau.from_numpy(x)).numpy()  # type: ignore[operator]
        tolerance = 64 * np.finfo(dtype).eps
        np.testing.assert_allclose(got, want, tolerance, tolerance * scale if f is sums else 0)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "row",
    [
        [-1.0, 0.7, 0.7, 0.3, *[0.1] * 30], [0.0, *[0.3] * 3, -0.9] * 9, [0.9, 0.9, -0.9, -0.9] * 12,
        [0.5, math.inf, -0.5, *[0.1] * 40], [0.5, math.inf, -math.inf, *[0.1] * 40], [math.nan, *[0.9] * 20],
        [math.inf, *[-0.9] * 40],
    ],
)  # fmt: skip
def test_running_sums(row: list[float], dtype: str) -> None:
    check(sums, row, dtype, scale=float(np.finfo(dtype).max))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "exponents",
    [
        [100, 100, -100, -100] * 12, [-100, -100, 100, 100] * 12, [-100, 100, 100] * 11, [90, -90, -90] * 11,
        [-70, -70, *[1] * 70], [20, None, 100, 100, 3], [0, *[-1] * 200],
    ],
)  # fmt: skip
def test_running_products(exponents: list[int | None], dtype: str) -> None:
    base = 2.0 if dtype == "float32" else 2.0**8
    check(products, [0.0 if n is None else base**n for n in exponents], dtype)
    check(products, [-1.5 * base ** (n or 0) for n in exponents], dtype)
    check(products, [math.inf, *[base ** (n or 0) for n in exponents], math.nan, 1.0], dtype)
