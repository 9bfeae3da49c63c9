"""Transforms of scripted functions of containers run compiled code, and give what those of Python functions give."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.codegen import available
from flambeau.func import grad, hessian, hvp, jacfwd, jacrev, jvp, value_and_grad, vmap
from flambeau.util.trees import flatten


class Layer(NamedTuple):
    w: Tensor
    b: Tensor


@flambeau.script
def by_name(p: dict[str, Tensor], x: Tensor) -> Tensor:
    h = x
    for _ in range(3):
        h = flambeau.tanh(h @ p["w"] + p["b"])
    return (h * h).mean()


@flambeau.script
def by_field(p: Layer, x: Tensor, k: float = 1.0) -> Tensor:
    h = x
    for _ in range(2):
        h = flambeau.tanh(h @ p.w + p.b) * k
    return (h * h).mean()


@flambeau.script
def by_layer(p: list[dict[str, Tensor]], x: Tensor) -> Tensor:
    h = x
    for layer in p:
        h = flambeau.tanh(h @ layer["w"] + layer["b"])
    return (h * h).mean()


@flambeau.script
def nested(p: tuple[Tensor, Tensor], q: dict[str, tuple[Tensor, Tensor]], x: Tensor) -> tuple[Tensor, Tensor]:
    h = x
    for _ in range(2):
        h = flambeau.tanh(h @ p[0] + p[1])
    for _, (w, b) in q.items():
        h = flambeau.tanh(h @ w + b)
    return (h * h).mean(), h


@flambeau.script
def by_pairs(p: list[tuple[Tensor, Tensor]], x: Tensor) -> Tensor:
    for w, b in p[:-1]:
        x = flambeau.tanh(x @ w + b)
    w, b = p[-1]
    return ((x @ w + b) ** 2).mean()


def _values() -> tuple[Tensor, Tensor, Tensor]:
    r = np.random.default_rng(0).standard_normal
    return flambeau.tensor(r((3, 3))), flambeau.tensor(r(3)), flambeau.tensor(r((5, 3)))


W, B, X = _values()
P = {"w": W, "b": B}
Q = {"u": (W, B), "v": (W + 1, B)}
MANY = {"w": flambeau.stack([W, W + 1]), "b": flambeau.stack([B, B * 2])}
CASES: dict[str, tuple[Any, Any, tuple[Any, ...]]] = {
    "by a dictionary": (grad, by_name, (P, X)),
    "by what is beside it": (lambda f: grad(f, 1), by_name, (P, X)),
    "by both": (lambda f: grad(f, (0, 1)), by_name, (P, X)),
    "with the value": (value_and_grad, by_name, (P, X)),
    "by a named tuple": (grad, by_field, (Layer(W, B), X)),
    "with an argument left out": (grad, by_field, (Layer(W, B), X, 2.0)),
    "by a list of dictionaries": (grad, by_layer, ([P, P], X)),
    "by a list of pairs": (value_and_grad, by_pairs, ([(W, B), (W, B)], X)),
    "what comes along": (lambda f: grad(f, (0, 1), has_aux=True), nested, ((W, B), Q, X)),
    "both with what comes along": (lambda f: value_and_grad(f, 1, has_aux=True), nested, ((W, B), Q, X)),
    "of each example": (lambda f: vmap(grad(f), (None, 0)), by_name, (P, X)),
    "values of each example": (lambda f: vmap(value_and_grad(f), (None, 0)), by_name, (P, X)),
    "an ensemble": (lambda f: vmap(f, (0, None)), by_name, (MANY, X)),
    "gradients of an ensemble": (lambda f: vmap(grad(f), (0, None)), by_name, (MANY, X)),
    "axes by name": (lambda f: vmap(f, ({"w": 0, "b": 0}, None)), by_name, (MANY, X)),
    "hessian": (hessian, by_name, (P, X)),
    "jacobian of a gradient": (lambda f: jacrev(grad(f)), by_name, (P, X)),
    "jacfwd": (lambda f: jacfwd(f, (0, 1)), nested, ((W, B), Q, X)),
    "jacrev": (lambda f: jacrev(f, (0, 1)), nested, ((W, B), Q, X)),
    "jvp": (lambda f: lambda p, x: jvp(f, (p, x), (p, x)), by_name, (P, X)),
    "hvp": (lambda f: lambda p, x: hvp(f, (p,), (p,)), lambda p: by_name(p, X), (P, X)),
    "hvp by all": (lambda f: lambda p, x: hvp(f, (p, x), (p, x)), by_field, (Layer(W, B), X)),
    "jvp of a gradient": (lambda f: lambda p, x: jvp(grad(f), (p, x), (p, x)), by_name, (P, X)),
}


def _same(got: Any, want: Any) -> None:
    values, structure = flatten(got)
    others, other = flatten(want)
    assert structure == other
    for one, two in zip(values, others, strict=True):
        np.testing.assert_allclose(one.numpy(), two.numpy(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_c15_containers(name: str) -> None:
    transform, function, arguments = CASES[name]
    plain = getattr(function, "__wrapped__", None) or (lambda p: by_name.__wrapped__(p, X))
    want = transform(plain)(*arguments)
    for _ in range(2):
        _same(transform(function)(*arguments), want)


def test_c15_containers_run_compiled_code_for_any_sizes() -> None:
    @flambeau.script
    def loss(p: dict[str, Tensor], x: Tensor) -> Tensor:
        for _ in range(3):
            x = flambeau.tanh(x @ p["w"] + p["b"])
        return (x * x).mean()

    for transform in (grad(loss), vmap(value_and_grad(loss), (None, 0))):
        for rows in (2, 5, 7, 4):
            transform(P, X[:2].repeat(rows, 1))
        assert len(transform.explain(measure=False).compilations) == 1
        transform.compile({"b": B, "w": W}, X)  # another order of keys is another structure
        assert len(transform.explain(measure=False).compilations) == 2
        transform({"b": B, "w": W}, X)
        if available():
            assert transform.explain(measure=False).is_native


def test_c15_other_containers_run_an_operator_at_a_time() -> None:
    want = grad(by_layer.__wrapped__)([P], X)
    _same(grad(by_layer)([P], X), want)
    _same(grad(lambda p: by_layer(p, X))([P]), want)
    assert grad(lambda x: by_layer([], x))(X).shape == X.shape
    with pytest.raises(KeyError):
        grad(by_name)({"w": W}, X)
    with pytest.raises(RuntimeError, match="same python structure"):
        hvp(by_name, (P, X), ({"w": W}, X))


@pytest.mark.parametrize("function", [by_name, by_name.__wrapped__], ids=["scripted", "plain"])
def test_c15_containers_of_what_a_python_function_transforms(function: Any) -> None:
    """Calls of functions with loops within transforms see the tensors in containers."""
    _, tangent = jvp(lambda p: function(p, X), (P,), (P,))
    slope = grad(by_name.__wrapped__)(P, X)
    np.testing.assert_allclose(tangent.item(), sum(float((slope[k] * P[k]).sum()) for k in P), rtol=1e-9)
    batch = vmap(lambda p: function(p, X))(MANY)
    _same(batch, flambeau.stack([by_name(P, X), by_name({"w": W + 1, "b": B * 2}, X)]))
