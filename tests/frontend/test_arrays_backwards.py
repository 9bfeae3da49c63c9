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


BOUNDS = ((8, 2), (2, 8), (-3, 2), (3, -1), (3, 3), (-1, -5), (100, -100), (-100, 0), (0, 0), (-1, 0))


def between(x: np.ndarray, a: int, b: int):
    ends = x[a::-1] * 1, x[:b:-1] * 1, x[a::-3] * 1, x[:b:-2] * 1
    written = [x[:-1:-1] * 1, x[-1::-1] * 1, x[0::-1] * 1, x[:0:-1] * 1, x[-100::-1] * 1, x[100:-100:-2] * 1]
    return x[a:b:-1] * 1, x[a:b:-2] * 1, ends, written, x[a:b:-1].sum(), len(x[a:b:-2])


def beside_others(m: np.ndarray, i: int):
    ends = m[..., ::-1] * 1, m[::-1, ...] * 1, m[..., ::-1, None] * 1, m[..., i, ::-1] * 1, m[..., ::-1, i] * 1
    return m[i, ::-1] * 1, m[::-1, i] * 1, m[None, ::-1] * 1, m[::-1, None, ::-2] * 1, m[i:0:-1, 1:] * 1, ends


def written_between(x: np.ndarray, a: int, b: int):
    y, z = x.copy(), x.copy()
    y[a:b:-1] += 1
    z[a:b:-2] = 7
    z[:2:-3] *= 2
    y[:3:-1] = x[: len(y[:3:-1])]
    return y, z


def recurrence(r: np.ndarray, order: int):
    a = np.zeros(order + 1)
    a[0], error = 1.0, r[0]
    for i in range(1, order + 1):
        k = -(r[i] + np.dot(a[1:i], r[i - 1 : 0 : -1])) / error
        a[1 : i + 1] += k * a[i - 1 :: -1][:i]
        error *= 1 - k * k
    return a, error


@pytest.mark.parametrize("backend", ["interpreter", "native"])
@pytest.mark.parametrize("program", [between, written_between])
def test_slices_backwards_with_bounds(program: Callable[..., Any], backend: str) -> None:
    script = flambeau.script(program, backend=backend)
    for array in (np.arange(12.0), np.arange(5.0), np.arange(1.0), np.arange(0.0), np.arange(30.0)[::2]):
        for a, b in BOUNDS:
            for found, expected in zip(flat(script(array, a, b)), flat(program(array, a, b)), strict=True):
                assert np.shape(found) == np.shape(expected), (a, b)
                assert np.array_equal(found, expected), (a, b)


@pytest.mark.parametrize("backend", ["interpreter", "native"])
def test_slices_backwards_beside_other_indexes(backend: str) -> None:
    script = flambeau.script(beside_others, backend=backend)
    for m in (np.arange(12.0).reshape(3, 4), np.arange(20.0).reshape(5, 4)[::2], np.arange(6.0).reshape(2, 3).T):
        for i in (1, -1, 0):
            for found, expected in zip(flat(script(m, i)), flat(beside_others(m, i)), strict=True):
                assert np.shape(found) == np.shape(expected)
                assert np.array_equal(found, expected)


def test_a_recurrence_that_reads_backwards_what_it_writes() -> None:
    script = flambeau.script(recurrence)
    for r, order in ((np.exp(-np.arange(30) * 0.3), 25), (np.array([1.0, 0.5, 0.3, 0.2]), 3), (np.ones(3) / 2, 1)):
        for found, expected in zip(script(r, order), recurrence(r, order), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


def test_backwards_beside_places_is_refused() -> None:
    def places(m: np.ndarray, where: np.ndarray):
        return m[where, ::-1]

    with pytest.raises(CompileError, match=r"slices of arrays go forward here: np.flip\(x, 0\)"):
        flambeau.script(places)(np.ones((3, 3)), np.array([0, 2]))


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
