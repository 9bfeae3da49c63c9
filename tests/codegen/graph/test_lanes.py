"""Loops whose iterations run several at a time: the same results, errors and memory as one at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.codegen.graph.loops.lanes_emit import FEWEST_BITS
from flambeau.codegen.llvm.engine import engine
from tests.codegen.graph.loop_programs import agree, native_functions, outcome_on

COUNTS = (0, 1, 2, 7, 8, 9, 17, 31, 32, 33, 65)


def runs_as_lanes(script: Any) -> bool:
    """Whether a loop of a script runs as lanes, where vectors are wide enough."""
    return engine().target.vector_bits < FEWEST_BITS or any(f.emitted.lanes for f in native_functions(script))


def mandelbrot(width: int, height: int, limit: int) -> Tensor:
    counts = flambeau.zeros([height, width], dtype=flambeau.int64)
    for row in range(height):
        y = -1.25 + 2.5 * row / height
        for column in range(width):
            x = -2.0 + 3.0 * column / width
            a = 0.0
            b = 0.0
            n = 0
            while n < limit and a * a + b * b <= 4.0:
                t = a * a - b * b + x
                b = 2.0 * a * b + y
                a = t
                n += 1
            counts[row, column] = n
    return counts


def collatz(limit: int) -> int:
    best = 0
    for start in range(1, limit):
        n = start
        steps = 0
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            steps += 1
        best = max(best, steps)
    return best


def halvings(values: Tensor, out: Tensor, n: int) -> int:
    total = 0
    for i in range(n):
        x = float(values[i])
        k = 0
        while x > 1.0 and k < 60:
            x = x / 2.0
            k += 1
        total += k
        out[i] = k
    return total


def chase(links: Tensor, starts: Tensor, out: Tensor) -> int:
    longest = 0
    for i in range(starts.size(0)):
        at = int(starts[i])
        k = 0
        while at != 0 and k < 50:
            at = int(links[at])
            k += 1
        out[i] = k
        longest = max(longest, k)
    return longest


def folds(n: int, mask: int) -> tuple[int, int, int, int, int, int]:
    total, low, high, mixed, count, product = 5, 1000, -1000, 3, 0, 1
    for i in range(n):
        k = i
        while k & mask != 0:
            k -= 3
            total += 1
        total -= k
        low = min(low, k)
        if k > high:
            high = k
        mixed = mixed ^ k
        if k % 2 == 0:
            count += 1
        product = product * (k | 1)
    return total, low, high, mixed, count, product


def inverse_sum(values: Tensor, out: Tensor) -> int:
    for i in range(values.size(0)):
        x = float(values[i])
        s = 0.0
        k = 0
        while k < 5:
            s += 1.0 / x
            x = x - 1.0
            k += 1
        out[i] = s
    return 0


def refusing(values: Tensor, out: Tensor) -> int:
    for i in range(values.size(0)):
        n = int(values[i])
        k = 0
        while n > 0:
            n = n - 3
            k += 1
            if k > 20:
                raise ValueError("too many steps")
        out[i] = k
    return 0


def in_iteration(values: Tensor, out: Tensor) -> int:
    for i in range(values.size(0)):
        n = int(values[i])
        k = 0
        while n > 1:
            n = n // 2
            k += 1
        out[i] = k
        out[i // 2] = -k
        if k > 2:
            out[i % 3] = 100 + i
    return 0


def scattered(values: Tensor, out: Tensor) -> int:
    for i in range(values.size(0)):
        n = int(values[i])
        k = 0
        while n > 1:
            n = n // 2
            k += 1
        if k != 3:
            out[k] = i
    return 0


def nested(n: int) -> int:
    total = 0
    for i in range(n):
        a = i
        k = 0
        while a > 0:
            b = a
            while b > 2:
                b = b // 4
                k += 1
            for j in range(a % 4):
                if j % 2 == 1:
                    k += j
            a = a - 5
        total += k
    return total


def wrapping(n: int, factor: int) -> int:
    total = 0
    for i in range(n):
        x = i + 1
        k = 0
        while x % 1024 != 5 and k < 40:
            x = x * factor + 1
            k += 1
        total = total ^ x
    return total


def test_mandelbrot() -> None:
    script = agree(mandelbrot, *((n, 3, 20) for n in COUNTS), (5, 0, 3), (9, 2, 0), (9, 2, -4))
    assert runs_as_lanes(script)


def test_collatz() -> None:
    assert runs_as_lanes(agree(collatz, *((n,) for n in COUNTS), (-5,), (200,)))


@pytest.mark.parametrize("out", ["int64", "int32", "uint8", "float32", "float64"])
@pytest.mark.parametrize("source", ["float64", "float32"])
def test_reads_and_writes(source: str, out: str) -> None:
    special = np.array([np.nan, np.inf, -np.inf, -0.0, 1e30, 1e-38, 3.0, 1e9], source)
    lists = []
    for n in COUNTS:
        values = np.resize(special, n)
        lists.append((values, np.full(n, 77, out), n))
    assert runs_as_lanes(agree(halvings, *lists))


def test_out_of_range_comes_at_its_iteration() -> None:
    values = np.linspace(0.0, 300.0, 50)
    lists = [(values[:k], np.zeros(m, np.int64), 50) for k, m in ((50, 20), (20, 50), (0, 9), (33, 33), (49, 50))]
    agree(halvings, *lists)


def test_out_of_range_in_a_while() -> None:
    rng = np.random.default_rng(3)
    links, starts = rng.integers(0, 40, 40), rng.integers(0, 40, 70)
    bad, negative = links.copy(), links.copy()
    bad[17], negative[9] = 40, -3
    lists = [(x, starts[:n], np.zeros(n, np.int64)) for x in (links, bad, negative) for n in COUNTS]
    assert runs_as_lanes(agree(chase, *lists))


def test_folds() -> None:
    assert runs_as_lanes(agree(folds, *((n, 5) for n in COUNTS[:7])))
    agree(folds, *((n, 4) for n in COUNTS), python=False)


def test_division_by_zero_in_a_lane() -> None:
    fine = np.linspace(10.5, 80.5, 45)
    late = fine.copy()
    late[37] = 3.0
    script = agree(inverse_sum, *((v[:n], np.zeros(n)) for v in (fine, late) for n in (9, 37, 38, 45)))
    assert runs_as_lanes(script)


def test_exceptions_of_the_program() -> None:
    fine = np.arange(45)
    late = fine.copy()
    late[40] = 90
    agree(refusing, *((v[:n], np.zeros(n, np.int64)) for v in (fine, late) for n in (9, 40, 41, 45)))


def test_writes_keep_their_order() -> None:
    rng = np.random.default_rng(4)
    lists = [(rng.integers(0, 99, n), np.zeros(max(n, 3), np.int64)) for n in COUNTS]
    assert runs_as_lanes(agree(in_iteration, *lists))


def test_lanes_that_write_to_one_place() -> None:
    rng = np.random.default_rng(5)
    assert runs_as_lanes(agree(scattered, *((rng.integers(0, 99, n), np.zeros(9, np.int64)) for n in COUNTS)))


def test_tensors_that_overlap() -> None:
    native, plain = flambeau.script(halvings), flambeau.script(halvings, backend="interpreter")

    def arguments(shift: int) -> list[Any]:
        base = flambeau.from_numpy(np.linspace(0.0, 500.0, 60))
        return [base[0:50], base[shift : shift + 50], 50]

    for shift in (0, 1, 3, 10):
        assert outcome_on(native, arguments(shift)) == outcome_on(plain, arguments(shift))


def test_loops_in_a_while() -> None:
    assert runs_as_lanes(agree(nested, *((n,) for n in COUNTS)))


def test_overflow_wraps() -> None:
    assert runs_as_lanes(agree(wrapping, *((n, 6364136223846793005) for n in COUNTS), python=False))
