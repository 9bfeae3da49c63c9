"""Complex numbers in loops, and elements of complex arrays: native code beside CPython and NumPy."""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

import flambeau
from tests.codegen.graph.one_meaning import agree, assert_native

PARTS = [0.0, -0.0, 1.0, -1.5, math.inf, -math.inf, math.nan, 1e308, 5e-324, -1e-310, 0.7, 1.2, 720.0, -720.0, 1e200]


def arithmetic(z: complex, n: int) -> list[complex]:
    out = [z]
    for _ in range(n):
        out.append(z * z - 2.5)
        out.append((z + 3) / (0.5 - 2j) - (1 + 1j) / (z + 1j))
        out.append(z**3 + z.conjugate() * 2)
        out.append(complex(abs(z), z.imag) - z.real)
        out.append(-z)
        if z == out[0]:
            z = z * 0.5 + 1j
    return out


def powers(z: complex, n: int) -> list[complex]:
    out = [z]
    for _ in range(n):
        out.append(z**2)
        out.append(z**-2)
        out.append(z**0)
        out.append(z**0.5)
        out.append(z**101)
    return out


def functions(z: complex, n: int) -> list[complex]:
    out = [z]
    for _ in range(n):
        out += [cmath.exp(z), cmath.log(z), cmath.sqrt(z)]
        out += [cmath.sin(z), cmath.cos(z), cmath.tan(z), cmath.sinh(z), cmath.cosh(z), cmath.tanh(z)]
        out += [complex(cmath.phase(z), 0.0), cmath.rect(z.real, z.imag)]
    return out


def in_python(function: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except (ValueError, OverflowError, ZeroDivisionError):
        return None


@pytest.mark.parametrize("function", [arithmetic, powers, functions])
def test_complex_numbers_are_those_of_cpython_to_the_bit(function: Callable[..., Any]) -> None:
    scripted = flambeau.script(function)
    interpreted = flambeau.script(function, backend="interpreter")
    rng = np.random.default_rng(0)
    usual = rng.normal(size=(40, 2)) * 10.0 ** rng.uniform(-3, 2, size=(40, 1))
    for re, im in [*usual.tolist(), *product(PARTS, PARTS)]:
        z = complex(re, im)
        expected = in_python(function, z, 1)
        try:
            meant = repr(interpreted(z, 1))
        except Exception as error:
            meant = str(error)
        try:
            found = repr(scripted(z, 1))
        except Exception as error:
            found = str(error)
        assert found == meant, z
        assert expected is None or found == repr(expected), z
    assert_native(scripted)


def mandelbrot(w: int, h: int, most: int) -> np.ndarray:
    out = np.zeros((h, w), np.int64)
    for j in range(h):
        for i in range(w):
            c, z, k = complex(3.0 * i / w - 2.0, 2.0 * j / h - 1.0), 0j, 0
            while k < most and abs(z) < 2.0:
                z = z * z + c
                k += 1
            out[j, i] = k
    return out


def butterflies(x: np.ndarray) -> np.ndarray:
    n, y, m = len(x), x.copy(), 2
    while m <= n:
        step = np.exp(-2j * np.pi / m)
        for k in range(0, n, m):
            w = 1.0 + 0j
            for j in range(k, k + m // 2):
                t, u = w * y[j + m // 2], y[j]
                y[j], y[j + m // 2] = u + t, u - t
                w *= step
        m *= 2
    return y


def sums(x: np.ndarray) -> np.ndarray:
    out = np.zeros_like(x)
    for k in range(len(x)):
        s = 0j
        for t in range(len(x)):
            s += x[t] * np.exp(-2j * np.pi * k * t / len(x))
        out[k] = s
    return out


def scaled(a: np.ndarray, g: complex) -> np.ndarray:
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            a[i, j] *= g
            a[i, j] += 1
            if a[i, j].real > 1:
                a[i, j] = 2.0
            a[i, j] = np.conj(a[i, j])
    return a


def product_of(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    c = np.zeros((a.shape[0], b.shape[1]), dtype=a.dtype)
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            for k in range(a.shape[1]):
                c[i, j] += a[i, k] * b[k, j]
    return c


def parts(a: np.ndarray) -> float:
    total, re = 0.0, a.real
    for i in range(len(re)):
        total += re[i] * a.imag[i] + abs(a[i]) ** 2 + np.angle(a[i])
    return total


def copied(a: np.ndarray) -> np.ndarray:
    out = np.empty(len(a), dtype=np.complex64)
    for i, z in enumerate(a[::2].copy()):
        out[2 * i] = z
        out[2 * i + 1] = i
    return out


def cases() -> list[tuple[Callable[..., Any], tuple[Any, ...], float]]:
    rng = np.random.default_rng(1)

    def some(*sizes: int) -> Any:
        return rng.normal(size=sizes) + 1j * rng.normal(size=sizes)

    return [
        (mandelbrot, (12, 8, 30), 0), (butterflies, (some(16),), 1e-14), (sums, (some(8),), 1e-13),
        (scaled, (some(3, 4), 1.5 - 0.5j), 1e-15), (scaled, (some(8, 9).astype(np.complex64)[::2, ::-2], 0.5j), 1e-6),
        (product_of, (some(4, 5), some(5, 3)), 1e-13), (parts, (some(9),), 1e-13),
        (parts, (some(9).astype(np.complex64),), 1e-6), (copied, (some(8),), 1e-6),
    ]  # fmt: skip


@pytest.mark.parametrize(("function", "arguments", "tolerance"), cases())
def test_loops_over_complex_arrays_are_native(
    function: Callable[..., Any], arguments: tuple[Any, ...], tolerance: float
) -> None:
    scripted = flambeau.script(function)
    expected = np.asarray(function(*[np.array(a) if isinstance(a, np.ndarray) else a for a in arguments]))
    for _ in range(3):
        found = scripted(*[np.array(a) if isinstance(a, np.ndarray) else a for a in arguments])
        assert not expected.ndim or found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)
    assert "native from end to end" in str(scripted.explain())


def test_backends_agree_on_lists_tuples_and_optional_complex_numbers() -> None:
    source = """
def f(zs: List[complex], first: Optional[complex], n: int) -> Tuple[List[complex], complex, Optional[complex]]:
    total = 0j
    for k in range(n):
        if first is not None:
            total = total + first
        total = total + zs[k % len(zs)]
        zs.append(total)
        first = None if k == 2 else total
    return zs, total, first
"""
    agree(source, lambda: ([1j, 2.5 + 0j], 3 - 1j, 3))
    agree(source, lambda: ([1j], None, 5))


def test_parts_of_real_numbers() -> None:
    def both(x: float, n: int) -> tuple[float, float, int, float, float]:
        return x.real, x.imag, n.imag, x.conjugate(), np.angle(x)

    assert flambeau.script(both)(-2.5, 3) == (-2.5, 0.0, 0, -2.5, math.pi)


def test_the_real_part_of_an_argument_is_real() -> None:
    def parts(z: flambeau.Tensor) -> tuple[flambeau.Tensor, flambeau.Tensor, flambeau.Tensor]:
        y = z * 1
        return z.real, y, y.real

    script = flambeau.script(parts)
    z = flambeau.tensor([1 + 2j, 3 - 4j])
    for _ in range(5):
        for got, want in zip(script(z), (z.real, z, z.real), strict=True):
            assert got.dtype is want.dtype
            assert flambeau.equal(got, want)
