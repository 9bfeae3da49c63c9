"""Compiled calls that draw random numbers, or write to what asks for nothing, as one node of the tape each: a dropout,
running statistics, counters of calls. The same function, run as Python an operator at a time, is the reference."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor, nn
from flambeau.nn import functional

CALLS = 5
"""More than are recorded before such a function is compiled."""


def noisy(x: Tensor, w: Tensor, scale: Tensor, count: Tensor) -> Tensor:
    y = functional.dropout((x @ w).sigmoid(), 0.3, True)
    z = flambeau.randn_like(y) * scale
    before = count * 2.0
    scale.mul_(0.5)
    count.add_(1)
    return (y * z * before + flambeau.rand(3, 1)).sum() * count.sum()


def counted(x: Tensor, w: Tensor, scale: Tensor, count: Tensor) -> Tensor:
    y = x @ w
    for _ in range(3):
        count += 1
        y = y * flambeau.tanh(y) + flambeau.rand(5)
    return (y * scale).sum()


def _leaves() -> tuple[Tensor, ...]:
    flambeau.manual_seed(1)
    x, w = flambeau.randn(3, 8, dtype=flambeau.float64), flambeau.randn(8, 5, dtype=flambeau.float64)
    ones = flambeau.ones(5, dtype=flambeau.float64)
    return x, w.requires_grad_(), ones, ones[:1] + 1


def _outcome(function: Callable[..., Any], order: int) -> list[Any]:
    x, w, scale, count = _leaves()
    results = []
    for _ in range(CALLS):
        result = function(x, w, scale, count)
        results.append(result.item())
        if order == 1:
            result.backward()
        else:
            (gradient,) = flambeau.autograd.grad(result, w, create_graph=True)
            gradient.pow(2).sum().backward()
    return [results, w.grad.numpy(), scale.numpy(), count.numpy(), flambeau.rand(2).numpy()]


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("program", [noisy, counted])
def test_c15_results_gradients_and_what_is_written_are_those_of_the_tape(
    program: Callable[..., Any], order: int
) -> None:
    compiled = flambeau.script(program)
    for one, other in zip(_outcome(compiled, order), _outcome(program, order), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10)
    [plan] = compiled._executor.derivatives.gradient_plans
    assert plan.forward is not None
    assert compiled(*_leaves()).grad_fn.name() == "CompiledCallBackward"


def test_c15_batches_of_gradients_see_the_numbers_that_were_drawn() -> None:
    compiled = flambeau.script(noisy)
    _outcome(compiled, 1)
    x, w, scale, count = _leaves()
    result = compiled(x, w, scale, count)
    seeds = flambeau.tensor([1.0, 2.0], dtype=flambeau.float64)
    (batch,) = flambeau.autograd.grad(result, w, seeds, retain_graph=True, is_grads_batched=True)
    (one,) = flambeau.autograd.grad(result, w)
    np.testing.assert_allclose(batch.numpy(), np.stack([one.numpy(), 2 * one.numpy()]), rtol=1e-12)
    assert count.tolist() == [3.0]  # no second run counted


class Trained(nn.Module):
    """What networks in training have: a dropout, a batch norm with its statistics, an epilogue."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 6, 3)
        self.norm = nn.BatchNorm2d(6)
        self.drop = nn.Dropout(0.4)
        self.last = nn.Linear(6, 2)

    def forward(self, x: Tensor) -> Tensor:
        y = flambeau.relu(self.norm(self.first(x)))
        return self.last(self.drop(y.mean(dim=[2, 3])))


def _trained(*, is_scripted: bool) -> tuple[str, list[Any]]:
    flambeau.manual_seed(2)
    module = Trained().double()
    called = flambeau.script(module) if is_scripted else module
    optimizer = flambeau.optim.SGD(module.parameters(), lr=0.1)
    x, losses, made_by = flambeau.randn(4, 3, 6, 6, dtype=flambeau.float64), [], ""
    for _ in range(CALLS):
        optimizer.zero_grad()
        result = called(x)
        made_by = result.grad_fn.name()
        loss = result.pow(2).sum()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    state = [value.detach().numpy() for value in called.state_dict().values()]
    called.eval()
    return made_by, [losses, *state, called(x).detach().numpy()]


