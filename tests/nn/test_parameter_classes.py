"""Parameters that are objects of users' subclasses of tensors, and subclasses of `Parameter`."""

from __future__ import annotations

import copy
from typing import Any

import pytest

import flambeau
from flambeau import Tensor, nn


class Tagged(Tensor):
    """A subclass whose calls mean what they mean for tensors."""


class Forgets(Tensor):
    """A subclass whose calls give plain tensors."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        with flambeau._C.DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {}))


class Own(nn.Parameter):
    """A subclass of parameters."""


def tagged(*values: float) -> Any:
    return flambeau.tensor(values).as_subclass(Tagged)


def test_the_class_stays() -> None:
    for values in ((1.0, 2.0), (3.0,)):
        parameter = nn.Parameter(tagged(*values))
        assert type(parameter) is Tagged
        assert isinstance(parameter, nn.Parameter)
        assert parameter.requires_grad
        assert parameter.is_leaf
        assert type(parameter + 1) is Tagged
        assert not isinstance(parameter + 1, nn.Parameter)
        assert not isinstance(parameter, Own)
        assert not nn.Parameter(tagged(*values), requires_grad=False).requires_grad
    assert repr(parameter) == "Parameter(Tagged([3.], requires_grad=True))"
    assert repr(Own(flambeau.ones(1))) == "Parameter containing:\nParameter(Own([1.], requires_grad=True))"
    assert repr(nn.Parameter(flambeau.ones(1))) == "Parameter containing:\ntensor([1.], requires_grad=True)"


def test_modules_and_optimisers_have_it() -> None:
    layer = nn.Linear(2, 1)
    layer.weight = nn.Parameter(flambeau.ones(1, 2).as_subclass(Tagged))
    optimiser = flambeau.optim.SGD(layer.parameters(), lr=0.5)
    for _ in range(2):
        optimiser.zero_grad()
        layer(flambeau.ones(3, 2)).sum().backward()
        optimiser.step()
    assert layer.weight.tolist() == [[-2.0, -2.0]]
    assert layer.double().weight.dtype is flambeau.float64
    assert type(layer.weight) is type(copy.deepcopy(layer).weight) is Tagged
    assert isinstance(copy.deepcopy(layer).weight, nn.Parameter)
    layer.load_state_dict({"weight": flambeau.zeros(1, 2), "bias": flambeau.zeros(1)})
    assert layer.weight.tolist() == [[0.0, 0.0]]
    assert type(layer.weight) is Tagged


def test_a_class_that_detach_loses_is_refused() -> None:
    for count in (1, 2):
        with pytest.raises(RuntimeError, match="requires that detach\\(\\) returns an instance of the same type"):
            nn.Parameter(flambeau.ones(count).as_subclass(Forgets))


def test_gradients_are_converted_with_parameters() -> None:
    layer = nn.Linear(2, 1)
    layer(flambeau.ones(1, 2)).sum().backward()
    gradient = layer.weight.grad
    for dtype in (flambeau.float64, flambeau.float32):
        layer.to(dtype)
        assert layer.weight.grad is gradient
        assert gradient.dtype is dtype
        layer(flambeau.ones(1, 2, dtype=dtype)).sum().backward()
    assert gradient.tolist() == [[3.0, 3.0]]


class Noted(nn.Parameter):
    """A parameter with a word beside it."""

    def __init__(self, data: Tensor, note: str) -> None:
        super().__init__(data)
        self.note = note


def test_subclasses_take_what_they_like() -> None:
    for note in ("first", "second"):
        assert Noted(flambeau.ones(2), note=note).note == Noted(flambeau.ones(1), note).note == note
    assert isinstance(nn.LazyLinear(2).weight, nn.Parameter)
