"""Scalars of NumPy as arguments: what `+=` makes of one is another, of NumPy's dtype; and ints of Python that a dtype
of integers does not hold, which bound nothing or are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.codegen import available
from flambeau.jit.array_function import ArrayFunction

TENTHS, ONES, LARGE = np.full(3, 0.1), np.ones(3, np.int64), np.full(4, 2**33)


def kept(x, n):
    s = n
    s += 1
    return s, n


def kept_result(x, n):
    s = n * 2
    r = s
    s += x[0]
    return s, r


def scaled(x, n):
    n *= x[0]
    return n


def spread_out(x, n):
    n += x
    return n


def summed(x, n):
    s = n
    for v in x:
        s += v
    return s


def less(x, n):
    s = n
    s -= x.sum()
    return s


def in_a_branch(x, n):
    if x[0] > 0:
        n += x[0]
    return n


def raised(x, n):
    while n < 5:
        n += x[0]
    return n


def scaled_element(x, n, s):
    return x[n] * s


CALLS = [
    (kept, TENTHS, np.float32(1)), (kept, TENTHS, np.float64(1)), (kept, ONES, np.int8(1)),
    (kept_result, TENTHS, np.float64(2)), (kept_result, ONES, np.int64(2)),
    (scaled, TENTHS, np.float32(1)), (scaled, TENTHS, np.int64(1)), (scaled, np.full(2, 3), np.int8(100)),
    (spread_out, TENTHS, np.float32(1)), (spread_out, ONES, np.int64(1)),
    (summed, TENTHS * 1e-8, np.float32(1)), (summed, LARGE, np.int32(1)), (summed, TENTHS, np.float64(1)),
    (summed, TENTHS, np.int64(1)), (summed, TENTHS.astype(np.float32), np.float32(1)),
    (less, TENTHS, np.float32(2)), (in_a_branch, TENTHS, np.float64(1)), (in_a_branch, -TENTHS, np.float64(1)),
    (raised, ONES, np.int16(2)), (raised, ONES, np.uint8(2)), (raised, TENTHS, np.float64(2)),
]  # fmt: skip


def numbers(result: Any) -> Any:
    return [np.asarray(one) for one in result] if isinstance(result, tuple) else [np.asarray(result)]


@pytest.mark.parametrize(("function", "x", "n"), CALLS, ids=lambda v: getattr(v, "__name__", type(v).__name__))
def test_scalars_are_not_changed_in_place(function: Callable[..., Any], x: Any, n: Any) -> None:
    expected, scripted = numbers(function(x, n)), flambeau.script(function)
    for _ in range(3):
        result = numbers(scripted(x, n))
        assert [(r.dtype, r.shape) for r in result] == [(e.dtype, e.shape) for e in expected]
        assert all(map(np.array_equal, result, expected))


@pytest.mark.skipif(not available(), reason="there is no native code here")
def test_calls_with_scalars_go_by_native_code(monkeypatch: pytest.MonkeyPatch) -> None:
    scripted = flambeau.script(scaled_element)
    calls = [(ONES, np.int64(2), np.float32(3)), (TENTHS, 1, np.float64(2)), (TENTHS, np.int32(0), 4.0)]
    for x, n, s in calls:
        for _ in range(4):
            scripted(x, n, s)
        with monkeypatch.context() as patched:
            patched.setattr(ArrayFunction, "_call_by_pattern", None)
            for k in range(3):
                result = scripted(x * k, n, s)
                assert result == (x * k)[n] * s
                assert np.asarray(result).dtype == np.asarray(x[n] * s).dtype


def test_arrays_without_dimensions_are_changed_in_place() -> None:
    scripted = flambeau.script(kept)
    for n in (np.array(1.0), np.float64(1.0), np.array(1.0)):
        s, r = scripted(TENTHS, n)
        assert (s, r) == ((2.0, 2.0) if isinstance(n, np.ndarray) else (2.0, 1.0))
        assert not isinstance(n, np.ndarray) or n == 2.0


def test_another_dtype_where_it_matters_is_refused() -> None:
    with pytest.raises(flambeau.jit.CompileError, match=r"np.float32 on one way here and np.float64 on another"):
        flambeau.script(raised)(TENTHS, np.float32(2))


def larger(x, n):
    return np.maximum(x, n)


def smaller(x, n):
    return np.minimum(n, x)


def from_below(x, n):
    return np.clip(x, n, None)


def from_above(x, n):
    return x.clip(None, n)


def within_constants(x, n):
    return np.clip(x, -1, 300), x.clip(-(2**40), 3)


DTYPES = (np.uint8, np.int8, np.uint16, np.int32, np.uint64, np.int64)


@pytest.mark.parametrize("function", [larger, smaller, from_below, from_above, within_constants])
@pytest.mark.parametrize("dtype", DTYPES)
def test_ints_that_a_dtype_does_not_hold(function: Callable[..., Any], dtype: type) -> None:
    x, scripted = np.array([0, 5, 100], dtype), flambeau.script(function)
    for n in (3, -3, 300, -300, 2**40, -(2**62)):
        try:
            expected = numbers(function(x, n))
        except OverflowError as error:
            with pytest.raises(OverflowError, match=str(error)):
                scripted(x, n)
            continue
        result = numbers(scripted(x, n))
        assert [r.dtype for r in result] == [e.dtype for e in expected]
        assert all(map(np.array_equal, result, expected))


def test_constants_that_bind_everything_are_refused() -> None:
    def above(x):
        return np.clip(x, 300, None)

    with pytest.raises(flambeau.jit.CompileError, match="Python integer 300 out of bounds for uint8"):
        flambeau.script(above)(np.zeros(3, np.uint8))


LARGEST = np.array([2**64 - 1, 5], np.uint64)


def as_an_int(x):
    return int(x[0])


def as_an_int_of_all(x):
    return int(x.max())


def ints_of_all(x):
    s = 0
    for v in x.flat:
        s += int(v)
    return s


@pytest.mark.parametrize("function", [as_an_int, as_an_int_of_all, ints_of_all])
def test_ints_of_large_unsigned_numbers_are_refused(function: Callable[..., Any]) -> None:
    scripted = flambeau.script(function)
    for _ in range(3):
        with pytest.raises(OverflowError, match=r"a np\.uint64 of 18446744073709551615 does not fit into an int"):
            scripted(LARGEST)
        assert scripted(LARGEST[1:]) == 5


def truths(x):
    return x.any(), np.all(x), x.any(axis=0), np.all(x, axis=0, keepdims=True), np.logical_or.reduce(x)


def test_truths_of_bytes_are_bools() -> None:
    scripted = flambeau.script(truths)
    for x in (np.array([[250, 3], [7, 0]], np.uint8), np.zeros((0, 2), np.uint8), np.array([[2.5, 0.0]])):
        for expected, result in zip(truths(x), scripted(x), strict=True):
            assert np.asarray(result).dtype == np.bool_
            assert np.array_equal(result, expected)


def powers(x, n):
    return x**n, np.power(2, n), np.power(x, n)


def raised_in_place(x, n):
    x **= n
    return x


@pytest.mark.parametrize("function", [powers, raised_in_place])
def test_whole_powers_below_zero_are_refused(function: Callable[..., Any]) -> None:
    scripted = flambeau.script(function)
    for dtype in (np.int64, np.int8):
        x, n = np.array([2, -1, 3], dtype), np.array([0, 1, 2], dtype)
        for _ in range(3):
            for expected, result in zip(numbers(function(x.copy(), n)), numbers(scripted(x.copy(), n)), strict=True):
                assert (result.dtype, result.tolist()) == (expected.dtype, expected.tolist())
            with pytest.raises(ValueError, match="Integers to negative integer powers are not allowed"):
                scripted(x.copy(), n - 1)


def test_powers_of_floats_may_be_below_zero() -> None:
    def inverse(x, n):
        return x**n

    assert flambeau.script(inverse)(np.array([2.0, 4.0]), np.array([-1, -2])).tolist() == [0.5, 0.0625]
