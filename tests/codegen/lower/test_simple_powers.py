"""Powers by products, quotients and roots: elements of large tensors, small ones and programs, as NumPy has them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor

VALUES = [-math.inf, -2.5, -1.0, -1e-3, -0.0, 0.0, 1e-300, 0.3, 1.0, 4.0, 7e200, math.inf, math.nan]


def halves(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    return x**0.5, x**-0.5, x**2.0


def wholes(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    return x**-1, x**-2, x**-1.0


@pytest.mark.parametrize("exponent", [0.5, -0.5, -1, -2, -1.0, -2.0, 1.0, 2.0, 3.0, 2, 3, 1.5])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_powers_of_any_number_of_elements(exponent: float, dtype: Any) -> None:
    with np.errstate(all="ignore"):
        x = np.array(VALUES, dtype)
        expected = np.sqrt(x) if exponent == 0.5 else np.power(x, dtype(exponent))
    for count in (1, 1000):
        values = flambeau.tensor(np.tile(x, count))
        for _ in range(3):
            result = (values**exponent).numpy()[-len(x) :]
            np.testing.assert_allclose(result, expected, rtol=1e-6 if dtype is np.float32 else 1e-15)
            known = ~np.isnan(expected)
            np.testing.assert_array_equal(np.signbit(result[known]), np.signbit(expected[known]))


def test_powers_in_programs_are_those_outside() -> None:
    x = flambeau.tensor(VALUES, dtype=flambeau.float64)
    for function in (halves, wholes):
        for inside, outside in zip(flambeau.script(function)(x), function(x), strict=True):
            np.testing.assert_allclose(inside.numpy(), outside.numpy(), rtol=1e-15)
            known = ~np.isnan(outside.numpy())
            np.testing.assert_array_equal(np.signbit(inside.numpy()[known]), np.signbit(outside.numpy()[known]))


def test_calls_with_other_numbers_have_kernels_of_their_own() -> None:
    x = flambeau.linspace(0.5, 4, 5000, dtype=flambeau.float64)
    for _ in range(40):
        for exponent in (0.5, 1.25, -0.5, 2.75, 2.0):
            np.testing.assert_allclose((x**exponent).numpy()[-1], 4**exponent, rtol=1e-14)
