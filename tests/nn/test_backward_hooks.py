"""Hooks that see the gradients of a module's arguments and results."""

from __future__ import annotations

from typing import Any

import pytest

import flambeau
from flambeau import Tensor, nn
from flambeau.nn.modules import module as everywhere


def test_hooks_see_and_replace_gradients() -> None:
    layer, seen = nn.Linear(2, 1, bias=False), []  # type: ignore[var-annotated]
    x = flambeau.ones(1, 2).requires_grad_()
    pre = layer.register_full_backward_pre_hook(lambda module, outputs: (outputs[0] * 3,))
    post = layer.register_full_backward_hook(
        lambda module, inputs, outputs: (seen.append((inputs[0].tolist(), outputs[0].tolist())), (inputs[0] * 2,))[1]
    )
    layer(x).sum().backward()
    weight = layer.weight.detach()
    assert seen == [((weight * 3).tolist(), [[3]])]
    assert x.grad.tolist() == (weight * 6).tolist()
    assert layer.weight.grad.tolist() == [[3, 3]]
    pre.remove()
    post.remove()
    x.grad = None
    layer(x).sum().backward()
    assert x.grad.tolist() == weight.tolist()
    assert len(seen) == 1


def test_arguments_that_ask_for_nothing() -> None:
    seen: list[Any] = []
    layer = nn.Linear(2, 1)
    layer.register_full_backward_hook(lambda module, inputs, outputs: seen.append((inputs, outputs[0].tolist())))
    with pytest.warns(UserWarning, match="no inputs require gradients"):
        layer(flambeau.ones(1, 2)).sum().backward()
    assert seen == [((None,), [[1]])]
    with flambeau.no_grad():
        layer(flambeau.ones(1, 2))


def test_hooks_of_all_modules() -> None:
    names: list[str] = []
    net = nn.Sequential(nn.Linear(2, 2), nn.Tanh())
    handles = [
        everywhere.register_module_forward_pre_hook(lambda m, args: names.append(f"before {type(m).__name__}")),
        everywhere.register_module_forward_hook(lambda m, args, result: names.append(f"after {type(m).__name__}")),
        everywhere.register_module_full_backward_pre_hook(lambda m, g: names.append(f"from {type(m).__name__}")),
        everywhere.register_module_full_backward_hook(lambda m, g, h: names.append(f"to {type(m).__name__}")),
    ]
    net(flambeau.ones(1, 2).requires_grad_()).sum().backward()
    for handle in handles:
        handle.remove()
    assert names[:6] == [
        "before Sequential", "before Linear", "after Linear", "before Tanh", "after Tanh", "after Sequential",
    ]  # fmt: skip
    assert names[6:] == ["from Sequential", "from Tanh", "to Tanh", "from Linear", "to Linear", "to Sequential"]
    count = len(names)
    net(flambeau.ones(1, 2))
    assert len(names) == count


def test_wrong_numbers_of_gradients_are_refused() -> None:
    layer = nn.Linear(2, 1)
    layer.register_full_backward_hook(lambda module, inputs, outputs: (inputs[0], inputs[0]))
    with pytest.raises(
        RuntimeError, match=r"Backward hook returned an invalid number of grad_input, got 2, but expected 1"
    ):
        layer(flambeau.ones(1, 2).requires_grad_()).sum().backward()


def test_results_that_hooks_see_are_not_written() -> None:
    layer = nn.Linear(2, 1)
    layer.register_full_backward_hook(lambda module, inputs, outputs: None)
    y: Tensor = layer(flambeau.ones(1, 2).requires_grad_())
    with pytest.raises(RuntimeError, match=r"Output 0 of BackwardHookFunction is a view and is being modified inplace"):
        y.add_(1)


def test_hooks_of_a_result_come_before_those_of_its_module() -> None:
    layer, seen = nn.Linear(2, 1), []  # type: ignore[var-annotated]
    layer.register_full_backward_pre_hook(lambda module, outputs: (outputs[0] * 3,))
    result = layer(flambeau.ones(1, 2))
    result.register_hook(lambda gradient: seen.append(gradient.tolist()))
    result.sum().backward()
    assert seen == [[[1]]]
    assert layer.bias.grad.tolist() == [3]
