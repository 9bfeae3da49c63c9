"""Modules: registration, walking, state, text."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau
from flambeau import nn


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.second = nn.Linear(4, 2, bias=False)
        self.register_buffer("count", flambeau.zeros(1))
        self.register_buffer("scratch", flambeau.zeros(1), persistent=False)

    def forward(self, x: flambeau.Tensor) -> flambeau.Tensor:
        return self.second(flambeau.relu(self.first(x)))


def test_names_in_order() -> None:
    net = Net()
    assert [n for n, _ in net.named_parameters()] == ["first.weight", "first.bias", "second.weight"]
    assert [n for n, _ in net.named_buffers()] == ["count", "scratch"]
    assert [n for n, _ in net.named_modules()] == ["", "first", "second"]
    assert list(net.state_dict()) == ["count", "first.weight", "first.bias", "second.weight"]


def test_a_shared_parameter_comes_once() -> None:
    net = Net()
    net.again = net.first
    assert sum(1 for _ in net.parameters()) == 3


def test_state_round_trip_and_sharing() -> None:
    a, b = Net(), Net()
    b.load_state_dict(a.state_dict())
    x = flambeau.randn(5, 3)
    np.testing.assert_array_equal(a(x).detach().numpy(), b(x).detach().numpy())
    a.state_dict()["first.bias"].fill_(3.0)
    assert a.first.bias.tolist() == [3.0] * 4


def test_loading_what_does_not_fit_changes_nothing() -> None:
    net = Net()
    before = net.first.weight.tolist()
    state = {**net.state_dict(), "first.weight": flambeau.ones(2, 2), "extra": flambeau.ones(1)}
    del state["second.weight"]
    with pytest.raises(
        RuntimeError, match=r"Missing key.*second.weight(.|\n)*Unexpected.*extra(.|\n)*size mismatch for first.weight"
    ):
        net.load_state_dict(state)
    assert net.first.weight.tolist() == before


def test_train_and_eval_reach_every_module() -> None:
    net = Net().eval()
    assert not any(m.training for m in net.modules())
    assert all(m.training for m in net.train().modules())


def test_dtype_conversion() -> None:
    net = Net().to(flambeau.float64)
    assert {p.dtype for p in net.parameters()} == {flambeau.float64}
    assert all(p.requires_grad for p in net.parameters())


def test_assignment_before_init_is_refused() -> None:
    class Early(nn.Module):
        def __init__(self) -> None:
            self.layer = nn.Linear(1, 1)

    with pytest.raises(AttributeError, match="has not been initialized"):
        Early()


def test_a_parameter_cannot_become_a_number() -> None:
    net = Net()
    with pytest.raises(TypeError, match="cannot assign 'float' as parameter 'weight'"):
        net.first.weight = 1.0


def test_unknown_attribute() -> None:
    with pytest.raises(AttributeError, match="'Net' object has no attribute 'third'"):
        _ = Net().third


def test_repr_shows_the_tree() -> None:
    assert repr(nn.Sequential(nn.Linear(2, 3), nn.GELU())) == (
        "Sequential(\n  (0): Linear(in_features=2, out_features=3, bias=True)\n  (1): GELU(approximate='none')\n)"
    )


def test_sequential_indexing() -> None:
    model = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    assert isinstance(model[-1], nn.Linear)
    assert len(model[:2]) == 2
    with pytest.raises(IndexError, match="out of range"):
        _ = model[3]
    assert model(flambeau.ones(4, 2)).shape == (4, 1)


@pytest.mark.parametrize(
    "name", ["ReLU", "GELU", "SiLU", "Tanh", "Sigmoid", "Hardswish", "ELU", "Softplus", "LeakyReLU", "Mish"]
)
def test_activations_agree_with_their_functions(name: str) -> None:
    x = flambeau.randn(20)
    module = getattr(nn, name)()
    function = getattr(nn.functional, {"LeakyReLU": "leaky_relu"}.get(name, name.lower()))
    np.testing.assert_array_equal(module(x).detach().numpy(), function(x).detach().numpy())


def test_what_is_set_again_keeps_its_place() -> None:
    net = nn.Module()
    net.weight, net.bias = nn.Parameter(flambeau.ones(1)), nn.Parameter(flambeau.ones(1))
    net.first, net.second = nn.ReLU(), nn.Tanh()
    net.weight, net.first = nn.Parameter(flambeau.zeros(1)), nn.Sigmoid()
    assert list(net.state_dict()) == ["weight", "bias"]
    assert [type(child).__name__ for child in net.children()] == ["Sigmoid", "Tanh"]
