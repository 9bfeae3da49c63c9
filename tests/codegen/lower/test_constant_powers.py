"""Powers with constant exponents: what is quicker than a power in general gives what an operator at a time gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.codegen.lower.recorder import apply, constant
from flambeau.codegen.lower.values import Dim, Expr
from tests.codegen.kernels import ulp_error

HOSTILE = [
    np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 1e-45, -1e-45, 1e-38, 3e38, -3e38, 0.5, 9.0,
    1e20,
]  # fmt: skip


def _powers(exponent: float, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What is compiled, and what an operator at a time gives."""
    unit = flambeau.CompilationUnit(f"def power(x: Tensor) -> Tensor:\n    return flambeau.pow(x, {exponent})\n")
    tensor = flambeau.from_numpy(x)
    return unit.power(tensor).numpy(), flambeau.pow(tensor, exponent).numpy()


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("exponent", [0, 0.0, -0.0, 1, 2, -1, -1.0, -2, 0.5, -0.5, 1.5, 4])
def test_hostile_numbers(dtype: Any, exponent: float) -> None:
    with np.errstate(all="ignore"):
        x = np.tile(np.array(HOSTILE).astype(dtype), 5)
        got, want = _powers(exponent, x)
    assert got.dtype == want.dtype
    np.testing.assert_allclose(got, want, rtol=3 * np.finfo(dtype).eps, atol=np.finfo(dtype).smallest_subnormal)
    is_number = ~np.isnan(want)
    np.testing.assert_array_equal(np.signbit(got[is_number]), np.signbit(want[is_number]))


@pytest.mark.parametrize("dtype", [np.bool_, np.uint8, np.int32, np.int64])
@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 4])
def test_integers(dtype: Any, exponent: int) -> None:
    got, want = _powers(exponent, np.arange(40).astype(dtype))
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("shape", [(), (0, 3), (2, 1, 3)])
def test_the_power_zero_has_the_sizes_of_its_base(shape: tuple[int, ...]) -> None:
    got, _ = _powers(0, np.full(shape, np.nan, np.float32))
    assert got.shape == shape
    assert (got == 1).all()


@pytest.mark.parametrize(
    ("exponent", "operation"),
    [
        (0, "select"),
        (1, "input"),
        (2, "mul"),
        (4, "mul"),
        (-1, "div"),
        (-2, "mul"),
        (0.5, "sqrt"),
        (-0.5, "select"),
        (1.5, "select"),
    ],
)
def test_no_power_is_computed(exponent: float, operation: str) -> None:
    base = Expr("input", "float32", (), (Dim(),))
    assert apply("pow", base, constant(exponent, "float32")).op == operation


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("exponent", [-2, -1, -0.5, 0.5, 1.5, 2, 3, 4])
def test_errors_of_at_most_two_units(dtype: Any, exponent: float) -> None:
    x = np.exp(np.random.default_rng(0).uniform(-20, 20, 20_000)).astype(dtype)
    got, _ = _powers(exponent, x)
    exact = x.astype(np.longdouble) ** np.longdouble(exponent)
    assert ulp_error(got, exact) <= (2.0 if np.finfo(np.longdouble).nmant > 60 or dtype == np.float32 else 3.0)
