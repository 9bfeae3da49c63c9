"""Order along an axis in native code, beside eager tensors and NumPy: hostile values, every dtype, long axes too."""

from itertools import product
from typing import Any

import numpy as np
import pytest

import flambeau
from benchmarks.programs.array_programs import median_filter
from flambeau import Tensor
from flambeau.testing import assert_close

NAN, INF = float("nan"), float("inf")
VALUES = [3.0, NAN, -0.0, 0.0, INF, -INF, 3.0, NAN, 1.5, -2.0, 2.0, 3.0]


def ascending(x: Tensor):
    values, indices = flambeau.sort(x, 0)
    return values, indices, flambeau.argsort(x, 0)


def descending(x: Tensor):
    values, indices = flambeau.sort(x, 0, True)
    return values, indices, flambeau.argsort(x, 0, descending=True)


def rows(x: Tensor, n: int):
    total = flambeau.zeros_like(x)
    places = flambeau.zeros(x.shape, dtype=flambeau.int64)
    for _ in range(n):
        values, indices = x.sort(dim=-1)
        total += values
        places += indices + x.argsort(dim=-2, descending=True)
    return total, places


def agrees(function: Any, *arguments: Any) -> None:
    scripted = flambeau.script(function)
    expected = function(*arguments)
    for _ in range(3):
        assert_close(scripted(*arguments), expected, equal_nan=True, rtol=0, atol=0)
    scripted.compile(*arguments)
    assert "native from end to end" in str(scripted.explain())


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "int16", "int32", "int64", "uint8", "bool"])
@pytest.mark.parametrize("size", [0, 2, 64, 65])
def test_one_axis(dtype: str, size: int) -> None:
    rng = np.random.default_rng(size)
    kind = getattr(flambeau, dtype)
    if dtype.startswith("float"):
        x = flambeau.tensor((VALUES * 20)[:size], dtype=kind)
    else:
        x = flambeau.tensor(rng.integers(0, 2 if dtype == "bool" else 100, size).tolist(), dtype=kind)
    agrees(ascending, x)
    agrees(descending, x)


@pytest.mark.parametrize("shape", [(3, 5), (1, 1), (0, 4), (4, 0), (2, 70), (70, 2), (2, 3, 4)])
def test_several_axes(shape: tuple[int, ...]) -> None:
    count = int(np.prod(shape))
    agrees(rows, flambeau.tensor((VALUES * 20)[:count]).reshape(shape), 2)


def test_arrays_sort_themselves() -> None:
    scripted = flambeau.script(median_filter)
    image = np.random.default_rng(0).random((9, 8))
    image[3, 4] = np.nan
    for _ in range(3):
        np.testing.assert_array_equal(scripted(image), median_filter(image))
    assert "native from end to end" in str(scripted.explain())


@pytest.mark.parametrize(("dtype", "right"), list(product(["float32", "float64", "int64"], [False, True])))
def test_searched_by_halves(dtype: str, right: bool) -> None:
    kind = getattr(flambeau, dtype)
    line = sorted(v for v in VALUES if v == v)
    line = [-3.0, 0.0, 0.0, 2.0, 7.0] if dtype == "int64" else [*line, NAN, NAN]

    def left_side(line: Tensor, sought: Tensor):
        return flambeau.searchsorted(line, sought), flambeau.searchsorted(line[1:], sought[0])

    def right_side(line: Tensor, sought: Tensor):
        return flambeau.searchsorted(line, sought, right=True), flambeau.searchsorted(line, sought, side="right")

    found = [2.0, -3.0, 100.0] if dtype == "int64" else VALUES
    for values in (found, found[:1]):
        sought = flambeau.tensor(values, dtype=kind)
        agrees(right_side if right else left_side, flambeau.tensor(line, dtype=kind), sought)
    agrees(right_side, flambeau.zeros(0, dtype=kind), flambeau.tensor(found, dtype=kind))


def test_numbers_are_searched_for() -> None:
    def places(line: np.ndarray, values: np.ndarray) -> np.ndarray:
        out = np.zeros(len(values), dtype=np.int64)
        for i in range(len(values)):
            out[i] = np.searchsorted(line, values[i])
        return out

    scripted = flambeau.script(places)
    line, values = np.sort(np.random.default_rng(1).random(20)), np.array([0.5, -1.0, 2.0, np.nan])
    for _ in range(3):
        np.testing.assert_array_equal(scripted(line, values), places(line, values))
    assert "native from end to end" in str(scripted.explain())
