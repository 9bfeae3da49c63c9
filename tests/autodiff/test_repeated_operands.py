"""The gradient of a sum is one number: what goes on with it broadcasts it, and is one kernel with the way there."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.func import value_and_grad


def waves(x: Tensor, y: Tensor) -> Tensor:
    return (flambeau.tanh(x * y) * 0.5 - y).sum()


def gradient(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    return value_and_grad(waves, 0)(x, y)


def shifted(x: Tensor, y: Tensor) -> Tensor:
    return (x + y).mean()


def flat(x: Tensor, y: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    return value_and_grad(shifted, (0, 1))(x, y)


def _numbers(*sizes: int) -> Tensor:
    return flambeau.from_numpy(np.random.default_rng(len(sizes)).standard_normal(sizes))


@pytest.mark.parametrize("sizes", [((7,), (7,)), ((3, 5), (3, 5)), ((3, 5), (5,)), ((3, 5), (1, 5)), ((0,), (0,))])
def test_value_and_gradient_are_one_kernel(sizes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    x, y = (_numbers(*s) for s in sizes)
    compiled = flambeau.script(gradient)
    value, slope = compiled(x, y)
    want, wanted = gradient(x, y)
    np.testing.assert_allclose(value.numpy(), want.numpy(), rtol=1e-12)
    np.testing.assert_allclose(slope.numpy(), wanted.numpy(), rtol=1e-12)
    graph = compiled.graph_for(x, y)
    assert not graph.find_all("aten::expand")
    if len(sizes[0]) == len(sizes[1]) and 1 not in sizes[1]:
        assert len(graph.find_all("prim::FusionGroup")) == 1


def test_other_dtypes_are_not_broadcast_as_numbers() -> None:
    x = _numbers(4).to(flambeau.float32)
    y = _numbers(4)
    value, slope = flambeau.script(gradient)(x, y)
    want, wanted = gradient(x, y)
    assert (value.dtype, slope.dtype) == (want.dtype, wanted.dtype)
    np.testing.assert_allclose(slope.numpy(), wanted.numpy(), rtol=1e-6)


def test_gradients_that_are_the_same_everywhere_have_their_sizes() -> None:
    x, y = _numbers(3, 5), _numbers(5)
    _, (to_x, to_y) = flambeau.script(flat)(x, y)
    np.testing.assert_allclose(to_x.numpy(), np.full((3, 5), 1 / 15))
    np.testing.assert_allclose(to_y.numpy(), np.full(5, 0.2))


def twice_summed(x: Tensor, w: Tensor) -> Tensor:
    y = x * w.sum().item()
    y += w.sum()
    return (y * 2.0).sum()


def test_two_single_numbers_that_reach_one_tensor_are_added() -> None:
    compiled = flambeau.script(twice_summed)
    for sizes in ((3, 2), (1, 4)):
        x, w = _numbers(*sizes).requires_grad_(), _numbers(sizes[0]).requires_grad_()
        of_x, of_w = flambeau.autograd.grad(compiled(x, w), [x, w])
        total, count = w.detach().sum().item(), x.numel()
        np.testing.assert_allclose(of_x.numpy(), np.full(sizes, 2.0 * total), rtol=1e-12)
        np.testing.assert_allclose(of_w.numpy(), np.full(sizes[0], 2.0 * (x.detach().sum().item() + count)), rtol=1e-12)
