"""Compiled calls on the tape, once more with arguments as before: the short way there and back is the long way."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.executor.repeated_calls import RepeatedBackward

CALLS = 4


def energy(x: Tensor, y: Tensor) -> Tensor:
    return (x * y.sin() + x.exp()).sum()


def settled(x: Tensor, turns: int) -> Tensor:
    y = x
    for _ in range(turns):
        y = y + 0.1 * (x - y * y * y)
    return (y * y).sum()


def several(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    return (x * y).sum(), (x + y).exp(), y * 2


def values(*shape: int, seed: int = 0) -> Tensor:
    return flambeau.tensor(np.random.default_rng(seed).normal(size=shape))


def asking(*shape: int, seed: int = 0) -> Tensor:
    return values(*shape, seed=seed).requires_grad_()


def repeated(function: Callable[..., Any], *arguments: Any) -> Any:
    """The result of a call after some like it."""
    for _ in range(CALLS):
        result = function(*arguments)
    first = result[0] if isinstance(result, tuple) else result
    assert isinstance(first.grad_fn, RepeatedBackward)
    return result


def gradients(result: Tensor, *inputs: Tensor, **options: Any) -> list[Any]:
    return list(flambeau.autograd.grad(result, inputs, **options))


def equal(found: Any, expected: Any) -> None:
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one.detach().numpy(), other.detach().numpy(), rtol=1e-12, atol=1e-12)


def test_gradients_are_those_of_the_first_call_and_of_operators() -> None:
    x, y = asking(3, 4), asking(4, seed=1)
    script = flambeau.script(energy)
    expected = gradients(energy(x, y), x, y)
    equal(gradients(script(x, y), x, y), expected)
    equal(gradients(repeated(script, x, y), x, y), expected)
    assert repeated(script, x, y).grad_fn.name() == "CompiledCallBackward"


def test_loops_that_are_run_again_on_the_way_back() -> None:
    x = asking(5)
    result = repeated(flambeau.script(settled), x, 7)
    assert result.grad_fn._kept is None
    equal(gradients(result, x), gradients(settled(x, 7), x))
    equal(gradients(flambeau.script(settled)(x, 9), x), gradients(settled(x, 9), x))


def test_another_number_is_another_call() -> None:
    x, script = asking(5), flambeau.script(settled)
    repeated(script, x, 7)
    equal(gradients(script(x, 2), x), gradients(settled(x, 2), x))


def test_gradients_of_some_results() -> None:
    x, y = asking(4), values(4, seed=1)
    script = flambeau.script(several)
    for _ in range(2):
        total, grown, doubled = repeated(script, x, y)
        plain_total, plain_grown, _ = several(x, y)
        assert not doubled.requires_grad
        ones = flambeau.ones(4, dtype=flambeau.float64)
        equal(gradients(total, x), gradients(plain_total, x))
        total, grown, doubled = repeated(script, x, y)
        equal(gradients(grown, x, grad_outputs=ones), gradients(plain_grown, x, grad_outputs=ones))
        total, grown, doubled = repeated(script, x, y)
        equal(gradients(total + grown.sum(), x), gradients(sum(one.sum() for one in several(x, y)[:2]), x))


def test_second_order_goes_through_a_repeated_call() -> None:
    x, y = asking(3), asking(3, seed=1)

    def second(function: Callable[..., Any]) -> list[Any]:
        [first] = gradients(function(x, y), x, create_graph=True)
        return gradients(first.pow(2).sum(), x, y)

    script = flambeau.script(energy)
    repeated(script, x, y)
    equal(second(script), second(energy))


def test_going_back_twice() -> None:
    x, y = asking(3), asking(3, seed=1)
    script = flambeau.script(energy)
    result = repeated(script, x, y)
    result.backward(retain_graph=True)
    result.backward()
    equal([x.grad], [2 * gradients(energy(x, y), x)[0]])
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        result.backward()


def test_an_argument_that_was_written_since_is_refused() -> None:
    x, y = asking(3), values(3, seed=1)
    script = flambeau.script(energy)
    result = repeated(script, x, y)
    y.add_(1)
    with pytest.raises(RuntimeError, match=r"is at version 1; expected version 0 instead.*CompiledCallBackward"):
        result.backward()


def test_hooks_see_the_same_gradients() -> None:
    x, y = asking(3), asking(3, seed=1)
    seen: list[str] = []
    script = flambeau.script(energy)
    inner = x * 1.0
    result = repeated(script, inner, y)
    inner.retain_grad()
    inner.register_hook(lambda gradient: gradient * 2)
    result.grad_fn.register_prehook(lambda given: seen.append(f"before {len(given)}"))
    result.grad_fn.register_hook(lambda found, given: seen.append(f"after {len(found)} {len(given)}"))
    y.register_hook(lambda gradient: seen.append(f"leaf {tuple(gradient.shape)}"))
    result.backward()
    assert seen == ["before 1", "after 2 1", "leaf (3,)"]
    [expected] = gradients(energy(x, y), x)
    equal([x.grad, inner.grad], [2 * expected, 2 * expected])


def test_the_edges_are_those_of_the_arguments() -> None:
    base = asking(2, 3)
    x, y = (base * 2)[0], asking(3, seed=1)
    result = repeated(flambeau.script(energy), x, y)
    names = [node.name() for node, _ in result.grad_fn.next_functions]
    assert names == ["SelectBackward0", "torch::autograd::AccumulateGrad"]
    equal(gradients(result, base), gradients(energy((base * 2)[0], y), base))


def test_an_argument_given_twice() -> None:
    x, script = asking(3), flambeau.script(energy)
    for _ in range(CALLS):
        result = script(x, x)
    equal(gradients(result, x), gradients(energy(x, x), x))
    assert len(result.grad_fn.next_functions) == 1
    other = asking(3, seed=2)
    for _ in range(CALLS):
        script(x, other)
    equal(gradients(script(x, x), x), gradients(energy(x, x), x))


def test_what_differs_goes_the_long_way() -> None:
    x, y, script = asking(3), asking(3, seed=1), flambeau.script(energy)
    repeated(script, x, y)
    with flambeau.no_grad():
        assert script(x, y).grad_fn is None
    assert script(values(3), values(3)).grad_fn is None
    y.requires_grad_(False)
    assert len(script(x, y).grad_fn.next_functions) == 1
    small = values(3).float().requires_grad_()
    [gradient] = gradients(script(small, small.detach()), small)
    assert gradient.dtype == flambeau.float32
    long = asking(5)
    equal(gradients(script(long, long.detach()), long), gradients(energy(long, long.detach()), long))
    with flambeau.inference_mode():
        made = values(3)
        assert script(x, y).grad_fn is None
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        script(x, made)


def test_results_that_are_arguments_stay_those() -> None:
    @flambeau.script
    def both(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, int]:
        return (x * y).sum(), y, y.dim()

    x, y = asking(3), values(3, seed=1)
    for _ in range(CALLS):
        total, same, rank = both(x, y)
    assert same is y
    assert rank == 1
    equal(gradients(total, x), [y])


def test_results_that_show_memory_of_arguments() -> None:
    @flambeau.script
    def chosen(x: Tensor, y: Tensor, which: bool) -> Tensor:
        if which:
            return x * y
        return y

    x, y = asking(3), values(3, seed=1)
    repeated(chosen, x, y, True)
    assert chosen(x, y, False) is y
    assert chosen(x, y, True).requires_grad


def test_anomaly_mode_tells_where_a_compiled_call_was_made() -> None:
    @flambeau.script
    def root(x: Tensor) -> Tensor:
        return (x.sqrt() * 0.0).sum()

    x = flambeau.zeros(2, dtype=flambeau.float64, requires_grad=True)
    for _ in range(CALLS):
        with warnings.catch_warnings(record=True) as caught, flambeau.autograd.set_detect_anomaly(True):
            warnings.simplefilter("always")
            with pytest.raises(RuntimeError, match="returned nan values in its 0th output"):
                root(x).backward()
        assert any("test_repeated_calls.py" in str(one.message) for one in caught)


def test_gradients_that_are_batches() -> None:
    x, y = asking(3), asking(3, seed=1)
    script = flambeau.script(several)
    _, grown, _ = repeated(script, x, y)
    rows = flambeau.eye(3, dtype=flambeau.float64)
    [found] = flambeau.autograd.grad(grown, x, rows, is_grads_batched=True)
    equal([found], [flambeau.diag((x + y).exp())])


def test_modules_are_trained_by_repeated_calls() -> None:
    def losses(is_scripted: bool) -> list[float]:
        flambeau.manual_seed(0)
        model: Any = flambeau.nn.Sequential(
            flambeau.nn.Linear(3, 4), flambeau.nn.Tanh(), flambeau.nn.Linear(4, 1)
        ).double()
        model = flambeau.script(model) if is_scripted else model
        optimizer = flambeau.optim.SGD(model.parameters(), lr=0.1)
        found = []
        for step in range(8):
            optimizer.zero_grad()
            result = model(values(6, 3))
            assert not is_scripted or step in (0, 1, 2, 5) or isinstance(result.grad_fn, RepeatedBackward)
            loss = (result - 1).pow(2).mean()
            loss.backward()
            optimizer.step()
            found.append(loss.item())
            if step == 4:
                for parameter in model.parameters():
                    parameter.data = parameter.data * 0.5
        return found

    np.testing.assert_allclose(losses(True), losses(False), rtol=1e-12)


def test_kernels_that_users_replace_are_seen() -> None:
    x, y, script = asking(3), values(3, seed=1), flambeau.script(energy)
    expected = repeated(script, x, y).item()
    library = flambeau.library.Library("aten", "IMPL")
    library.impl("exp", lambda t: t * 0, "CPU")
    try:
        assert script(x, y).item() != expected
    finally:
        library._destroy()
    assert script(x, y).item() == expected


def test_threads_share_what_is_remembered() -> None:
    script, wrong = flambeau.script(energy), []
    repeated(script, asking(3), asking(3, seed=1))

    def work(seed: int) -> None:
        x, y = asking(3, seed=seed), asking(3, seed=seed + 50)
        expected = gradients(energy(x, y), x, y)
        for _ in range(20):
            found = gradients(script(x, y), x, y)
            if any(abs(f - e).max().item() > 1e-12 for f, e in zip(found, expected, strict=True)):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
