"""Gradients of convolutions by themselves, beside those of the tape and of PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import nn
from flambeau.nn import functional, grad

CASES: list[tuple[int, tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    (1, (2, 3, 9), (4, 3, 2), {}),
    (1, (2, 4, 10), (6, 2, 3), {"stride": 3, "padding": 1, "groups": 2}),
    (2, (1, 2, 6, 7), (3, 2, 3, 2), {"stride": (2, 3), "padding": (1, 0), "dilation": (1, 2)}),
    (2, (2, 4, 5, 5), (4, 1, 3, 3), {"stride": 2, "groups": 4}),
    (2, (0, 2, 5, 5), (3, 2, 3, 3), {}),
    (3, (1, 2, 4, 5, 4), (2, 2, 2, 3, 1), {"stride": (1, 2, 1), "padding": 1}),
]


@pytest.mark.parametrize(("dims", "size", "weight_size", "options"), CASES)
def test_same_as_the_tape_and_torch(dims: int, size: Any, weight_size: Any, options: dict[str, Any]) -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    x, w = flambeau.randn(*size, requires_grad=True), flambeau.randn(*weight_size, requires_grad=True)
    y = getattr(functional, f"conv{dims}d")(x, w, **options)
    slope = flambeau.randn(*y.shape)
    of_input = getattr(grad, f"conv{dims}d_input")(x.shape, w, slope, **options)
    of_weight = getattr(grad, f"conv{dims}d_weight")(x, w.shape, slope, **options)
    for mine, expected in zip((of_input, of_weight), flambeau.autograd.grad(y, (x, w), slope), strict=True):
        np.testing.assert_allclose(mine.detach().numpy(), expected.numpy(), rtol=1e-4, atol=1e-4)
    their_x, their_w, their_slope = (torch.from_numpy(t.detach().numpy()) for t in (x, w, slope))
    theirs = (
        getattr(torch.nn.grad, f"conv{dims}d_input")(size, their_w, their_slope, **options),
        getattr(torch.nn.grad, f"conv{dims}d_weight")(their_x, weight_size, their_slope, **options),
    )
    for mine, their in zip((of_input, of_weight), theirs, strict=True):
        np.testing.assert_allclose(mine.detach().numpy(), their.numpy(), rtol=1e-4, atol=1e-4)


def test_they_have_gradients_themselves() -> None:
    w = flambeau.randn(2, 1, 3, dtype=flambeau.float64, requires_grad=True)
    slope = flambeau.randn(1, 2, 3, dtype=flambeau.float64, requires_grad=True)
    assert flambeau.autograd.gradcheck(lambda w, s: nn.grad.conv1d_input((1, 1, 5), w, s), (w, slope))


@pytest.mark.parametrize(
    ("run", "text"),
    [
        (lambda w, s: grad.conv1d_input((1, 1, 9), w, s), "comes from inputs of 5 to 5, not of 9"),
        (lambda w, s: grad.conv1d_input((9,), w, s), r"conv1d_input needs the 3 sizes of the input, got \[9\]"),
        (lambda w, s: grad.conv1d_weight(s, (3,), s), r"conv1d_weight needs the 3 sizes of the weight, got \[3\]"),
    ],
)
def test_refused(run: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        run(flambeau.ones(1, 1, 3), flambeau.ones(1, 1, 3))
