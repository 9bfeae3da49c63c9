"""`DataParallel` and `sdpa_kernel`: what programs write for several devices and kernels."""

from __future__ import annotations

import pytest

import flambeau
from flambeau import nn
from flambeau.nn.attention import SDPBackend, sdpa_kernel


def test_data_parallel_is_its_module() -> None:
    layer = nn.Linear(2, 1)
    wrapped = nn.DataParallel(layer, device_ids=[0])
    x = flambeau.ones(3, 2)
    assert flambeau.equal(wrapped(x), layer(x))
    assert sorted(wrapped.state_dict()) == ["module.bias", "module.weight"]
    assert flambeau.equal(flambeau.script(wrapped.module)(x), layer(x))
    with pytest.raises(ValueError, match=r"computes on one device, not on \[0, 1\]"):
        nn.DataParallel(layer, device_ids=[0, 1])


def test_kernels_of_attention() -> None:
    x = flambeau.ones(1, 2, 4)
    with sdpa_kernel(SDPBackend.MATH):
        y = nn.functional.scaled_dot_product_attention(x, x, x)
    assert flambeau.equal(y, x)
    with pytest.raises(ValueError, match="one kernel at least"), sdpa_kernel([]):
        pass
