"""Axes, keywords and folds of functions of NumPy, writes to what goes backwards, parts that overlap: as NumPy does."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.util.errors import CompileError


def medians(x: np.ndarray, a: np.ndarray):
    flat = np.median(x), np.median(a), np.median(x, axis=0)
    return flat, np.median(a, axis=0), np.median(a, axis=1), np.median(a, -1)


def quantiles(x: np.ndarray, a: np.ndarray):
    flat = np.quantile(x, 0.5), np.percentile(x, 10, axis=0)
    return flat, np.quantile(a, 0.3, axis=0), np.percentile(a, 75, axis=1)


def distinct(x: np.ndarray, a: np.ndarray):
    counts, places = np.unique(x, return_counts=True), np.unique(a, return_inverse=True)
    return counts, places, np.unique(x, return_index=True), np.unique(a, return_counts=False), np.unique_counts(a)


def without_nans(x: np.ndarray, a: np.ndarray):
    return np.nanprod(x), np.nanmedian(a), np.nancumsum(a), np.nanargmax(a), np.nanargmin(x)


def along(x: np.ndarray, a: np.ndarray):
    ranges = np.ptp(a, axis=0), np.ptp(a), np.count_nonzero(a, axis=1), np.count_nonzero(x)
    means = np.average(a, axis=0), np.average(a, axis=1), np.average(a, 0, a * 0 + 1), np.average(x, weights=x * 0 + 1)
    order = np.argsort(x, kind="stable"), np.sort(x, kind="stable")
    return ranges, means, order, np.average(a, axis=1, weights=a[0] * 0 + 2)


def taken(x: np.ndarray, a: np.ndarray):
    parts = np.ediff1d(a), np.extract(a > 1, a), np.compress(x > 1, x), np.trim_zeros(x)
    parts_of = divmod(a, 2), divmod(7, x + 0.5), pow(a, 2)
    return parts, parts_of, np.vdot(x, x), np.fix(x), np.multiply(x, 2, x), x


def backwards(x: np.ndarray, a: np.ndarray):
    x[::-1] = x
    a[::-1, ::-2] = a[:, ::2].copy()
    a[::-1] = a[0]
    x[::-3] = 7
    x[::-1] -= 1
    a[:, ::-1] += a
    return x, a


def overlapping(x: np.ndarray, a: np.ndarray):
    x[1:] += x[:-1]
    x[:-1] *= x[1:]
    a += a[0]
    a[1:, 1:] -= a[:-1, :-1]
    np.putmask(a, a > 2, -1)
    return x, a


def folds(x: np.ndarray, a: np.ndarray):
    sums = np.add.reduce(x), np.add.reduce(a), np.add.reduce(a, axis=1), np.multiply.reduce(a, axis=0, keepdims=True)
    running = np.add.accumulate(x), np.minimum.accumulate(a), np.maximum.accumulate(a, axis=1)
    outer = np.add.outer(x, a), np.maximum.outer(x, x), np.subtract.outer(x, x)
    return sums, running, outer, np.maximum.reduce(a, 1), np.logical_or.reduce(a), np.logical_and.reduce(x)


TABLE = np.arange(12.0).reshape(3, 4) % 5
ODD = TABLE.copy()
ODD[0, 1], ODD[1] = np.nan, -np.inf
CASES = {
    "floats": (np.array([3.0, 1.0, 2.0, 1.0]), TABLE),
    "nans and zeros": (np.array([0.0, 3.0, np.nan, 2.0, np.nan, -0.0]), ODD[:, ::-1]),
    "ints": (np.array([2, -(2**62), 2]), np.arange(6).reshape(2, 3)),
    "infinities": (np.array([np.inf, -np.inf]), ODD.T),
    "strided": (np.arange(16.0)[::-2], np.arange(48.0).reshape(6, 8)[::2, 1::2]),
    "one": (np.array([5.0]), np.array([[0.0]])),
}
PROGRAMS = (medians, quantiles, distinct, without_nans, along, taken, backwards, overlapping, folds)


def flat(value: Any) -> list[Any]:
    return [inner for item in value for inner in flat(item)] if isinstance(value, tuple) else [value]


def copies(arguments: Any) -> Any:
    """Copies that lie as the arrays do."""
    return [np.lib.stride_tricks.as_strided(a.copy(order="K"), a.shape, a.copy(order="K").strides) for a in arguments]


@pytest.mark.parametrize("program", PROGRAMS)
def test_what_numpy_gives(program: Callable[..., Any]) -> None:
    script = flambeau.script(program, backend="native" if program in (backwards, overlapping) else "interpreter")
    for name, arguments in CASES.items():
        ours, theirs = copies(arguments), copies(arguments)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            expected = program(*theirs)
            found = script(*ours)
        for got, wanted in zip(flat(found), flat(expected), strict=True):
            assert np.asarray(got).dtype == np.asarray(wanted).dtype, name
            assert np.shape(got) == np.shape(wanted), name
            assert np.allclose(got, wanted, equal_nan=True, rtol=1e-12), name
        assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(ours, theirs, strict=True)), name


def test_nothing_has_a_median_of_nan() -> None:
    script = flambeau.script(medians, backend="interpreter")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (first, *_), rows, columns, _ = script(np.zeros(0), np.zeros((2, 0)))
    assert np.isnan(first)
    assert (rows.shape, columns.shape, bool(np.isnan(columns).all())) == ((0,), (2,), True)


def a_flag(x: np.ndarray, flag: bool):
    return np.unique(x, return_counts=flag)


def three_ways(x: np.ndarray):
    return np.add.reduce(x, initial=1.0)


@pytest.mark.parametrize(
    ("program", "text"),
    [
        (a_flag, "np.unique takes return_counts, return_index, return_inverse here as True or False, written out"),
        (three_ways, "np.add.reduce takes an array and an axis here"),
    ],
)
def test_what_is_refused_says_what_is_taken(program: Callable[..., Any], text: str) -> None:
    with pytest.raises(CompileError, match=text):
        flambeau.script(program)


def ranges(n: int, m: int, s: int):
    ints = np.arange(n, m), np.arange(-n), np.arange(n, m, s), np.arange(n, m, step=-2), np.arange(10)
    return ints, np.arange(n, m * 0.5, s), np.arange(m, n, -0.5), np.arange(0, n, 0.25), np.arange(n, dtype=np.int32)


def test_ranges_against_their_step_are_empty() -> None:
    fn = flambeau.script(ranges)
    for n, m, s in ((0, 1, 1), (3, -5, 2), (-4, 7, -1), (3, 3, -3), (-4, -5, 1)):
        ours, theirs = fn(n, m, s), ranges(n, m, s)
        for one, other in zip((*ours[0], *ours[1:]), (*theirs[0], *theirs[1:]), strict=True):
            np.testing.assert_array_equal(one, other)
            assert one.dtype == other.dtype


def windows(x: np.ndarray, a: np.ndarray):
    rows = np.lib.stride_tricks.sliding_window_view(x, 3)
    both = np.lib.stride_tricks.sliding_window_view(a, (2, 3)), np.lib.stride_tricks.sliding_window_view(a, 2, axis=-2)
    return rows.max(axis=1), rows, both, np.lib.stride_tricks.sliding_window_view(a, (2, 2), axis=(1, 1)), np.frexp(x)


def test_windows_are_views_with_their_axes_behind() -> None:
    scripted = flambeau.script(windows)
    hostile = np.array([np.inf, np.nan, -0.0]), np.ones((2, 4))
    for x, a in ((np.arange(6.0) - 2, np.arange(20).reshape(4, 5)), hostile):
        ours, theirs = ((*r[:2], *r[2], r[3], *r[4]) for r in (scripted(x, a), windows(x, a)))
        for one, other in zip(ours, theirs, strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)


def test_windows_need_a_size_for_each_axis() -> None:
    def few(a: np.ndarray):
        return np.lib.stride_tricks.sliding_window_view(a, 2)

    with pytest.raises(CompileError, match="takes a size for each axis, or for those that axis= names"):
        flambeau.script(few)(np.ones((3, 3)))


def blocks(a):
    return a.reshape(2, 2, 2, 2).swapaxes(1, 2).max(axis=(2, 3))


def test_what_arrays_alone_have_makes_a_program_on_arrays() -> None:
    a = np.arange(16).reshape(4, 4)
    np.testing.assert_array_equal(flambeau.script(blocks)(a), blocks(a))
