"""Tangents of logarithms of sums of powers: by the share of each element, also of gradients and in compiled functions,
where the formula of the gradient goes through logarithms of zero."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.func import jacfwd, jacrev, jvp


def weighed(x: Tensor) -> Tensor:
    return (x.logcumsumexp(0) * (x - 0.5)).sum()


def slopes(x: Tensor) -> Tensor:
    """The Hessian of `weighed`, by differences of its gradient."""
    columns = []
    for place in range(x.numel()):
        step = flambeau.zeros_like(x)
        step[place] = 1e-6
        ends = [flambeau.func.grad(weighed)(x + sign * step) for sign in (1, -1)]
        columns.append((ends[0] - ends[1]) / 2e-6)
    return flambeau.stack(columns, 1)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(("outer", "inner"), [(jacfwd, jacrev), (jacfwd, jacfwd), (jacrev, jacfwd), (jacrev, jacrev)])
def test_second_derivatives(compiled: bool, outer: Callable[..., Any], inner: Callable[..., Any]) -> None:
    x = flambeau.tensor([0.3, -0.7, 0.2, 1.1], dtype=flambeau.float64)
    function = flambeau.script(weighed) if compiled else weighed
    for _ in range(3):  # later calls are compiled
        np.testing.assert_allclose(outer(inner(function))(x).numpy(), slopes(x).numpy(), atol=1e-7)


def test_a_sum_of_zeros_has_no_share() -> None:
    x = flambeau.tensor([-float("inf"), -float("inf"), 1.0, -float("inf")])
    value, tangent = jvp(lambda t: t.logcumsumexp(0), (x,), (flambeau.ones(4),))
    assert (value.tolist()[2:], tangent.tolist()) == ([1.0, 1.0], [0.0, 0.0, 1.0, 1.0])


def test_a_number_is_its_own_sum() -> None:
    @flambeau.script
    def single(x: Tensor) -> Tensor:
        return x.logcumsumexp(0) * x

    assert jacfwd(jacfwd(single))(flambeau.tensor(3.0)).item() == 2.0


def test_an_element_of_the_gradient_that_is_zero_has_a_derivative() -> None:
    x = flambeau.tensor([0.3, -1.2, 2.0, 0.5], dtype=flambeau.float64)
    weights = flambeau.tensor([1.0, 0.0, 2.0, -1.0], dtype=flambeau.float64)

    def slope(weights: Tensor) -> Tensor:
        return flambeau.func.grad(lambda x: (x.logcumsumexp(0) * weights).sum())(x)

    shares = (x.unsqueeze(0) - x.logcumsumexp(0).unsqueeze(1)).exp().tril()
    np.testing.assert_allclose(jacrev(slope)(weights).numpy(), shares.t().numpy(), rtol=1e-12)
    far = flambeau.tensor([-1000.0, 0.0, 1000.0], dtype=flambeau.float64)
    gradient = flambeau.func.grad(lambda x: (x.logcumsumexp(0) * flambeau.tensor([0.0, 1.0, 0.0])).sum())(far)
    assert gradient.tolist() == [0.0, 1.0, 0.0]
