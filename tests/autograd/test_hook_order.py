"""In which order hooks run, and when gradients of leaves arrive."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor, nn
from flambeau.autograd import grad


def test_gradients_of_results_are_what_hooks_of_tensors_make_of_them() -> None:
    x = flambeau.ones(2, requires_grad=True)
    y = x * 3
    y.grad_fn.register_prehook(lambda gradients: (gradients[0] * 5,))
    y.retain_grad()
    y.register_hook(lambda gradient: gradient * 7)
    total = y.sum()
    of_y, of_x = grad(total, [y, x], retain_graph=True)
    assert of_y is not None
    assert of_x is not None
    assert (of_y.tolist(), of_x.tolist()) == ([7, 7], [105, 105])
    y.grad = None
    total.backward(inputs=[y])
    assert y.grad.tolist() == [7, 7], "once, though it is retained as well"


def test_leaves_whose_users_wait_come_as_soon_as_they_are_complete() -> None:
    order: list[Any] = []
    leaves = [flambeau.ones(2, requires_grad=True) for _ in range(3)]
    x = flambeau.ones(2)

    def take(leaf: Tensor) -> None:
        order.append(leaf.grad.tolist())
        leaf.grad = None

    for number, leaf in enumerate(leaves):
        leaf.register_post_accumulate_grad_hook(take)
        x = x * leaf
        x.register_hook(lambda gradient, number=number: order.append(number))
    (x + leaves[1]).sum().backward()
    assert order == [2, [1, 1], 1, [2, 2], 0, [1, 1]]
    assert all(leaf.grad is None for leaf in leaves)


def test_users_who_wait_hear_of_inputs() -> None:
    seen: list[Any] = []
    x = flambeau.ones(2, requires_grad=True)
    x.register_post_accumulate_grad_hook(lambda leaf: seen.append(leaf.grad.tolist()))
    (x * 2).sum().backward(inputs=[x])
    assert seen == [[2, 2]]
    grad((x * 2).sum(), x)
    assert len(seen) == 1, "nothing was added"


@pytest.mark.filterwarnings("ignore:Full backward hook")
@pytest.mark.parametrize("asks", [False, True])
def test_hooks_of_leaves_run_as_soon_as_their_gradients_are_complete(asks: bool) -> None:
    """So those of a module's parameters come before the module's own hooks, which know the gradients of its inputs."""
    order: list[str] = []
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    for name, layer in net.named_children():
        layer.register_full_backward_hook(lambda *_, name=name: order.append(name))
    for name, parameter in net.named_parameters():
        if name.endswith("weight"):
            parameter.register_hook(lambda _, name=name: order.append(name))
    net(flambeau.ones(3, 4, requires_grad=asks)).sum().backward()
    first = ["0.weight", "0"] if asks else ["0", "0.weight"]
    assert order == ["2.weight", "2", "1", *first]


def test_a_hook_of_a_leaf_that_raises_leaves_all_leaves_as_they_were() -> None:
    """Also those whose hooks ran before."""
    x, y = (flambeau.ones(2, requires_grad=True) for _ in range(2))
    x.register_hook(lambda g: g * 2)

    def refuse(_: flambeau.Tensor) -> None:
        raise ValueError("no")

    handle = y.register_hook(refuse)
    result = ((y * 3).exp() * x).sum()
    with pytest.raises(ValueError, match="no"):
        result.backward(retain_graph=True)
    assert (x.grad, y.grad) == (None, None)
    handle.remove()
    result.backward()
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), 2 * np.exp(3.0) * np.ones(2), rtol=1e-6)
