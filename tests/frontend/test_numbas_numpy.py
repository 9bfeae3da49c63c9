"""Functions of NumPy with arguments that people bring from Numba, beside NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.polynomial.polynomial as series
import pytest

import flambeau
from flambeau.util.errors import CompileError
from tests.frontend.numpy_comparison import check_program

REAL = (np.float64, np.int64, np.uint8, np.float32)


def polynomials(a, h):
    sums = series.polyadd(a, h), series.polysub(h, a), series.polymul(a, h)
    more = series.polyder(a, 2), series.polyint(a, m=2)
    return sums, series.polyint(a), series.polyder(a), series.polyval(1.5, h), more


def divided(a, h):
    return series.polydiv(a, h + 1), series.polydiv(h + 1, a + 1), series.polydiv(a, h[:1] + 1), np.polydiv(a, h + 1)


def by_zeros(a, h):
    return np.poly(h), np.poly(h[:, None] * h)


def inserted(a, h):
    more = np.insert(a, [1, 1, 0], a[:3]), np.insert(a, 1, [2, 3]), np.insert(a, [-1, 2], 1)
    return np.insert(a, np.array([0, 3]), 7), np.insert(a, [1, 3], [2, 3]), more


def taken(a, h):
    table = np.outer(a, h[:3])
    places = np.array([[0, 2], [1, -1]])
    return np.take(table, places), np.take(table, places, axis=1), table.take(places, axis=0), np.take(a, places[:, :1])


def along_axes(a, h):
    table, places = np.outer(a, h), np.array([[-1], [0], [1]])
    written, more = table[:3].copy(), table[:3].copy()
    np.put_along_axis(written, places, 1, axis=1)
    np.put_along_axis(more, places, table[:3, :1] + table[:3, 1:2], 1)
    lines = np.take_along_axis(table[:3], places, axis=1), np.take_along_axis(table, places[:2], axis=0)
    return written, more, lines, np.take_along_axis(a, np.array([2, -1, 0]), None)


def triangles(a, h):
    return np.triu(a), np.tril(a, -1), np.tri(len(a), dtype=np.int64), np.tri(3, 4, 1, dtype=np.float32), np.tri(2)


def filled(a, h):
    tall, square = np.zeros((7, 3)), np.outer(a, a)
    np.fill_diagonal(tall, 4, wrap=True)
    np.fill_diagonal(square, 1)
    return tall, square, np.full((2, 2), a[:2]), np.full((3, 2), a[:2], dtype=np.complex64)


def masked(a, h):
    first, second, third = a.copy(), a.copy(), a.copy()
    np.putmask(first, a > 1, a[::-1].copy())
    np.putmask(second, a > 1, h[:2])
    np.copyto(third, h[0], where=a < 3)
    return first, second, third


def arranged(a, h):
    table = np.asfortranarray(np.outer(a, h))
    same = np.asfortranarray(a), np.asanyarray(a), np.asanyarray([1, 2], dtype=np.float32)
    return table, table.flags.f_contiguous, *same


def asked(a, h):
    kinds = np.issubdtype(a.dtype, np.floating), np.issubdtype(a.dtype, np.integer), np.can_cast(a.dtype, np.float64)
    return kinds, np.isscalar(a), np.isscalar(1.5), np.iterable(a), np.zeros(2, np.promote_types(a.dtype, np.float32))


@pytest.mark.parametrize(
    "program",
    [polynomials, divided, by_zeros, inserted, taken, along_axes, triangles, filled, masked, arranged, asked],
)
def test_what_numpy_gives(program: Callable[..., Any]) -> None:
    check_program(program, [(6,), (4,)], REAL)


def windows(n: int, x: float):
    repeated = np.broadcast_to(x, (2, 2)), np.repeat(x, 3), np.tile(n, 2), np.broadcast_to(n, (2, 3))
    return np.kaiser(n, x), np.kaiser(1, 2.0), np.kaiser(0, 2.0), *repeated


def test_windows_and_repeated_numbers() -> None:
    scripted = flambeau.script(windows)
    for n, x in ((5, 3.0), (5, 0.0), (12, 8.5)):
        for one, other in zip(scripted(n, x), windows(n, x), strict=True):
            assert np.asarray(one).dtype == other.dtype
            np.testing.assert_allclose(one, other, rtol=1e-12)


def finite(x):
    return np.asarray_chkfinite(x)


def outside(x):
    return np.insert(x, [9], 1.0)


def short(x):
    return np.delete(x, np.array([True]))


def in_columns(x):
    return np.insert(x.reshape(1, -1), [0, 1], 1.0, axis=1)


@pytest.mark.parametrize(
    ("program", "bad", "error", "text"),
    [
        (finite, np.array([1.0, np.inf]), ValueError, "array must not contain infs or NaNs"),
        (outside, np.ones(3), IndexError, "index is out of bounds for axis 0 with size 3"),
        (short, np.ones(3), ValueError, "must be one dimensional and match the axis length of 3"),
        (in_columns, np.ones(3), ValueError, "several places takes no axis= here"),
        (by_zeros, np.array([1j, 2.0]), TypeError, "gives a real polynomial or a complex one: pass real numbers here"),
        (divided, np.zeros(0), ValueError, "Coefficient array is empty"),
    ],
)
def test_what_raises(program: Callable[..., Any], bad: np.ndarray, error: type[Exception], text: str) -> None:
    scripted = flambeau.script(program)
    more = (bad,) * (program.__code__.co_argcount - 1)
    with pytest.raises(error, match=text):
        scripted(bad, *more)


def kinds(x):
    return np.isdtype(x.dtype, "real floating"), np.isdtype(x.dtype, np.float64), np.isdtype(x.dtype, "integral")


@pytest.mark.skipif(not hasattr(np, "isdtype"), reason="a function of NumPy 2")
def test_kinds_of_dtypes() -> None:
    scripted = flambeau.script(kinds)
    for dtype in (np.float64, np.int8, np.complex64, np.float32):
        assert scripted(np.ones(2, dtype)) == kinds(np.ones(2, dtype))


def of_an_array(x):
    return np.issubdtype(x, np.floating)


def to_nothing(x):
    return np.can_cast(x.dtype, "no dtype")


@pytest.mark.parametrize(
    ("program", "text"),
    [
        (of_an_array, "np.issubdtype: Cannot construct a dtype from an array"),
        (to_nothing, "np.can_cast: data type 'no dtype' not understood"),
    ],
)
def test_questions_that_are_refused(program: Callable[..., Any], text: str) -> None:
    with pytest.raises(CompileError, match=text):
        flambeau.script(program)(np.ones(3))
