"""Gradients in programs of Einstein sums, cross products and constant powers: native, whatever is known of sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.func import grad, hessian, jacfwd, vmap


@flambeau.script
def contracted(a: Tensor, b: Tensor, n: int) -> Tensor:
    """Of parts whose sizes only the run knows."""
    a, b = a[:n], b[:n]
    total = a.new_zeros([])
    for _ in range(2):
        total = total + (flambeau.einsum("ij,kj->ik", a, b) ** 2).sum()
    return total


@flambeau.script
def twice_named(a: Tensor, b: Tensor, n: int) -> Tensor:
    a, b = a[:n, :n], b[:n]
    total = a.new_zeros([])
    for _ in range(2):
        total = total + (flambeau.einsum("ii,ij->j", a, b) ** 3).sum()
    return total


def _numbers(*sizes: int) -> Any:
    return np.random.default_rng(1).normal(size=sizes)


@pytest.mark.parametrize(
    ("a", "b"),
    [((3, 4), (5, 4)), ((3, 1), (5, 4)), ((3, 4), (2, 1)), ((1, 1), (1, 1)), ((0, 4), (5, 4)), ((3, 0), (5, 0))],
)
def test_sums_over_sizes_of_one(a: tuple[int, int], b: tuple[int, int]) -> None:
    x, y = _numbers(*a), _numbers(*b)
    wide_x, wide_y = (np.broadcast_to(t, (len(t), max(a[1], b[1]) if a[1] and b[1] else 0)) for t in (x, y))
    product = wide_x @ wide_y.T
    expected = [4 * product @ wide_y, 4 * product.T @ wide_x]
    expected = [e.sum(1, keepdims=True) if t.shape[1] == 1 else e for e, t in zip(expected, (x, y), strict=True)]
    arguments = [flambeau.from_numpy(x), flambeau.from_numpy(y)]
    for _ in range(3):
        gradients = grad(contracted, argnums=(0, 1))(*arguments, 5)
        for got, wanted in zip(gradients, expected, strict=True):
            np.testing.assert_allclose(got.numpy(), wanted, rtol=1e-12, atol=1e-12)


def test_axes_that_an_operand_names_twice() -> None:
    x, y = _numbers(4, 4), _numbers(4, 3)
    slope = 6 * (np.diag(x) @ y) ** 2
    arguments = flambeau.from_numpy(x), flambeau.from_numpy(y)
    gradients = grad(twice_named, argnums=(0, 1))
    for _ in range(3):
        by_matrix, by_other = gradients(*arguments, 4)
        np.testing.assert_allclose(by_matrix.numpy(), np.diag(y @ slope), rtol=1e-12)
        np.testing.assert_allclose(by_other.numpy(), np.outer(np.diag(x), slope), rtol=1e-12)
    assert gradients.explain().is_native


@pytest.mark.parametrize("function", [contracted, twice_named])
def test_sizes_that_do_not_fit_are_said(function: Any) -> None:
    a, b = flambeau.ones(3, 4, dtype=flambeau.float64), flambeau.ones(3, 3, dtype=flambeau.float64)
    for _ in range(3):
        with pytest.raises(RuntimeError, match=r"subscript j has size 3|subscript i is repeated for operand 0"):
            function(a, b, 4)


def test_cross_products_in_loops() -> None:
    def turned(w, inertia):
        for _ in range(20):
            w = w + 0.01 * -flambeau.linalg.cross(w, inertia * w) / inertia
        return (w**2).sum()

    w, inertia = (flambeau.tensor(t, dtype=flambeau.float64) for t in ([0.3, -1.0, 2.0], [1.0, 2.0, 3.0]))
    compiled = grad(flambeau.script(turned), argnums=(0, 1))
    for got, wanted in zip(compiled(w, inertia), grad(turned, argnums=(0, 1))(w, inertia), strict=True):
        np.testing.assert_allclose(got.numpy(), wanted.numpy(), rtol=1e-12)
    assert compiled.explain().is_native


@pytest.mark.parametrize(("sizes", "dim"), [((2, 3), -1), ((3, 2), 0), ((3,), 0)])
def test_cross_products_of_what_broadcasts(sizes: tuple[int, ...], dim: int) -> None:
    def crossed(a, b):
        return (flambeau.linalg.cross(a, b, dim=DIM) ** 3).sum()

    DIM = dim  # noqa: N806  # a constant of the function
    a = flambeau.from_numpy(_numbers(*sizes))
    b = flambeau.from_numpy(_numbers(*[size if size == 3 else 1 for size in sizes]) + 1)
    gradients = grad(flambeau.script(crossed), argnums=(0, 1))(a, b)
    step = 1e-6
    for k, gradient in enumerate(gradients):
        assert gradient.shape == (a, b)[k].shape
        direction = flambeau.from_numpy(np.random.default_rng(k).normal(size=gradient.shape))
        ahead, behind = (
            [t + sign * step * direction if j == k else t for j, t in enumerate((a, b))] for sign in (1, -1)
        )
        slope = float(crossed(*ahead) - crossed(*behind)) / (2 * step)
        assert slope == pytest.approx(float((gradient * direction).sum()), rel=1e-6)


def test_second_derivatives_of_squares_of_numbers() -> None:
    """The derivative of `x ** 0`, which is a number, is zeros of the operand's sizes."""

    def energy(v, m):
        return 0.5 * m[0] * v[0] ** 2 + m[1] * v[1] ** 2 * v[0]

    def end(v, m):
        for _ in range(5):
            curvature = hessian(energy)(v, m) + flambeau.eye(2)
            v = v - 0.1 * flambeau.linalg.solve(curvature, grad(energy)(v, m))
        return v.sum()

    v, m = flambeau.tensor([0.5, -1.0]).double(), flambeau.tensor([1.0, 2.0]).double()
    gradients = grad(flambeau.script(end), argnums=(0, 1))
    for got, wanted in zip(gradients(v, m), grad(end, argnums=(0, 1))(v, m), strict=True):
        np.testing.assert_allclose(got.numpy(), wanted.numpy(), rtol=1e-10)
    assert gradients.explain().is_native


