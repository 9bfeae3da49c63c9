"""Derivatives of smooth functions where their meaning per element is in two parts, by tape, as functions and to second
order: the parts meet without a corner."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.autograd import grad

F: Any = flambeau.nn.functional


def log_sigmoid(x: Tensor) -> Tensor:
    return flambeau.nn.functional.logsigmoid(x).sum()


def cross_entropy_of_ones(x: Tensor) -> Tensor:
    return flambeau.nn.functional.binary_cross_entropy_with_logits(x, flambeau.ones_like(x))


def together(x: Tensor) -> Tensor:
    return flambeau.logaddexp(x, 3 * x).sum()


def together_in_base_two(x: Tensor) -> Tensor:
    return flambeau.logaddexp2(x, -x).sum()


def times_logarithm(x: Tensor) -> Tensor:
    return flambeau.xlogy(x, x + 2).sum()


def times_logarithm_of_one_more(x: Tensor) -> Tensor:
    return flambeau.special.xlog1py(x, x + 1).sum()


AT_ZERO: tuple[tuple[Callable[[Tensor], Tensor], float, float], ...] = (
    (log_sigmoid, 0.5, -0.25),
    (cross_entropy_of_ones, -0.5, 0.25),
    (together, 2.0, 1.0),
    (together_in_base_two, 0.0, math.log(2)),
    (times_logarithm, math.log(2), 1.0),
    (times_logarithm_of_one_more, math.log(2), 1.0),
)


@pytest.mark.parametrize(("function", "first", "second"), AT_ZERO, ids=lambda v: getattr(v, "__name__", ""))
def test_derivatives_at_zero(function: Callable[[Tensor], Tensor], first: float, second: float) -> None:
    scripted = flambeau.script(function)
    for run in (function, scripted):
        x = flambeau.zeros(1, dtype=flambeau.float64, requires_grad=True)
        (slope,) = grad(run(x), x, create_graph=True)
        (bend,) = grad(slope.sum(), x)
        np.testing.assert_allclose([slope.item(), bend.item()], [first, second], rtol=1e-12, atol=1e-12)
    zero = flambeau.zeros(1, dtype=flambeau.float64)
    assert flambeau.grad(scripted)(zero).item() == pytest.approx(first)
    assert flambeau.hessian(scripted)(zero).item() == pytest.approx(second)


def test_a_product_with_a_logarithm_is_zero_where_a_factor_is() -> None:
    x, y = flambeau.tensor([0.0, -0.0, 0.0, 0.0, 0.0]), flambeau.tensor([0.5, 2.0, math.inf, -1.0, 0.0])
    for product in (flambeau.xlogy(x, y), flambeau.special.xlog1py(x, y - 1)):
        assert [math.copysign(1, v) * v for v in product.tolist()] == [0.0] * 5
        assert not flambeau.signbit(product).any()
    assert flambeau.xlogy(flambeau.zeros(1), flambeau.tensor([math.nan])).isnan().all()


def test_of_equal_numbers_the_first_has_the_derivative() -> None:
    for choose in (flambeau.fmax, flambeau.fmin):
        x, y = (flambeau.tensor([1.0, math.nan, 2.0], requires_grad=True) for _ in range(2))
        other = y * flambeau.tensor([1.0, 1.0, math.nan])
        assert [g.tolist()[0] for g in grad(choose(x, y).sum(), (x, y))] == [1.0, 0.0]
        assert choose(x, other).tolist()[2] == 2.0


def test_entropy_and_logit_at_their_ends() -> None:
    x = flambeau.tensor([0.0, 0.5, -1.0], requires_grad=True)
    np.testing.assert_allclose(grad(flambeau.special.entr(x).sum(), x)[0].numpy(), [np.inf, math.log(2) - 1, np.nan])
    x = flambeau.tensor([0.0, 0.5, -1.0, 2.0], requires_grad=True)
    np.testing.assert_allclose(grad(flambeau.logit(x).sum(), x)[0].numpy(), [np.inf, 4, np.nan, np.nan])
    np.testing.assert_allclose(grad(flambeau.logit(x, 0.1).sum(), x)[0].numpy(), [0, 4, 0, 0])


@pytest.mark.parametrize(("start", "length"), [(-5, 2), (-10, 10), (-1, 1), (5, 2), (10, 0)])
def test_a_part_counted_from_the_end(start: int, length: int) -> None:
    def part(x: Tensor, start: int, length: int) -> Tensor:
        return (flambeau.narrow(x, 0, start, length) ** 2).sum()

    x = flambeau.arange(10, dtype=flambeau.float64, requires_grad=True)
    first = start % 10 if start < 10 else start
    want = np.where((np.arange(10) >= first) & (np.arange(10) < first + length), 2 * np.arange(10.0), 0)
    for gradient in (
        grad(part(x, start, length), x)[0],
        grad(flambeau.script(part)(x, start, length), x)[0],
        flambeau.grad(flambeau.script(part))(x.detach(), start, length),
        grad((flambeau.narrow(x, 0, flambeau.tensor(start), length) ** 2).sum(), x)[0],
    ):
        np.testing.assert_array_equal(gradient.numpy(), want)
