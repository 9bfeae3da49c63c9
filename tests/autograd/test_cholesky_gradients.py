"""Gradients of Cholesky factors, computed at once over arrays, are those of the formula over operators."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau
from flambeau import Tensor


def matrices(shape: tuple[int, ...], dtype: str) -> tuple[Tensor, Tensor]:
    """Positive definite matrices, and gradients of their factors."""
    generator = np.random.default_rng(0)
    whole = generator.normal(size=shape)
    product = whole @ np.swapaxes(whole, -1, -2) + 3 * np.eye(shape[-1])
    return flambeau.from_numpy(product.astype(dtype)), flambeau.from_numpy(generator.normal(size=shape).astype(dtype))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(0, 0), (1, 1), (5, 5), (70, 70), (2, 3, 4, 4), (0, 3, 3)])
@pytest.mark.parametrize("upper", [False, True])
def test_they_are_those_of_the_formula(shape: tuple[int, ...], dtype: str, upper: bool) -> None:
    values, gradient = matrices(shape, dtype)
    own, other = (values.clone().requires_grad_() for _ in range(2))
    flambeau.linalg.cholesky(own, upper=upper).backward(gradient)
    factor = flambeau.linalg.cholesky(other, upper=upper)
    (recorded,) = flambeau.autograd.grad(factor, other, gradient, create_graph=True)
    assert flambeau.equal(own.grad, recorded.detach())
    assert own.grad.dtype == values.dtype


def test_they_agree_with_differences() -> None:
    values, _ = matrices((2, 4, 4), "float64")
    asked = values.requires_grad_()
    assert flambeau.autograd.gradcheck(lambda x: flambeau.linalg.cholesky((x + x.mT) / 2), asked)


def test_what_is_not_a_number_stays_so() -> None:
    values, gradient = matrices((3, 3), "float64")
    asked = values.requires_grad_()
    factor = flambeau.linalg.cholesky(asked)
    gradient[0, 0] = float("nan")
    factor.backward(gradient)
    assert bool(asked.grad[0, 0].isnan())
