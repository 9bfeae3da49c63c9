"""NumPy's functions for arrays with numbers alone; `ndindex`, `ndenumerate` and `flat` in loops."""

from __future__ import annotations

import math

import numpy as np
import pytest

import flambeau
from flambeau.util.errors import CompileError


def bounded(x: np.ndarray, k: np.ndarray, n: int, s: float):
    return (
        np.clip(x[0], 0.1, 0.5), np.clip(n, 0, 2), np.clip(s, -1, x[1]), np.clip(k[0], 1, 3),
        np.where(x[0] > 0.5, x[1], x[2]), np.where(n > 1, 1, 2), np.where(n, s, k[0]), np.where(x[0] < 0, 1, 0.5),
        np.isclose(x[0], x[1]), np.isclose(s, s + 1e-9), np.isclose(x[0], s, 1e-3, 1e-2),
    )  # fmt: skip


def rounded(x: np.ndarray, k: np.ndarray, n: int, s: float):
    return (
        np.round(x[0]), np.round(x[0], 2), np.around(s, 3), np.round(x[1] * 1000, -2), round(x[0], 2),
        round(x[1], n), np.round(k[0]), np.round(7), round(x[0]),
    )  # fmt: skip


NUMBERS = (0.3, 0.5, -0.2, 1.5, 2.5, 2.675, -1.005, 123456.789)


@pytest.mark.parametrize("program", [bounded, rounded])
def test_numbers_as_in_numpy(program):
    script = flambeau.script(program)
    for k, number in enumerate(NUMBERS):
        x = np.array([number, NUMBERS[k - 1], NUMBERS[k - 2]])
        arguments = x, np.array([k - 2, 1]), k % 4, NUMBERS[k - 3]
        ours, theirs = script(*arguments), program(*arguments)
        assert [repr(float(a)) for a in ours] == [repr(float(b)) for b in theirs], arguments


def test_nan_and_infinities():
    script = flambeau.script(bounded)
    for special in (math.nan, math.inf, -math.inf):
        arguments = np.array([special, 1.0, special]), np.array([0]), 3, special
        ours, theirs = script(*arguments), bounded(*arguments)
        assert [repr(float(a)) for a in ours] == [repr(float(b)) for b in theirs]


def over_places(x: np.ndarray):
    total, places = 0.0, []
    for i, j in np.ndindex(x.shape):
        if x[i, j] > 7:
            break
        total += x[i, j] * (i - j)
        places.append((i, j))
    for place in np.ndindex(2, 3):
        total += place[0] * 10 + place[1]
    for (k,) in np.ndindex(4):
        total += k
    for i, j, k in np.ndindex(2, 1, 2):
        total += i + j + k
    return total, places


def over_elements(x: np.ndarray):
    total = 0.0
    for (i, j), v in np.ndenumerate(x):
        total += v * (i + 2 * j)
    for (k,), v in np.ndenumerate(x[0]):
        total -= v * k
    for v in x.flat:
        total += v * v
    for k, v in enumerate(x.flat):
        total += k * v
    return total, x.flat[2], x.flat[-1], len(x.flat), sum([x[0, k] for k in range(2)])


@pytest.mark.parametrize("program", [over_places, over_elements])
def test_loops_are_those_of_numpy_and_native(program):
    x = np.arange(12.0).reshape(3, 4)
    script = flambeau.script(program)
    for array in (x, x.T, x[:, ::2], np.zeros((2, 0)) if program is over_places else x[:1]):
        assert script(array) == program(array)
    assert "native from end to end" in str(script.explain())


def four_axes(x: np.ndarray):
    return list(np.ndindex(1, 2, 3, 4))


def no_sizes(x: np.ndarray):
    return list(np.ndindex(x[0]))


def no_array(x: np.ndarray):
    return [v for _, v in np.ndenumerate(3)]


def written(x: np.ndarray):
    x.flat[1] = 2.0
    return x


@pytest.mark.parametrize(
    ("program", "text"),
    [
        (four_axes, "goes over one to three axes here: write the loops"),
        (no_sizes, "takes ints, or a tuple of ints, here"),
        (no_array, "takes one array, whose number of axes is known"),
        (written, r"write x\.ravel\(\) for the array of all elements"),
    ],
)
def test_refusals(program, text):
    with pytest.raises(CompileError, match=text):
        flambeau.script(program)(np.ones(3))
