"""Functions on arrays that call themselves: what they give is what their returns before the call give."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import flambeau
from flambeau import PerformanceWarning
from flambeau.util.errors import CompileError


def transform(x: np.ndarray) -> np.ndarray:
    n = len(x)
    if n == 1:
        return x.copy()
    even, odd = transform(x[0::2]), transform(x[1::2])
    out = np.empty(n, dtype=np.complex128)
    for k in range(n // 2):
        turned = np.exp(-2j * np.pi * k / n) * odd[k]
        out[k], out[k + n // 2] = even[k] + turned, even[k] - turned
    return out


def merged(x: np.ndarray) -> np.ndarray:
    if len(x) <= 1:
        return x
    middle = len(x) // 2
    a, b = merged(x[:middle]), merged(x[middle:])
    out = np.empty_like(x)
    i = j = 0
    for k in range(len(x)):
        if j >= len(b) or (i < len(a) and a[i] <= b[j]):
            out[k] = a[i]
            i += 1
        else:
            out[k] = b[j]
            j += 1
    return out


def power(a: np.ndarray, n: int) -> np.ndarray:
    if n == 0:
        return np.eye(len(a))
    half = power(a, n // 2)
    half = half @ half
    return half @ a if n % 2 else half


def test_recursive_functions_on_arrays_are_native() -> None:
    rng = np.random.default_rng(0)
    z, y, m = rng.normal(size=16) + 1j, rng.integers(0, 9, 50), rng.normal(size=(3, 3))
    cases = [
        (transform, (z,), np.fft.fft(z)), (merged, (y,), np.sort(y)), (merged, (y * 0.5,), np.sort(y) * 0.5),
        (power, (m, 9), np.linalg.matrix_power(m, 9)),
    ]  # fmt: skip
    for function, arguments, expected in cases:
        scripted = flambeau.script(function)
        for _ in range(3):
            np.testing.assert_allclose(scripted(*arguments), expected, rtol=1e-10, atol=1e-12)
        assert "native" in str(scripted.explain())


def test_returns_of_two_kinds_are_refused_with_both() -> None:
    with pytest.raises(CompileError, match=r"(?s)calls itself, and gives np.ndarray of float64 .* let all returns"):
        flambeau.script(transform)(np.arange(4.0))


def test_lists_of_lists_beside_dicts_of_floats_are_told_of() -> None:
    def table(names: dict[float, int], n: int) -> int:
        rows = [[0] * 300 for _ in range(n)]
        for i in range(1, n):
            for k in range(1, 300):
                rows[i][k] = rows[i - 1][k] + rows[i][k - 1] + 1
        return len(names) + rows[n - 1][299] % 7

    scripted = flambeau.script(table)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        scripted({0.5: 1}, 60)
        scripted({0.5: 1}, 60)
    texts = [str(w.message) for w in caught if issubclass(w.category, PerformanceWarning)]
    assert any("lists of lists have no native form in a part of a function. Instead, give the loop" in t for t in texts)
