"""Loops whose iterations load what the one before loaded are made vectors of, whatever is left over."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.codegen import available
from flambeau.codegen.llvm.llvm_switches import LOADS_EACH_TIME

pytestmark = pytest.mark.skipif(not available(), reason="there is no native code here")


def blurred(x, n):
    result = np.zeros_like(x)
    for i in range(1, n - 1):
        result[i] = x[i - 1] + x[i] * 2 + x[i + 1]
    return result


def rows_and_columns(x, n):
    result = np.zeros_like(x)
    for i in range(1, x.shape[0] - 1):
        for j in range(1, n - 1):
            result[i, j] = x[i, j - 1] + x[i, j + 1] + x[i - 1, j] + x[i + 1, j]
    return result


def summed_up(x, n):
    result = x.copy()
    for i in range(1, n):
        result[i] = result[i - 1] + x[i]
    return result


def blurred_and_summed_up(x, n):
    return summed_up(blurred(x, n), n)


def in_place(x, n):
    result = x.copy()
    for i in range(1, n - 1):
        result[i] = result[i - 1] + result[i + 1]
    return result


def scaled(x, n):
    result = x.copy()
    for i in range(n):
        result[i] += x[i]
    return result


@pytest.mark.parametrize(
    ("program", "axes", "loads_each_time"),
    [
        (blurred, 1, True), (rows_and_columns, 2, True), (summed_up, 1, False), (blurred_and_summed_up, 1, False),
        (in_place, 1, False), (scaled, 1, False),
    ],
)  # fmt: skip
def test_what_is_loaded_again(program: Callable[..., Any], axes: int, loads_each_time: bool) -> None:
    scripted = flambeau.script(program)
    for size in (0, 1, 2, 3, 9, 70, 131):
        x = np.random.RandomState(size).randint(-9, 9, (5, size)[2 - axes :])
        assert np.array_equal(scripted(x, size), program(x, size))
        assert np.array_equal(scripted(x[..., ::-1], size), program(x[..., ::-1], size))
    assert (LOADS_EACH_TIME in scripted.llvm_ir) == loads_each_time
