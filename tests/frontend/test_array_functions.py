"""What NumPy's users reach for: functions that join, split, search and compare arrays, with their arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.util.errors import CompileError

rng = np.random.default_rng(5)
PAIR, ROW, PLACES = rng.normal(size=(2, 3)), np.array([3.0, 1.0, 2.0, 5.0]), np.array([2, 0, 1, 1])
MATRIX = np.array([[2.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 4.0]])


def joined(v: np.ndarray, i: np.ndarray):
    ends = np.append(v, 3.0), np.append(i, v), np.append(i, 1.5)
    return ends, np.insert(v, 1, 9.0), np.insert(v, -1, 9.0), np.delete(v, 1), np.delete(v, -1)


def split(v: np.ndarray, x: np.ndarray):
    halves, thirds = np.split(v, 2), np.array_split(v, 3)
    return halves[0], halves[1], thirds[0], thirds[1], thirds[2], np.atleast_2d(v), np.atleast_2d(x), np.atleast_1d(v)


def searched(v: np.ndarray, i: np.ndarray):
    sorted_ = np.sort(v)
    left, right = np.searchsorted(sorted_, 2.0), np.searchsorted(sorted_, 2.0, side="right")
    bounds = np.array([1.0, 3.0])
    return left, right, np.digitize(v, bounds), np.digitize(v, bounds, right=True), np.isin(i, np.array([1, 2]))


def sets(i: np.ndarray, v: np.ndarray):
    others = np.array([1, 7])
    return np.union1d(i, others), np.intersect1d(i, others), np.setdiff1d(i, others), max(v), min(v), max(i)


def compared(v: np.ndarray, x: np.ndarray):
    near, far = np.allclose(v, v + 1e-9), np.allclose(v, v + 1.0, atol=0.5)
    return near, far, np.array_equal(v, v), np.array_equal(v, x), np.array_equal(v, v[1:])


def chosen(v: np.ndarray, x: np.ndarray):
    steps = np.select([v < 2, v < 4], [v, v * 2], default=9.0), np.select([v > 4], [v]), np.heaviside(v - 2, 0.5)
    return steps, np.take_along_axis(x, np.argsort(x, axis=1), axis=1), np.sinc(v - 2), np.broadcast_to(v, (2, 4))


def counted(i: np.ndarray, v: np.ndarray):
    weighed = np.bincount(i, weights=v), np.bincount(i, v, 6), np.bincount(i, minlength=5)
    return weighed, np.diff(v, n=2), np.diff(v, 2), np.average(v, weights=i), np.average(v)


def products(m: np.ndarray, v: np.ndarray, x: np.ndarray):
    sums = np.einsum("ij,jk->ki", m, m), np.einsum("ii->i", m), np.kron(x, x), np.inner(v, v), np.cross(x[0], x[1])
    return sums, np.polyval(v, 2.0), np.polyval(v, x), np.moveaxis(x, 0, 1), np.ascontiguousarray(x.T)


def convolved(v: np.ndarray):
    k = np.array([1.0, 2.0, 1.0])
    same = np.convolve(v, k, mode="same"), np.convolve(v, k[:2], "same"), np.convolve(k, v, "same")
    slid = np.correlate(v, k), np.correlate(v, k, "same"), np.correlate(v, k[:2], "same"), np.correlate(v, k, "full")
    return same, slid, np.convolve(v, k, "valid")


def transformed(v: np.ndarray, x: np.ndarray):
    across = np.fft.fft2(x).real, np.fft.fft(x, axis=0).imag, np.fft.fftshift(v)
    return across, np.fft.fft(v).real, np.fft.ifft(v).imag, np.fft.rfft(v).real, np.fft.irfft(np.fft.rfft(v))


def made_like(x: np.ndarray):
    arrays = np.zeros_like(x, dtype=int), np.ones_like(x, dtype=np.float32), np.full_like(x, 2, dtype="int64")
    return arrays, np.finfo(np.float64).eps, np.iinfo(np.int32).max


def written(m: np.ndarray, v: np.ndarray):
    np.fill_diagonal(m, 7.0)
    np.copyto(m[0], v[:3])
    return m


CASES: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (joined, (ROW, PLACES)), (split, (ROW, PAIR)), (searched, (ROW, PLACES)), (sets, (PLACES, ROW)),
    (compared, (ROW, PAIR)), (chosen, (ROW, PAIR)), (counted, (PLACES, ROW)), (products, (MATRIX, ROW, PAIR)),
    (convolved, (ROW,)), (transformed, (ROW, PAIR)), (made_like, (PAIR,)), (written, (MATRIX, ROW)),
]  # fmt: skip


def flat(value: Any) -> list[Any]:
    if isinstance(value, tuple | list):
        return [item for part in value for item in flat(part)]
    return [value]


@pytest.mark.parametrize(("function", "arguments"), CASES)
def test_functions_give_what_numpy_gives(function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    expected = flat(function(*[a.copy() for a in arguments]))
    scripted = flambeau.script(function)
    for _ in range(2):
        found = flat(scripted(*[a.copy() for a in arguments]))
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(np.asarray(one), np.asarray(other), rtol=1e-12, atol=1e-14)
            assert np.asarray(one).dtype == np.asarray(other).dtype or np.ndim(other) == 0


def test_arguments_that_nothing_looks_at_are_refused() -> None:
    def stable(v: np.ndarray) -> np.ndarray:
        return np.sort(v, order="x")

    def by_axis(x: np.ndarray) -> np.ndarray:
        return np.count_nonzero(x, 1, True)

    with pytest.raises(CompileError, match=r"np.sort: the keyword 'order' has no form"):
        flambeau.script(stable)(ROW)
    with pytest.raises(CompileError, match=r"np.count_nonzero takes at most 2 argument\(s\) by their places here"):
        flambeau.script(by_axis)(PAIR)
    with pytest.raises(IndexError, match="index 9 is out of bounds for axis 0 with size 4"):
        flambeau.script(deleted_behind)(ROW)


def deleted_behind(v: np.ndarray) -> np.ndarray:
    return np.delete(v, 9)


def test_parts_of_arguments_outlive_the_arguments() -> None:
    def diagonal(m: np.ndarray):
        return m @ m, np.diagonal(m), m[::2, 1:]

    scripted = flambeau.script(diagonal)
    for _ in range(5):
        found = scripted(MATRIX.copy())
        others = [np.full((3, 3), 7.0) for _ in range(4)]  # takes the memory of what is gone
        np.testing.assert_array_equal(found[1], np.diagonal(MATRIX))
        np.testing.assert_array_equal(found[2], MATRIX[::2, 1:])
        assert len(others) == 4


def in_lists(x: np.ndarray):
    rows = []
    for k in range(3):
        rows.append(x[k] * k)
    joined = np.array(rows), np.stack(rows), np.stack(rows, axis=1), np.concatenate(rows)
    joined_too = np.vstack(rows), np.hstack(rows)
    return joined, joined_too, np.array(rows, dtype=np.float32), np.array([r * 2 for r in x])


def parts_in_lists(x: np.ndarray):
    return np.concatenate([x[k : k + 1] for k in range(3)]), np.vstack([x[k : k + 1] for k in range(3)])


@pytest.mark.parametrize("function", [in_lists, parts_in_lists])
def test_lists_of_arrays_are_joined(function: Callable[..., Any]) -> None:
    x = np.arange(12.0).reshape(3, 4)
    scripted = flambeau.script(function)
    for _ in range(2):
        for found, expected in zip(flat(scripted(x)), flat(function(x)), strict=True):
            np.testing.assert_array_equal(found, expected)
            assert found.dtype == expected.dtype


def smoothed(x: np.ndarray, weights: np.ndarray):
    return np.convolve(x, weights), np.convolve(x, weights, "same")


def test_convolutions_run_natively() -> None:
    function = flambeau.script(smoothed)
    rng = np.random.default_rng(4)
    sizes = (30, 5, np.float64), (4, 9, np.float64), (7, 7, np.float32), (12, 3, np.int64), (1, 1, np.float64)
    for size, other, dtype in sizes:
        x, weights = (rng.integers(-9, 9, n).astype(dtype) for n in (size, other))
        for _ in range(4):
            for got, want in zip(function(x, weights), smoothed(x, weights), strict=True):
                assert got.dtype == want.dtype
                np.testing.assert_array_equal(got, want)
        x, weights = x[::-1].copy(), weights + dtype(1)
    assert "native from end to end" in str(function.explain())
