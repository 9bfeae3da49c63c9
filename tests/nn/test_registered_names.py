"""What is registered under a name of a module: one thing, and of the right kind."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

import flambeau
from flambeau import nn


@pytest.mark.parametrize(
    ("register", "error", "text"),
    [
        (lambda m: m.register_buffer("weight", None), KeyError, "attribute 'weight' already exists"),
        (lambda m: m.register_buffer("forward", None), KeyError, "attribute 'forward' already exists"),
        (lambda m: m.register_parameter("in_features", None), KeyError, "attribute 'in_features' already exists"),
        (lambda m: m.add_module("bias", nn.ReLU()), KeyError, "attribute 'bias' already exists"),
        (lambda m: m.add_module("act", 3), TypeError, "int is not a Module subclass"),
        (
            lambda m: m.register_parameter("scale", flambeau.ones(1)),
            TypeError,
            "cannot assign 'torch.FloatTensor' object to parameter 'scale'",
        ),
    ],
)
def test_a_name_means_one_thing_and_what_it_is_registered_for(
    register: Callable[[nn.Module], object], error: type[Exception], text: str
) -> None:
    layer = nn.Linear(2, 1)
    before = list(layer.state_dict())
    with pytest.raises(error, match=re.escape(text)):
        register(layer)
    assert list(layer.state_dict()) == before
    layer.register_parameter("weight", nn.Parameter(flambeau.ones(1, 2)))
    assert layer.weight.tolist() == [[1.0, 1.0]]
