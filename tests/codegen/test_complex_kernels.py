"""Kernels of complex numbers: NumPy's answers, at zeros, infinities and nan too, wherever the numbers lie."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.codegen import backend, reference
from flambeau.codegen.kernel import parse_kernel, print_kernel
from flambeau.codegen.lower import lower_graph
from flambeau.ir.parser import parse_ir

Array = np.ndarray[Any, Any]
EDGES = [0.0, -0.0, 1.0, -2.5, 0.3, 20.0, 1e-310, -1e308, 3e-320, np.inf, -np.inf, np.nan, -750.0, 800.0]
HOSTILE = np.array([complex(x, y) for x, y in itertools.product(EDGES, EDGES)])
PLAIN = np.array([complex(x, y) for x, y in itertools.product(np.linspace(-3, 3, 13), np.linspace(-3, 3, 13))])
CLOSE = {"complex128": 4e-15, "complex64": 3e-6}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "exp": np.exp, "log": np.log, "sqrt": np.sqrt, "sin": np.sin, "cos": np.cos, "tan": np.tan, "sinh": np.sinh,
    "cosh": np.cosh, "tanh": np.tanh, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "asinh": np.arcsinh,
    "acosh": np.arccosh, "atanh": np.arctanh, "log2": np.log2, "log10": np.log10, "log1p": np.log1p,
    "expm1": np.expm1, "abs": np.abs, "angle": np.angle, "neg": np.negative, "conj_physical": np.conj,
    "reciprocal": lambda x: 1 / x, "isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite,
}  # fmt: skip


def program(body: str, operands: int) -> flambeau.jit.ScriptFunction:
    names = ", ".join(f"x{k}: Tensor" for k in range(operands))
    return flambeau.CompilationUnit(f"def f({names}):\n    return {body}\n").f


def check(
    body: str, expected: Callable[..., Any], *arrays: Array, close: float | None = None, beside: float = 1e-313
) -> None:
    """A program's result by its kernel is what NumPy gives, of the same dtype."""
    fn = program(body, len(arrays))
    for _ in range(3):
        result = fn(*[flambeau.from_numpy(a) for a in arrays]).numpy()
    with np.errstate(all="ignore"):
        wanted = np.asarray(expected(*arrays))
    assert result.dtype == wanted.dtype
    assert result.shape == wanted.shape
    assert_near(result, wanted, close or CLOSE[arrays[0].dtype.name], beside)
    assert "native from end to end" in str(fn.explain()), str(fn.explain())


def assert_near(result: Array, wanted: Array, close: float, beside: float) -> None:
    """Equal parts, nan and infinities among them; of finite numbers the distance counts, in parts of their length."""
    if wanted.dtype.kind != "c":
        result, wanted = result.astype(complex), wanted.astype(complex)
    with np.errstate(all="ignore"):
        near = np.isfinite(wanted) & (np.abs(result - wanted) <= close * np.abs(wanted) + beside)
        for ours, theirs in ((result.real, wanted.real), (result.imag, wanted.imag)):
            is_close = np.abs(ours - theirs) <= close * np.abs(theirs)
            is_same = (ours == theirs) | (np.isnan(ours) & np.isnan(theirs)) | (np.isfinite(theirs) & is_close) | near
            assert is_same.all(), (result[~is_same][:3], wanted[~is_same][:3])


@pytest.mark.parametrize("dtype", CLOSE)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name: str, dtype: str) -> None:
    with np.errstate(all="ignore"):
        hostile, plain = HOSTILE.astype(dtype), PLAIN.astype(dtype)
    check(f"flambeau.{name}(x0)", FUNCTIONS[name], plain)
    # Where a length is subnormal, inverse functions of floats have fewer digits themselves.
    check(f"flambeau.{name}(x0)", FUNCTIONS[name], hostile)


@pytest.mark.parametrize("dtype", CLOSE)
@pytest.mark.parametrize("operator", ["+", "-", "*", "/", "==", "!="])
def test_operators(operator: str, dtype: str) -> None:
    def expected(x: Array, y: Array) -> Any:
        # Of long arrays NumPy rounds the sum in a product once; of single numbers as we do.
        return np.array([eval(f"x {operator} y", {"x": a, "y": b}) for a, b in zip(x, y, strict=True)])

    with np.errstate(all="ignore"):
        x = HOSTILE.astype(dtype)
        y = np.random.default_rng(0).permutation(x)
        check(f"x0 {operator} x1", expected, x, y)


@pytest.mark.parametrize("exponent", ["2", "3", "-2", "0", "0.5", "2.5", "1+2j", "17"])
def test_powers(exponent: str) -> None:
    check(f"x0 ** ({exponent})", lambda x: x ** eval(exponent), PLAIN, close=1e-13)


