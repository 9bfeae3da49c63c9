"""Functions of `math` and of numbers that native code computes, to the bit as CPython does."""

from __future__ import annotations

import itertools
import math
import struct
from typing import Any

import numpy as np
import pytest

import flambeau

INF, NAN = math.inf, math.nan
TINY = 5e-324
FLOATS = [
    0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -2.5, 1.0049999999999999, 1.005, 2.675, 0.125, 0.375, -0.125, 1e-3, 123456.789,
    1e15, -1e15 - 0.5, 2.0**52, 2.0**53 + 2, 1e300, -1e308, 1.7976931348623157e308, 2.2250738585072014e-308, 1e-310,
    -TINY, TINY, INF, -INF, NAN, math.pi, 1 / 3, 4503599627370495.5, 0.049999999999999996, 1000.0, -1100.0,
]  # fmt: skip
INTS = [0, 1, -1, 2, 7, -12, 18, 64, 255, 2**31, -(2**31), 2**62, 2**63 - 1, -(2**63), 10**9 + 7, 97]


def cbrt(x: float) -> float:
    s = 0.0
    for _ in range(1):
        s += math.cbrt(x)
    return s


def exp2(x: float) -> float:
    s = 0.0
    for _ in range(1):
        s += math.exp2(x)
    return s


def ulp(x: float) -> float:
    s = 0.0
    for _ in range(1):
        s = math.ulp(x)
    return s


def frexp(x: float) -> tuple[float, int]:
    m, e = 0.0, 0
    for _ in range(1):
        m, e = math.frexp(x)
    return m, e


def modf(x: float) -> tuple[float, float]:
    m, e = 0.0, 0.0
    for _ in range(1):
        m, e = math.modf(x)
    return m, e


def is_integer(x: float) -> bool:
    b = False
    for _ in range(1):
        b = x.is_integer()
    return b


def round_0(x: float) -> float:
    s = 0.0
    for _ in range(1):
        s = round(x, 0)
    return s


def round_1(x: float) -> float:
    s = 0.0
    for _ in range(1):
        s = round(x, 1)
    return s


def round_2(x: float) -> float:
    s = 0.0
    for _ in range(1):
        s = round(x, 2)
    return s


def round_7(x: float) -> float:
    s = 0.0
    for _ in range(1):
        s = round(x, 7)
    return s


def nextafter(x: float, y: float) -> float:
    s = 0.0
    for _ in range(1):
        s = math.nextafter(x, y)
    return s


def remainder(x: float, y: float) -> float:
    s = 0.0
    for _ in range(1):
        s = math.remainder(x, y)
    return s


def hypot(x: float, y: float) -> float:
    s = 0.0
    for _ in range(1):
        s = math.hypot(x, y, 0.75)
    return s


def dist(x: float, y: float) -> float:
    s = 0.0
    for _ in range(1):
        s = math.dist((x, 1.0, y), (0.3, y, 2.0))
    return s


def isclose(x: float, y: float) -> bool:
    b = False
    for _ in range(1):
        b = math.isclose(x, y, rel_tol=0.1, abs_tol=0.001)
    return b


def ldexp(x: float, n: int) -> float:
    s = 0.0
    for _ in range(1):
        s = math.ldexp(x, n)
    return s


def bits(n: int) -> tuple[int, int]:
    a, b = 0, 0
    for _ in range(1):
        a, b = n.bit_length(), n.bit_count()
    return a, b


def lcm(a: int, b: int) -> int:
    s = 0
    for _ in range(1):
        s = math.lcm(a, b)
    return s


def gcd(a: int, b: int) -> int:
    s = 0
    for _ in range(1):
        s = math.gcd(a, b, 12)
    return s


def perm(a: int, b: int) -> int:
    s = 0
    for _ in range(1):
        s = math.perm(a, b)
    return s


def power(a: int, b: int, m: int) -> int:
    s = 0
    for _ in range(1):
        s = pow(a, b, m)
    return s


