"""Parametrizations in Python and in programs."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import flambeau
from flambeau import Tensor, nn
from flambeau.nn.utils import parametrize


class Symmetric(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.triu() + x.triu(1).transpose(-1, -2)

    def right_inverse(self, x: Tensor) -> Tensor:
        return x.triu()


class Times(nn.Module):
    def __init__(self, k: float = 2.0) -> None:
        super().__init__()
        self.k = k

    def forward(self, x: Tensor) -> Tensor:
        return x * self.k


class Wider(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return flambeau.cat([x, x])


X = flambeau.tensor([[1.0, -2.0, 3.0]])


def layer() -> Any:
    flambeau.manual_seed(0)
    return nn.Linear(3, 3)


def test_a_parameter_is_computed_whenever_it_is_read() -> None:
    module = layer()
    before = module.weight.detach().clone()
    assert parametrize.register_parametrization(module, "weight", Symmetric()) is module
    assert flambeau.equal(module.weight, module.weight.t())
    assert [n for n, _ in module.named_parameters()] == ["bias", "parametrizations.weight.original"]
    assert parametrize.is_parametrized(module)
    assert parametrize.is_parametrized(module, "weight")
    assert not parametrize.is_parametrized(module, "bias")
    assert type(module).__name__ == "ParametrizedLinear"
    parametrize.register_parametrization(module, "weight", Times())
    assert flambeau.allclose(module.weight.triu(), before.triu() * 2)
    assert flambeau.allclose(module(X), X @ module.weight.t() + module.bias)
    module.parametrizations.weight.original.detach().zero_()
    assert module.weight.abs().sum().item() == 0
    assert not parametrize.is_parametrized(layer())


def test_assigning_goes_through_the_inverse() -> None:
    module = parametrize.register_parametrization(layer(), "weight", Symmetric())
    value = flambeau.ones(3, 3) * 5
    module.weight = value
    assert flambeau.equal(module.weight, value)
    assert module.parametrizations.weight.original.tolist()[1][0] == 0.0
    parametrize.register_parametrization(module, "weight", Times())
    with pytest.raises(RuntimeError, match="Times has no right_inverse"):
        module.weight = value


def test_removing_leaves_the_value_or_the_original() -> None:
    for leave in (True, False):
        module = parametrize.register_parametrization(layer(), "weight", Times())
        original = module.parametrizations.weight.original
        expected = (module.weight if leave else original).detach().clone()
        parametrize.remove_parametrizations(module, "weight", leave_parametrized=leave)
        assert type(module) is nn.Linear
        assert isinstance(module.weight, nn.Parameter)
        assert flambeau.equal(module.weight, expected)
        assert sorted(module.state_dict()) == ["bias", "weight"]
    with pytest.raises(ValueError, match="does not have a parametrization on weight"):
        parametrize.remove_parametrizations(layer(), "weight")


def test_buffers_too() -> None:
    module = nn.ReLU()
    module.register_buffer("b", flambeau.ones(2))
    parametrize.register_parametrization(module, "b", Times(3.0))
    assert module.b.tolist() == [3.0, 3.0]
    assert [n for n, _ in module.named_buffers()] == ["parametrizations.b.original"]
    parametrize.remove_parametrizations(module, "b")
    assert module.b.tolist() == [3.0, 3.0]


def test_refusals() -> None:
    with pytest.raises(ValueError, match="does not have a parameter, a buffer, or a parametrized element"):
        parametrize.register_parametrization(layer(), "absent", Times())
    with pytest.raises(ValueError, match=r"may not change the (shape|dtype) of the tensor"):
        parametrize.register_parametrization(layer(), "weight", Wider())
    module = parametrize.register_parametrization(layer(), "weight", Wider(), unsafe=True)
    assert module.weight.shape == (6, 3)
    with pytest.raises(RuntimeError, match=r"only supported through state_dict\(\)"):
        pickle.dumps(module)


def test_copies_and_caching() -> None:
    module = parametrize.register_parametrization(layer(), "weight", Times())
    other = copy.deepcopy(module)
    other.parametrizations.weight.original.detach().zero_()
    assert module.weight.abs().sum().item() > 0
    with parametrize.cached():
        first = module.weight
        assert module.weight is first
        with parametrize.cached():
            assert module.weight is first
        assert other.weight is not first
        with pytest.raises(RuntimeError, match="Cannot trace a model while caching"):
            flambeau.trace(module, X)
        with pytest.raises(RuntimeError, match="Caching is not implemented"):
            flambeau.script(module)
    assert module.weight is not first


@pytest.mark.parametrize("backend", ["native", "interpreter", "reference"])
def test_parametrized_modules_in_programs(backend: Any) -> None:
    module = parametrize.register_parametrization(layer(), "weight", Symmetric())
    parametrize.register_parametrization(module, "weight", Times())
    parametrize.register_parametrization(module, "bias", Times(0.5))
    model = nn.Sequential(module, nn.ReLU())
    scripted = flambeau.script(model, backend=backend, verify=True)
    for _ in range(4):
        assert flambeau.allclose(scripted(X), model(X))
    assert flambeau.equal(scripted[0].weight, module.weight)
    module.parametrizations.weight.original.detach().mul_(2)
    assert flambeau.allclose(scripted(X), model(X))
    traced = flambeau.trace(model, X)
    assert flambeau.allclose(traced(X * 2), model(X * 2))
    assert sorted(scripted.state_dict()) == sorted(model.state_dict())
