"""Powers of floats with common exponents in loops are those of Python, to the bit."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

import flambeau
from tests.codegen.graph.one_meaning import agree, assert_native

POWERS = """
def f(x: List[float], n: int):
    out: List[float] = []
    for v in x:
        out.append(v ** {power})
    return out
"""
SPECIAL = [
    0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 5e-324, 2.2250738585072014e-308, -2.5e-310, 2.0**-450,
    2.0**-300, 2.0**500, -(2.0**333), 1.3407807929942596e154, 5.6e102, 0.1, 1 + 2.0**-52, 1 - 2.0**-53, 3.0, 94906267.0,
]  # fmt: skip


@pytest.mark.parametrize("power", [2, 3, 2.0, 3.0, 4, 5, 7, 8, 16, -1, -2, -3, -8, 0.5, 1.5, 3.5, -0.5, -2.5])
def test_powers_of_floats_are_those_of_python(power: float) -> None:
    function = flambeau.CompilationUnit(POWERS.format(power=power)).f
    draw = random.Random(5)
    numbers = [*SPECIAL]
    numbers += [draw.uniform(-10, 10) for _ in range(20_000)]
    numbers += [draw.uniform(1, 2) * 2.0 ** draw.randrange(-320, 320) for _ in range(20_000)]
    # Squares that lie next to the middle of two doubles: (2**26 + 2k + 1) * 2**e has a square of 54 bits or so.
    odd = [(1 << 26) + 2 * k + 1 + draw.randrange(1 << 20) for k in range(5000)]
    numbers += [math.ldexp(k, draw.randrange(-60, 60)) for k in odd]
    # Powers just below and above those of two, where doubles lie closer on one side.
    numbers += [math.nextafter(2.0 ** (k / power), side) for k in range(-20, 21) for side in (-math.inf, math.inf)]
    numbers = [v for v in numbers if _has_power(v, power)]
    for _ in range(2):
        found = function(numbers, 0)
        assert [v.hex() for v in found] == [(v**power).hex() for v in numbers]
    assert_native(function)


def _has_power(value: float, power: float) -> bool:
    try:
        return isinstance(value**power, float)
    except (OverflowError, ZeroDivisionError):
        return False


def test_powers_that_are_too_large_are_errors_as_in_python() -> None:
    for value in (1e200, -1e200):
        agree(POWERS.format(power=2), lambda value=value: ([1.0, value], 0))  # type: ignore[misc]


def test_powers_of_elements_are_those_of_numpy() -> None:
    def distances(x: np.ndarray, y: np.ndarray):
        out = np.empty(len(x))
        for i in range(len(x)):
            out[i] = (x[i] - y[i]) ** 2 + (x[i] + y[i]) ** 3
        return out

    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(2, 20_000))
    function = flambeau.script(distances)
    for _ in range(3):
        assert function(x, y).tobytes() == distances(x, y).tobytes()


def test_powers_of_tensors_elements_are_products() -> None:
    def total(x: flambeau.Tensor, n: flambeau.Tensor):
        s = 0.0
        for i in range(len(x)):
            s += float((x[i] - 0.5) ** 3)
        k = 0
        for i in range(len(n)):
            k += int(n[i] ** 3)
        return s, k

    function = flambeau.script(total)
    x = flambeau.randn(500, dtype=flambeau.float64)
    n = flambeau.arange(-5, 60)
    n[0] = 2**62 + 3
    shifted = [v - 0.5 for v in x.tolist()]
    wanted = 0.0
    for v in shifted:
        wanted += v * v * v
    for _ in range(3):
        assert function(x, n) == (wanted, sum(int(v**3) for v in n))
    assert_native(function)


def test_powers_side_by_side_are_those_of_python() -> None:
    text = """
def f(x: Tensor, y: Tensor):
    for i in range(x.numel()):
        y[i] = float(x[i]) ** {power}
"""
    rng = np.random.default_rng(4)
    x = np.concatenate([rng.normal(size=3000), rng.normal(size=300) * 1e60, rng.normal(size=300) * 1e-60, [1.0, -1.0]])
    for power in (2, 3, -1, 4):
        function = flambeau.CompilationUnit(text.format(power=power)).f
        for _ in range(3):
            y = flambeau.zeros(len(x), dtype=flambeau.float64)
            function(flambeau.tensor(x), y)
            assert [v.hex() for v in y.tolist()] == [(v**power).hex() for v in x.tolist()]


def test_squares_are_products_where_exactness_is_not_asked_for() -> None:
    def squares(x: np.ndarray):
        y = np.empty_like(x)
        for i in range(len(x)):
            y[i] = (x[i] - 0.5) ** 2
        return y

    x = np.random.default_rng(5).random(20_000)  # of so many, `pow` gives a dozen that are no products
    function = flambeau.script(squares, fastmath=True)
    for _ in range(3):
        assert np.array_equal(function(x), (x - 0.5) * (x - 0.5))


def test_loops_with_powers_become_vectors_whose_lanes_are_those_of_numpy() -> None:
    def near(x: np.ndarray, p: int, bound: float):
        count = 0
        for j in range(len(x)):
            if (x[j, 0] - x[p, 0]) ** 2 + (x[j, 1] - x[p, 1]) ** 2 <= bound:
                count += 1
        return count

    def written(x: np.ndarray, y: np.ndarray):
        for i in range(len(x)):
            y[i] = x[i, 0] ** 0.5 + x[i, 1] ** -1.5

    x = np.random.default_rng(2).random((20_000, 2)) + 0.01
    x[::50, 0] *= 1e-80
    for program in (near, written):
        function = flambeau.script(program)
        for k in range(3):
            if program is near:
                assert function(x, k, 0.3) == near(x, k, 0.3)
            else:
                mine, wanted = np.empty(len(x)), np.empty(len(x))
                function(x, mine)
                written(x, wanted)
                assert mine.tobytes() == wanted.tobytes()


def test_loops_with_squares_are_vectors() -> None:
    def squares(x: np.ndarray, y: np.ndarray):
        for i in range(len(x)):
            y[i] = x[i] ** 2

    function = flambeau.script(squares)
    function(np.ones(100), np.ones(100))
    calls = [line for line in str(function.asm).splitlines() if "call" in line.split() or "callq" in line.split()]
    alone = [line for line in calls if ".some" in line]
    assert len(alone) > 1, "only the form for vectors itself asks for lanes"
