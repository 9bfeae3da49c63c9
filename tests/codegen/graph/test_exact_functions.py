"""`hypot`, `comb`, `factorial` and powers of ints: native code beside CPython, to the bit."""

from __future__ import annotations

import math
import random
from itertools import product

import numpy as np
import pytest

import flambeau
from tests.codegen.graph.one_meaning import assert_native

SIDES = [0.0, -0.0, 1.0, math.inf, -math.inf, math.nan, 5e-324, 1e-310, 1e308, 1.7e308, 1e-200, -3.0]


def length(a: float, b: float, n: int) -> float:
    s = 0.0
    for _ in range(n):
        s = math.hypot(a, b)
    return s


def ways(n: int, k: int) -> int:
    s = 0
    for _ in range(2):
        s = math.comb(n, k)
    return s


def orders(n: int) -> int:
    s = 0
    for _ in range(2):
        s = math.factorial(n)
    return s


def powers(a: np.ndarray, n: int) -> np.ndarray:
    out = np.zeros(len(a), dtype=np.int64)
    for i in range(len(a)):
        out[i] = i**n + 2**i
    return out


def wrapped(number: int) -> int:
    return (number + 2**63) % 2**64 - 2**63


def test_lengths_are_rounded_as_cpython_rounds_them() -> None:
    scripted, rng = flambeau.script(length), random.Random(0)
    for _ in range(3000):
        a, b = (rng.gauss(0, 1) * 10 ** rng.uniform(-8, 8) for _ in range(2))
        assert scripted(a, b, 1) == math.hypot(a, b)
    for a, b in product(SIDES, SIDES):
        assert repr(scripted(a, b, 1)) == repr(math.hypot(a, b))
    assert_native(scripted)


def test_combinations_and_factorials_are_counted_exactly() -> None:
    count, arrange = flambeau.script(ways), flambeau.script(orders)
    for n in range(70):
        assert arrange(n) == wrapped(math.factorial(n))
        for k in range(0, 72, 5):
            assert count(n, k) == wrapped(math.comb(n, k))
    for function, numbers in ((count, (-1, 2)), (count, (3, -1)), (arrange, (-1,))):
        with pytest.raises(ValueError, match="negative"):
            function(*numbers)
        assert_native(function)


def test_powers_of_ints_are_ints_in_programs_on_arrays() -> None:
    scripted, x = flambeau.script(powers), np.zeros(5)
    for _ in range(3):
        np.testing.assert_array_equal(scripted(x, 3), powers(x, 3))
    with pytest.raises(ValueError, match=r"0 \*\* -3 is a float, where an int was expected: write float\(a\) \*\* b"):
        scripted(x, -3)
    assert_native(scripted)


def test_a_power_to_a_constant_below_zero_is_a_float() -> None:
    def inverse(a: np.ndarray, n: int) -> float:
        return n**-1 + a.sum()

    assert flambeau.script(inverse)(np.zeros(2), 4) == 0.25
