"""The stated accuracy of the float functions, held on dense samples against wider arithmetic."""

from __future__ import annotations

import math

import numpy as np
import pytest

from flambeau.codegen import backend
from flambeau.codegen.llvm.accuracy import ULP
from flambeau.ops.families import numpy_special
from tests.codegen.kernels import pointwise, ulp_error

DOMAINS: dict[str, tuple[tuple[float, float], tuple[float, float]]] = {
    "exp": ((-110, 92), (-750, 712)),
    "exp2": ((-155, 130), (-1080, 1026)),
    "expm1": ((-30, 92), (-60, 712)),
    "log": ((0, 3e38), (0, 1e308)),
    "log2": ((0, 3e38), (0, 1e308)),
    "log10": ((0, 3e38), (0, 1e308)),
    "log1p": ((-1, 50), (-1, 50)),
    "tanh": ((-12, 12), (-25, 25)),
    "sin": ((-1e6, 1e6), (-1e8, 1e8)),
    "cos": ((-1e6, 1e6), (-1e8, 1e8)),
    "tan": ((-1e6, 1e6), (-1e8, 1e8)),
    "asin": ((-1, 1), (-1, 1)),
    "acos": ((-1, 1), (-1, 1)),
    "atan": ((-30, 30), (-30, 30)),
    "sinh": ((-92, 92), (-712, 712)),
    "cosh": ((-92, 92), (-712, 712)),
    "asinh": ((-1e4, 1e4), (-1e4, 1e4)),
    "acosh": ((1, 1e4), (1, 1e4)),
    "atanh": ((-1, 1), (-1, 1)),
}
NUMPY_NAMES = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh",
               "atanh": "arctanh"}  # fmt: skip
WIDE = np.finfo(np.longdouble).nmant > 60
"""Whether long double is wider than double here, and can judge it."""


def samples(low: float, high: float, dtype: str, count: int = 20000) -> np.ndarray:
    """Uniform over the interval, uniform over exponents, and close to one."""
    g = np.random.default_rng(7)
    bound = max(abs(low), abs(high))
    floor = -85.0 if dtype == "float32" else -700.0
    spread = np.exp(g.uniform(floor, math.log(bound), count)) * g.choice([-1.0, 1.0], count)
    x = np.concatenate([g.uniform(low, high, count), spread, g.uniform(0.5, 2, count)])
    return x[(x >= low) & (x <= high)].astype(dtype)


@pytest.mark.parametrize("op", list(DOMAINS))
@pytest.mark.parametrize("dtype", ["float32", "float64"] if WIDE else ["float32"])
def test_stated_error_holds(op: str, dtype: str) -> None:
    x = samples(*DOMAINS[op][dtype == "float64"], dtype)
    with np.errstate(all="ignore"):
        exact = getattr(np, NUMPY_NAMES.get(op, op))(x.astype(np.longdouble))
    assert ulp_error(backend.compile_kernel(pointwise(op, (dtype,)))(x), exact) <= ULP[op][dtype]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sigmoid(dtype: str) -> None:
    x = samples(-100, 100, dtype)
    exact = 1 / (1 + np.exp(-x.astype(np.longdouble)))
    assert ulp_error(backend.compile_kernel(pointwise("sigmoid", (dtype,)))(x), exact) <= ULP["sigmoid"][dtype]


@pytest.mark.skipif(not WIDE, reason="long double is no wider than double here, and cannot judge it")
def test_powers_of_float64() -> None:
    """Small and large powers, subnormal bases and powers, bases near 1 and where the logarithm is split."""
    g, count = np.random.default_rng(3), 20000
    near_one = 1 + g.standard_normal(count) * 1e-6, g.uniform(-1e8, 1e8, count)
    split = math.sqrt(2) * (1 + g.standard_normal(count) * 1e-3), g.uniform(-2000, 2000, count)
    wide = np.exp(g.uniform(-740, 709, count)), g.uniform(-2.3, 2.3, count)
    whole = g.integers(1, 40, count) * 1.0, g.integers(-300, 300, count) * 1.0
    middling = g.uniform(0, 10, count), g.standard_normal(count) * 5
    x, y = (np.concatenate(parts) for parts in zip(near_one, split, wide, whole, middling, strict=True))
    with np.errstate(all="ignore"):
        exact = np.power(x.astype(np.longdouble), y.astype(np.longdouble))
        got = backend.compile_kernel(pointwise("pow", ("float64", "float64")))(x, y)
    is_normal = (exact > np.finfo(np.float64).tiny) & (exact <= np.finfo(np.float64).max)
    assert ulp_error(got[is_normal], exact[is_normal]) <= ULP["pow"]["float64"]
    subnormal = ~is_normal & np.isfinite(got)
    assert np.all(np.abs(got[subnormal] - exact[subnormal]) <= 5e-324)


