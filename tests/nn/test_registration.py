"""What modules let be registered under a name, and states that were saved before batches were counted."""

from __future__ import annotations

from typing import Any

import pytest

import flambeau
from flambeau import nn


def test_parameters_are_leaves_of_their_class() -> None:
    layer = nn.Linear(2, 2)
    computed: Any = nn.Parameter(flambeau.ones(2))
    computed._node = (flambeau.ones(1, requires_grad=True) * 2).grad_fn
    with pytest.raises(TypeError, match=r"cannot assign 'torch.FloatTensor' object to parameter 'scale'"):
        layer.register_parameter("scale", flambeau.ones(2))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="Cannot assign non-leaf Tensor to parameter 'scale'"):
        layer.register_parameter("scale", computed)
    assert sorted(layer.state_dict()) == ["bias", "weight"]


def test_a_name_stays_what_it_is() -> None:
    layer = nn.Linear(2, 2)
    with pytest.raises(KeyError, match="attribute 'weight' already exists"):
        layer.register_buffer("weight", flambeau.ones(1))
    with pytest.raises(KeyError, match="attribute 'weight' already exists"):
        layer.add_module("weight", nn.ReLU())
    layer.register_parameter("weight", nn.Parameter(flambeau.ones(2, 2)))
    assert layer.weight.sum().item() == 4.0


def test_states_of_before_batches_were_counted_are_complete() -> None:
    layer = nn.BatchNorm1d(2)
    layer(flambeau.rand(4, 2))
    plain = {name: value for name, value in nn.BatchNorm1d(2).state_dict().items() if name != "num_batches_tracked"}
    layer.load_state_dict(plain)
    assert layer.num_batches_tracked is not None
    assert layer.num_batches_tracked.item() == 1
    counted = nn.BatchNorm1d(2).state_dict()
    del counted["num_batches_tracked"]
    with pytest.raises(RuntimeError, match=r'Missing key.*"num_batches_tracked"'):
        layer.load_state_dict(counted)


def test_sizes_that_do_not_fit_are_told() -> None:
    with pytest.raises(RuntimeError, match=r"copying a param with shape torch.Size\(\[3, 2\]\) from checkpoint, the"):
        nn.Linear(2, 2, bias=False).load_state_dict({"weight": flambeau.ones(3, 2)})
