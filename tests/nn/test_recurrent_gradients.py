"""Gradients through scripted recurrent layers: a derivative that is a graph, to second order, as by the tape."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import nn
from flambeau.autograd import grad


def derivatives(call: Any, layer: nn.Module, start: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
    """The gradient of a sum of squares by the input, and of that gradient's square by input and weights."""
    x = flambeau.from_numpy(start).requires_grad_()
    outputs, last = call(x)
    states = last if isinstance(last, tuple) else (last,)
    total = (outputs * outputs).sum() + sum((s * s * s).sum() for s in states)
    (first,) = grad(total, x, create_graph=True)
    second = grad((first * first).sum(), [x, *layer.parameters()])
    return [t.detach().numpy() for t in (first, *second)]


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("sizes", [(2, 5, 3), (5, 3)], ids=["batch", "one"])
def test_derivatives_of_scripted_layers_are_graphs_to_second_order(kind: str, sizes: tuple[int, ...]) -> None:
    layer = getattr(nn, kind)(3, 4, batch_first=True).double()
    scripted: Any = flambeau.script(layer)
    start = np.random.default_rng(2).standard_normal(sizes)
    expected = derivatives(layer, layer, start)
    for _ in range(3):
        for one, other in zip(derivatives(scripted, layer, start), expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
    assert "gradients come from a second run" not in str(scripted.explain())
