"""In which order hooks run, and when gradients of leaves arrive."""

from __future__ import annotations

from typing import Any

import flambeau
from flambeau import Tensor
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
