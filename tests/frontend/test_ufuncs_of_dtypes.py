"""Ufuncs and folds by the dtypes of arrays: NumPy's results, and its refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.util.errors import CompileError
from tests.frontend.numpy_comparison import DTYPES, check_program

WITH_HALVES = (*DTYPES, np.float16, np.int8)


def signs(a):
    return np.sign(a)


def inverted(a):
    return np.invert(a)


def rounded(a):
    return np.floor(a), np.ceil(a), np.trunc(a)


def reciprocals(a):
    return np.reciprocal(a + a + 1), np.reciprocal(-a - a - 1)


def parts(a):
    return np.frexp(a)


def conjugated(a):
    return np.conj(a), np.conjugate(a)


def angles(a):
    return np.angle(a), np.angle(-a), np.angle(a * 0.0 * -1.0), np.angle(a, deg=True)


def bits(a):
    return np.bitwise_count(a), np.bitwise_count(a * 29)


def cardinal(a):
    return np.sinc(a), np.sinc(a * 0)


def real(a):
    return np.real_if_close(a)


def infinite(a):
    return np.isposinf(a), np.isneginf(a)


def of_no_axes(a):
    sums = np.sum(a, axis=()), np.prod(a, axis=()), np.mean(a, axis=())
    return sums, np.any(a, axis=()), a.all(axis=())


def products(a):
    return a @ a.T, np.dot(a[0], a[1]), np.inner(a, a), np.matmul(a, a[0]), a.dot(a.T)


def traces(a):
    return np.trace(a), a.trace(1), np.trace(a, dtype=np.complex128), np.trace(a[None] + a[:, :, None], 0, 1, 2)


def axes(a):
    squeezed = np.squeeze(a[None, :, None], axis=(0, -2)), a[None].squeeze((0,))
    return squeezed, np.flip(a, axis=(0, 1)), np.flip(a, (-1,))


def in_bools(a):
    return np.sum(a, dtype=np.bool_), np.prod(a, axis=0, dtype=bool), np.sum(a, axis=1, dtype=bool)


def appended(a):
    return np.append(a, [1, 2]), np.append(a[0], [1.5]), np.delete(a[0], a[0] == a[0, 0])


def spread(a):
    return np.var(a, axis=0, correction=1), np.std(a, ddof=1), np.std(a, axis=1, keepdims=True)


def spread_of_some(a):
    masked = np.std(a, where=a > 1), np.var(a, axis=0, where=a > 0), np.var(a, axis=1, keepdims=True, where=a[0] < 5)
    return masked, np.var(a, mean=np.mean(a)), np.std(a, axis=()), np.std(a, where=a < 7, dtype=np.float64, ddof=2)


@pytest.mark.parametrize(
    "program", [signs, inverted, rounded, reciprocals, parts, conjugated, angles, bits, cardinal, infinite, axes]
)
def test_ufuncs(program: Callable[..., Any]) -> None:
    check_program(program, [(3, 4)], WITH_HALVES)


@pytest.mark.parametrize("program", [of_no_axes, products, traces, in_bools, appended, spread])
def test_folds_and_products(program: Callable[..., Any]) -> None:
    check_program(program, [(4, 4)])


def test_spreads_of_some_elements() -> None:
    check_program(spread_of_some, [(4, 4)], (np.float64, np.int64, np.uint8, np.float32))


def test_bits_of_the_ends_of_ranges() -> None:
    scripted = flambeau.script(bits)
    for dtype in (np.int8, np.int16, np.int32, np.int64, np.uint16, np.uint64):
        ends = np.array([np.iinfo(dtype).min, np.iinfo(dtype).max, 0, 1], dtype)
        for a in (ends, ends[::-1].copy(), ends[:1]):
            with np.errstate(all="ignore"):
                wanted = np.bitwise_count(a)
            np.testing.assert_array_equal(scripted(a)[0], wanted)
            assert scripted(a)[0].dtype == np.uint8


def gaps(x):
    return np.spacing(x)


def test_gaps_between_numbers() -> None:
    scripted = flambeau.script(gaps)
    for dtype in (np.float64, np.float32, np.int64, np.uint8, np.int8):
        floats = [1.0, -2.5, 0.0, -0.0, np.inf, np.nan, 1e30, 1e-310]
        values = [1, 3, 100, 0] if np.dtype(dtype).kind in "iu" else floats
        for x in (np.array(values, dtype), np.array(values[:2], dtype)):
            with np.errstate(all="ignore"):
                wanted = np.spacing(x)
            assert scripted(x).dtype == wanted.dtype
            np.testing.assert_array_equal(scripted(x), wanted)


def test_reciprocals_of_zero_raise() -> None:
    def inverse(x):
        return np.reciprocal(x)

    scripted = flambeau.script(inverse)
    assert scripted(np.array([4, 1, -1, -2])).tolist() == [0, 1, -1, 0]
    with pytest.raises((ZeroDivisionError, RuntimeError), match=r"ZeroDivisionError|division by zero"):
        scripted(np.array([4, 0]))


def test_numbers_that_are_real_or_not_by_their_values_are_refused() -> None:
    scripted = flambeau.script(real)
    assert scripted(np.array([1.0, 2.0])).tolist() == [1.0, 2.0]
    with pytest.raises(TypeError, match=r"gives real ones or complex ones: write x\.real, or x"):
        scripted(np.array([1j]))


def largest(x):
    return np.max(x, axis=(0, 1))


def masked(x):
    return np.std(x, where=np.abs(x) > 1)


def whole(x):
    return np.std(x, dtype=np.int64)


@pytest.mark.parametrize(
    ("program", "text"),
    [
        (largest, "max of complex numbers takes one axis here"),
        (masked, "std of complex numbers takes no where=, mean= or axis="),
        (whole, "std takes a dtype of floats here, and of complex numbers one of these"),
    ],
)
def test_what_is_refused(program: Callable[..., Any], text: str) -> None:
    with pytest.raises(CompileError, match=text):
        flambeau.script(program)(np.ones((2, 2), np.complex128))


def test_ranges_of_complex_numbers() -> None:
    def extent(a):
        return np.ptp(a), np.ptp(a, axis=0), np.ptp(a, 1)

    check_program(extent, [(3, 4)], (np.complex128,))


def steps(x: flambeau.Tensor, y: flambeau.Tensor) -> flambeau.Tensor:
    return flambeau.nextafter(x, y) - x


def plain(x: flambeau.Tensor) -> flambeau.Tensor:
    return flambeau.nan_to_num(x)


@pytest.mark.parametrize("backend", ["native", "interpreter"])
def test_halves_keep_their_own_precision(backend: Any) -> None:
    scripted, finite = flambeau.script(steps, backend=backend), flambeau.script(plain, backend=backend)
    for values in ([1.0, 2.0, 0.5], [3.0, -1.0, 8.0, 16.0]):
        x = np.array(values, np.float16)
        wanted = np.nextafter(x, x + np.float16(1)) - x
        tensor = flambeau.tensor(x)
        assert scripted(tensor, tensor + 1).tolist() == wanted.tolist()
        assert (flambeau.nextafter(tensor, tensor + 1) - tensor).tolist() == wanted.tolist()
        x[0] = np.inf
        assert finite(flambeau.tensor(x)).tolist() == np.nan_to_num(x).tolist()


def in_complex(a):
    sums = np.sum(a, dtype=np.complex128), np.sum(a, axis=0, dtype=np.complex128)
    return sums, np.mean(a, axis=1, dtype=np.complex64), np.cumsum(a, axis=1, dtype=np.complex128)


def test_real_numbers_are_added_up_as_complex_ones() -> None:
    check_program(in_complex, [(3, 4)])
