"""What depends on the order of operations at the ends of the range is what it is an element at a time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor

FLOATS = np.array([-math.inf, -0.0, 4.0, -4.0, math.inf, 0.0, math.nan, 0.3])


def running_products(x: Tensor) -> tuple[Tensor, Tensor]:
    return x.cumprod(-1), (x * 2).cumprod(0) + 1


def powers(x: Tensor, n: float) -> Tensor:
    return x**n


def same(got: Any, want: Any) -> bool:
    """Bit by bit, but for the bits of nan."""
    is_nan = np.isnan(want)
    return bool(
        got.dtype == want.dtype and np.array_equal(np.isnan(got), is_nan)
        and (np.where(is_nan, 0, got).tobytes() == np.where(is_nan, 0, want).tobytes())
    )  # fmt: skip


def same_up_to_the_last_place(got: Any, want: Any) -> bool:
    """Vectors multiply in another order: zeros, with their signs, infinities and nan are the same, the rest nearly."""
    is_ordinary = np.isfinite(want) & (want != 0)
    close = np.abs(got - want)[is_ordinary] <= 8 * np.finfo(want.dtype).eps * np.abs(want)[is_ordinary]
    return bool(close.all()) and same(np.where(is_ordinary, 1, got), np.where(is_ordinary, 1, want))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(7,), (300,), (20, 37), (3, 64), (0,), (2, 0), (1, 1)])
def test_running_products_of_what_is_out_of_range_together(shape: tuple[int, ...], dtype: str) -> None:
    large = 1e30 if dtype == "float32" else 1e300
    choices = np.array([0.0, 2.0, 1 / large, large, -1.5, 1.0], dtype)
    x = np.random.default_rng(0).choice(choices, size=shape).astype(dtype)
    scripted = flambeau.script(running_products)
    with np.errstate(all="ignore"):
        want = np.cumprod(x, -1), np.cumprod(x * x.dtype.type(2), 0) + x.dtype.type(1)
    for _ in range(3):
        for got, expected in zip(scripted(flambeau.tensor(x)), want, strict=True):
            with np.errstate(all="ignore"):
                assert same_up_to_the_last_place(got.numpy(), expected)


def test_a_zero_stays_one_behind_large_factors() -> None:
    x = flambeau.tensor([0.0, 1e30, 1e30, 1.0], dtype=flambeau.float32)
    assert flambeau.script(running_products)(x)[0].tolist() == [0.0] * 4
    x = flambeau.tensor([1e30, 1e-25, 1e-25, 1.0], dtype=flambeau.float32)
    assert flambeau.script(running_products)(x)[0].tolist()[3] > 0


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("number", [0.5, -0.5, -1.0, -2.0, 2.0, 0.0, 1.0])
def test_powers_by_numbers_of_a_call_are_those_by_written_ones(number: float, dtype: str) -> None:
    x = flambeau.tensor(FLOATS.astype(dtype))
    scripted = flambeau.script(powers)
    with flambeau.jit.optimized_execution(False):
        plain = flambeau.script(powers)(x, number).numpy()
    for _ in range(3):
        native = scripted(x, number).numpy()
        assert same(native[:6], plain[:6])
        assert np.allclose(native, plain, rtol=1e-6, equal_nan=True)
    assert same(native[:6], (x**number).numpy()[:6])
