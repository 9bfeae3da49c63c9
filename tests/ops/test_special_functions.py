"""Bessel functions, functions around gamma and the normal distribution: against integrals, sums, and PyTorch."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.schema import registry
from flambeau.schema.opdef import ErrorSample, OpDef, Sample
from flambeau.tensor.tensor import wrap
from tests.ops import peer
from tests.together import together

special = flambeau.special
FOUND = [d for d in registry.all_definitions() if d.family == "special" and (d.samples or d.errors)]
INF, NAN = math.inf, math.nan


@together(("definition", "sample"), peer.cases(FOUND))
def test_rules(definition: OpDef, sample: Sample) -> None:
    peer.check_sample(definition, sample)


@together(("definition", "sample"), peer.cases(FOUND))
def test_same_as_torch(definition: OpDef, sample: Sample) -> None:
    peer.check_peer(definition, sample)


@together(("definition", "sample"), peer.refusals(FOUND))
def test_refused(definition: OpDef, sample: ErrorSample) -> None:
    peer.check_refusal(definition, sample)


def integral(f: Callable[[Any], Any], high: float = math.pi) -> float:
    """Of a smooth function from 0, by Gauss's rule on pieces."""
    at, weights = np.polynomial.legendre.leggauss(40)
    edges = np.linspace(0, high, 21)
    pieces = [(b - a) / 2 * (weights * f((b - a) / 2 * at + (a + b) / 2)).sum() for a, b in pairwise(edges)]
    return float(sum(pieces))


POINTS = [1e-6, 0.3, 1.9, 2.1, 4.1, 7.9, 8.1, 20.0]


@pytest.mark.parametrize("x", POINTS)
def test_bessel_functions_are_their_integrals(x: float) -> None:
    t = flambeau.tensor(x, dtype=flambeau.float64)
    pi = math.pi
    wanted = {
        "bessel_j0": integral(lambda u: np.cos(x * np.sin(u))) / pi,
        "bessel_j1": integral(lambda u: np.cos(u - x * np.sin(u))) / pi,
        "i0e": integral(lambda u: np.exp(x * (np.cos(u) - 1))) / pi,
        "i1e": integral(lambda u: np.exp(x * (np.cos(u) - 1)) * np.cos(u)) / pi,
        "spherical_bessel_j0": math.sin(x) / x,
    }
    for name, value in wanted.items():
        assert getattr(special, name)(t).item() == pytest.approx(value, rel=2e-14, abs=1e-15), name
    assert special.i0(t).item() == pytest.approx(wanted["i0e"] * math.exp(x), rel=1e-13)
    assert special.i1(-t).item() == pytest.approx(-wanted["i1e"] * math.exp(x), rel=1e-13)
    high = math.acosh(1 + 800 / x) if x > 1e-3 else 22.0
    for order, name in ((0, "scaled_modified_bessel_k0"), (1, "scaled_modified_bessel_k1")):
        value = integral(lambda u, order=order: np.exp(-x * (np.cosh(u) - 1)) * np.cosh(order * u), high)
        assert getattr(special, name)(t).item() == pytest.approx(value, rel=1e-12), name
    # the Wronskian of both kinds
    j0, j1, y0, y1 = (getattr(special, f"bessel_{n}")(t).item() for n in ("j0", "j1", "y0", "y1"))
    assert j1 * y0 - j0 * y1 == pytest.approx(2 / (pi * x), rel=1e-12)
    i0, i1, k0, k1 = (getattr(special, f"modified_bessel_{n}")(t).item() for n in ("i0", "i1", "k0", "k1"))
    assert i0 * k1 + i1 * k0 == pytest.approx(1 / x, rel=1e-12)


def test_the_ends_of_bessel_functions() -> None:
    ends = flambeau.tensor([0.0, INF, -INF, NAN], dtype=flambeau.float64)
    wanted = {
        "i0": [1, INF, INF, NAN], "i1": [0, INF, -INF, NAN], "i0e": [1, 0, 0, NAN], "i1e": [0, 0, 0, NAN],
        "bessel_j0": [1, 0, 0, NAN], "bessel_j1": [0, 0, 0, NAN], "bessel_y0": [-INF, 0, NAN, NAN],
        "bessel_y1": [-INF, 0, NAN, NAN], "modified_bessel_k0": [INF, 0, NAN, NAN],
        "modified_bessel_k1": [INF, 0, NAN, NAN], "spherical_bessel_j0": [1, 0, 0, NAN],
    }  # fmt: skip
    for name, values in wanted.items():
        np.testing.assert_array_equal(getattr(special, name)(ends)._array, values, err_msg=name)


