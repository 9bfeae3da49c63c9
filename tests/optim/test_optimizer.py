"""Optimisers by themselves: groups, hooks, closures, copies, memory of any kind."""

from __future__ import annotations

import copy
import importlib
import inspect
import pickle
import warnings
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import nn, optim
from flambeau.optim import formulas
from tests.optim.peer_runs import SETTINGS


def parameter(*values: float) -> flambeau.Tensor:
    return flambeau.tensor(values, requires_grad=True)


def stepped(optimizer: Any, *gradients: Any) -> list[Any]:
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    for p, g in zip(parameters, gradients, strict=True):
        p.grad = g
    optimizer.step()
    return [p.tolist() for p in parameters]


def test_every_update_is_one_native_call_for_plain_memory() -> None:
    p = parameter(1.0, 2.0)
    optimizer = optim.Adam([p], lr=0.1)
    stepped(optimizer, flambeau.tensor([1.0, -1.0]))
    updates = optimizer._update._updates
    first = updates[id(p)]
    assert first is not None
    stepped(optimizer, flambeau.tensor([1.0, -1.0]))
    assert updates[id(p)] is first


@pytest.mark.parametrize("name", SETTINGS)
def test_every_formula_has_a_kernel(name: str) -> None:
    for settings in SETTINGS[name]:
        p = parameter(1.0, 2.0)
        optimizer = getattr(optim, name)([p], **settings)
        stepped(optimizer, flambeau.tensor([1.0, -1.0]))
        assert optimizer._update._updates[id(p)] is not None


@pytest.mark.parametrize("dtype", [flambeau.float16, flambeau.bfloat16])
def test_low_precision(dtype: flambeau.dtype) -> None:
    p = flambeau.tensor([1.0, 2.0], dtype=dtype, requires_grad=True)
    optimizer = optim.SGD([p], lr=0.5, momentum=0.5)
    assert stepped(optimizer, flambeau.tensor([1.0, -1.0], dtype=dtype)) == [[0.5, 2.5]]
    assert stepped(optimizer, flambeau.tensor([1.0, -1.0], dtype=dtype)) == [[-0.25, 3.25]]


def test_memory_that_is_not_plain() -> None:
    """Strided parameters and gradients, one that is shared with a parameter: the same numbers."""
    expected = stepped(optim.Adam([parameter(0.0, 2.0)], lr=0.1), flambeau.tensor([1.0, -3.0]))
    base = flambeau.arange(4.0)
    strided = base[::2].requires_grad_()
    assert stepped(optim.Adam([strided], lr=0.1), flambeau.tensor([1.0, -3.0])) == expected
    assert base.tolist()[1::2] == [1.0, 3.0]
    gradient = flambeau.tensor([1.0, 9.0, -3.0, 9.0])[::2]
    assert stepped(optim.Adam([parameter(0.0, 2.0)], lr=0.1), gradient) == expected
    own = parameter(1.0, 2.0)
    assert stepped(optim.SGD([own], lr=0.5), own.detach()) == [[0.5, 1.0]]
    turned = flambeau.arange(6.0).reshape(2, 3).t().requires_grad_()
    assert stepped(optim.SGD([turned], lr=1.0), flambeau.ones(3, 2)) == [[[-1.0, 2.0], [0.0, 3.0], [1.0, 4.0]]]


def test_parameters_whose_memory_is_replaced_between_steps() -> None:
    p = nn.Parameter(flambeau.ones(2))
    optimizer = optim.SGD([p], lr=1.0)
    stepped(optimizer, flambeau.ones(2))
    p.data = flambeau.tensor([5.0, 6.0])
    assert stepped(optimizer, flambeau.ones(2)) == [[4.0, 5.0]]


def test_a_step_is_a_write_that_backward_notices() -> None:
    p = parameter(1.0, 2.0)
    loss = (p * p).sum()
    stepped(optim.SGD([p]), flambeau.ones(2))
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_groups_have_settings_of_their_own() -> None:
    a, b = parameter(1.0), parameter(1.0)
    optimizer = optim.SGD([{"params": [a]}, {"params": b, "lr": 0.5}], lr=0.1)
    assert stepped(optimizer, flambeau.ones(1), flambeau.ones(1)) == [[pytest.approx(0.9)], [0.5]]
    assert "lr: 0.5" in repr(optimizer)


