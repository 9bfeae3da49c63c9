"""Gradients of scripted functions as scripted functions, and inside of programs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.codegen import available
from flambeau.func import grad, value_and_grad
from flambeau.ir import parse_ir
from flambeau.jit.gradients import gradient_function


@flambeau.script
def energy(x: Tensor, k: float) -> Tensor:
    return (x**3).sum() * k


@flambeau.script
def folded(x: Tensor) -> float:
    s = 0.0
    for i in range(1, x.size(0)):
        a = float(x[i]) * float(x[i - 1])
        s += a * a
        if s > 1000.0:
            break
    return s


@flambeau.script
def solved(x: Tensor) -> Tensor:
    seen: list[float] = []
    for i in range(x.size(0)):
        seen.append(float(x[i]))
    t = 0.5
    while len(seen) > 0:
        t = t * 0.5 + seen.pop() * t
    return x.sum() * t


def _differences(run: Any, x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    steps = np.eye(len(x)) * 1e-5
    return np.array([
        (float(run(flambeau.tensor(x + e))) - float(run(flambeau.tensor(x - e)))) / 2e-5 for e in steps
    ])  # fmt: skip


@pytest.mark.parametrize("function", [folded, solved], ids=lambda f: f.name)
def test_c15_gradients_go_through_numbers(function: Any) -> None:
    x = np.array([1.0, 0.5, 1.5, 0.25])
    gradient = gradient_function(function)
    for _ in range(4):
        got = gradient(flambeau.tensor(x))
    np.testing.assert_allclose(got.numpy(), _differences(function, x), rtol=1e-6, atol=1e-8)
    if available() and function is folded:
        assert "native from end to end" in str(gradient.explain())


def test_c15_values_and_several_arguments() -> None:
    x = flambeau.tensor([1.0, 2.0])
    value, (by_x, by_k) = gradient_function(energy, (0, 1), True)(x, 2.0)
    assert (value.item(), by_x.tolist(), by_k) == (18.0, [6.0, 24.0], 9.0)
    assert gradient_function(energy, 1)(x, 2.0) == 9.0
    assert gradient_function(energy)(x.requires_grad_(), 1.0).grad_fn is not None


def test_c15_what_has_no_gradient_is_refused() -> None:
    unit = flambeau.CompilationUnit(
        "def pair(x: Tensor) -> tuple[Tensor, Tensor]: return x, x\n"
        "def many(x: Tensor, n: int) -> Tensor: return x * n\n"
    )
    with pytest.raises(TypeError, match=r"the gradient of pair\(\) needs a result that is a tensor of one element"):
        gradient_function(unit.pair)
    with pytest.raises(TypeError, match=r"many\(\) cannot be differentiated by 'n', a int: gradients are of tensors"):
        gradient_function(unit.many, 1)
    with pytest.raises(ValueError, match=r"many\(\) has 2 parameters: there is no argument 2"):
        gradient_function(unit.many, 2)
    with pytest.raises(RuntimeError, match="to return a scalar Tensor, got tensor with 1 dims"):
        gradient_function(unit.many)(flambeau.ones(2), 3)


@flambeau.script
def loss(w: Tensor, b: Tensor, x: Tensor, y: Tensor) -> Tensor:
    h = (x @ w + b).tanh()
    return ((h.sum(1) - y) ** 2).mean()


@flambeau.script
def step(w: Tensor, b: Tensor, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    value, (by_w, by_b) = value_and_grad(loss, (0, 1))(w, b, x, y)
    return w - 0.1 * by_w, b - 0.1 * by_b, value


def test_c15_a_training_step_is_one_function() -> None:
    draw = np.random.default_rng(0)
    w, b, x, y = (flambeau.tensor(draw.normal(size=s), dtype=flambeau.float32) for s in ((8, 4), (4,), (32, 8), (32,)))
    expected = [t.numpy() for t in value_and_grad(loss.__wrapped__, (0, 1))(w, b, x, y)[1]]
    for _ in range(4):
        moved = step(w, b, x, y)
    for new, old, by in zip(moved, (w, b), expected, strict=False):
        np.testing.assert_allclose(new.numpy(), old.numpy() - 0.1 * by, rtol=1e-4, atol=1e-5)
    if available():
        assert "native from end to end" in str(step.explain())


@flambeau.script
def cubes(x: Tensor) -> Tensor:
    return (x * x * x).sum()


@flambeau.script
def slopes(x: Tensor) -> Tensor:
    return grad(cubes)(x).sum()


@flambeau.script
def curvature(x: Tensor) -> Tensor:
    return grad(slopes, argnums=0)(x)


def test_c15_gradients_of_gradients_in_programs() -> None:
    assert curvature(flambeau.tensor([1.0, 2.0])).tolist() == [6.0, 12.0]


def test_c15_the_graph_says_which_function() -> None:
    text = str(gradient_function(energy).graph)
    assert "prim::Gradient[argnums=[0], with_value=0](%x, %k)" in text
    assert str(parse_ir(text)) == text


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("grad(3)(x)", "grad() takes a function in programs, by its name"),
        ("grad(cubes, n)(x)", "argnums are written out in programs"),
        ("grad(cubes, strict=True)(x)", "grad() takes a function, argnums and has_aux in programs"),
        ("grad(cubes, has_aux=n)(x)", "has_aux is written out in programs: True or False"),
        ("grad(cubes, has_aux=True)(x)", "cubes() should return a pair (value, aux) if has_aux is True: it returns"),
        ("grad(cubes, 1)(x)", "cubes() has 1 parameters: there is no argument 1"),
    ],
)
def test_c13_what_programs_cannot_say_is_refused(body: str, message: str) -> None:
    with pytest.raises(RuntimeError) as caught:
        _refused(body)
    assert message in str(caught.value)


def _refused(body: str) -> None:
    names = {"grad": grad, "cubes": cubes, "Tensor": Tensor, "flambeau": flambeau}
    exec(f"unit = flambeau.CompilationUnit('def main(x: Tensor, n: int) -> Tensor: return {body}')", names)


@flambeau.script
def made(x: Tensor) -> Tensor:
    c = float(x[0]) * float(x[1])
    total = flambeau.full([3], c, dtype=flambeau.float64).sum() + 2.0 * flambeau.full_like(x, c * c).sum()
    total = total + (x.new_full([2], c * 3.0) * flambeau.scalar_tensor(c, dtype=flambeau.float64)).sum()
    total = total * flambeau.tensor(c, dtype=flambeau.float64) + flambeau.zeros_like(x).fill_(c).sum()
    total = total + flambeau.linspace(c, 2.0 * c * c, 5, dtype=flambeau.float64).sin().sum()
    return total + (x * abs(0.1 - c) + x**c + c**x + flambeau.lerp(x, x * x, c)).sum()


def test_c15_numbers_go_back_into_tensors() -> None:
    x = np.array([0.7, 0.45, 1.3])
    want = _differences(made, x)
    np.testing.assert_allclose(gradient_function(made)(flambeau.tensor(x)).numpy(), want, rtol=1e-6, atol=1e-8)
    leaf = flambeau.tensor(x, requires_grad=True)
    made(leaf).backward()
    np.testing.assert_allclose(leaf.grad.numpy(), want, rtol=1e-6, atol=1e-8)


def test_c15_what_has_no_derivative_by_a_number_says_so() -> None:
    text = "def f(x: Tensor) -> Tensor:\n  return flambeau.arange(float(x[0]), 3.0).sum()\n"
    with pytest.raises(RuntimeError, match=r"aten::arange.start has no derivative in graphs"):
        gradient_function(flambeau.CompilationUnit(text).f)(flambeau.ones(2))


@flambeau.script
def weighed(x: Tensor) -> Tensor:
    c = float(x[0])
    while c < 2.0:
        c = c * 1.5
    return (x.sin() * c).sum()


@flambeau.script
def weighed_slope(x: Tensor) -> Tensor:
    return (grad(weighed)(x) * flambeau.arange(1, 4)).sum()


def test_c15_second_derivatives_go_through_numbers() -> None:
    x = np.array([0.7, 0.45, 1.3])
    got = gradient_function(weighed_slope)(flambeau.tensor(x))
    np.testing.assert_allclose(got.numpy(), _differences(weighed_slope, x), rtol=1e-5, atol=1e-7)


@flambeau.script
def leapfrog(q: Tensor, p: Tensor) -> Tensor:
    for _ in range(10):
        p = p - 0.05 * grad(energy)(q, 0.5)
        q = q + 0.1 * p
    return q


def test_gradients_of_what_a_loop_carries_are_native() -> None:
    q, p = flambeau.linspace(-1.0, 1.0, 5).double(), flambeau.ones(5).double()
    x, v = q.numpy(), p.numpy()
    for _ in range(10):
        v = v - 0.05 * 1.5 * x**2
        x = x + 0.1 * v
    for _ in range(4):
        np.testing.assert_allclose(leapfrog(q, p).numpy(), x, rtol=1e-12)
    if available():
        assert "native from end to end" in str(leapfrog.explain())