def product(x: list[float]) -> float:
    s = 0.0
    for _ in range(1):
        s = math.prod(x)
    return s


def whole_product(x: list[int]) -> int:
    s = 0
    for _ in range(1):
        s = math.prod(x)
    return s


def shown(value: Any) -> Any:
    """Floats by their bits, but for those of nan, and ints as in 64 bits."""
    if isinstance(value, tuple):
        return tuple(map(shown, value))
    if isinstance(value, float):
        return "nan" if value != value else struct.pack("<d", value)
    return (value + 2**63) % 2**64 - 2**63 if type(value) is int else value


def quiet(fn: Any, *arguments: Any) -> Any:
    """What Python gives; for what it refuses "error"."""
    try:
        return shown(fn(*arguments))
    except (ValueError, OverflowError, RuntimeError, ZeroDivisionError):
        return "error"


def check(fn: Any, calls: Any, *, quietly: Any = None) -> None:
    """Compare native code with CPython; `quietly` is what stands for an error of Python's."""
    scripted = flambeau.script(fn)
    for arguments in calls:
        expected = quiet(fn, *arguments)
        if expected == "error" and quietly is not None:
            expected = shown(quietly(*arguments))
        assert quiet(scripted, *arguments) == expected, arguments
    assert "native from end to end" in str(scripted.explain())


def randoms(n: int) -> list[float]:
    rng = np.random.default_rng(n)
    wide = np.ldexp(rng.standard_normal(n), rng.integers(-1074, 1000, n))
    return [*wide.tolist(), *np.round(rng.uniform(-1000, 1000, n), 3).tolist(), *rng.normal(0, 1e9, n).tolist()]


@pytest.mark.parametrize("fn", [cbrt, exp2, ulp, frexp, modf, is_integer, round_0, round_1, round_2, round_7])
def test_of_one_float(fn: Any) -> None:
    check(fn, [(x,) for x in FLOATS + randoms(200)])


@pytest.mark.parametrize("fn", [nextafter, hypot, dist, isclose])
def test_of_two_floats(fn: Any) -> None:
    values = randoms(100)
    check(fn, [*itertools.product(FLOATS, FLOATS), *zip(values, reversed(values), strict=True)])


def test_remainder() -> None:
    values = randoms(100)
    calls = [*itertools.product(FLOATS, FLOATS), *zip(values, reversed(values), strict=True)]
    check(remainder, [(x, y) for x, y in calls if abs(y) < INF], quietly=lambda x, y: NAN)


def test_ldexp() -> None:
    counts = [0, 1, -1, 52, 1023, 1024, -1022, -1023, -1074, -1075, 2000, -2100, 2**40, -(2**63), 2**63 - 1]
    calls = [(x, n) for x in FLOATS + randoms(20) for n in counts]
    check(ldexp, calls, quietly=lambda x, n: math.copysign(INF, x))


@pytest.mark.parametrize("fn", [bits])
def test_of_one_int(fn: Any) -> None:
    check(fn, [(n,) for n in INTS])


@pytest.mark.parametrize("fn", [lcm, gcd])
def test_of_two_ints(fn: Any) -> None:
    check(fn, itertools.product(INTS, INTS))


def test_perm() -> None:
    numbers = [0, 1, 2, 5, 20, 65, 66, 70, 200, -1]
    check(perm, itertools.product([*numbers, 2**62], numbers))


def test_powers_by_a_modulus() -> None:
    check(power, itertools.product(INTS, [0, 1, 2, 5, 97, 2**40, 2**63 - 1], [*INTS, 2**32, 2**32 + 1, 3]))
    check(power, [(3, -1, 7), (2, -1, 4), (10, -3, 9)])


def test_products() -> None:
    check(product, [([2.0],), ([1.5, -0.0, 3.0],), ([1e200, 1e200],), ([INF, 0.0],), ([0.1] * 30,)])
    check(whole_product, [([],), ([3, 4],), ([2**40, 2**40, 3],), ([-7] * 40,)])
