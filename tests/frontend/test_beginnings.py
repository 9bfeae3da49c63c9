"""Variables of programs on arrays that begin as constants of Python, compared with CPython on the same source."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.util.errors import CompileError


def mean(x: np.ndarray):
    s = 0.0
    for v in x:
        s += v * v
    return s / len(x)


def deviation(x: np.ndarray):
    s, q, n = 0.0, 0.0, 0
    for v in x:
        s += v
        q += v * v
        n += 1
    m = s / n
    return m, q / n - m * m


def smoothed(x: np.ndarray, a: float = 0.25):
    out = np.empty_like(x)
    s = 0
    for i in range(len(x)):
        s = a * x[i] + (1 - a) * s
        out[i] = s
    return out


def peak(x: np.ndarray):
    best, where = 0, -1
    for i, v in enumerate(x):
        if v > best:
            best, where = v, i
    return best * 2, where


def least(x: np.ndarray):
    low = 1e30
    for v in x:
        if v < low:
            low = v
    return low


def until(x: np.ndarray):
    total, i = 0, 0
    while i < len(x) and total < 100:
        total += x[i]
        i += 1
    return total / 2


def rows(x: np.ndarray):
    total = 0
    for i in range(x.shape[0]):
        r = 0
        for j in range(x.shape[1]):
            r += x[i, j]
        total += r / x.shape[1]
    return total / x.shape[0]


def halves(x: np.ndarray):
    n = 0
    for _ in x:
        n = n + 0.5
        if n > 2:
            n = 2
    return n


def wrapped(x: np.ndarray):
    s = 0
    for v in x:
        s += v
    return s * 100


PROGRAMS = (mean, deviation, smoothed, peak, least, until, rows, halves, wrapped)
DTYPES = ("float16", "float32", "float64", "int8", "int32", "int64", "uint8")


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_values_are_those_of_cpython(program: Callable[..., Any]) -> None:
    rng = np.random.default_rng(0)
    scripted = flambeau.script(program)
    for dtype in DTYPES:
        x = (rng.random(6) * 50).astype(dtype)
        argument = x.reshape(2, 3) if program is rows else x
        with np.errstate(all="ignore"):
            expected = program(argument)
        for _ in range(3):
            got = scripted(argument)
            assert np.array_equal(got, expected, equal_nan=True), (dtype, got, expected)


def test_what_is_not_taken_is_what_it_began_as() -> None:
    nothing = np.empty(0, np.float32)
    assert flambeau.script(least)(nothing) == 1e30
    assert flambeau.script(halves)(nothing) == 0
    assert flambeau.script(until)(nothing) == 0


def begins_within(x: np.ndarray):
    s = 0.1  # no float32
    for v in x:
        s += v
    return s / 3


def begins_by_argument(x: np.ndarray, k: float):
    s = k
    for v in x:
        s += v
    return s / 3


def begins_in_a_branch(x: np.ndarray, c: bool):
    s = 0.5
    if c:
        s = x[0]
    return s * 0.1


@pytest.mark.parametrize("program", [begins_within, begins_by_argument, begins_in_a_branch], ids=lambda f: f.__name__)
def test_numbers_that_may_be_others_than_scalars_are_refused(program: Callable[..., Any]) -> None:
    more = () if program is begins_within else (1,) if program is begins_by_argument else (True,)
    with pytest.raises(CompileError, match=r"a Python float on one way here and np\.float32 on another.*np\.float32\("):
        flambeau.script(program)(np.ones(2, np.float32), *more)
    assert flambeau.script(program)(np.ones(2), *more) == program(np.ones(2), *more)


def test_programs_on_tensors_keep_torchscripts_rule() -> None:
    with pytest.raises(CompileError, match=r"(?s)'s' previously had type int.*let it begin as one, s = 0\.0"):

        @flambeau.script
        def total(n: int) -> float:
            s = 0
            for _ in range(n):
                s += 0.5
            return s