def test_names_of_parameters() -> None:
    model = nn.Linear(2, 1)
    optimizer = optim.SGD(model.named_parameters())
    assert optimizer.state_dict()["param_groups"][0]["param_names"] == ["weight", "bias"]


def test_a_parameter_twice_in_a_group() -> None:
    p = parameter(1.0)
    with pytest.warns(UserWarning, match="duplicate parameters"):
        optim.SGD([p, p])


def test_closures_are_recorded_and_their_loss_is_returned() -> None:
    p = parameter(3.0)
    optimizer = optim.SGD([p], lr=0.1)

    def closure() -> flambeau.Tensor:
        optimizer.zero_grad()
        loss = (p * p).sum()
        loss.backward()
        return loss

    with flambeau.no_grad():
        assert optimizer.step(closure).item() == 9.0
    assert p.tolist() == pytest.approx([2.4])


def test_hooks_around_steps() -> None:
    p, calls = parameter(1.0), []
    optimizer = optim.SGD([p])
    handles = [
        optim.register_optimizer_step_pre_hook(lambda *_: calls.append("before all")),
        optimizer.register_step_pre_hook(lambda o, args, kwargs: calls.append("before")),
        optimizer.register_step_post_hook(lambda o, args, kwargs: calls.append("after")),
        optim.register_optimizer_step_post_hook(lambda *_: calls.append("after all")),
    ]
    optimizer.step()
    for handle in handles:
        handle.remove()
    optimizer.step()
    assert calls == ["before all", "before", "after", "after all"]
    seen: list[Any] = []
    handle = optimizer.register_step_pre_hook(lambda o, args, kwargs: seen.append(args) or (args, {"closure": None}))
    optimizer.step()
    handle.remove()
    assert seen == [(optimizer,)]
    optimizer.register_step_pre_hook(lambda o, args, kwargs: 3)
    with pytest.raises(RuntimeError, match=r"must return None or a tuple of \(new_args, new_kwargs\), but got 3"):
        optimizer.step()


def test_hooks_of_state_dicts() -> None:
    optimizer, calls = optim.SGD([parameter(1.0)]), []
    optimizer.register_state_dict_pre_hook(lambda o: calls.append("collect"))
    optimizer.register_state_dict_post_hook(lambda o, state: {**state, "more": 1})
    optimizer.register_load_state_dict_pre_hook(lambda o, state: {k: v for k, v in state.items() if k != "more"})
    optimizer.register_load_state_dict_post_hook(lambda o: calls.append("loaded"))
    state = optimizer.state_dict()
    assert state["more"] == 1
    optimizer.load_state_dict(state)
    assert calls == ["collect", "loaded"]


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda o: pickle.loads(pickle.dumps(o))])
def test_copies_go_on_by_themselves(copied: Any) -> None:
    optimizer = optim.Adam([parameter(1.0, 2.0)], lr=0.1)
    stepped(optimizer, flambeau.ones(2))
    other = copied(optimizer)
    first = stepped(optimizer, flambeau.ones(2))
    assert stepped(other, flambeau.ones(2)) == first
    assert other.param_groups[0]["params"][0] is not optimizer.param_groups[0]["params"][0]


def test_zero_grad() -> None:
    p = parameter(1.0)
    optimizer = optim.SGD([p])
    p.grad = flambeau.ones(1)
    optimizer.zero_grad(set_to_none=False)
    assert p.grad.tolist() == [0.0]
    optimizer.zero_grad()
    assert p.grad is None


def test_rates_that_are_tensors() -> None:
    rate = flambeau.tensor(0.5)
    p = parameter(1.0)
    optimizer = optim.Adam([p], lr=rate)
    stepped(optimizer, flambeau.ones(1))
    assert p.tolist() == pytest.approx([0.5])
    rate.fill_(0.25)
    stepped(optimizer, flambeau.ones(1))
    assert p.tolist() == pytest.approx([0.25])