def test_powers_of_float64_at_the_edges() -> None:
    """Zeros, ones, infinities, nan, whole and half exponents, the largest and the smallest numbers, as C has them."""
    ends = [0.0, 1.0, 2.0, 0.5, 3.0, 1.5, math.inf, 5e-324, 1e308, 2.0**53, 2.0**53 + 2, 1e-300, 1023.0, 1075.0, 1e17]
    numbers = [*ends, *(-number for number in ends), math.nan]
    x, y = (a.ravel() for a in np.meshgrid(numbers, numbers))
    kernel = backend.compile_kernel(pointwise("pow", ("float64", "float64")))
    with np.errstate(all="ignore"):
        got, want = kernel(x, y), np.power(x, y)
    is_finite = np.isfinite(want)
    assert np.array_equal(got[~is_finite], want[~is_finite], equal_nan=True)
    assert np.all(np.abs(got[is_finite] - want[is_finite]) <= 2 * np.spacing(np.abs(want[is_finite])))
    assert np.array_equal(np.signbit(got)[~np.isnan(want)], np.signbit(want)[~np.isnan(want)])
    one_by_one = [kernel(x[k : k + 1], y[k : k + 1])[0] for k in range(0, x.size, 13)]
    assert np.array_equal(one_by_one, got[::13], equal_nan=True)


@pytest.mark.parametrize("op", ["erf", "erfc"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_error_functions(op: str, dtype: str) -> None:
    """Against the C library, whose own error of up to one unit is allowed for in double precision."""
    x = samples(-6, 10 if dtype == "float32" else 26, dtype, 5000)
    exact = np.array([getattr(math, op)(float(v)) for v in x], np.longdouble)
    slack = 0.0 if dtype == "float32" else 1.0
    assert ulp_error(backend.compile_kernel(pointwise(op, (dtype,)))(x), exact) <= ULP[op][dtype] + slack


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("op", "low", "high"), [("erfinv", -1, 1), ("lgamma", 0, 1e4), ("digamma", 1.6, 1e4)])
def test_functions_around_gamma(op: str, low: float, high: float, dtype: str) -> None:
    """Against arithmetic of 30 digits, where they have no zeros but those that are factors."""
    mpmath = pytest.importorskip("mpmath", reason="judges what long double cannot")
    x = samples(low, high, dtype, 300)
    exact = {"erfinv": mpmath.erfinv, "lgamma": mpmath.loggamma, "digamma": mpmath.digamma}[op]
    with mpmath.workdps(30):
        want = np.array([np.longdouble(mpmath.nstr(mpmath.re(exact(mpmath.mpf(float(v)))), 25)) for v in x])
    assert ulp_error(backend.compile_kernel(pointwise(op, (dtype,)))(x), want) <= ULP[op][dtype]


@pytest.mark.parametrize("op", ["erfinv", "lgamma", "digamma"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_functions_around_gamma_are_those_of_eager_calls(op: str, dtype: str) -> None:
    ends = [0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 2, -2, -2.5, 1e30, -1e30, 1e-30]
    x = np.concatenate([np.array(ends, dtype), samples(-20, 20, dtype, 500)])
    got = backend.compile_kernel(pointwise(op, (dtype,)))(x)
    with np.errstate(all="ignore"):
        want = getattr(numpy_special, op)(x)
        close = np.abs(got - want) <= (1e-6 if dtype == "float32" else 1e-13) * np.maximum(np.abs(want), 1)
    assert (close | (got == want) | (np.isnan(got) & np.isnan(want))).all()


@pytest.mark.parametrize("op", ["sin", "cos", "tan"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_huge_arguments(op: str, dtype: str) -> None:
    x = np.array([1e5, 3e7, 1e15, 1e22, 3e38, np.inf, -np.inf, np.nan], dtype)
    got = backend.compile_kernel(pointwise(op, (dtype,)))(x)
    want = [getattr(math, op)(float(v)) if np.isfinite(v) else math.nan for v in x]
    np.testing.assert_allclose(got, np.array(want), rtol=1e-6 if dtype == "float32" else 1e-15)


def test_exact_points() -> None:
    def value(op: str, x: float) -> float:
        return float(backend.compile_kernel(pointwise(op, ("float32",)))(np.float32([x]))[0])

    assert value("cos", 0.0) == 1.0
    assert value("exp", 0.0) == 1.0
    assert value("exp2", 10.0) == 1024.0
    assert value("log2", 8.0) == 3.0
    assert value("log", 1.0) == 0.0
    assert value("sigmoid", 0.0) == 0.5
    assert value("erf", 0.0) == 0.0
    assert value("erfc", 0.0) == 1.0
    assert math.copysign(1.0, value("sin", -0.0)) == -1.0
    assert math.copysign(1.0, value("tanh", -0.0)) == -1.0
