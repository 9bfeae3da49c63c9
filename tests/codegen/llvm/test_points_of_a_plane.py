"""The angle and the length of points: against wider arithmetic, and at what C says of zeros, infinities and nan."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.codegen import backend
from flambeau.codegen.llvm.accuracy import ULP
from tests.codegen.kernels import pointwise, ulp_error

EXACT: dict[str, Callable[..., Any]] = {"atan2": np.arctan2, "hypot": np.hypot}
ENDS = [0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, 1, -1, 1e-45, -1e-45, 3e38, -3e38, 1e-310, 1e308, -1e308]


def _compiled(op: str, dtype: str) -> Callable[..., Any]:
    kernel: Callable[..., Any] = backend.compile_kernel(pointwise(op, (dtype, dtype)))
    return kernel


def _points(dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """Near each other and far apart, of all magnitudes."""
    draw = np.random.default_rng(3)
    most = 80 if dtype == "float32" else 690
    signs = draw.choice([-1.0, 1.0], (2, 20_000))
    far = np.exp(draw.uniform(-most, most, 20_000))
    y = np.concatenate([draw.standard_normal(20_000), far * signs[0]])
    x = np.concatenate([draw.standard_normal(20_000), far * np.exp(draw.uniform(-15, 15, 20_000)) * signs[1]])
    return y.astype(dtype), x.astype(dtype)


@pytest.mark.skipif(np.finfo(np.longdouble).nmant <= 60, reason="nothing wider to judge by")
@pytest.mark.parametrize("op", list(EXACT))
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_stated_error_holds(op: str, dtype: str) -> None:
    with np.errstate(over="ignore"):
        y, x = _points(dtype)
    exact = EXACT[op](y.astype(np.longdouble), x.astype(np.longdouble))
    assert ulp_error(_compiled(op, dtype)(y, x), exact) <= ULP[op][dtype]


@pytest.mark.parametrize("op", list(EXACT))
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_ends(op: str, dtype: str) -> None:
    with np.errstate(over="ignore", under="ignore"):
        ends = np.array(ENDS).astype(dtype)
        y, x = (np.ascontiguousarray(a.ravel()) for a in np.meshgrid(ends, ends))
        want = EXACT[op](y, x)
    got = _compiled(op, dtype)(y, x)
    np.testing.assert_allclose(got, want, rtol=4 * np.finfo(dtype).eps, atol=np.finfo(dtype).smallest_subnormal)
    is_number = ~np.isnan(want)
    np.testing.assert_array_equal(np.signbit(got[is_number]), np.signbit(want[is_number]))


@pytest.mark.parametrize("op", list(EXACT))
def test_the_c_library_is_not_asked(op: str) -> None:
    unit = flambeau.CompilationUnit(f"def f(x: Tensor, y: Tensor) -> Tensor:\n    return flambeau.{op}(x, y)\n")
    for _ in range(2):
        unit.f(flambeau.ones(100), flambeau.ones(100))
    assert f"@{op}" not in unit.f.llvm_ir
