"""`np.pad` in the modes whose borders are elements of the array gives what NumPy gives, and refuses what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.util.errors import CompileError


def edges(a: np.ndarray, x: np.ndarray):
    return np.pad(x, 2, mode="edge"), np.pad(a, ((1, 0), (2, 3)), mode="edge"), np.pad(a, (1, 2), "edge")


def reflected(a: np.ndarray, x: np.ndarray):
    wide = np.pad(a, ((1, 0), (2, 13)), mode="reflect")
    return wide, np.pad(x, 2, mode="reflect"), np.pad(x[:1], 2, mode="reflect"), np.pad(x, 0, mode="reflect")


def symmetric(a: np.ndarray, x: np.ndarray):
    wide = np.pad(a, ((1, 0), (2, 13)), mode="symmetric")
    return wide, np.pad(x, 2, mode="symmetric"), np.pad(x[:1], 2, mode="symmetric")


def wrapped(a: np.ndarray, x: np.ndarray):
    return np.pad(a, ((1, 0), (2, 13)), mode="wrap"), np.pad(x, 2, mode="wrap"), np.pad(x[:1], 2, mode="wrap")


@pytest.mark.parametrize("program", [edges, reflected, symmetric, wrapped])
def test_borders_are_those_of_numpy(program: Callable[..., Any]) -> None:
    arguments = np.arange(12.0).reshape(3, 4), np.arange(6, dtype=np.uint8)
    found = flambeau.script(program, backend="interpreter")(*arguments)
    for got, wanted in zip(found, program(*arguments), strict=True):
        assert got.dtype == wanted.dtype
        assert np.array_equal(got, wanted)


def around(x: np.ndarray):
    return np.pad(x, 2, mode="wrap")


def test_nothing_has_no_borders() -> None:
    with pytest.raises(ValueError, match="can't extend empty axis 0 using modes other than 'constant' or 'empty'"):
        flambeau.script(around, backend="interpreter")(np.zeros(0))


def means(a: np.ndarray, x: np.ndarray):
    some = np.pad(x, (0, 2), "mean", stat_length=2), np.pad(x, 1, "median", stat_length=((1, 2),))
    medians = np.pad(a, 1, "median"), np.pad(x, 2, "median")
    return np.pad(a, ((1, 0), (2, 3)), "mean"), np.pad(x, 2, "mean"), *medians, *some


def extremes(a: np.ndarray, x: np.ndarray):
    some = np.pad(x, (1, 2), "minimum", stat_length=(2, 1)), np.pad(a, 0, "maximum")
    return np.pad(a, ((1, 0), (2, 3)), "maximum"), np.pad(x, 2, "maximum"), np.pad(a, 1, "minimum"), *some


def ramps(a: np.ndarray, x: np.ndarray):
    ends = np.pad(a, 2, "linear_ramp", end_values=-2), np.pad(x, (1, 3), "linear_ramp", end_values=(1.5, 9))
    return np.pad(a, ((1, 0), (2, 3)), "linear_ramp"), np.pad(x, 3, mode="linear_ramp"), *ends


@pytest.mark.parametrize("program", [means, extremes, ramps])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.uint8])
def test_borders_of_statistics_are_those_of_numpy(program: Callable[..., Any], dtype: Any) -> None:
    arguments = (np.arange(12) ** 2 % 11).reshape(3, 4).astype(dtype), np.array([5, 2, 8, 8, 1], dtype=dtype)
    for options in ({}, {"backend": "interpreter"}):
        function = flambeau.script(program, **options)
        for _ in range(2):
            for found, wanted in zip(function(*arguments), program(*arguments), strict=True):
                assert (found.dtype, found.shape, found.strides) == (wanted.dtype, wanted.shape, wanted.strides)
                np.testing.assert_allclose(found, wanted, rtol=1e-6 if dtype is np.float32 else 1e-15)


def test_borders_of_statistics_refuse_what_numpy_refuses() -> None:
    def nothing(x: np.ndarray):
        return np.pad(x, 2, "mean")

    def of_none(x: np.ndarray):
        return np.pad(x, 2, "maximum", stat_length=0)

    with pytest.raises(ValueError, match="can't extend empty axis 0 using modes other than 'constant' or 'empty'"):
        flambeau.script(nothing)(np.zeros(0))
    with pytest.raises(ValueError, match="stat_length of 0 yields no value for padding"):
        flambeau.script(of_none)(np.zeros(3))


def unknown(x: np.ndarray):
    return np.pad(x, 2, mode="empty")


def test_other_modes_are_refused_where_they_stand() -> None:
    modes = "constant, edge, linear_ramp, maximum, mean, median, minimum, reflect, symmetric, wrap"
    text = f"np.pad takes the modes {modes} here"
    with pytest.raises(CompileError, match=text) as caught:
        flambeau.script(unknown)
    assert 'return np.pad(x, 2, mode="empty")\n           ~~~~~~ <--- HERE' in str(caught.value)
