"""How distributions are shown, beside PyTorch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import flambeau


@pytest.mark.parametrize(
    "make",
    [
        lambda lib: lib.distributions.Normal(0.0, 2.5),
        lambda lib: lib.distributions.Normal(lib.zeros(2, 3), 1.0),
        lambda lib: lib.distributions.Uniform(lib.zeros(1), lib.ones(1)),
        lambda lib: lib.distributions.Categorical(logits=lib.zeros(3)),
        lambda lib: lib.distributions.Bernoulli(0.25),
        lambda lib: lib.distributions.Gamma(lib.ones(2), 1.0),
    ],
)
def test_same_as_torch(make: Callable[[Any], Any]) -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    assert repr(make(flambeau)).replace("flambeau", "torch") == repr(make(torch))