@pytest.mark.parametrize("x", [-8.0, -2.51, -2.49, -0.3, 0.0, 1e-6, 1.9, 2.49, 2.51, 6.0])
def test_the_airy_function_is_its_integral(x: float) -> None:
    third = np.exp(1j * math.pi / 6)
    value = integral(lambda s: (third * np.exp(-(s**3) / 3 + 1j * x * s * third)).real, 12.0) / math.pi
    given = special.airy_ai(flambeau.tensor(x, dtype=flambeau.float64)).item()
    assert given == pytest.approx(value, rel=1e-10, abs=1e-13)


def test_the_airy_function_far_out() -> None:
    x = flambeau.tensor([60.0, -60.0, INF, -INF, NAN], dtype=flambeau.float64)
    z, root = 2 / 3 * 60**1.5, math.sqrt(math.pi) * 60**0.25
    above = math.exp(-z) / (2 * root) * (1 - 5 / (72 * z) + 385 / (10368 * z**2))
    below = (math.cos(z - math.pi / 4) + math.sin(z - math.pi / 4) * 5 / (72 * z)) / root
    np.testing.assert_allclose(special.airy_ai(x)._array, [above, below, NAN, NAN, NAN], rtol=1e-6)


def test_sums_and_derivatives() -> None:
    assert special.zeta(flambeau.tensor(2.0, dtype=flambeau.float64), 1).item() == pytest.approx(math.pi**2 / 6)
    x, q = flambeau.tensor([1.5, 3.0, 20.0, 100.0]), flambeau.tensor([0.5, 2.25, 1.0, 20.0])
    for s, a, found in zip(x.tolist(), q.tolist(), special.zeta(x.double(), q.double()).tolist(), strict=True):
        terms = sum((a + k) ** -s for k in range(4000)) + (a + 4000) ** (1 - s) / (s - 1) + (a + 4000) ** -s / 2
        assert found == pytest.approx(terms, rel=1e-9)
    edge = special.zeta(flambeau.tensor([1.0, 0.5, 2.0, 2.5, NAN]), flambeau.tensor([1.0, 1.0, -2.0, -1.5, 1.0]))
    np.testing.assert_array_equal(edge._array, [INF, NAN, INF, NAN, NAN])
    t = flambeau.tensor([0.3, 2.0, -1.5, 40.0], dtype=flambeau.float64)
    step = 1e-5
    for n in range(4):
        slope = (flambeau.polygamma(n, t + step) - flambeau.polygamma(n, t - step)) / (2 * step)
        np.testing.assert_allclose(flambeau.polygamma(n + 1, t)._array, slope._array, rtol=1e-5)
    np.testing.assert_array_equal(flambeau.polygamma(1, flambeau.tensor([0.0, -2.0, NAN, INF]))._array,
                                  [INF, INF, NAN, 0])  # fmt: skip


def test_incomplete_gamma_functions() -> None:
    for a in (1, 2, 5, 12, 40):
        for x in (0.1, 0.9 * a, a, 1.1 * a, 3.0 * a):
            upper = math.exp(-x) * sum(x**k / math.factorial(k) for k in range(a))
            given = flambeau.tensor(float(a), dtype=flambeau.float64), flambeau.tensor(x, dtype=flambeau.float64)
            assert special.gammaincc(*given).item() == pytest.approx(upper, rel=1e-12)
            assert special.gammainc(*given).item() == pytest.approx(1 - upper, rel=1e-11, abs=1e-14)
    a = flambeau.tensor([0.0, 0, 1, -1, 5, INF, 2, NAN, INF])
    x = flambeau.tensor([0.0, 1, 0, 1, INF, 2, -1, 1, INF])
    np.testing.assert_array_equal(flambeau.igamma(a, x)._array, [NAN, 1, 0, NAN, 1, 0, NAN, NAN, NAN])
    np.testing.assert_array_equal(flambeau.igammac(a, x)._array, [NAN, 0, 1, NAN, 0, 1, NAN, NAN, NAN])
    big = flambeau.tensor([1e5, 1e5], dtype=flambeau.float64)
    both = special.gammainc(big, big) + special.gammaincc(big, big)
    np.testing.assert_allclose(both._array, 1)


