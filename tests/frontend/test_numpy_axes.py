"""Functions of NumPy on arrays of several axes give what NumPy gives, and several arrays may be of several kinds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.util.errors import CompileError

rng = np.random.default_rng(1)
MATRIX, PLACES = rng.random((4, 6)), np.sort(rng.random(6))
SINGLES = MATRIX.astype(np.float32)


def areas(a: np.ndarray, x: np.ndarray, f: np.ndarray):
    of_rows = np.trapezoid(a), np.trapezoid(a, x), np.trapezoid(a, a), np.trapezoid(f), np.trapezoid(x)
    return of_rows, np.trapezoid(a, axis=0), np.trapezoid(a, x[:4], axis=0), np.trapezoid(a, axis=-2, dx=0.5)


def slopes(a: np.ndarray, x: np.ndarray, f: np.ndarray):
    down, across = np.gradient(a)
    along = np.gradient(a, axis=0), np.gradient(a, 0.25, axis=-1), np.gradient(a, x[:4], axis=0), np.gradient(x, x)
    return down, across, along, np.gradient(f, 0.5), np.gradient(a.reshape(2, 2, 6))


def medians(a: np.ndarray, x: np.ndarray, f: np.ndarray):
    of_all = np.median(a, keepdims=True), np.median(x, keepdims=True), np.median(a, keepdims=False)
    of_some = np.median(a, axis=1, keepdims=True), np.median(f, axis=0, keepdims=True)
    return of_all, of_some, a - np.median(a, axis=-1, keepdims=True), np.median(x, axis=0, keepdims=True)


def distinct(a: np.ndarray, x: np.ndarray, f: np.ndarray):
    y = np.array([3.0, 1.0, np.nan, 3.0, np.nan])
    two = np.unique(y, return_inverse=True, return_counts=True), np.unique(y, return_index=True, return_counts=True)
    three = np.unique(y, return_index=True, return_inverse=True, return_counts=True)
    return two, three, np.unique(y, return_index=True, return_inverse=True)


def flat(value: Any) -> list[Any]:
    """The arrays and numbers of nested tuples."""
    return [item for part in value for item in flat(part)] if isinstance(value, tuple | list) else [value]


@pytest.mark.parametrize("program", [areas, slopes, medians, distinct])
def test_what_numpy_gives(program: Callable[..., Any]) -> None:
    script = flambeau.script(program, backend="interpreter")
    expected, found = program(MATRIX, PLACES, SINGLES), script(MATRIX, PLACES, SINGLES)
    for got, wanted in zip(flat(found), flat(expected), strict=True):
        assert np.asarray(got).dtype == np.asarray(wanted).dtype
        assert np.shape(got) == np.shape(wanted)
        assert np.allclose(got, wanted, rtol=1e-5, equal_nan=True)


def totals(keys: np.ndarray, values: np.ndarray) -> dict[int, float]:
    sums = {}
    for k, v in zip(keys, values):  # noqa: B905
        sums[k] = sums.get(k, 0.0) + v
    return sums


def test_arrays_of_several_dtypes_are_no_reason_to_refuse_a_program_before_it_is_called() -> None:
    assert flambeau.script(totals)(np.array([1, 2, 1]), np.array([0.5, 1.0, 2.0])) == {1: 2.5, 2: 1.0}


def fitted(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.nosuch(x, y)  # type: ignore[attr-defined]


def weighed(image: np.ndarray) -> np.ndarray:
    return image * [0.3, 0.6, 0.1]


@pytest.mark.parametrize(
    ("program", "text", "line"),
    [(fitted, "nosuch", "np.nosuch"), (weighed, "make an array of the list with", "image * [")],
)
def test_what_is_refused_for_all_arrays_is_refused_at_once(program: Callable[..., Any], text: str, line: str) -> None:
    with pytest.raises(CompileError, match=text) as caught:
        flambeau.script(program)
    assert line in str(caught.value)


def test_slopes_of_four_axes_ask_for_one() -> None:
    def every(a: np.ndarray):
        return np.gradient(a)

    with pytest.raises(ValueError, match="more than three axes takes axis= here"):
        flambeau.script(every, backend="interpreter")(np.zeros((2, 2, 2, 2)))
