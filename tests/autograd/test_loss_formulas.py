"""Losses of distances are one node each, with formulas of their own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor, nn

LOSSES: dict[str, dict[str, Any]] = {
    "mse_loss": {}, "smooth_l1_loss": {"beta": 0.7}, "huber_loss": {"delta": 0.4},
}  # fmt: skip


def _numbers(*sizes: int, seed: int) -> Tensor:
    return flambeau.from_numpy(np.random.default_rng(seed).standard_normal(sizes)).requires_grad_()


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_formulas(name: str, reduction: str) -> None:
    x, target = _numbers(4, 3, seed=0), _numbers(3, seed=1)

    def loss(x: Tensor, target: Tensor) -> Tensor:
        found: Tensor = getattr(nn.functional, name)(x, target.expand(4, 3), reduction=reduction, **LOSSES[name])
        return found

    node = loss(x, target).grad_fn.name()
    assert node == "".join(part.capitalize() for part in name.split("_")) + "Backward0"
    assert flambeau.autograd.gradcheck(loss, (x, target))
    assert flambeau.autograd.gradgradcheck(loss, (x, target))


@flambeau.script
def compiled(x: Tensor, target: Tensor) -> Tensor:
    return nn.functional.huber_loss(x, target, delta=0.4) + nn.functional.smooth_l1_loss(x, target, beta=0.0)


def test_compiled_losses_have_the_same_gradients() -> None:
    x, target = _numbers(5, 2, seed=2), _numbers(5, 2, seed=3)
    for _ in range(3):
        found = flambeau.autograd.grad(compiled(x, target), (x, target))
    d = (x - target).detach().numpy()
    slope = (np.clip(d, -0.4, 0.4) + np.sign(d)) / d.size
    for gradient, sign in zip(found, (1, -1), strict=True):
        assert gradient is not None
        np.testing.assert_allclose(gradient.numpy(), sign * slope)


def test_gradients_of_rms_norm_of_complex_numbers_are_those_of_differences() -> None:
    x = flambeau.randn(3, 4, dtype=flambeau.complex128, requires_grad=True)
    w = flambeau.randn(4, dtype=flambeau.complex128, requires_grad=True)
    assert flambeau.autograd.gradcheck(lambda x, w: flambeau.nn.functional.rms_norm(x, (4,), w), (x, w))


def test_a_loss_of_one_sample_whose_class_is_a_vector_is_a_vector() -> None:
    scores, margin = flambeau.tensor([1.0, 2.0, 3.0]), flambeau.nn.functional.multi_margin_loss
    for scores.requires_grad in (False, True):
        assert margin(scores, flambeau.tensor([1]), reduction="none").shape == (1,)
        assert margin(scores, flambeau.tensor(1), reduction="none").shape == ()
        assert margin(scores, flambeau.tensor([1])).shape == ()
