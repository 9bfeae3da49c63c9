"""Complex scalars of NumPy: products, quotients and powers rounded as by NumPy, on both paths; the order of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.util.errors import CompileError

_RANDOM = np.random.default_rng(5)
USUAL = (_RANDOM.normal(size=12) + 1j * _RANDOM.normal(size=12)) * 10.0 ** _RANDOM.integers(-3, 3, 12)
HOSTILE = np.array(
    [0j, complex(-0.0, 0), complex(np.inf, 1), complex(np.nan, 2), complex(1, np.inf), 1j, 1e200 + 1e200j]
)


def arithmetic(x: np.ndarray, y: np.ndarray):
    out = np.zeros((len(x), len(y), 10), dtype=x.dtype)
    for i in range(len(x)):
        for j in range(len(y)):
            out[i, j, 0] = x[i] * y[j]
            out[i, j, 1] = x[i] / y[j]
            out[i, j, 2] = x[i] ** 2
            out[i, j, 3] = x[i] ** 3
            out[i, j, 4] = x[i] ** -1
            out[i, j, 5] = x[i] ** 5
            out[i, j, 6] = 2 / y[j]
            out[i, j, 7] = x[i] ** -7
            out[i, j, 8] = x[i] ** 0
            out[i, j, 9] = x[i] * 3
    return out


def powers(x: np.ndarray, y: np.ndarray):
    out = np.zeros((len(x), len(y), 3), dtype=x.dtype)
    for i in range(len(x)):
        for j in range(len(y)):
            out[i, j, 0] = x[i] ** y[j]
            out[i, j, 1] = x[i] ** 0.5
            out[i, j, 2] = x[i] ** (0.3 + 0.2j)
    return out


@pytest.mark.parametrize("fn", [arithmetic, powers], ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", [np.complex128, np.complex64], ids=lambda d: d.__name__)
@pytest.mark.parametrize("backend", ["native", "interpreter"])
@pytest.mark.filterwarnings("ignore")
def test_complex_scalars_are_rounded_as_by_numpy(fn: Any, dtype: Any, backend: str) -> None:
    scripted = flambeau.script(fn, backend=backend)
    for x, y in ((USUAL, USUAL[::-1]), (USUAL, HOSTILE), (HOSTILE, HOSTILE)):
        x, y = x.astype(dtype), y.astype(dtype)
        with np.errstate(all="ignore"):
            expected = fn(x, y)
        np.testing.assert_array_equal(scripted(x, y), expected)


def extremes(x: np.ndarray):
    return (
        x.max(),
        np.min(x),
        np.argmax(x),
        x.argmin(),
        np.sort(x),
        np.argsort(x),
        np.maximum(x, x[::-1].copy()),
        np.minimum(x, 1.0),
    )


def along_axes(x: np.ndarray):
    y = x.copy()
    y.sort(axis=0)
    return (
        y,
        np.sort(x, axis=None),
        x.max(axis=0),
        x.min(axis=1, keepdims=True),
        np.argmax(x, axis=0),
        np.argsort(x, axis=0),
    )


@pytest.mark.parametrize(("fn", "x"), [
    (extremes, np.array([1.1 + 2.3j, -0.7 + 0.9j, 1.1 + 2.4j, -0.7 + 0.9j])),
    (extremes, np.array([1j, complex(2, np.nan), complex(np.nan, 1), complex(1, np.nan), complex(np.nan, np.nan), 0j])),
    (along_axes, np.array([[1.1 + 2.3j, 4j, 0j], [1.1 + 2.4j, -4j, 1 + 0j]], np.complex64)),
])  # fmt: skip
def test_extremes_and_sorts_of_complex_numbers_are_numpys(fn: Any, x: Any) -> None:
    for result, expected in zip(flambeau.script(fn)(x), fn(x), strict=True):
        np.testing.assert_array_equal(result, expected)
        assert np.asarray(result).dtype == np.asarray(expected).dtype or not isinstance(result, np.ndarray)


def test_what_extremes_of_complex_numbers_refuse() -> None:
    def largest(x: np.ndarray):
        return x.max(initial=0.0)

    with pytest.raises(CompileError, match=r"max of complex numbers has no keyword 'initial' here: take it of x.real"):
        flambeau.script(largest)(USUAL)
    with pytest.raises(ValueError, match="zero-size array to reduction operation"):
        flambeau.script(extremes)(USUAL[:0])
