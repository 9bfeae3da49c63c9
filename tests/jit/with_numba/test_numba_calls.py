"""Scripts that call functions compiled by Numba: natively, with the results and errors of the Python functions."""

from __future__ import annotations

import math
import threading

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.ir.parser import parse_ir
from flambeau.util.errors import CompileError

numba = pytest.importorskip("numba", reason="numba is an extra: pip install flambeau[numba]")


@numba.njit
def scaled(x, y=2.0):
    return x * y


@numba.njit
def collatz(n):
    if n < 1:
        raise ValueError("starts at 1")
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


@numba.njit
def is_even(n):
    return n % 2 == 0


@numba.njit
def parts(x, n):
    return x * n, n + 1, n > 2


@numba.njit
def two(n):
    return n > 1, n > 2


@numba.njit
def total(a):
    s = 0.0
    for k in range(a.shape[0]):
        s += a[k]
    return s


@numba.njit
def trace_of(a):
    s = 0.0
    for k in range(min(a.shape)):
        s += a[k, k]
    return s


@numba.njit
def put(a, k, value):
    a[k] = a[k] + value
    if value < 0:
        raise ValueError("negative", k)


@numba.njit
def doubled(a):
    return a * 2


@numba.njit("float32(float32)")
def single(x):
    return x / numba.float32(3)


@numba.cfunc("float64(float64, int64)")
def power(x, n):
    if n < 0:
        raise ValueError("negative power")
    return x**n


@numba.njit
def unsigned(n):
    return np.uint64(n)


@numba.njit
def text(n):
    return "a"


@flambeau.script
def sum_scaled(n: int) -> float:
    s = 0.0
    for i in range(n):
        s += scaled(float(i)) + scaled(1.0, y=0.5)
    return s


@flambeau.script
def longest(n: int) -> int:
    best = 0
    for i in range(1, n):
        best = max(best, collatz(i))
    return best


@flambeau.script
def once(n: int) -> int:
    return collatz(n)


def is_native(fn, *args) -> bool:
    plan = fn._executor.plan_for(args)
    return plan.compiled is not None and bool(plan.compiled.variants) and not plan.compiled.reason


def test_numbers_in_a_loop_are_called_natively() -> None:
    assert sum_scaled(100) == sum(i * 2.0 + 0.5 for i in range(100))
    assert is_native(sum_scaled, 100)
    assert longest(1000) == 178
    assert is_native(longest, 10)
    assert "^collatz" in str(longest.graph)


def test_the_graph_parses_back() -> None:
    assert str(parse_ir(str(longest.graph))) == str(longest.graph)


def test_errors_are_those_of_the_function() -> None:
    for _ in range(6):
        assert once(6) == 8
        with pytest.raises(Exception, match="starts at 1"):
            once(0)
    assert is_native(once, 1)


def test_bools_tuples_and_none() -> None:
    @flambeau.script
    def f(x: float, n: int) -> tuple[float, int, int]:
        s, m, c = 0.0, 0, 0
        for i in range(n):
            a, b, big = parts(x, i)
            p, q = two(i)
            if is_even(i) and big:
                c += 1
            if p and not q:
                c += 100
            s += a
            m += b
        return s, m, c

    want = (sum(1.5 * i for i in range(9)), sum(range(1, 10)), 3 + 100)
    assert f(1.5, 9) == want
    assert is_native(f, 1.5, 9)


def test_tensors_are_arrays_of_the_same_memory() -> None:
    @flambeau.script
    def f(x: Tensor, n: int) -> float:
        s = 0.0
        for k in range(n):
            put(x, k, 1.0)
            s += total(x)
        return s

    for dtype in (np.float32, np.float64):
        x = flambeau.from_numpy(np.arange(4, dtype=dtype))
        assert f(x, 3) == 7 + 8 + 9
        assert x.tolist() == [1, 2, 3, 3]
        assert is_native(f, x, 3)
    wide = flambeau.from_numpy(np.arange(8.0))[::2]
    assert f(wide, 1) == 13


def test_matrices_in_any_layout() -> None:
    @flambeau.script
    def f(x: Tensor, n: int) -> float:
        s = 0.0
        for _ in range(n):
            s += trace_of(x)
        return s

    x = np.arange(12.0).reshape(3, 4)
    for given in (x, x.T, x[::2], np.zeros((0, 3))):
        assert f(flambeau.from_numpy(given), 2) == 2 * np.trace(given)


def test_an_error_after_a_write_does_not_write_twice() -> None:
    @flambeau.script
    def f(x: Tensor, n: int) -> None:
        for k in range(n):
            put(x, k, 1.0 - k)

    x = flambeau.zeros(4, dtype=flambeau.float64)
    with pytest.raises(Exception, match=r"negative.*2"):
        f(x, 4)
    assert x.tolist() == [1, 0, -1, 0]


def test_arrays_that_come_back_are_tensors() -> None:
    @flambeau.script
    def f(x: Tensor) -> Tensor:
        return doubled(x) + 1

    for _ in range(5):
        assert f(flambeau.ones(2, 3)).tolist() == [[3, 3, 3], [3, 3, 3]]


def test_signatures_that_are_fixed_and_callbacks() -> None:
    @flambeau.script
    def f(x: float, n: int) -> float:
        s = 0.0
        for k in range(n):
            s += power(x, k) + single(x)
        return s

    assert f(0.5, 3) == sum(0.5**k + float(np.float32(0.5) / np.float32(3)) for k in range(3))
    assert is_native(f, 0.5, 3)

    @flambeau.script
    def negative(x: float) -> float:
        s = 0.0
        for k in range(3):
            s += power(x, -k)
        return s

    with pytest.raises(Exception, match="negative power"):
        negative(1.0)


@pytest.mark.parametrize("x", [math.nan, math.inf, -0.0, 5e-324, 1.7e308])
def test_special_values(x: float) -> None:
    @flambeau.script
    def f(x: float) -> float:
        y = x
        for _ in range(2):
            y = scaled(y, 1.0)
        return y

    assert np.float64(f(x)).tobytes() == np.float64(x).tobytes()


def test_threads() -> None:
    found: list[int] = []
    threads = [threading.Thread(target=lambda: found.append(longest(3000))) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert found == [216] * 4


def test_without_native_code_the_results_are_the_same() -> None:
    for backend in ("interpreter", "reference"):
        again = flambeau.script(sum_scaled, backend=backend)
        assert again(10) == sum_scaled(10)


def test_refusals() -> None:
    def takes_text(n: int) -> int:
        return collatz("a")

    def gives_unsigned(n: int) -> int:
        return unsigned(n)

    def gives_text(n: int) -> int:
        return text(n)

    def too_many(n: int) -> int:
        return collatz(n, n)

    def wrong(x: Tensor) -> float:
        return total(x, )+ parts(x, x)[0]

    for fn, message in (
        (takes_text, r"takes int, float, bool and Tensor from a program, not str \('n'\)"),
        (gives_unsigned, "gives uint64, which a program has no type for"),
        (gives_text, "gives unicode_type"),
        (too_many, r"collatz\(\): too many positional arguments"),
    ):
        with pytest.raises(CompileError, match=message):
            flambeau.script(fn)
    assert wrong is not None


def test_what_numba_cannot_type_is_refused_with_its_reason() -> None:
    @numba.njit
    def strange(n):
        return n.missing

    def f(n: int) -> int:
        return strange(n)

    with pytest.raises(CompileError, match=r"(?s)Numba's function 'strange' does not take \(int\).*missing"):
        flambeau.script(f)
