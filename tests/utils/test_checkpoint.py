"""Checkpoints: gradients as without them, with less memory."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

import flambeau
from flambeau import Tensor, nn
from flambeau.utils.checkpoint import (
    CheckpointError,
    check_backward_validity,
    checkpoint,
    checkpoint_sequential,
    detach_variable,
    noop_context_fn,
    set_checkpoint_debug_enabled,
    set_checkpoint_early_stop,
)


@pytest.mark.parametrize("use_reentrant", [True, False])
def test_gradients_are_the_same(use_reentrant: bool) -> None:
    layer = nn.Linear(4, 4)
    x = flambeau.rand(3, 4).requires_grad_()

    def run(t: Tensor, factor: float) -> Tensor:
        return flambeau.dropout(layer(t).tanh(), 0.5, True) * factor

    flambeau.manual_seed(3)
    (run(x, 2.0) ** 2).sum().backward()
    expected = [x.grad.tolist(), layer.weight.grad.tolist()]
    x.grad = layer.weight.grad = None
    flambeau.manual_seed(3)
    y = checkpoint(run, x, 2.0, use_reentrant=use_reentrant)
    after = flambeau.rand(1).item()
    (y**2).sum().backward()
    assert [x.grad.tolist(), layer.weight.grad.tolist()] == expected
    flambeau.manual_seed(3)
    flambeau.dropout(flambeau.ones(3, 4), 0.5, True)
    assert flambeau.rand(1).item() == after


def test_second_order() -> None:
    x = flambeau.tensor(2.0, requires_grad=True)
    y = checkpoint(lambda t: t**3, x, use_reentrant=False)
    (first,) = flambeau.autograd.grad(y, x, create_graph=True)
    assert first.item() == 12


def peak(run: Any) -> int:
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_less_memory_is_used() -> None:
    steps = [nn.Tanh() for _ in range(24)]
    x = flambeau.rand(100_000).requires_grad_()

    def plain() -> None:
        y = x
        for step in steps:
            y = step(y)
        y.sum().backward()

    def segments() -> None:
        checkpoint_sequential(nn.Sequential(*steps), 6, x, use_reentrant=False).sum().backward()

    plain()
    expected = x.grad.tolist()
    x.grad = None
    segments()
    assert x.grad.tolist() == expected
    assert peak(segments) < 0.6 * peak(plain)


def test_what_is_refused() -> None:
    x = flambeau.ones(2).requires_grad_()
    calls: list[int] = []

    def changes(t: Tensor) -> Tensor:
        calls.append(1)
        return t.exp() if len(calls) == 1 else t * 1

    with pytest.raises(CheckpointError, match="A different number of tensors was saved during the original forward"):
        checkpoint(changes, x, use_reentrant=False).sum().backward()
    with pytest.warns(UserWarning, match="the use_reentrant parameter should be passed explicitly"):
        checkpoint(lambda t: t * 2, x)
    with pytest.raises(ValueError, match="Unexpected keyword arguments: k"):
        checkpoint(lambda t, k: t, x, use_reentrant=True, k=1)
    with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True"):
        checkpoint(lambda t: t * 2, flambeau.ones(1), use_reentrant=True)


def test_reentrant_checkpoints_refuse_what_torchs_do() -> None:
    torch = pytest.importorskip("torch")
    texts = []
    for library, run in ((torch, torch.utils.checkpoint.checkpoint), (flambeau, checkpoint)):

        def tried(go: Callable[[Any, Any], Any], library: Any = library, run: Any = run) -> str:
            x = library.ones(2, requires_grad=True)
            with pytest.raises((RuntimeError, ValueError)) as info:
                go(x, lambda **options: run(lambda t: t.sin(), x, use_reentrant=True, **options))
            return str(info.value)

        grad = library.autograd.grad
        found = [
            tried(lambda x, call, grad=grad: grad(call().sum(), [x])),
            tried(lambda x, call: call().sum().backward(inputs=[x])),
            tried(lambda x, call: call(debug=True)),
            tried(lambda x, call: call(context_fn=lambda: (1, 2))),
            tried(lambda x, call: call(y=3)),
        ]
        result = run(lambda t: t * 2, library.ones(1, requires_grad=True), use_reentrant=True)
        texts.append([*found, result.grad_fn.name()])
    assert texts[0] == texts[1]


@pytest.mark.parametrize("stops", [True, False])
@pytest.mark.parametrize("by_block", [True, False])
def test_second_runs_end_early_unless_they_are_told_not_to(stops: bool, by_block: bool) -> None:
    x, calls = flambeau.ones(2, requires_grad=True), []

    def counted(t: Tensor) -> Tensor:
        y = t.sin().exp()
        calls.append(y)
        return y

    if by_block:
        with set_checkpoint_early_stop(stops):
            y = checkpoint(counted, x, use_reentrant=False)
    else:
        y = checkpoint(counted, x, use_reentrant=False, early_stop=stops)
    y.sum().backward()
    assert len(calls) == (1 if stops else 2)
    assert flambeau.allclose(x.grad, x.cos() * x.sin().exp())


def test_checks_of_what_is_computed_again_have_names() -> None:
    with pytest.raises(ValueError, match=r"determinism_check should be one of \['default', 'none'\], but got foo"):
        checkpoint(flambeau.sin, flambeau.ones(2, requires_grad=True), use_reentrant=False, determinism_check="foo")


def test_errors_tell_of_operators() -> None:
    calls: list[int] = []

    def other(t: Tensor) -> Tensor:
        calls.append(1)
        return t.sin() if len(calls) % 2 else t.exp().sin()

    x = flambeau.ones(2, requires_grad=True)
    y = checkpoint(other, x, use_reentrant=False, debug=True, early_stop=False)
    with pytest.raises(CheckpointError, match=r"first run: aten\.sin\.default.*\n.*second run: .*aten\.exp\.default"):
        y.sum().backward()
    y = checkpoint(other, x, use_reentrant=False, early_stop=False)
    with pytest.raises(CheckpointError, match="debug=True"):
        y.sum().backward()
    with set_checkpoint_debug_enabled(True):
        y = checkpoint(other, x, use_reentrant=False, early_stop=False)
    with pytest.raises(CheckpointError, match="operators of the first run"):
        y.sum().backward()
    with pytest.raises(ValueError, match="only supported when use_reentrant=False"):
        checkpoint(other, x, use_reentrant=True, debug=True)


def test_helpers() -> None:
    x = flambeau.ones(2, requires_grad=True)
    (detached, text) = detach_variable((x * 2, "text"))
    assert (detached.is_leaf, detached.requires_grad, text) == (True, True, "text")
    with pytest.raises(RuntimeError, match="Only tuple of tensors"):
        detach_variable([x])  # type: ignore[arg-type]
    with pytest.warns(UserWarning, match="None of the inputs"):
        check_backward_validity([flambeau.ones(1), 3])
    assert checkpoint(flambeau.sin, x, use_reentrant=False, context_fn=noop_context_fn).requires_grad
