"""Gradients that do not depend on what they were computed for: a second one is zeros, and refused by nobody."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import flambeau
from flambeau import Tensor
from flambeau.autograd import grad

F: Any = flambeau.nn.functional
POINTS = [-4.0, -1.5, -0.25, -0.0, 0.0, 0.25, 1.5, 7.0]
POINTWISE: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "relu6": F.relu6,
    "hardtanh": lambda x: F.hardtanh(x, -2.0, 1.0),
    "hardsigmoid": F.hardsigmoid,
    "leaky_relu": lambda x: F.leaky_relu(x, 0.2),
    "hardshrink": F.hardshrink,
    "softshrink": F.softshrink,
    "threshold": lambda x: F.threshold(x, 0.1, 3.0),
    "rrelu": F.rrelu,
}
OF_IMAGES: dict[str, Callable[[Tensor], Tensor]] = {
    "max_pool2d": lambda x: F.max_pool2d(x, 2),
    "avg_pool2d": lambda x: F.avg_pool2d(x, 2),
    "adaptive_max_pool2d": lambda x: F.adaptive_max_pool2d(x, 2),
    "adaptive_avg_pool2d": lambda x: F.adaptive_avg_pool2d(x, 2),
    "reflected": lambda x: F.pad(x, [1, 1, 1, 1], mode="reflect"),
    "replicated": lambda x: F.pad(x, [1, 1, 1, 1], mode="replicate"),
    "nll_loss": lambda x: F.nll_loss(x.reshape(4, 9), flambeau.tensor([0, 3, 8, 2])),
}


@pytest.mark.parametrize("dtype", [flambeau.float32, flambeau.float64])
@pytest.mark.parametrize("name", POINTWISE)
def test_second_derivatives_of_straight_pieces_are_zeros(name: str, dtype: Any) -> None:
    x = flambeau.tensor(POINTS, dtype=dtype, requires_grad=True)
    y = POINTWISE[name](x)
    (slope,) = grad(y.sum(), x, create_graph=True)
    (plain,) = grad(y.sum(), x, retain_graph=True)
    assert slope.requires_grad
    assert slope.tolist() == plain.tolist()
    (second,) = grad((slope * slope).sum(), x)
    assert second.tolist() == [0.0] * len(POINTS)
    assert second.dtype is dtype


@pytest.mark.parametrize("name", OF_IMAGES)
def test_so_are_those_of_what_selects_and_adds(name: str) -> None:
    x = flambeau.arange(36.0).reshape(1, 1, 6, 6).requires_grad_()
    (slope,) = grad(OF_IMAGES[name](x).sum(), x, create_graph=True)
    assert grad(slope.sum(), x)[0].tolist() == flambeau.zeros(1, 1, 6, 6).tolist()


def test_a_gradient_of_the_gradient_that_came_goes_on_beside_the_zeros() -> None:
    x = flambeau.tensor([1.0, -1.0, 2.0], requires_grad=True)
    weight = flambeau.tensor([3.0, 4.0, 5.0], requires_grad=True)
    (slope,) = grad(F.relu(x), x, weight, create_graph=True)
    by_x, by_weight = grad((slope * slope).sum(), [x, weight])
    assert by_x.tolist() == [0, 0, 0]
    assert by_weight.tolist() == [6, 0, 10]


def test_what_is_written_in_place_and_what_is_empty() -> None:
    x = flambeau.tensor([1.0, -1.0], requires_grad=True)
    (slope,) = grad(F.relu(x * 2, inplace=True).sum(), x, create_graph=True)
    assert slope.tolist() == [2, 0]
    assert grad(slope.sum(), x)[0].tolist() == [0, 0]
    for sizes in ((), (0, 3)):
        x = flambeau.ones(sizes, requires_grad=True)
        (slope,) = grad(F.relu(x).sum(), x, create_graph=True)
        assert grad(slope.sum(), x)[0].shape == sizes


def test_third_derivatives_of_a_rectified_square() -> None:
    x = flambeau.tensor([1.5, -2.0], requires_grad=True)
    (first,) = grad((F.relu(x) ** 3).sum(), x, create_graph=True)
    (second,) = grad(first.sum(), x, create_graph=True)
    (third,) = grad(second.sum(), x)
    assert first.tolist() == [6.75, 0]
    assert second.tolist() == [9, 0]
    assert third.tolist() == [6, 0]


def test_the_node_is_called_after_the_one_whose_gradient_it_is() -> None:
    x = flambeau.ones(1, requires_grad=True)
    (slope,) = grad(F.leaky_relu(x).sum(), x, create_graph=True)
    node = slope.grad_fn
    assert node.name() == "LeakyReluBackward0Backward0"
    assert node.next_functions[1][0].variable is x
    assert node.apply([None]) == [None, None]


@flambeau.jit.script
def rectified_twice(x: Tensor, slope: float) -> Tensor:
    return flambeau.nn.functional.leaky_relu(x * 2, slope)


def test_gradients_of_compiled_calls_are_flat_too() -> None:
    for _ in range(3):
        x = flambeau.tensor([1.0, -1.0], requires_grad=True)
        (slope,) = grad(rectified_twice(x, 0.25).sum(), x, create_graph=True)
        assert slope.tolist() == [2, 0.5]
        assert grad(slope.sum(), x)[0].tolist() == [0, 0]