def test_products_of_examples_stay_in_native_code() -> None:
    """The gradient of a product asked Python for ones like a narrow part of a batch."""

    @flambeau.script
    def slope(x: Tensor) -> Tensor:
        for _ in range(3):
            x = x - 0.1 * grad(lambda y: flambeau.sin(y).prod())(x)
        return x

    x = flambeau.from_numpy(_numbers(5, 3))
    batch = vmap(slope)
    for _ in range(3):
        np.testing.assert_allclose(batch(x).numpy(), np.stack([slope(row).numpy() for row in x]), rtol=1e-12)
    assert batch.explain().is_native
    assert "aten::ones_like" not in str(batch.graph_for(x))


def test_matrices_that_functions_make_have_sizes_that_are_known() -> None:
    """`diag`, `inv` and einsum behind them: Christoffel symbols by `jacfwd`."""

    def metric(x):
        return flambeau.diag(flambeau.stack([x[0] ** 2 + 1, flambeau.exp(x[1])]))

    @flambeau.script
    def symbols(x: Tensor) -> Tensor:
        result = x.new_zeros([2, 2, 2])
        for _ in range(2):
            slopes = jacfwd(metric)(x)
            result = result + flambeau.einsum("il,ljk->ijk", flambeau.linalg.inv(metric(x)), slopes)
        return result

    x = flambeau.tensor([0.5, -0.3]).double()
    expected = np.zeros((2, 2, 2))
    expected[0, 0, 0], expected[1, 1, 1] = 2 * 2 * 0.5 / 1.25, 2.0
    for _ in range(3):
        np.testing.assert_allclose(symbols(x).numpy(), expected, rtol=1e-12, atol=1e-15)
    assert symbols.explain().is_native


@pytest.mark.parametrize("dims", ["1", "2", "([1], [2])", "[[2, 1], [1, 2]]"])
@pytest.mark.parametrize("is_complex", [False, True])
def test_tensordot_by_numbers_and_lists(dims: str, is_complex: bool) -> None:
    """Every way to say the dimensions has compiled gradients: of lists there were none."""
    dtype = "complex128" if is_complex else "float64"
    source = f"""
def f(x: Tensor, y: Tensor) -> Tensor:
    z = flambeau.tensordot(x.to(flambeau.{dtype}) * 2, y, dims={dims})
    return (z * z.conj()).real.sum()
"""
    f = flambeau.CompilationUnit(source).f
    x = flambeau.arange(27, dtype=flambeau.float64).reshape(3, 3, 3).sin()
    y = x.cos().to(getattr(flambeau, dtype))
    leaf = x.clone().requires_grad_()
    f(leaf, y).backward()
    gradient = flambeau.grad(f)
    for _ in range(3):
        flambeau.testing.assert_close(gradient(x, y), leaf.grad)
    assert "tape" not in str(gradient.explain())