def test_gradients_of_differentiable_steps() -> None:
    """How a rate changes what three steps reach."""
    rate = flambeau.tensor(0.1, dtype=flambeau.float64, requires_grad=True)
    start = flambeau.tensor([3.0], dtype=flambeau.float64)
    p = start.clone().requires_grad_() * 1.0
    optimizer = optim.SGD([p], lr=rate, differentiable=True)
    for _ in range(3):
        p.grad = 2 * p
        optimizer.step()
    p.sum().backward()
    assert rate.grad.item() == pytest.approx(3.0 * 3 * (1 - 0.2) ** 2 * -2.0)


def test_a_user_s_optimizer_counts_its_steps_and_has_hooks() -> None:
    class Descent(optim.Optimizer):
        def __init__(self, params: Any) -> None:
            super().__init__(params, {"lr": 0.5})

        @flambeau.no_grad()
        def step(self, closure: Any = None) -> None:
            for group in self.param_groups:
                for p in group["params"]:
                    p.sub_(p.grad * group["lr"])

    optimizer = Descent([parameter(1.0)])
    scheduler = optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert stepped(optimizer, flambeau.ones(1)) == [[0.5]]
        scheduler.step()
    assert optimizer.param_groups[0]["lr"] == 0.25


def test_without_native_code_the_formula_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = stepped(optim.RMSprop([parameter(1.0, 2.0)], lr=0.1), flambeau.tensor([1.0, -3.0]))
    monkeypatch.setattr(type(formulas.rmsprop), "kernel", lambda *_: None)
    np.testing.assert_allclose(
        stepped(optim.RMSprop([parameter(1.0, 2.0)], lr=0.1), flambeau.tensor([1.0, -3.0])), expected, rtol=1e-6
    )


def test_gradients_are_not_kept_from_step_to_step() -> None:
    import gc
    import weakref

    p = parameter(1.0, 2.0)
    optimizer = optim.Adam([p])
    gradient = flambeau.ones(2)
    kept = weakref.ref(gradient._array)
    stepped(optimizer, gradient)
    optimizer.zero_grad()
    del gradient
    gc.collect()
    assert kept() is None


@pytest.mark.parametrize("count", [40_000, 131_072, 300_001])
@pytest.mark.parametrize("name", ["Adam", "SGD"])
def test_large_parameters_wherever_they_lie(name: str, count: int) -> None:
    """Memory on no boundary: what is written over is not what a kernel allocates for itself."""
    draw = np.random.default_rng(0)
    values, gradients = draw.standard_normal((2, count)).astype(np.float32)
    settings = {"momentum": 0.9} if name == "SGD" else {}
    expected = None
    for shift in (0, 1, 3):
        memory = np.zeros(count + 20, np.float32)
        start = (-memory.ctypes.data % 64) // 4 + shift
        p = flambeau.from_numpy(memory)[start : start + count]
        p.copy_(flambeau.from_numpy(values))
        p = p.detach().requires_grad_()
        optimizer = getattr(optim, name)([p], lr=0.1, **settings)
        for _ in range(3):
            p.grad = flambeau.from_numpy(gradients)
            optimizer.step()
        assert optimizer._update._updates[id(p)] is not None
        result = p.detach().numpy().copy()
        expected = result if expected is None else expected
        np.testing.assert_array_equal(result, expected)
        assert not memory[:start].any()
        assert not memory[start + count :].any()


def test_an_optimiser_without_steps_says_what_to_write() -> None:
    class Lazy(optim.Optimizer):
        pass

    with pytest.raises(NotImplementedError, match=r"Lazy does not say what a step does: define `step\(self, closure"):
        Lazy([parameter(1.0)], {}).step()


@pytest.mark.parametrize("name", [name for name in optim.__all__ if hasattr(getattr(optim, name), "formula")])
def test_groups_have_every_setting(name: str) -> None:
    kind = getattr(optim, name)
    arguments = [a for a in inspect.signature(kind).parameters if a != "params"]
    assert set(arguments) <= set(kind([parameter(1.0)]).param_groups[0])


def test_sparse_gradients_are_refused_with_what_to_write() -> None:
    with pytest.raises(AttributeError, match="flambeau has no sparse tensors, and gradients of embeddings are dense"):
        flambeau.optim.SparseAdam  # noqa: B018
    with pytest.raises(AttributeError, match="has no attribute 'Other'"):
        flambeau.optim.Other  # noqa: B018
    assert importlib.import_module("flambeau.optim.adamw").AdamW is flambeau.optim.AdamW
