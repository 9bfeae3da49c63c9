"""`while` loops that count: natively their iterations are counted where that is sure, and what they give, raise and
leave in memory is what Python says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import flambeau
from benchmarks.programs import loops
from flambeau import Tensor
from tests.codegen.graph.loop_programs import agree, native_functions

RNG = np.random.default_rng(13)
LARGEST = (1 << 63) - 1


def below(x: Tensor, j: int, n: int, step: int) -> int:
    total = 0
    while j < n:
        total = total * 3 + int(x[j])
        x[j] = total % 7
        j += step
    return total + j


def up_to(x: Tensor, j: int, n: int, step: int) -> int:
    total = 0
    while n >= j:
        total += int(x[j - 1])
        j = step + j
    return total + j


def above(x: Tensor, j: int, n: int, step: int) -> int:
    total = 0
    while j > n:
        x[j] = int(x[j]) + j
        total += int(x[j]) // int(x[j - 1])
        j -= step
    return total + j


def down_to(x: Tensor, j: int, n: int, step: int) -> int:
    total = 0
    while j >= n:
        total += int(x[j]) * j
        j += step
    return total + j


def by_three(x: Tensor, j: int, n: int, step: int) -> int:
    total = step
    while j < n:
        total += int(x[j]) ^ int(x[j + 2])
        j += 3
    return total


def ends(compare: Callable[[int, int], bool], towards: int) -> Iterator[tuple[int, int, int]]:
    """Starts, bounds and steps with which a loop over 90 elements ends, or leaves the elements."""
    for j in (-95, -90, -1, 0, 1, 2, 50, 89, 90):
        for n in (-91, -3, 0, 1, 17, 18, 40, 88, 89, 90, 95, 400):
            for step in (-2, -1, 0, 1, 2, 5, 40):
                if step * towards > 0 or not compare(j, n):
                    yield j, n, step


@pytest.mark.parametrize(
    ("program", "compare", "towards"),
    [
        (below, lambda j, n: j < n, 1), (up_to, lambda j, n: j <= n, 1), (above, lambda j, n: j > n, 1),
        (down_to, lambda j, n: j >= n, -1), (by_three, lambda j, n: j < n, 1),
    ],
)  # fmt: skip
def test_the_answers_are_those_of_python(
    program: Callable[..., int], compare: Callable[[int, int], bool], towards: int
) -> None:
    x = RNG.integers(1, 90, 90)
    cases = list(ends(compare, towards))
    some = [cases[i] for i in RNG.choice(len(cases), 160, replace=False)]
    native = agree(program, *((x, *case) for case in some))
    assert native_functions(native)


def test_steps_that_lead_out_of_the_elements_fail_at_their_iteration() -> None:
    x = RNG.integers(1, 9, 64)
    leaving: list[tuple[Any, ...]] = [(x, 60, 61, -1), (x, 5, 6, -7), (x, 0, 1000, 1), (x, -64, 64, 1), (x, -70, 64, 1)]
    agree(below, *leaving)
    agree(down_to, (x, 63, -64, -1), (x, 63, -70, -1), (x, 0, -1, 2))


@pytest.mark.parametrize("j", [LARGEST - 40, LARGEST - 3, -LARGEST - 1, 0])
def test_numbers_that_would_wrap_around(j: int) -> None:
    def far(j: int, n: int, step: int) -> int:
        turns = 0
        while j < n:
            turns += 1
            if turns > 100:
                return turns
            j += step
        return j

    def count(x: Tensor, j: int, n: int, step: int) -> int:
        total = 0
        while j < n:
            total += int(x[j % 8])
            j += step
        return total + j % 1000

    large = 1 << 62
    agree(far, (j, LARGEST, 1 << 40), (j, LARGEST, large), (j, j, 1), python=False)
    x = RNG.integers(1, 9, 8)
    agree(count, (x, j, j, 1), (x, j, min(j + 39, LARGEST), 1), python=False)


def test_a_loop_with_fewer_iterations_than_its_condition_allows() -> None:
    def limited(x: Tensor, n: int) -> int:
        j, total = 0, 0
        for _ in range(10):
            if j >= n:
                break
            total += int(x[j])
            j += 2
        return total

    x = RNG.integers(1, 9, 64)
    agree(limited, *((x, n) for n in (0, 1, 19, 20, 21, 64, 65)))


def test_bounds_that_the_loop_moves_are_read_each_time() -> None:
    def shrinking(x: Tensor, n: int) -> int:
        j, total = 0, 0
        while j < n:
            total += int(x[j])
            n -= 1
            j += 1
        return total * 100 + n

    def skipping(x: Tensor, n: int) -> int:
        j, total = 0, 0
        while j < n:
            if int(x[j]) > 4:
                j += 2
            total += j
            j += 1
        return total

    x = RNG.integers(1, 9, 200)
    agree(shrinking, *((x, n) for n in (0, 1, 40, 200)))
    agree(skipping, *((x, n) for n in (0, 1, 40, 200)))


def test_iterations_that_write_what_later_ones_read() -> None:
    def running(x: Tensor, step: int) -> None:
        j = 2
        while j < x.size(0):
            x[j] = float(x[j - 1]) * 0.5 + float(x[j - 2])
            j += step

    agree(running, *((RNG.standard_normal(n), step) for n in (0, 2, 3, 30, 100) for step in (1, 2, 7)))


def test_c20_the_sieve_counts_its_multiples_without_checks() -> None:
    script = flambeau.script(loops.sieve)
    assert [script(n) for n in (0, 1, 2, 3, 100, 10_000)] == [0, 0, 0, 1, 25, 1229]
    assert "counted" in str(script.llvm_ir)
