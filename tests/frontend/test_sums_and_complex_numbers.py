"""Sums of lists of arrays, complex numbers as arguments and their order, `np.errstate`: as NumPy and Python do."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.util.errors import CompileError


def displayed(x):
    return sum([x, x, x])


def generated(x):
    return sum(np.roll(x, k) for k in (-1, 0, 1) if k != 0)


def nested(x):
    return sum(np.roll(np.roll(x, i), j) for i in range(3) for j in range(2))


def begun(x):
    return sum([np.roll(x, k) for k in range(3)], 0.5)


def begun_by_array(x):
    return sum((np.roll(x, k) for k in range(3)), x)


def of_elements(x):
    return sum([x[k] for k in range(3)])


def no_arrays(x: np.ndarray, n: int):
    return sum(x for _ in range(n))


SUMS = (displayed, generated, nested, begun, begun_by_array, of_elements)


@pytest.mark.parametrize("x", [np.arange(4), np.arange(4.0), np.array([True, False, True, True])], ids=str)
@pytest.mark.parametrize("fn", SUMS, ids=lambda f: f.__name__)
def test_lists_of_arrays_are_added_up(fn: Callable[[Any], Any], x: Any) -> None:
    expected, result = fn(x), flambeau.script(fn)(x)
    assert np.array_equal(result, expected)
    assert np.asarray(result).dtype == np.asarray(expected).dtype


def test_an_empty_list_of_arrays_has_no_sum() -> None:
    fn = flambeau.script(no_arrays)
    assert np.array_equal(fn(np.arange(3.0), 2), [0, 2, 4])
    with pytest.raises(ValueError, match=r"sum\(\) of an empty list is its start, a number"):
        fn(np.arange(3.0), 0)


def ratios(x, y):
    with np.errstate(divide="ignore", invalid="warn"), np.errstate(all="ignore"):
        z = x / y
    return z


def raising(x):
    with np.errstate(all="raise"):
        return x / 0


def test_what_numpy_warns_of_is_nothing_in_programs() -> None:
    x, y = np.array([1.0, 0.0, -1.0]), np.zeros(3)
    assert np.array_equal(flambeau.script(ratios)(x, y), [np.inf, np.nan, -np.inf], equal_nan=True)
    with pytest.raises(CompileError, match=r"np\.errstate takes 'ignore', 'warn', 'print' and 'log' here"):
        flambeau.script(raising)(x)


def greater(x, y):
    return x > y


def at_least(x, y):
    return x >= y


def less(x, y):
    return x < y


def at_most(x, y):
    return x <= y


PARTS = (0.0, 1.0, np.nan, -0.0, np.inf)
LEFT, RIGHT = np.array(list(itertools.product([complex(a, b) for a in PARTS for b in PARTS], repeat=2))).T.copy()
PAIRS: list[tuple[Any, Any]] = [
    (LEFT, RIGHT), (LEFT, 0), (1, RIGHT), (LEFT, 1.0), (LEFT, 1j), (0.5j, LEFT), (LEFT, RIGHT.real), (LEFT.real, RIGHT),
    (LEFT.astype(np.complex64), RIGHT), (LEFT.reshape(25, 25), RIGHT[:25]), (LEFT[:0], RIGHT[:0]),
]  # fmt: skip


@pytest.mark.parametrize("fn", [greater, at_least, less, at_most], ids=lambda f: f.__name__)
def test_complex_numbers_are_ordered_by_their_parts(fn: Callable[..., Any]) -> None:
    scripted = flambeau.script(fn)
    for x, y in PAIRS:
        with warnings.catch_warnings(action="ignore"):
            expected = fn(x, y)
        assert np.array_equal(scripted(x, y), expected)


def product(x, c):
    return x * c + 1


def escape(z, c, n):
    for k in range(n):
        if abs(z) > 2:
            return k
        z = z * z + c
    return n


def grid(h, w):
    y, x = np.ogrid[-1.4 : 1.4 : h * 1j, -2 : 0.8 : w * 1j]
    return x + y * 1j, np.mgrid[0 : 1 : h * 1j], np.ogrid[0:3, 0:1:5j][0], np.mgrid[0 : 1 : 0.1, h:0:-1]


def one_place(h):
    return np.ogrid[2 : 3 : h * 1j], np.mgrid[2 : 3 : h * 1j, 0:2]


CALLS: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (product, (np.array([1.0, 2.0]), 1j)), (product, (np.array([1 + 2j], np.complex64), 1j)), (product, (2, 1j)),
    (product, (np.float32(2), 1j)), (escape, (0j, 0.3 + 0.5j, 50)), (escape, (0j, 0.3, 50)), (grid, (3, 4)),
    (grid, (7, 13)), (one_place, (1,)), (one_place, (0,)),
]  # fmt: skip


@pytest.mark.parametrize(("fn", "arguments"), CALLS)
def test_complex_numbers_are_arguments_and_steps(fn: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    results, expected = flambeau.script(fn)(*arguments), fn(*arguments)
    pairs = zip(results, expected, strict=True) if isinstance(expected, tuple) else [(results, expected)]
    for result, wanted in pairs:
        assert np.array_equal(result, wanted)
        assert np.asarray(result).dtype == np.asarray(wanted).dtype


def chosen(x: float):
    return np.where(x > 0, 1.0, 2.0)


def chosen_by_element(x):
    return np.where(x[0] > 0, x, 0), np.where(x[0] > 0, x[1], 0), np.where(np.isnan(x[1]), 0, x)


def without_nan(x):
    return np.where(np.isnan(x), 0, x)


def test_conditions_without_dimensions() -> None:
    for x in (np.array(np.nan), np.array(2.5), np.float64(2.0)):
        assert np.array_equal(flambeau.script(without_nan)(x), without_nan(x))
        assert flambeau.script(chosen)(float(x)) == chosen(float(x))
    results, expected = (fn(np.array([1.0, 2.0])) for fn in (flambeau.script(chosen_by_element), chosen_by_element))
    for result, wanted in zip(results, expected, strict=True):
        assert np.array_equal(result, wanted)
