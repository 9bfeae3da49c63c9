"""Registered dataclasses as arguments of transforms of scripted functions: compiled, as other containers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

import flambeau
from flambeau import Tensor
from flambeau.func import grad, hessian, jacfwd, jacrev, jvp, value_and_grad, vmap
from flambeau.utils.pytree import register_dataclass, tree_leaves


@dataclass
class Layer:
    w: Tensor
    b: Tensor


@dataclass
class Network:
    layers: list[Layer]
    scale: float
    head: dict[str, Tensor]


@dataclass
class Unregistered:
    w: Tensor


register_dataclass(Layer)
register_dataclass(Network)


def output(p: Layer, x: Tensor) -> Tensor:
    return flambeau.tanh(x @ p.w + p.b)


def loss(p: Layer, x: Tensor) -> Tensor:
    return output(p, x).square().sum()


def of_network(p: Network, x: Tensor) -> Tensor:
    for layer in p.layers:
        x = flambeau.tanh(x @ layer.w + layer.b)
    return (x @ p.head["w"]).sum() * p.scale


def assigning(p: Layer, x: Tensor) -> Tensor:
    p.b = p.b * 2
    return output(p, x).sum()


def _drawn(*sizes: int) -> Tensor:
    return (flambeau.arange(float(flambeau.Size(sizes).numel()), dtype=flambeau.float64) * 0.7).sin().reshape(sizes)


X = _drawn(4, 3)
P = Layer(_drawn(3, 2), _drawn(2))
BATCH = Layer(_drawn(5, 3, 2), _drawn(5, 2))
NETWORK = Network([Layer(_drawn(3, 3), _drawn(3)), Layer(_drawn(3, 2), _drawn(2))], 0.5, {"w": _drawn(2)})


def _same(actual: Any, expected: Any) -> None:
    ours, theirs = tree_leaves(actual), tree_leaves(expected)
    assert len(ours) == len(theirs)
    flambeau.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("transform", [grad, value_and_grad, hessian])
def test_derivatives_by_a_dataclass(transform: Any) -> None:
    compiled = transform(flambeau.script(loss))
    for _ in range(3):
        result = compiled(P, X)
        _same(result, transform(loss)(P, X))
    assert isinstance(result if transform is not value_and_grad else result[1], Layer)
    assert compiled.explain().is_native


def test_batches_jacobians_and_products() -> None:
    compiled = flambeau.script(output)
    for transform in (jacrev, jacfwd):
        _same(transform(compiled)(P, X), transform(output)(P, X))
    batch = vmap(compiled, in_dims=(0, None))
    for _ in range(2):
        _same(batch(BATCH, X), vmap(output, in_dims=(0, None))(BATCH, X))
    assert batch.explain().compilations
    of_each = vmap(grad(flambeau.script(loss)), in_dims=(None, 0))
    _same(of_each(P, X), vmap(grad(loss), in_dims=(None, 0))(P, X))
    _same(jvp(compiled, (P, X), (P, X)), jvp(output, (P, X), (P, X)))


def test_dataclasses_within_containers_and_numbers() -> None:
    gradient = flambeau.script(of_network)
    _same(gradient(NETWORK, X), of_network(NETWORK, X))
    slopes = grad(flambeau.script(lambda_free))(NETWORK.layers, NETWORK.scale, X)
    _same(slopes, grad(lambda_free)(NETWORK.layers, NETWORK.scale, X))
    assert isinstance(slopes[0], Layer)


def lambda_free(layers: list[Layer], scale: float, x: Tensor) -> Tensor:
    for layer in layers:
        x = flambeau.tanh(x @ layer.w + layer.b)
    return x.sum() * scale


def test_functions_that_assign_fields_run_as_python_does() -> None:
    ours, theirs = Layer(P.w, P.b), Layer(P.w, P.b)
    _same(grad(flambeau.script(assigning))(ours, X), grad(assigning)(theirs, X))
    assert ours.b is P.b
    assert theirs.b is P.b


def test_what_is_not_registered_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"got <class .*Unregistered.*register_dataclass"):
        grad(lambda p: p.w.sum())(Unregistered(X))
    with pytest.raises(ValueError, match=r"Unregistered.*register_dataclass"):
        vmap(lambda p: p.w.sum())(Unregistered(X))


@dataclass
class Training:
    model: Layer
    moments: dict[str, Tensor]


register_dataclass(Training)


def objective(s: Training, x: Tensor, y: Tensor) -> Tensor:
    return loss(s.model, x) + (s.moments["a"] * y).sum() ** 2


def with_aux(s: Training, x: Tensor):
    return objective(s, x, x), x * 2


def in_a_program(s: Training, x: Tensor):
    value, slopes = value_and_grad(objective)(s, x, x)
    both = grad(objective, argnums=(0, 2))(s, x, x)
    (first, aux), others = value_and_grad(with_aux, has_aux=True)(s, x)
    third, twice = grad(with_aux, has_aux=True)(s, x)
    of_lambda = grad(lambda s: objective(s, x, x))(s).model
    for _ in range(2):
        g = grad(loss)(s.model, x)
        s = Training(Layer(s.model.w - 0.1 * g.w, s.model.b - 0.1 * g.b), s.moments)
    return value, first, slopes, both[0].model, both[1], aux, twice, others.moments["a"], third.model.b, of_lambda, s


def test_gradients_in_programs_are_objects() -> None:
    state = Training(P, {"a": X * 0.5})
    compiled = flambeau.script(in_a_program)
    for _ in range(2):
        _same(compiled(state, X), in_a_program(state, X))


def test_fields_that_have_no_gradient() -> None:
    def program(p: Unregistered, x: Tensor):
        return grad(lambda p: (p.w * x).sum())(p)

    with pytest.raises(flambeau.util.errors.CompileError, match="cannot be differentiated by 'p'"):
        flambeau.script(program)
