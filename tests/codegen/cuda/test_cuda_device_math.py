"""Functions that devices have no C library for, against exact answers."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

from flambeau.codegen.cuda.device_math import FUNCTIONS, device_functions
from flambeau.codegen.cuda.device_trig import PAD, WORDS, two_over_pi
from flambeau.codegen.reference_scalar import _float_power
from tests.codegen.cuda.on_host import compile_for_host
from tests.codegen.kernels import special_values

SPECIAL = [float(v) for v in special_values("float64")] + [7.0, -7.5, 1e300, 1e-310, 1023.5, 2.0]


@cache
def engine() -> Any:
    library = device_functions(tuple(FUNCTIONS))
    text = [*library.declarations, *library.functions]
    for name, (arity, _) in FUNCTIONS.items():
        names = ", ".join(f"double %a{k}" for k in range(arity))
        text.append(f"define double @{name}_({names}) {{\n  %r = call double @flambeau_c_{name}({names})")
        text.append("  ret double %r\n}")
    made = compile_for_host("\n".join(text))
    made.finalize_object()
    return made


def function(name: str) -> Callable[..., float]:
    types = [ctypes.c_double] * (FUNCTIONS[name][0] + 1)
    return ctypes.CFUNCTYPE(*types)(engine().get_function_address(name + "_"))


def same(a: float, b: float) -> bool:
    return (a != a and b != b) or (a == b and math.copysign(1, a) == math.copysign(1, b))


def test_remainders_are_exact() -> None:
    fmod, g = function("fmod"), np.random.default_rng(0)
    wide = [float(v) for v in np.exp(g.uniform(-700, 700, 600)) * g.choice([-1, 1], 600)]
    with np.errstate(all="ignore"):
        for a, b in [(a, b) for a in SPECIAL for b in SPECIAL] + list(zip(wide, wide[::-1], strict=True)):
            assert same(fmod(a, b), float(np.fmod(a, b))), (a, b)


@pytest.mark.parametrize("name", ["hypot", "atan2"])
def test_special_values(name: str) -> None:
    ours, theirs = function(name), {"hypot": np.hypot, "atan2": np.arctan2}[name]
    with np.errstate(all="ignore"):
        for a in SPECIAL:
            for b in SPECIAL:
                got, want = ours(a, b), float(theirs(a, b))
                assert same(got, want) or abs(got - want) <= 2 * math.ulp(want), (a, b)


def test_powers_of_special_values() -> None:
    power = function("pow")
    for a in SPECIAL:
        for b in SPECIAL:
            got, want = power(a, b), _float_power(a, b)
            assert same(got, want) or (math.isfinite(want) and abs(got - want) <= math.ulp(want)), (a, b)


def exact_ulp(got: float, exact: Fraction) -> float:
    return float(abs(Fraction(got) - exact) / Fraction(math.ulp(float(exact))))


def test_powers_are_within_a_unit() -> None:
    """Integral powers have exact answers."""
    power, g = function("pow"), np.random.default_rng(1)
    worst = 0.0
    for _ in range(600):
        n = int(g.integers(-60, 60))
        x = float(np.exp(g.uniform(-8, 8)))
        worst = max(worst, exact_ulp(power(x, float(n)), Fraction(x) ** n))
    near_one = [(1.0 + 1e-3 * float(v), 900.0) for v in g.uniform(-1, 1, 30)]
    worst = max([worst] + [exact_ulp(power(x, y), Fraction(x) ** int(y)) for x, y in near_one])
    assert worst <= 1.0


def test_two_over_pi() -> None:
    """Its first bits are those of the nearest double, and its product with pi/2 is one."""
    value = Fraction(sum(w << (64 * (WORDS - 1 - k)) for k, w in enumerate(two_over_pi())), 1 << (64 * WORDS - PAD))
    assert float(value) == 2 / math.pi
    half_pi = Fraction(math.pi) / 2 + Fraction(1.2246467991473532e-16) / 2
    assert abs(value * half_pi - 1) < Fraction(1, 1 << 105)


def test_circular_functions_of_large_arguments() -> None:
    """Against the quarter iteration taken off in rational arithmetic, with as many bits as that takes."""
    g = np.random.default_rng(2)
    numbers = [float(v) for v in np.exp(g.uniform(math.log(2**14), 709, 400)) * g.choice([-1, 1], 400)]
    # The first is the double nearest to a multiple of pi/2.
    numbers += [6381956970095103.0 * 2.0**797, 1e22, 1.7976931348623157e308]
    ratio = Fraction(sum(w << (64 * (WORDS - 1 - k)) for k, w in enumerate(two_over_pi())), 1 << (64 * WORDS - PAD))
    sin, cos, tan = function("sin"), function("cos"), function("tan")
    half_pi = Fraction(math.pi) / 2 + Fraction(1.2246467991473532e-16) / 2
    for x in numbers:
        iterations = Fraction(x) * ratio
        n = round(iterations)
        r = (iterations - n) * half_pi
        s, c = math.sin(float(r)), math.cos(float(r))
        s, c = [(s, c), (c, -s), (-s, -c), (-c, s)][n % 4]
        assert abs(sin(x) - s) <= 2.5 * math.ulp(s), x
        assert abs(cos(x) - c) <= 2.5 * math.ulp(c), x
        assert abs(tan(x) - s / c) <= 4.5 * math.ulp(s / c), x
    for f in (sin, cos, tan):
        assert math.isnan(f(math.inf))
        assert math.isnan(f(math.nan))
