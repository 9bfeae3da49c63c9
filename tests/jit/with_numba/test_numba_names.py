"""Programs that name Numba's range, and its typed lists and dicts: the results of the Python functions, natively."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau
from flambeau.util.errors import CompileError

numba = pytest.importorskip("numba", reason="numba is an extra: pip install flambeau[numba]")
from numba import float64, prange, types  # noqa: E402
from numba.typed import Dict, List  # noqa: E402


def rows(x: np.ndarray, y: np.ndarray):
    total = 0.0
    for i in prange(x.shape[0]):
        for j in range(x.shape[1]):
            y[i] += x[i, j] * x[i, j]
        total += y[i]
    return total


def by_module(x: np.ndarray):
    n = x.shape[0]
    out = np.empty((n, n))
    for i in numba.prange(n):
        for j in range(n):
            out[i, j] = np.sqrt(((x[i] - x[j]) ** 2).sum())
    return out


def counted(x: np.ndarray):
    counts = Dict.empty(key_type=types.int64, value_type=types.float64)
    pairs = Dict.empty(types.UniTuple(types.int64, 2), types.int64)
    later = Dict()
    for i in range(len(x)):
        counts[x[i]] = counts.get(x[i], 0.0) + 1.0
        pairs[(x[i], i % 2)] = i
        later[x[i]] = i
    return sorted([(k, v) for k, v in counts.items()]), len(pairs), later[x[0]]


def listed(x: np.ndarray):
    numbers, floats, arrays = List(), List.empty_list(float64), numba.typed.List.empty_list(types.float64[:])
    for i in range(len(x)):
        numbers.append(i)
        floats.append(x[i] * 0.5)
        arrays.append(x[i:])
    return len(numbers) + len(arrays), sum(floats)


def test_prange_is_a_parallel_loop():
    x = np.random.default_rng(0).random((20, 3))
    wanted, got = np.zeros(20), np.zeros(20)
    script = flambeau.script(rows)
    assert script(x, got) == pytest.approx(rows(x, wanted))
    assert np.allclose(got, wanted)
    assert "1 parallel" in str(script.explain())
    assert np.allclose(flambeau.script(by_module)(x), by_module(x))


def test_typed_containers():
    x = np.array([3, 1, 3, 2, 1])
    assert flambeau.script(counted)(x) == counted(x)
    y = np.arange(6.0)
    assert flambeau.script(listed)(y) == listed(y)


def few_types(x: np.ndarray):
    return Dict.empty(types.int64)


def no_type(x: np.ndarray):
    return List.empty_list(x)


def other_name(x: np.ndarray):
    return Dict.fromkeys(x)


@pytest.mark.parametrize(
    ("fn", "text"),
    [
        (few_types, r"takes key_type and value_type, got 1: write Dict\.empty\(types\.int64, types\.float64\)"),
        (no_type, r"takes types of Numba's, as List\.empty_list\(types\.int64\): .* is none"),
        (other_name, r"numba\.typed\.Dict has no fromkeys in programs: write Dict\.empty"),
    ],
)
def test_refusals(fn, text):
    with pytest.raises(CompileError, match=text):
        flambeau.script(fn)(np.ones(3, dtype=np.int64))
