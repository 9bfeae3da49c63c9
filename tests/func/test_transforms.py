"""Transforms and the tape around them, scripted functions, and what transforms refuse."""

from __future__ import annotations

from typing import Any

import pytest

import flambeau
from flambeau.func import grad, hvp, jacfwd, jacrev, jvp, linearize, value_and_grad, vjp, vmap

m = flambeau
X = m.tensor([1.0, 2.0, 3.0])


def cubes(x: Any) -> Any:
    return (x**3).sum()


def test_names_of_the_package() -> None:
    for name in ("grad", "value_and_grad", "vjp", "jvp", "jacrev", "jacfwd", "hessian", "hvp", "linearize", "vmap"):
        assert getattr(m, name) is getattr(m.func, name)


def test_results_ask_if_arguments_do() -> None:
    asking = X.clone().requires_grad_()
    grad(cubes)(asking).sum().backward()
    assert asking.grad is not None
    assert asking.grad.tolist() == [6.0, 12.0, 18.0]
    assert not grad(cubes)(X).requires_grad


def test_results_ask_if_captured_tensors_do() -> None:
    weight = m.tensor(2.0, requires_grad=True)
    grad(lambda x: (x * weight).sum())(X).sum().backward()
    assert weight.grad is not None
    assert weight.grad.item() == 3.0


def test_nothing_is_recorded_under_no_grad() -> None:
    asking = X.clone().requires_grad_()
    with m.no_grad():
        result = grad(cubes)(asking)
    assert result.tolist() == [3.0, 12.0, 27.0]
    assert not result.requires_grad


def test_value_and_aux() -> None:
    (value, aux), gradient = value_and_grad(lambda x: (cubes(x), {"n": x + 1}), has_aux=True)(X)
    assert (value.item(), aux["n"].tolist(), gradient.tolist()) == (36.0, [2.0, 3.0, 4.0], [3.0, 12.0, 27.0])
    assert not aux["n"].requires_grad


def test_of_a_scripted_function() -> None:
    @m.script
    def program(x: m.Tensor) -> m.Tensor:
        total = x.sum() * 0
        for i in range(3):
            total = total + x[i] ** 2 * i if i > 1 else total + x[i]
        return total

    assert grad(program)(X).tolist() == [1.0, 1.0, 12.0]
    assert jvp(program, (X,), (X,))[1].item() == 39.0
    assert hvp(program, (X,), (X,))[1].tolist() == [0.0, 0.0, 12.0]
    assert jacrev(program)(X).tolist() == jacfwd(program)(X).tolist() == [1.0, 1.0, 12.0]


def test_control_flow_by_values_in_forward_mode() -> None:
    def halved(x: Any) -> Any:
        while x > 1:
            x = x * x / 8
        return x

    assert jvp(halved, (m.tensor(4.0),), (m.tensor(1.0),)) == (m.tensor(0.5), m.tensor(0.5))


def test_pulling_twice() -> None:
    _, pull = vjp(lambda x: x * x, X)
    assert pull(X)[0].tolist() == pull(X)[0].tolist() == [2.0, 8.0, 18.0]


REFUSED = {
    "a vector": (lambda: grad(lambda x: x)(X), RuntimeError, "to return a scalar Tensor, got tensor with 1 dims"),
    "a number": (lambda: grad(lambda x: 1)(X), RuntimeError, "to return a Tensor, got <class 'int'>"),
    "integers": (lambda: grad(cubes)(X.long()), RuntimeError, "only Tensors of floating point dtype can require"),
    "of a number": (lambda: grad(cubes)(1.0), ValueError, "Thing passed to transform API must be Tensor, got"),
    "argnums": (lambda: grad(cubes, 2)(X), RuntimeError, "Got argnum=2, but only 1 positional inputs"),
    "argnums twice": (lambda: grad(m.add, (0, 0))(X, X), RuntimeError, "argnums elements must be unique"),
    "argnums type": (lambda: grad(cubes, "a")(X), RuntimeError, "argnums must be int or Tuple"),  # type: ignore[arg-type]
    "no aux": (lambda: grad(cubes, has_aux=True)(X), RuntimeError, "should be a tuple: .output, aux. if has_aux"),
    "written": (lambda: grad(lambda x: x.mul_(2).sum())(X), RuntimeError, "a leaf Variable that requires grad"),
    "complex": (lambda: grad(lambda x: (x * 1j).sum())(X), RuntimeError, "only for real scalar outputs"),
    "no tuple": (lambda: jvp(cubes, X, X), RuntimeError, "Expected primals to be a tuple"),
    "structures": (lambda: jvp(cubes, (X,), (X, X)), RuntimeError, "the same python structure"),
    "sizes": (lambda: jvp(cubes, (X,), (X[:2],)), RuntimeError, "different size than that of the original Tensor"),
    "no primals": (lambda: jvp(cubes, (), ()), RuntimeError, "to contain at least one Tensor"),
    "number": (lambda: jvp(cubes, (1.0,), (X,)), RuntimeError, "to only contain Tensors, got <class 'float'>"),
    "ints": (lambda: jvp(cubes, (X.long(),), (X,)), ValueError, "Expected primal to be floating point or complex"),
    "results": (lambda: jvp(lambda x: 2, (X,), (X,)), RuntimeError, "to return only tensors, got unsupported type"),
    "strict": (lambda: jvp(lambda x: X, (X,), (X,), strict=True), RuntimeError, "independent of the inputs"),
    "cotangent": (lambda: vjp(lambda x: x, X)[1](X[0]), RuntimeError, "Mismatch in shape: grad_output"),
    "cotangents": (lambda: vjp(lambda x: {"a": x}, X)[1](X), RuntimeError, "Expected pytree structure of cotangents"),
    "outputs": (lambda: vjp(lambda x: 1, X), RuntimeError, "to return only tensors, got unsupported type"),
    "chunks": (lambda: jacrev(cubes, chunk_size=-1), ValueError, "jacrev: `chunk_size` should be greater than 0"),
    "randomness": (lambda: jacfwd(cubes, randomness="x"), RuntimeError, "Only allowed values for randomness"),
    "tangent": (lambda: linearize(cubes, X)[1](X[:1]), RuntimeError, "tangent:0 with shape"),
    "asks within": (lambda: vmap(lambda x: x.requires_grad_())(X), RuntimeError, "inside of a function being trans"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name: str) -> None:
    run, error, message = REFUSED[name]
    with pytest.raises(error, match=message):  # type: ignore[arg-type]
        run()  # type: ignore[operator]
