"""Ints of one way beside floats of another, in programs on arrays: compared with CPython on the same source."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.util.errors import CompileError


def branches(x, c):
    if c > 1:
        r = 0
    elif c < 0:
        r = x[0] / 2
    else:
        r = -3
    return r * 2


def pairs(x, c):
    if c > 1:
        up, down = x[1], 0
    else:
        up, down = 0, x[2]
    return up - down, up / 2


def choice(x, c):
    first = 0 if c > 1 else x[1]
    second = x[1] if c > 1 else -1
    return first + second, (1 if c > 1 else 0.5) / 2


def returns(x, c):
    if c > 1:
        return 0
    if c < 0:
        return x[1]
    return 7


def returns_pairs(x, c):
    if c > 1:
        return 0, 0.0
    return x[1], c


def helper(x, c):
    def slope(v):
        if v > 1:
            return 1
        return v / 2

    return slope(x[1]) + slope(c) + slope(0.25)


def complexes(x, c):
    z = 0 if c > 1 else complex(x[1], 2.0)
    w = x[1] * 1j if c > 1 else 0.5
    return z + w


def in_loops(x, c):
    total = 0.0
    for v in x:
        gain = v - 1 if v > 1 else 0
        if v > 2:
            weight = 1
        elif v > 1:
            weight = 0
        else:
            weight = 0.5
        total += gain * weight
    return total


def places(x, c):
    if c > 1:
        i = 1
        y = x[i]
    else:
        i = 0.5
        y = x[0]
    return y + i


def handled(x, c):
    try:
        if c > 1:
            raise ValueError("above")
        if c < 0:
            return x[1]
    except ValueError:
        return 0
    return 3


PROGRAMS = (handled, branches, pairs, choice, returns, returns_pairs, helper, complexes, in_loops, places)
ARRAYS = (np.array([0.5, 1.25, -2.5]), np.array([np.nan, np.inf, -0.0]), np.array([2.0, 3.0, 4.0]))


@pytest.mark.parametrize("backend", ["native", "interpreter"])
@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda fn: fn.__name__)
def test_numbers_of_both_ways_are_those_of_python(fn: Callable[..., Any], backend: Any) -> None:
    scripted = flambeau.script(fn, backend=backend)
    for x in ARRAYS:
        for c in (2, 0, -1):
            with np.errstate(invalid="ignore"):
                wanted = fn(x, c)
            np.testing.assert_array_equal(scripted(x, c), wanted, err_msg=str(c))


def test_results_are_of_one_type() -> None:
    assert [repr(flambeau.script(returns)(ARRAYS[0], c)) for c in (2, 0, -1)] == ["0.0", "7.0", "1.25"]


def test_float32s_stay_what_they_are_beside_ints() -> None:
    def clipped(x: np.ndarray):
        out = np.empty_like(x)
        for i in range(len(x)):
            out[i] = 0 if x[i] < 0 else x[i]
        return out

    x = np.array([0.1, -0.1, 0.3], np.float32)
    np.testing.assert_array_equal(flambeau.script(clipped)(x), clipped(x), strict=True)


def test_programs_on_tensors_have_one_type() -> None:
    def chosen(x: flambeau.Tensor, c: int):
        y = 1 if c > 1 else 1.0
        return x * y

    with pytest.raises(CompileError, match="if-expression's true branch has type int but false branch has type float"):
        flambeau.script(chosen)

    def texts(x: np.ndarray, c: int):
        y = 1 if c > 1 else "a"
        return y

    with pytest.raises(CompileError, match="true branch has type int but false branch has type str"):
        flambeau.script(texts)(np.ones(2), 1)


def test_texts_and_rounding_are_pythons() -> None:
    def told(x):
        text = ",".join([str(v) for v in x])
        form = "{} {}"
        return text.split(","), text, f"{x.sum()} {1.0}", str(0.1), form.format(x[0], x[1]), str(x.sum())

    def whole(x):
        n = len(x)
        return x[round(x[1] * 1.6)], round(2.7), round(2.5), round(n), pow(2, n), pow(2.0, n), pow(n, 2)

    def empty(x):
        return np.array([]), np.asarray([]), np.array([], dtype=np.int64), np.concatenate((x, np.array([])))

    x = np.array([0.5, 1.0, 2.0])
    assert flambeau.script(told)(x) == told(x)
    wanted = tuple(v.item() if isinstance(v, np.generic) else v for v in whole(x))
    assert repr(flambeau.script(whole)(x)) == repr(wanted)
    for got, wanted in zip(flambeau.script(empty)(x), empty(x), strict=True):
        np.testing.assert_array_equal(got, wanted, strict=True)
