"""Loops one iteration at a time: the benchmark programs and hostile ones against Python and the interpreter, to the
bit.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import flambeau
from benchmarks.programs import loops
from flambeau import Tensor
from tests.codegen.graph.loop_programs import agree, native_functions, outcome_on

RNG = np.random.default_rng(7)
COUNTS = (0, 1, 2, 7, 8, 9, 17)


def positive(n: int) -> Any:
    a = RNG.random((n, n))
    return a @ a.T + n * np.eye(n)


PROGRAMS: dict[str, list[tuple[Any, ...]]] = {
    "mandelbrot": [(9, 5, 30), (33, 2, 7)],
    "nbody": [(RNG.random((n, 3)), RNG.random((n, 3)), RNG.random(n), 3, 0.01) for n in (1, 2, 5, 9)],
    "collatz": [(50,), (3,)],
    "levenshtein": [(RNG.integers(0, 4, n), RNG.integers(0, 4, m)) for n, m in ((0, 3), (5, 0), (1, 1), (9, 17))],
    "floyd_warshall": [(RNG.integers(-3, 99, (n, n)).astype(np.int32),) for n in COUNTS],
    "seidel2d": [(RNG.random((n, n)), 3) for n in (3, 9, 17)],
    "jacobi2d": [(RNG.random((n, n)), 3) for n in (3, 9, 17)],
    "cholesky": [(positive(n),) for n in COUNTS],
    "lu": [(positive(n),) for n in COUNTS],
    "crc16": [(RNG.integers(0, 256, n).astype(np.uint8),) for n in COUNTS],
    "sieve": [(n,) for n in (2, 3, 17, 100)],
    "fft": [(RNG.random(n), RNG.random(n)) for n in (1, 2, 8, 32)],
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_benchmark_programs(name: str) -> None:
    assert native_functions(agree(getattr(loops, name), *PROGRAMS[name]))


def walked(values: Tensor, start: int, step: int, n: int) -> float:
    total = 0.0
    for k in range(n):
        total += float(values[start + k * step])
    return total


def test_spans_that_leave_the_tensor() -> None:
    values = np.array([1.5, np.nan, np.inf, -0.0, 4.0, 1e-310, -7.0, 2.0, 3.0])
    large = 1 << 62
    places = [(0, 1, 9), (0, 1, 10), (8, -1, 9), (8, -1, 12), (8, -2, 5), (-9, 1, 9), (-3, 1, 6), (0, 4, 3), (0, 0, 5)]
    agree(walked, *((values, *p) for p in places))
    agree(walked, *((values, *p) for p in ((large, large, 3), (0, large, 5), (1, -large, 9))), python=False)


def counted_down(values: Tensor, at: int, by: int) -> int:
    seen = 0
    while at < 9:
        seen += int(values[at])
        at += by
    return seen


def test_indexes_from_the_end_in_a_while() -> None:
    agree(counted_down, *((np.arange(9), at, by) for at, by in ((0, 1), (-9, 2), (-4, 3), (-10, 1), (9, 1))))
    agree(counted_down, (np.arange(8), 0, 1), (np.arange(0), 3, 1))


def waves(angles: Tensor, other: float) -> tuple[float, float, float]:
    a, b, c = 0.0, 0.0, 0.0
    for i in range(angles.size(0)):
        x = float(angles[i])
        a += math.cos(x) * 2.0 + math.sin(x)
        b += math.sin(other) - math.cos(x * 2.0)
        if x > 0.0:
            c += math.cos(x)
        else:
            c -= math.sin(x) + math.cos(other)
    return a, b, c


def test_sine_and_cosine_of_one_angle() -> None:
    angles = np.concatenate([RNG.standard_normal(40) * 10.0 ** RNG.integers(-3, 9, 40), [0.0, -0.0, 1e300]])
    agree(waves, (angles, 0.7), (angles[:1], -3e5), (angles[:0], 1.0))


def shifted(source: Tensor, target: Tensor) -> None:
    for i in range(source.size(0)):
        target[i] = source[i] * 2.0 + 1.0
        if float(source[i]) > 6.0:
            target[i] = 0.0


def conditional(values: Tensor, limit: int) -> Tensor:
    for i in range(values.size(0)):
        if int(values[i]) < limit:
            values[i] = limit
    return values


def test_tensors_that_overlap() -> None:
    native, plain = flambeau.script(shifted), flambeau.script(shifted, backend="interpreter")

    def arguments(first: int, second: int, n: int) -> list[Any]:
        base = flambeau.from_numpy(np.arange(60.0))
        return [base[first : first + n], base[second : second + n]]

    for first, second in ((0, 0), (0, 1), (1, 0), (0, 7), (8, 0), (0, 17)):
        for n in COUNTS:
            assert outcome_on(native, arguments(first, second, n)) == outcome_on(plain, arguments(first, second, n))


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8"])
def test_conditional_writes(dtype: str) -> None:
    agree(conditional, *((np.resize(np.arange(50, dtype=dtype), n), 13) for n in (*COUNTS, 65)))
    agree(conditional, (np.arange(40, dtype=dtype), 300), python=False)


def filled(x: Tensor, n: int) -> Tensor:
    for i in range(n):
        x.fill_(i)
    return x


def test_tensors_whose_last_axis_has_one_element() -> None:
    native, plain = flambeau.script(filled), flambeau.script(filled, backend="interpreter")

    def arguments() -> list[Any]:
        odd = np.lib.stride_tricks.as_strided(np.zeros(64), (3, 1), (8, 160))
        return [flambeau.from_numpy(odd), 3]

    assert outcome_on(native, arguments()) == outcome_on(plain, arguments())


def _dot(a: Tensor, b: Tensor) -> float:
    total = 0.0
    for i in range(a.size(0)):
        total += float(a[i]) * float(b[i])
    return total


def test_sums_in_order_are_written_out_and_free_ones_are_left_to_vectors() -> None:
    a = flambeau.arange(100.0, dtype=flambeau.float64)
    ordered, free = flambeau.script(_dot), flambeau.script(_dot, fastmath=True)
    assert ordered(a, a) == free(a, a) == 328350.0
    assert "!llvm.loop" in ordered.llvm_ir
    assert "!llvm.loop" not in free.llvm_ir  # unrolled as well, short sums would not reach the vectors
