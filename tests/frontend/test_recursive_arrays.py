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


def test_what_it_gives_follows_from_the_returns_before() -> None:
    def fibonacci(n):
        if n < 2:
            return n
        return fibonacci(n - 1) + fibonacci(n - 2)

    def total(n, x):
        if n < 0:
            return 0.0
        return x[n] + total(n - 1, x)

    def turned(x):
        if len(x) <= 1:
            return x
        m = len(x) // 2
        return np.concatenate((turned(x[m:]), turned(x[:m])))

    def remembered(x):
        memo = {}

        def count(n):
            if n < 2:
                return n
            if n not in memo:
                memo[n] = count(n - 1) + count(n - 2)
            return memo[n]

        return count(len(x))

    x = np.arange(8) * 0.5
    scripted = flambeau.script(fibonacci)
    assert [scripted(n) for n in range(8)] == [0, 1, 1, 2, 3, 5, 8, 13]
    assert "interpreted" not in str(scripted.explain())
    assert flambeau.script(total)(7, x) == total(7, x)
    assert flambeau.script(total)(7, x.astype(np.float32)) == total(7, x.astype(np.float32))
    assert flambeau.script(turned)(x).tolist() == turned(x).tolist()
    assert flambeau.script(remembered)(x) == 21


def summed(n, x):
    if n < 0:
        return 0
    return x[n] + summed(n - 1, x)


def summed_backwards(n, x):
    if n >= 0:
        return x[n] + summed_backwards(n - 1, x)
    return 0


def by_squares(x, n):
    if n % 2:
        return x * by_squares(x, n - 1)
    if n:
        return by_squares(x * x, n // 2)
    return 1


def holds(x: np.ndarray, low, high, value):
    if high - low > 1:
        middle = (low + high) // 2
        if x[middle] > value:
            return holds(x, low, middle, value)
        return holds(x, middle, high, value)
    return x[low] == value


def place(x, low, high, value):
    if high - low > 1:
        middle = (low + high) // 2
        if x[middle] > value:
            return place(x, low, middle, value)
        return place(x, middle, high, value)
    return low


def colourings(edges, n):
    colours = np.full(n, -1)

    def fits(node, colour):
        fitting = True
        for a, b in edges:
            if (a == node and colours[b] == colour) or (b == node and colours[a] == colour):
                fitting = False
        return fitting

    def solve(node):
        if node < n:
            for colour in range(3):
                if fits(node, colour):
                    colours[node] = colour
                    if solve(node + 1):
                        return True
                    colours[node] = -1
            return False
        return True

    return solve(0), colours.sum()


def test_returns_behind_a_call_of_itself_say_what_it_gives() -> None:
    x = np.array([0.5, 1.0, 2.5, 4.0])
    edges = np.array([[0, 1], [1, 2], [2, 0], [2, 3], [3, 4], [4, 0]])
    for fn, args in (
        (summed, (3, x)), (summed, (-1, x)), (summed_backwards, (3, x)), (by_squares, (1.5, 5)), (by_squares, (3, 5)),
        (holds, (x, 0, 4, 2.5)), (holds, (x, 0, 4, 2.0)), (place, (x, 0, 4, 2.7)), (colourings, (edges, 5)),
    ):  # fmt: skip
        assert flambeau.script(fn)(*args) == fn(*args), fn.__name__


def test_returns_of_two_types_around_a_call_of_itself_are_refused() -> None:
    def told(n: int, x: np.ndarray):
        if n < 0:
            return "end"
        return x[n] + len(told(n - 1, x))

    with pytest.raises(CompileError, match="Previous return statement returned a value of type str"):
        flambeau.script(told)(3, np.ones(4))

    def counted(n):
        if n == 0:
            return None
        counted(n - 1)
        return 1

    with pytest.raises(CompileError, match=r"counted calls itself, and gives int in the returns .* declare what it"):
        flambeau.script(counted)(3)

    def taken(x: np.ndarray):
        if len(x) == 0:
            return None
        taken(x[1:])
        return 1

    with pytest.raises(CompileError, match=r"gives NoneType in the returns before that, int\? with those behind"):
        flambeau.script(taken)(np.ones(3))

    def endless(n):
        return endless(n - 1)

    with pytest.raises(CompileError, match=r"'endless' is called recursively.*or returns something before that"):
        flambeau.script(endless)(3)
