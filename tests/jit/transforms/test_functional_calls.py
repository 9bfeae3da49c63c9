"""`functional_call` in programs: modules as functions of their tensors, with gradients and batches of those."""

from __future__ import annotations

from typing import Any

import pytest

import flambeau
from flambeau import Tensor, nn
from flambeau.func import functional_call, grad, hessian, stack_module_state, value_and_grad, vmap

flambeau.manual_seed(0)
MODEL = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)).double()


class Tied(nn.Module):
    """One weight under two names, a buffer, and a number."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 3, bias=False)
        self.second = nn.Linear(3, 3)
        self.second.weight = self.first.weight
        self.register_buffer("shift", flambeau.ones(3))
        self.power = 3

    def forward(self, x: Tensor, scale: float = 1.0) -> Tensor:
        return self.second(self.first(x).tanh()) ** self.power * scale + self.shift


TIED = Tied().double()
LISTED = nn.ParameterList([nn.Parameter(flambeau.ones(2))])
X = flambeau.tensor([[0.3, -1.0, 2.0], [0.0, 0.5, 1.0]], dtype=flambeau.float64)


def loss(p: dict[str, Tensor], x: Tensor) -> Tensor:
    return functional_call(MODEL, p, (x,)).square().sum()


def without_annotations(p, x):
    return functional_call(MODEL, p, x).square().sum()


def of_tied(p: dict[str, Tensor], b: dict[str, Tensor], x: Tensor) -> Tensor:
    return functional_call(TIED, (p, b), (x,), {"scale": 0.5}).square().sum()


def trained(p: dict[str, Tensor], x: Tensor, steps: int):
    for _ in range(steps):
        slopes = grad(loss)(p, x)
        p = {name: value - 0.01 * slopes[name] for name, value in p.items()}
    return p


def _state(module: Any) -> Any:
    return {name: value.detach() + 0.1 for name, value in module.named_parameters()}


def _same(actual: Any, expected: Any) -> None:
    flambeau.testing.assert_close(actual, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("function", [loss, without_annotations])
def test_gradients_by_the_tensors_of_a_module(function: Any) -> None:
    p, compiled = _state(MODEL), flambeau.script(function)
    for _ in range(2):
        _same(compiled(p, X), function(p, X))
        _same(value_and_grad(compiled)(p, X), value_and_grad(function)(p, X))
        _same(hessian(compiled)(p, X), hessian(function)(p, X))
        of_each = vmap(grad(compiled), in_dims=(None, 0))(p, X)
        _same(of_each, {n: flambeau.stack([grad(function)(p, x)[n] for x in X]) for n in p})


def test_ensembles() -> None:
    models = [nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)).double() for _ in range(3)]
    parameters, _ = stack_module_state(models)
    values = {name: value.detach() for name, value in parameters.items()}
    expected = flambeau.stack([model(X).square().sum() for model in models]).detach()
    _same(vmap(flambeau.script(loss), in_dims=(0, None))(values, X), expected)
    _same(trained(_state(MODEL), X, 3), flambeau.script(trained)(_state(MODEL), X, 3))


def test_tied_weights_buffers_and_arguments_by_name() -> None:
    p, b = _state(TIED), {"shift": flambeau.zeros(3, dtype=flambeau.float64)}
    compiled = flambeau.script(of_tied)
    for state in (p, {"second.weight": p["first.weight"], **p}):
        _same(compiled(state, b, X), of_tied(state, b, X))
        _same(grad(compiled)(state, b, X), grad(of_tied)(state, b, X))
    with pytest.raises(RuntimeError, match=r"second\.bias"):
        compiled({"first.weight": p["first.weight"]}, b, X)


def unknown_module(p: dict[str, Tensor], x: Tensor) -> Tensor:
    return functional_call(x, p, (x,))


def of_a_list(p: list[Tensor], x: Tensor) -> Tensor:
    return functional_call(MODEL, p, (x,))


def strictly(p: dict[str, Tensor], x: Tensor) -> Tensor:
    return functional_call(MODEL, p, (x,), strict=True)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (unknown_module, "functional_call takes a module of Python by its name"),
        (of_a_list, r"takes a dict of tensors by their names, or a tuple of two of them: this is a List\[Tensor\]"),
        (strictly, "functional_call takes a module, a dict of tensors and a tuple of arguments in programs"),
    ],
)
def test_what_programs_do_not_have_of_it(function: Any, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        flambeau.script(function)
