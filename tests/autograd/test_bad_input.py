"""What goes wrong while gradients go back: custom functions, hooks and modules that change what is there."""

from __future__ import annotations

import gc
from typing import Any

import pytest

import flambeau
from flambeau import nn


class WritesWhatItSaved(flambeau.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        y = x * 2
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        (y,) = ctx.saved_tensors
        y.add_(1)
        return gradient * 2


def test_a_function_that_writes_what_it_saved_is_found_out_by_the_next_run() -> None:
    x = flambeau.ones(2, requires_grad=True)
    total = WritesWhatItSaved.apply(x).sum()
    total.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        total.backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_a_hook_may_start_a_backward_of_its_own() -> None:
    x, w = flambeau.ones(2, requires_grad=True), flambeau.ones(2, requires_grad=True)

    def hook(gradient: Any) -> Any:
        with flambeau.enable_grad():  # what runs in hooks is recorded only if `create_graph` or this says so
            (w * w).sum().backward()
        return gradient * 3

    y = x * 2
    y.register_hook(hook)
    y.sum().backward()
    assert (x.grad.tolist(), w.grad.tolist()) == ([6.0, 6.0], [2.0, 2.0])


def test_a_hook_that_raises_leaves_no_gradient_and_the_next_run_is_whole() -> None:
    x = flambeau.ones(2, requires_grad=True)
    y = x * 2
    handle = y.register_hook(lambda gradient: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        y.sum().backward()
    assert x.grad is None
    handle.remove()
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


@pytest.mark.parametrize("scripted", [False, True], ids=["eager", "scripted"])
def test_a_module_that_is_freed_before_gradients_go_back(scripted: bool) -> None:
    module: Any = nn.Linear(2, 1)
    parameters = list(module.parameters())
    called = flambeau.script(module) if scripted else module
    x = flambeau.ones(3, 2, requires_grad=True)
    total = called(x).sum()
    del module, called
    gc.collect()
    total.backward()
    assert parameters[0].grad.tolist() == [[3.0, 3.0]]
    assert parameters[1].grad.tolist() == [3.0]
    assert x.grad.tolist() == [parameters[0].tolist()[0]] * 3
