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


def falling(x: np.ndarray):
    return np.pad(x, 2, mode="linear_ramp")


def test_other_modes_are_refused_where_they_stand() -> None:
    text = "np.pad takes the modes constant, edge, reflect, symmetric and wrap here, written out"
    with pytest.raises(CompileError, match=text) as caught:
        flambeau.script(falling)
    assert 'return np.pad(x, 2, mode="linear_ramp")\n           ~~~~~~ <--- HERE' in str(caught.value)
