"""Arrays backwards with names and as results: what NumPy gives, and refusals where a view could be told from a copy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.util.errors import CompileError


def named(x: np.ndarray):
    y = x[::-1]
    looks = y[0:2], len(y), y.sum(), np.median(y), y[-1]
    return y, looks, len(x[::-1]), np.dot(x[::-1], y), x[::-2][1:], 3.0 in x[::-1]


def after_writes(x: np.ndarray):
    x.sort()
    x[0] = 7
    y = np.flip(x)
    out = np.zeros(len(x))
    for i in range(len(y)):
        out[i] = y[i] * 2
    return out, y


def turned(x: np.ndarray):
    m = x[: len(x) // 2 * 2].reshape(2, -1)
    quarters = np.rot90(m), np.rot90(m, 2), np.rot90(m, k=3), np.rot90(m, -1), np.rot90(m, 1, (1, 0)), np.rot90(m, 4)
    return quarters, np.flipud(m), np.fliplr(m), np.flip(m), np.flip(m, axis=1), np.flipud(x), m[:, ::-1]


def in_turn(x: np.ndarray):
    total = 0.0
    for v in x[::-1]:
        total = total * 0.5 + v
    for _ in range(3):
        x = x[::-1] + 1
    return total, x, [v + 1 for v in x[::-1]]


def read_before_writes(x: np.ndarray):
    total = x[::-1].max()
    first = np.dot(x[::-1], x)
    x += x[::-1]
    x[0] = first
    return total, x


def of_its_own(x: np.ndarray):
    y = x[::-1]
    y = y * 2
    y[0] = 3
    z = x[::-1].copy()
    z[0] = 4
    return y, z, (x[::-1], x)


PROGRAMS = (named, after_writes, turned, in_turn, read_before_writes, of_its_own)


def flat(value: Any) -> list[Any]:
    return [inner for item in value for inner in flat(item)] if isinstance(value, tuple | list) else [value]


@pytest.mark.parametrize("backend", ["interpreter", "native"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_what_numpy_gives(program: Callable[..., Any], backend: str) -> None:
    script = flambeau.script(program, backend=backend)
    for array in (np.arange(6.0), np.arange(12.0)[1::3], np.array([np.nan, -0.0, np.inf, 2.0]), np.ones((4, 2))[:, 0]):
        ours, theirs = array.copy(), array.copy()
        with np.errstate(invalid="ignore"):  # of an infinity times zero, NumPy warns
            pairs = zip(flat(script(ours)), flat(program(theirs)), strict=True)
        for k, (found, expected) in enumerate(pairs):
            assert np.shape(found) == np.shape(expected), k
            assert np.array_equal(found, expected, equal_nan=True), k
        assert np.array_equal(ours, theirs, equal_nan=True)


def test_nothing_backwards_is_nothing() -> None:
    def nothing(x: np.ndarray):
        return x[::-1], np.flip(x)

    assert [a.shape for a in flambeau.script(nothing)(np.zeros((0, 3)))] == [(0, 3), (0, 3)]


def first_written(x: np.ndarray):
    y = x[::-1]
    x[0] = 3
    return y


def second_written(x: np.ndarray):
    y = np.fliplr(x.reshape(1, -1))
    y[0, 0] = 3
    return x


def sorted_in_place(x: np.ndarray):
    y = x[::-1]
    y.sort()
    return x


def in_a_loop(x: np.ndarray):
    y = x * 1
    for i in range(3):
        y = x[::-1]
        x[i] = y[0]
    return y


def under_another_name(x: np.ndarray):
    z = np.atleast_1d(x)
    y = x[::-1]
    z[0] = 5
    return y


def changed(x: np.ndarray) -> float:
    x[0] = 9.0
    return x.sum()


def by_a_function(x: np.ndarray):
    y = x[::-1]
    return changed(x), y


@pytest.mark.parametrize(
    "program", [first_written, second_written, sorted_in_place, in_a_loop, under_another_name, by_a_function]
)
def test_a_write_that_would_tell_is_refused(program: Callable[..., Any]) -> None:
    with pytest.raises(CompileError, match=r"one memory to NumPy, and two here.*: x\[::-1\].copy\(\) says"):
        flambeau.script(program)(np.arange(4.0))


def test_quarters_are_written_out() -> None:
    def by_a_number(x: np.ndarray, k: int):
        return np.rot90(x, k)

    with pytest.raises(CompileError, match=r"np.rot90 takes numbers that are written out"):
        flambeau.script(by_a_number)(np.ones((2, 2)), 1)
