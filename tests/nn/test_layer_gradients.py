"""Gradients of every layer and loss, by its parameters and its inputs, beside PyTorch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from tests.nn.layer_table import draw, rows
from tests.nn.test_layers import IDS, flat, made

ROWS = rows()
WRONG = "CrossMapLRN2d"
"""PyTorch's gradient of this one is not that of what it computes: see the test by differences."""
FIRST_ONLY = "SoftMarginLoss"
"""PyTorch has gradients of this one by its first input alone."""


def weighted(library: Any, results: list[Any]) -> Any:
    """A number that all results that can have gradients go into, each element with a weight of its own."""
    total = 0.0
    for result in results:
        if result.requires_grad:
            weights = np.cos(np.arange(result.numel(), dtype=np.float64)).reshape(tuple(result.shape))
            total = total + (result * library.from_numpy(weights)).sum()
    return total


def gradients(library: Any, layer: Any, arrays: list[np.ndarray]) -> dict[str, np.ndarray | None]:
    """The gradients of a layer's parameters, and of its inputs that are real numbers."""
    inputs = [library.from_numpy(array) for array in arrays]
    most = 1 if type(layer).__name__ == FIRST_ONLY else len(inputs)
    asking = {f"input {k}": x.requires_grad_() for k, x in enumerate(inputs[:most]) if x.dtype == library.float64}
    layer_inputs = [x * 1.0 if f"input {k}" in asking else x for k, x in enumerate(inputs)]  # some are written
    total = weighted(library, flat(layer(*layer_inputs)))
    named = dict(layer.named_parameters())
    if isinstance(total, float):
        return dict.fromkeys([*asking, *named])
    total.backward()
    return {n: None if t.grad is None else t.grad.numpy() for n, t in {**asking, **named}.items()}


@pytest.mark.filterwarnings("ignore:.*:UserWarning")
@pytest.mark.parametrize(("make", "inputs", "remark"), ROWS, ids=IDS)
def test_gradients_are_those_of_torch(make: str, inputs: list[str], remark: str) -> None:
    if WRONG in make:
        return
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    mine, theirs = made(make, remark), eval(make, {"nn": torch.nn})
    mine, theirs = mine.double(), theirs.double()
    if remark == "eval":
        theirs.eval()
    mine.load_state_dict(
        {name: flambeau.from_numpy(value.numpy().copy()) for name, value in theirs.state_dict().items()}
    )
    ours = gradients(flambeau, mine, draw(inputs, np.float64))
    expected = gradients(torch, theirs, draw(inputs, np.float64))
    assert ours.keys() == expected.keys()
    for name, gradient in expected.items():
        if gradient is None:
            assert ours[name] is None or not np.any(ours[name]), name
        else:
            np.testing.assert_allclose(ours[name], gradient, rtol=1e-7, atol=1e-9, err_msg=name)


@pytest.mark.parametrize("settings", ["3, alpha=0.5", "4, alpha=0.5, beta=0.5, k=2.0"])
def test_normalisation_across_channels_by_differences(settings: str) -> None:
    layer = eval(f"nn.CrossMapLRN2d({settings})", {"nn": flambeau.nn}).double()
    values = np.random.default_rng(0).standard_normal((1, 5, 2, 1))
    (gradient,) = gradients(flambeau, layer, [values.copy()]).values()
    for place in np.ndindex(*values.shape):
        ends = []
        for shift in (1e-6, -1e-6):
            moved = values.copy()
            moved[place] += shift
            ends.append(weighted(flambeau, [layer(flambeau.from_numpy(moved).requires_grad_())]).item())
        assert gradient is not None
        assert gradient[place] == pytest.approx((ends[0] - ends[1]) / 2e-6, abs=1e-8)
