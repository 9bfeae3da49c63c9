"""Comparing layers with PyTorch's of the same state."""

from __future__ import annotations

from typing import Any

import numpy as np

import flambeau
from flambeau import Tensor, nn


def taken(state: Any) -> dict[str, Tensor]:
    """Another library's state dict as ours, in memory of its own."""
    return {name: flambeau.from_numpy(value.detach().numpy().copy()) for name, value in state.items()}


def flat(value: Any) -> list[Any]:
    """The tensors of a result, in order."""
    if isinstance(value, tuple | list):
        return [one for item in value for one in flat(item)]
    return [] if value is None else [value]


def assert_close(mine: Any, theirs: Any, tolerance: float = 1e-5) -> None:
    """The same sizes, and values that differ by rounding only."""
    for a, b in zip(flat(mine), flat(theirs), strict=True):
        assert tuple(a.shape) == tuple(b.shape)
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=tolerance, atol=tolerance)


def ways(module: nn.Module, *inputs: Tensor) -> list[Any]:
    """A module in Python, scripted, traced and, if it only runs, frozen."""
    made = [module, flambeau.script(module), flambeau.trace(module, inputs, check_trace=not module.training)]
    return made if module.training else [*made, flambeau.jit.freeze(flambeau.script(module))]