def test_the_normal_distribution() -> None:
    p = flambeau.tensor([1e-300, 1e-20, 0.001, 0.2, 0.5, 0.9, 1 - 1e-12], dtype=flambeau.float64)
    x = special.ndtri(p)
    np.testing.assert_allclose(special.log_ndtr(x)._array, np.log(p._array), rtol=1e-12)
    ends = special.ndtri(flambeau.tensor([0.0, 1.0, -0.1, 1.1, NAN, 0.5]))
    np.testing.assert_array_equal(ends._array, [-INF, INF, NAN, NAN, NAN, 0])
    np.testing.assert_array_equal(special.log_ndtr(flambeau.tensor([-INF, INF, NAN]))._array, [-INF, 0, NAN])
    y = flambeau.tensor([-5.0, -0.3, 0.0, 0.7, 5.0], dtype=flambeau.float64)
    wanted = [math.exp(v * v) * math.erfc(v) for v in y.tolist()]
    np.testing.assert_allclose(special.erfcx(y)._array, wanted, rtol=1e-14)
    np.testing.assert_array_equal(special.erfcx(flambeau.tensor([-INF, INF, NAN, -30.0]))._array, [INF, 0, NAN, INF])
    assert special.erfcx(flambeau.tensor(1e5, dtype=flambeau.float64)).item() == pytest.approx(
        1 / (1e5 * math.sqrt(math.pi))
    )


def test_dtypes_layouts_and_forms() -> None:
    x = wrap(np.linspace(0.5, 3, 12).astype(np.float32).reshape(3, 4))
    np.testing.assert_allclose(x.t().i0()._array, np.i0(x._array.T), rtol=1e-6)
    assert special.i0(flambeau.tensor([1, 2])).dtype is flambeau.float32
    assert special.i0(flambeau.tensor([1.0], dtype=flambeau.float16)).dtype is flambeau.float16
    assert special.i0e(flambeau.tensor(True)).shape == ()
    assert special.i1(flambeau.ones(0, 3)).shape == (0, 3)
    out = flambeau.empty(0)
    assert special.gammainc(x, flambeau.tensor(1.0), out=out) is out
    assert out.shape == (3, 4)
    y = x.clone()
    assert y.i0_() is y
    assert y.igamma_(x) is y
    assert special.zeta(2, flambeau.tensor([1, 2])).tolist() == pytest.approx([math.pi**2 / 6, math.pi**2 / 6 - 1])
    for name in ("ndtri", "erfcx", "bessel_j0"):
        with pytest.raises(NotImplementedError, match=f"\"{name}_cpu\" not implemented for 'Half'"):
            getattr(special, name)(flambeau.ones(1, dtype=flambeau.float16))
    with pytest.raises(NotImplementedError, match="\"igamma_cpu\" not implemented for 'Long'"):
        flambeau.igamma(flambeau.tensor([1]), flambeau.tensor([1]))


@pytest.mark.parametrize("backend", ["reference", "interpreter", "native"])
def test_programs(backend: str) -> None:
    def f(x: flambeau.Tensor) -> flambeau.Tensor:
        y = x + flambeau.special.i0(x * 2.0) + flambeau.special.xlogy(x, x) + flambeau.special.polygamma(1, x)
        return y + flambeau.igamma(x, x) * flambeau.special.zeta(x + 2.0, 1) - flambeau.special.ndtri(x / 10.0)

    x = wrap(np.linspace(0.5, 3, 6).astype(np.float32))
    script = flambeau.script(f, backend=backend)
    np.testing.assert_allclose(script(x)._array, f(x)._array, rtol=1e-5)
    np.testing.assert_allclose(flambeau.trace(f, (x,))(x)._array, f(x)._array, rtol=1e-5)