def test_powers_of_numbers_that_are_computed() -> None:
    check("x0 ** x1", lambda x, y: x**y, PLAIN, PLAIN[::-1].copy(), close=1e-13)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("x0.sum()", lambda x: x.sum()),
        ("x0.sum(0)", lambda x: x.sum(0)),
        ("x0.mean(1)", lambda x: x.mean(1)),
        ("x0.cumsum(1)", lambda x: x.cumsum(1)),
        ("x0.var(1)", lambda x: x.var(1, ddof=1)),
        ("x0.std()", lambda x: x.std(ddof=1)),
        ("flambeau.linalg.norm(x0)", np.linalg.norm),
        ("x0.any(0)", lambda x: x.any(0)),
        ("(x0 * 2).abs().sum(1)", lambda x: np.abs(x * 2).sum(1)),
        ("flambeau.where(x0.real > 0, x0, 1j * x0.imag)", lambda x: np.where(x.real > 0, x, 1j * x.imag)),
        ("(x0 * x0.conj()).real.sum()", lambda x: (x * x.conj()).real.sum()),
        ("(x0 - x0.mean(0)) / x0.std(0)", lambda x: (x - x.mean(0)) / x.std(0, ddof=1)),
        ("flambeau.polar(x0.abs(), x0.angle())", lambda x: x),
        ("flambeau.complex(x0.imag, x0.real)", lambda x: x.imag + 1j * x.real),
    ],
)
@pytest.mark.parametrize("dtype", CLOSE)
def test_folds_and_mixtures(body: str, expected: Callable[..., Any], dtype: str) -> None:
    matrix = (PLAIN + 0.1j).reshape(13, 13).astype(dtype)
    close = 1e-12 if dtype == "complex128" else 1e-5
    for x in (matrix, matrix.T, matrix[::2, 1::3]):
        check(body, expected, x, close=close, beside=close)


@pytest.mark.parametrize("sizes", [(), (0,), (3, 0), (1,), (1, 5), (2, 3, 4), (70,)])
def test_sizes(sizes: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    x = np.asarray(rng.normal(size=sizes) + 1j * rng.normal(size=sizes))
    check("x0 * x0 - 2j / (x0 + 1)", lambda x: np.asarray(x * x - 2j / (x + 1)), x)


def test_broadcasts_with_reals_and_integers() -> None:
    x = PLAIN.reshape(13, 13)
    check("x0 * x1 + x2", lambda x, y, z: x * y + z, x, np.arange(13.0), np.arange(13)[:, None])


@pytest.mark.parametrize("dtype", CLOSE)
@pytest.mark.parametrize(
    ("left", "right"),
    [((3, 4), (4, 5)), ((4,), (4, 5)), ((3, 4), (4,)), ((4,), (4,)), ((2, 3, 4), (2, 4, 5)), ((3, 4), (7, 4, 2)),
     ((2, 1), (1, 40)), ((3, 0), (0, 2)), ((1, 9), (9, 1)), ((70, 60), (60, 50))],
)  # fmt: skip
def test_products(left: tuple[int, ...], right: tuple[int, ...], dtype: str) -> None:
    rng = np.random.default_rng(0)
    x, y = (rng.normal(size=s) + 1j * rng.normal(size=s) for s in (left, right))
    x, y = x.astype(dtype), y.astype(dtype)
    close = 1e-12 if dtype == "complex128" else 1e-4
    fn = program("x0 @ x1 * 2j", 2)
    for _ in range(3):
        for turned in (y, np.swapaxes(np.swapaxes(y, -1, -2).copy(), -1, -2) if y.ndim > 1 else y):
            result = fn(flambeau.from_numpy(x), flambeau.from_numpy(turned)).numpy()
            np.testing.assert_allclose(result, x @ y * 2j, rtol=close, atol=close)


def test_text_and_reference() -> None:
    text = """graph(%x : ComplexDouble(*), %y : ComplexDouble(*)):
  %z : ComplexDouble(*) = aten::mul(%x, %y)
  %a : Double(*) = aten::abs(%z)
  return (%z, %a)"""
    kernel = lower_graph(parse_ir(text)).kernel
    assert parse_kernel(print_kernel(kernel)) == kernel
    x, y = PLAIN, PLAIN[::-1].copy()
    for ours, wanted in zip(backend.compile_kernel(kernel)(x, y), reference.run(kernel, x, y), strict=True):
        np.testing.assert_allclose(ours, wanted, rtol=1e-15)
    assert "%1: float64 = real %0" in print_kernel(kernel)


def test_a_product_and_its_sum_are_rounded_as_of_floats() -> None:
    """`z * conj(z)` has no imaginary part: products are rounded before they are added."""
    fn = program("x0 * x0.conj()", 1)
    for _ in range(3):
        result = fn(flambeau.from_numpy(PLAIN)).numpy()
    assert not result.imag.any()