def test_c15_modules_in_training_are_compiled() -> None:
    (made_by, scripted), (_, eager) = _trained(is_scripted=True), _trained(is_scripted=False)
    assert made_by == "CompiledCallBackward"
    for one, other in zip(scripted, eager, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-10)


def test_c15_a_buffer_that_is_given_twice_is_written_in_order() -> None:
    def twice(x: Tensor, scale: Tensor, count: Tensor) -> Tensor:
        y = x * scale
        count.add_(1)
        return y.sum() + flambeau.rand(1).sum() * 0

    compiled = flambeau.script(twice)
    for _ in range(CALLS):
        x = flambeau.ones(2, requires_grad=True)
        compiled(x, flambeau.full([2], 3.0), flambeau.zeros(1)).backward()
        assert x.grad.tolist() == [3.0, 3.0]
    both = flambeau.full([2], 3.0)
    result = compiled(x, both, both)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):  # as Python's tape says
        result.backward()


def test_c15_a_buffer_that_shares_memory_with_an_argument_is_written_in_order() -> None:
    def shared(x: Tensor, scale: Tensor) -> Tensor:
        scale.mul_(0.5)
        return (x * x).sum() + flambeau.rand(1).sum() * 0

    compiled = flambeau.script(shared)
    for _ in range(CALLS):
        base = flambeau.ones(4)
        x = flambeau.ones(4, requires_grad=True)
        compiled(x, base).backward()
        assert x.grad.tolist() == [2.0] * 4
        assert base.tolist() == [0.5] * 4
    x = flambeau.ones(4, requires_grad=True)
    compiled(x, x.detach()).backward()
    assert x.tolist() == [0.5] * 4
    assert x.grad.tolist() == [1.0] * 4


def test_c15_results_that_may_be_arguments_are_recorded() -> None:
    @flambeau.script
    def either(x: Tensor, count: Tensor) -> Tensor:
        count.add_(1)
        return x if bool(count.sum() > 3) else x * 2

    count = flambeau.zeros(1)
    for number in range(1, CALLS + 1):
        x = flambeau.ones(2, requires_grad=True)
        either(x, count).sum().backward()
        assert x.grad.tolist() == [1.0 if number > 3 else 2.0] * 2
        assert count.item() == number


def test_c15_what_was_saved_and_written_since_is_an_error() -> None:
    @flambeau.script
    def scaled(x: Tensor, scale: Tensor, count: Tensor) -> Tensor:
        count.add_(1)
        return (x * scale).sum()

    scale, count = flambeau.full([2], 3.0), flambeau.zeros(1)
    for _ in range(CALLS):
        x = flambeau.ones(2, requires_grad=True)
        result = scaled(x, scale, count)
        count.add_(1)  # nothing needs it
        result.backward()
        assert x.grad.tolist() == [3.0, 3.0]
    result = scaled(x, scale, count)
    scale.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        result.backward()


def test_c15_a_call_that_fails_has_written_what_it_wrote() -> None:
    @flambeau.script
    def failing(x: Tensor, count: Tensor, fails: bool) -> Tensor:
        count.add_(1)
        if fails:
            raise ValueError("as it was asked to")
        return (x * flambeau.rand(2)).sum()

    count = flambeau.zeros(1)
    x = flambeau.ones(2, requires_grad=True)
    for _ in range(CALLS):
        failing(x, count, False).backward()
    with pytest.raises(ValueError, match="as it was asked to"):
        failing(x, count, True)
    assert count.item() == CALLS + 1


class Counting(nn.Module):
    """Counts its calls in a buffer, as programs write it."""

    calls: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 2)
        self.register_buffer("calls", flambeau.zeros(1))

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        return self.layer(x) * self.calls


def test_c15_a_counter_in_a_buffer_is_no_assignment() -> None:
    flambeau.manual_seed(3)
    module = Counting()
    scripted = flambeau.script(module)
    x, buffer = flambeau.ones(2, 3), scripted.calls
    for number in range(1, CALLS + 2):
        module.zero_grad()
        scripted(x).sum().backward()
        assert module.layer.bias.grad.tolist() == [2.0 * number] * 2
    assert scripted(x).grad_fn.name() == "CompiledCallBackward"
    assert scripted.calls is buffer
    assert buffer.item() == CALLS + 2
