"""Operators on whole complex arrays in native code give NumPy's elements, in new arrays and in place."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.codegen.graph.native import NativeFunction

Array = np.ndarray[Any, Any]
EDGES = [0.0, -0.0, 1.5, -2.0, np.inf, -np.inf, np.nan, 1e308, 1e-310]
SPECIAL = np.array([complex(x, y) for x, y in itertools.product(EDGES, EDGES)])


def add(x: np.ndarray, y: np.ndarray):
    return x + y


def subtract(x: np.ndarray, y: np.ndarray):
    return x - y


def multiply(x: np.ndarray, y: np.ndarray):
    return x * y


def divide(x: np.ndarray, y: np.ndarray):
    return x / y


def equal(x: np.ndarray, y: np.ndarray):
    return x == y


def negative(x: np.ndarray):
    return -x


def exp(x: np.ndarray):
    return np.exp(x)


def log(x: np.ndarray):
    return np.log(x)


def sqrt(x: np.ndarray):
    return np.sqrt(x)


def sin(x: np.ndarray):
    return np.sin(x)


def absolute(x: np.ndarray):
    return np.abs(x)


def conjugate(x: np.ndarray):
    return np.conj(x) + x.conj()


def with_numbers(x: np.ndarray):
    return 2 * x + 1j * x - x * (1 - 2j) + x / (1 + 1j)


def in_place(x: np.ndarray, y: np.ndarray):
    x *= y
    x += 2
    x -= y * 1j
    x /= 4
    x[1:] -= y[:-1]
    x[::2] = y[::2]
    return x


def _made(*shape: int) -> Array:
    rng = np.random.default_rng(sum(shape))
    return rng.normal(size=shape) + 1j * rng.normal(size=shape)


def _check(program: Callable[..., Any], *args: Array) -> None:
    fn = flambeau.script(program)
    for _ in range(4):  # interpreted at first, native from the third call on
        with np.errstate(all="ignore"):
            expected = program(*[a.copy(order="K") for a in args])
        found = fn(*[a.copy(order="K") for a in args])
        assert found.dtype == expected.dtype
        is_single = expected.dtype.itemsize < 16 and expected.dtype != bool
        for part in ("real", "imag"):
            theirs, ours = getattr(expected, part), getattr(found, part)
            np.testing.assert_allclose(ours, theirs, rtol=1e-6 if is_single else 1e-14, atol=1e-14)
    assert "native from end to end" in str(fn.explain())


@pytest.mark.parametrize("program", [add, subtract, multiply, divide, equal])
@pytest.mark.parametrize(
    "operands",
    [
        (_made(5), _made(5)), (_made(5), _made(5).real.copy()), (np.arange(5), _made(5)), (_made(4, 5), _made(5)),
        (_made(4, 5), _made(4, 1)), (_made(3, 1), _made(1, 4)), (_made(4, 5).T, _made(5, 4)),
        (_made(10)[::2], _made(5)), (_made(0), _made(0)), (SPECIAL, SPECIAL[::-1].copy()),
        (_made(5).astype(np.complex64), _made(5).astype(np.complex64)),
    ],
)  # fmt: skip
def test_two_arrays(program: Callable[..., Any], operands: tuple[Array, Array]) -> None:
    _check(program, *operands)


@pytest.mark.parametrize("program", [negative, exp, log, sqrt, sin, absolute, conjugate, with_numbers])
@pytest.mark.parametrize(
    "operand",
    [_made(7), _made(3, 4), _made(3, 4).T, _made(8)[::2], _made(0), _made(7).astype(np.complex64), SPECIAL],
)
def test_one_array(program: Callable[..., Any], operand: Array) -> None:
    _check(program, operand)


@pytest.mark.parametrize("size", [1, 2, 6, 9])
def test_arrays_are_changed_in_place(size: int) -> None:
    _check(in_place, _made(size), _made(size) + 1)


def test_sizes_that_do_not_fit_are_refused_with_the_line() -> None:
    fn = flambeau.script(multiply)
    for _ in range(4):
        fn(_made(3), _made(3))
        with pytest.raises(RuntimeError, match=r"x \* y[^E]*HERE\nValueError: operands could not be broadcast"):
            fn(_made(3), _made(4))


def transform(x: np.ndarray):
    n = len(x)
    y = x.astype(np.complex128)
    j = 0
    for i in range(1, n):
        bit = n >> 1
        while j & bit:
            j ^= bit
            bit >>= 1
        j |= bit
        if i < j:
            y[i], y[j] = y[j], y[i]
    size = 2
    while size <= n:
        half = size // 2
        w = np.exp(-2j * np.pi / size * np.arange(half))
        for s in range(0, n, size):
            odd = y[s + half : s + size] * w
            y[s + half : s + size] = y[s : s + half] - odd
            y[s : s + half] += odd
        size *= 2
    return y


def test_a_fast_fourier_transform_is_native() -> None:
    x = np.random.default_rng(0).normal(size=64)
    fn = flambeau.script(transform)
    np.testing.assert_allclose(fn(x), np.fft.fft(x), rtol=1e-12, atol=1e-12)
    assert "native from end to end" in str(fn.explain())


def spun(x: np.ndarray, z: complex, is_shifted: bool, n: int) -> np.ndarray:
    total = x * z
    for _ in range(n):
        total = np.exp(total * z) * is_shifted
    return total


def test_kernels_given_complex_numbers_and_bools_are_launched_by_native_code(monkeypatch: pytest.MonkeyPatch) -> None:
    fn, x = flambeau.script(spun), np.linspace(0.0, 1.0, 50)
    for z in (0.5j, 0.25 - 1j, 1.0 + 0j):
        for is_shifted in (True, False):
            np.testing.assert_allclose(fn(x, z, is_shifted, 3), spun(x, z, is_shifted, 3), rtol=1e-12, atol=1e-12)

    def refuse(*_: Any) -> int:
        raise AssertionError("native code asked Python")

    monkeypatch.setattr(NativeFunction, "serve", refuse)
    np.testing.assert_allclose(fn(x, 0.5j, True, 9), spun(x, 0.5j, True, 9), rtol=1e-12, atol=1e-12)


def recursive(x: np.ndarray) -> np.ndarray:
    n = len(x)
    if n == 1:
        return x
    even, odd = recursive(x[::2]), recursive(x[1::2])
    turned = np.exp(-2j * np.pi * np.arange(n // 2) / n) * odd
    return np.concatenate((even + turned, even - turned))


def test_a_recursive_transform_is_native() -> None:
    x = np.random.default_rng(0).normal(size=64) + 0j
    fn = flambeau.script(recursive)
    for _ in range(3):
        np.testing.assert_allclose(fn(x), np.fft.fft(x), rtol=1e-12, atol=1e-12)
    assert "native from end to end" in str(fn.explain())
