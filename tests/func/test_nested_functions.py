"""Transforms of functions that a program defines inside itself, with what they read around them; and of arrays."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.frontend.closures.instantiation import ASSIGNS


@flambeau.script
def descend(w: Tensor, x: Tensor, y: Tensor, rate: float) -> Tensor:
    def loss(w: Tensor) -> Tensor:
        return ((x @ w - y) ** 2).mean()

    return w - rate * flambeau.grad(loss)(w)


def test_a_step_differentiates_by_what_its_own_function_takes() -> None:
    g = np.random.default_rng(0)
    x = flambeau.from_numpy(g.standard_normal((50, 3)))
    y, w = x @ flambeau.tensor([1.0, 2.0, 3.0], dtype=flambeau.float64), flambeau.zeros(3, dtype=flambeau.float64)
    expected = w - 0.1 * (2 / 50) * (x.T @ (x @ w - y))
    np.testing.assert_allclose(descend(w, x, y, 0.1).numpy(), expected.numpy())
    for _ in range(300):
        w = descend(w, x, y, 0.1)
    np.testing.assert_allclose(w.numpy(), [1, 2, 3], rtol=1e-6)
    assert descend.explain(measure=False).is_native


@flambeau.script
def every_transform(
    x: Tensor, a: Tensor, k: int
) -> tuple[Tensor, tuple[Tensor, Tensor], Tensor, Tensor, Tensor, Tensor]:
    def both(y, z):
        return (y * a * z).sin().sum()

    def row(r):
        return (r * a).sum()

    value, slopes = flambeau.value_and_grad(both, argnums=(0, -1))(x, 2 * x)
    return (
        value, slopes,
        flambeau.hessian(lambda y: ((y * a) ** k).sum())(x),
        flambeau.jacrev(lambda y: (y * a).sin())(x),
        flambeau.vmap(row, in_axes=0)(flambeau.stack([x, 2 * x])),
        flambeau.grad(lambda q: flambeau.grad(lambda s: (s * q).pow(2).sum())(q).sum())(x),
    )  # fmt: skip


def test_every_transform_of_functions_that_read_around_them() -> None:
    x, a = np.array([0.5, 2.0]), np.array([3.0, 4.0])
    value, slopes, hessian, jacobian, rows, second = every_transform(x, a, 3)
    slope = np.cos(x * a * 2 * x)
    np.testing.assert_allclose(float(value), np.sin(x * a * 2 * x).sum())
    np.testing.assert_allclose(slopes[0].numpy(), slope * a * 2 * x)
    np.testing.assert_allclose(slopes[1].numpy(), slope * a * x)
    np.testing.assert_allclose(hessian.numpy(), np.diag(6 * a**3 * x))
    np.testing.assert_allclose(jacobian.numpy(), np.diag(a * np.cos(x * a)))
    np.testing.assert_allclose(rows.numpy(), [(x * a).sum(), 2 * (x * a).sum()])
    np.testing.assert_allclose(second.numpy(), 6 * x**2)  # of the sum of 2 q^3


def test_numbers_and_conditions_around_them() -> None:
    unit = flambeau.CompilationUnit("""def slope(x: float, power: int, sign: bool) -> float:
    scale = 2.0
    if sign:
        scale = -2.0
    def f(y: float) -> float:
        result = 1.0
        for _ in range(power):
            result *= y
        return scale * result
    return grad(f)(x)
""".replace("grad(", "flambeau.grad("))
    assert unit.slope(3.0, 2, False) == 12.0
    assert unit.slope(3.0, 3, True) == -54.0


SUM = "    def g(y):\n        return y.sum()\n"
COUNTS = "    n = 0\n    def g(y):\n        nonlocal n\n        n += 1\n        return y.sum()\n"
LISTS = "    def g(y):\n        return [y]\n"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (COUNTS + "    return flambeau.grad(g)(x), n", ASSIGNS.format(name="g", variables="n")),
        (LISTS + "    return flambeau.grad(g)(x)", "the gradient of g() needs a result that is a tensor"),
        (SUM + "    return flambeau.grad(g, argnums=1)(x)", "g() has 1 parameters: there is no"),
        ("    return flambeau.grad(x)(x)", "grad() takes a function in programs, by its name"),
        (SUM + "    return [flambeau.grad(g)]", "function cannot be used as a value"),
    ],
)
def test_what_cannot_be_differentiated_is_said_where_it_stands(body: str, message: str) -> None:
    with pytest.raises(flambeau.jit.CompileError) as refused:
        flambeau.CompilationUnit(f"def f(x: Tensor):\n{body}\n").f(flambeau.ones(2))
    assert message in str(refused.value)


def test_arrays_are_taken_as_tensors_are() -> None:
    x = np.array([1.0, 2.0])
    assert flambeau.grad(lambda x: (x * x).sum())(x).tolist() == [2.0, 4.0]
    assert flambeau.jacrev(lambda x: x * x)(x).tolist() == [[2.0, 0.0], [0.0, 4.0]]
    value, slope = flambeau.jvp(lambda x: x * x, (x,), (np.ones(2),))
    assert (value.tolist(), slope.tolist()) == ([1.0, 4.0], [2.0, 4.0])
    assert flambeau.vmap(lambda row: row.sum())(np.ones((3, 2))).tolist() == [2.0, 2.0, 2.0]
    assert flambeau.vmap(lambda a, b: a * b, in_axes=(1, None), out_axes=1)(np.ones((2, 3)), 2.0).shape == (2, 3)


@pytest.mark.parametrize(
    ("number", "hint"), [(3.0, "pass flambeau.tensor(x), or give a scripted"), (3, "flambeau.tensor(float(x))")]
)
def test_numbers_are_refused_with_what_to_write(number: float, hint: str) -> None:
    with pytest.raises(ValueError, match="Thing passed to transform API must be Tensor, got <class") as refused:
        flambeau.grad(lambda x: x * x)(number)
    assert hint in str(refused.value)
