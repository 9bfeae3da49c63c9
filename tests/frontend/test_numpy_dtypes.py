"""NumPy's functions in programs give NumPy's dtypes for ints and narrow floats."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau


def roots(x: np.ndarray):
    return np.cbrt(x)


def whole(x: np.ndarray):
    return np.modf(x)


def doubled(x: np.ndarray):
    return np.ldexp(x, 2)


def shifted(x: np.ndarray):
    return np.fft.fftshift(x), np.fft.ifftshift(x)


DTYPES = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.float16, np.float32, np.float64)


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: np.dtype(d).name)
@pytest.mark.parametrize("program", [roots, whole, doubled, shifted])
def test_results_have_numpys_dtypes(program: Callable[..., Any], dtype: Any) -> None:
    x = np.array([1, 2, 8, 27, 3], dtype)
    if np.dtype(dtype).kind == "f":
        x = x * dtype(0.5) - dtype(3)
    want = program(x)
    function = flambeau.script(program)
    for _ in range(3):
        got = function(x)
        for one, other in zip(*([r] if isinstance(r, np.ndarray) else r for r in (want, got)), strict=True):
            assert one.dtype == other.dtype
            assert np.allclose(one, other, rtol=1e-2 if one.dtype == np.float16 else 1e-6, equal_nan=True)


def filled(q: np.ndarray, k: int):
    q.fill(k)
    return q


def full(q: np.ndarray, k: int):
    return np.full(3, k, dtype=np.uint8)


def full_like(q: np.ndarray, k: int):
    return np.full_like(q, k)


def added(q: np.ndarray, k: int):
    q += k
    return q


def anded(q: np.ndarray, k: int):
    q &= k
    return q


def added_to_a_row(q: np.ndarray, k: int):
    q[1:] -= k
    return q


@pytest.mark.parametrize("program", [filled, full, full_like, added, anded, added_to_a_row])
def test_ints_that_a_dtype_has_no_room_for_are_refused(program: Callable[..., Any]) -> None:
    function = flambeau.script(program)
    for number in (-2, 256):
        for run in (program, function):
            with pytest.raises(OverflowError, match=f"Python integer {number} out of bounds for uint8"):
                run(np.array([1, 2, 3], np.uint8), number)
    assert function(np.array([1, 2, 3], np.uint8), 255).tolist() == program(np.array([1, 2, 3], np.uint8), 255).tolist()


def sums_of_parts(x: np.ndarray):
    return np.add.reduceat(x, [0, 3]), np.multiply.reduceat(x, [0, 2]), np.maximum.reduceat(x, [0, 2])


def shared(x: np.ndarray):
    return np.intersect1d(x, [1, 8, 900]), np.setdiff1d(x, [1])


def levels(x: np.ndarray):
    return np.nanquantile(x.reshape(1, -1), [0.25, 0.5], axis=1), np.nanquantile(x.reshape(1, -1), 0.5, axis=1)


CASES = [
    *((sums_of_parts, dtype) for dtype in DTYPES), *((shared, dtype) for dtype in (np.bool_, *DTYPES)),
    *((levels, dtype) for dtype in DTYPES if dtype is not np.float16),  # NumPy rounds between those
]  # fmt: skip


@pytest.mark.parametrize(("program", "dtype"), CASES, ids=lambda one: getattr(one, "__name__", str(one)))
def test_what_meets_other_dtypes_has_numpys(program: Callable[..., Any], dtype: Any) -> None:
    x = np.array([1, 2, 8, 100, 3]).astype(dtype)
    want, got = program(x), flambeau.script(program)(x)
    for one, other in zip(want, got, strict=True):
        assert one.dtype == other.dtype
        assert np.allclose(one, other)
