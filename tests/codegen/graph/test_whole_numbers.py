"""Rounding to ints, common divisors, roots, quotients with remainders: native code beside CPython."""

import math
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

import flambeau

FLOATS = [0.0, -0.0, 0.5, -0.5, 2.5, -2.5, 1e15, -(2.0**63), 2.0**62, 5e-324]
INTS = [0, 1, -1, 12, -18, 2**62, 2**63 - 1, -(2**63) + 1, 3037000499, 3037000499**2, 3037000499**2 - 1]


def rounded(x: float):
    return math.floor(x), math.ceil(x), math.trunc(x), int(x)


def angles(x: float):
    return math.degrees(x), math.radians(x)


def logarithm(x: float):
    return math.log2(x)


def divisor(a: int, b: int):
    return math.gcd(a, b)


def quotients(a: int, b: int):
    q, r = divmod(a, b)
    return q, r, divmod(a, 3)[1]


def float_quotients(a: float, b: float):
    return divmod(a, b)


def root(n: int):
    return math.isqrt(n)


def looped(function: Callable[..., Any]) -> Any:
    scripted = flambeau.script(function)
    scripted.compile(*[1.0 if a.type == flambeau._C.FloatType.get() else 1 for a in scripted.schema.arguments])
    assert "native from end to end" in str(scripted.explain())
    return scripted


def agrees(function: Callable[..., Any], *cases: tuple[Any, ...]) -> None:
    scripted = looped(function)
    for arguments in cases:
        try:
            expected = function(*arguments)
        except (ArithmeticError, ValueError):
            with pytest.raises((RuntimeError, ArithmeticError, ValueError)):
                scripted(*arguments)
            continue
        got = scripted(*arguments)
        np.testing.assert_array_equal(got, expected, err_msg=str(arguments), strict=True)


def test_rounding_to_ints() -> None:
    agrees(rounded, *((x,) for x in FLOATS))


@pytest.mark.parametrize("x", [float("nan"), float("inf"), -float("inf"), 2.0**63, -(2.0**64), 1e300])
def test_floats_that_no_int_is(x: float) -> None:
    scripted = looped(rounded)
    for function in (math.floor, math.ceil, math.trunc):
        single = flambeau.script(_with(function))
        for _ in range(3):
            with pytest.raises(RuntimeError, match="Cannot convert float"):
                single(x)
    with pytest.raises(RuntimeError, match="Cannot convert float"):
        scripted(x)


def _with(function: Callable[[float], int]) -> Callable[[float], int]:
    def floored(x: float) -> int:
        return math.floor(x)

    def raised(x: float) -> int:
        return math.ceil(x)

    def cut(x: float) -> int:
        return math.trunc(x)

    return {math.floor: floored, math.ceil: raised, math.trunc: cut}[function]


def test_angles_and_logarithms() -> None:
    agrees(angles, *((x,) for x in [*FLOATS, float("inf"), float("nan")]))
    agrees(logarithm, *((x,) for x in [*FLOATS, 8.0, 1e-300, float("inf"), float("nan"), -1.0]))


def test_divisors_roots_and_quotients() -> None:
    pairs = list(product(INTS, INTS))
    agrees(divisor, *pairs)
    agrees(quotients, *pairs)
    agrees(root, *((n,) for n in INTS))
    ends = [float("inf"), float("nan")]
    agrees(float_quotients, *product([*FLOATS, *ends], [0.3, -2.0, 0.0, *ends]))


def test_the_divisor_of_the_least_int_wraps() -> None:
    assert looped(divisor)(-(2**63), 0) == -(2**63)
