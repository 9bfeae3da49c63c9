"""Blocks in mixed precision around calls: what holds in them, what they keep, and what they refuse; beside PyTorch."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import flambeau
from flambeau import Tensor
from flambeau.tensor import autocast_calls


def product(x: Tensor) -> Tensor:
    return x @ x


def test_a_block_computes_products_in_few_bits_and_losses_in_many() -> None:
    x = flambeau.ones(2, 2)
    with flambeau.autocast("cpu", dtype=flambeau.bfloat16):
        y = x @ x
        assert y.dtype is flambeau.bfloat16
        assert (y + 1).dtype is y.softmax(0).dtype is flambeau.bfloat16
        assert flambeau.nn.functional.mse_loss(y, x).dtype is flambeau.float32
        assert (y + x).dtype is flambeau.float32
    assert (x @ x).dtype is flambeau.float32
    with flambeau.amp.autocast("cpu", flambeau.float16):
        assert (x @ x).dtype is flambeau.float16


def test_blocks_nest() -> None:
    x = flambeau.ones(2, 2)
    with flambeau.autocast("cpu"):
        with flambeau.autocast("cpu", enabled=False):
            assert (x @ x).dtype is flambeau.float32
            with flambeau.cpu.amp.autocast(dtype=flambeau.float16):
                assert (x @ x).dtype is flambeau.float16
                assert flambeau.get_autocast_dtype("cpu") is flambeau.float16
            assert not flambeau.is_autocast_cpu_enabled()
        assert (x @ x).dtype is flambeau.bfloat16
        with flambeau.cuda.amp.autocast(enabled=False):
            assert (x @ x).dtype is flambeau.bfloat16


def test_what_raises_ends_a_block() -> None:
    with pytest.raises(ZeroDivisionError), flambeau.autocast("cpu"):
        1 / 0  # noqa: B018
    assert not flambeau.is_autocast_enabled("cpu")


def test_one_object_may_be_entered_again() -> None:
    block, x = flambeau.autocast("cpu"), flambeau.ones(2, 2)
    with block, block:
        assert (x @ x).dtype is flambeau.bfloat16
    with block:
        assert (x @ x).dtype is flambeau.bfloat16
    assert not flambeau.is_autocast_enabled("cpu")


def test_decorated_functions() -> None:
    x = flambeau.ones(2, 2)
    assert flambeau.autocast("cpu")(product)(x).dtype is flambeau.bfloat16
    inner = flambeau.autocast("cpu", enabled=False)(product)
    assert flambeau.autocast("cpu")(inner)(x).dtype is flambeau.float32
    assert flambeau.autocast("cpu")(product).__name__ == "product"


def test_a_block_is_its_threads() -> None:
    seen: list[bool] = []
    with flambeau.autocast("cpu"):
        thread = threading.Thread(target=lambda: seen.append(flambeau.is_autocast_enabled("cpu")))
        thread.start()
        thread.join()
    assert seen == [False]


def test_tasks_have_the_mixed_precision_of_who_forks_them() -> None:
    x = flambeau.ones(2, 2)
    with flambeau.autocast("cpu"):
        future = flambeau.jit.fork(product, x)
    assert flambeau.jit.wait(future).dtype is flambeau.bfloat16
    from flambeau.interpreter.tasks import submit

    with flambeau.autocast("cpu"):
        future = submit(lambda: product(x))
    assert future.wait().dtype is flambeau.bfloat16


def test_checkpoints_run_again_in_the_same() -> None:
    x = flambeau.ones(2, 2, requires_grad=True)
    seen: list[bool] = []

    def noted(x: Tensor) -> Tensor:
        seen.append(flambeau.is_autocast_enabled("cpu"))
        return (x @ x).sin()

    with flambeau.autocast("cpu"):
        y = flambeau.utils.checkpoint.checkpoint(noted, x, use_reentrant=False)
    y.sum().backward()
    assert seen == [True, True]


def test_parameters_are_converted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    weight, x = flambeau.ones(2, 2, requires_grad=True), flambeau.ones(2, 2)
    made: list[Tensor] = []
    remembered = autocast_calls._remembered

    def watched(tensor: Tensor, dtype: Any, convert: Any) -> Tensor:
        return remembered(tensor, dtype, lambda t, d: made.append(t) or convert(t, d))  # type: ignore[func-returns-value]

    monkeypatch.setattr(autocast_calls, "_remembered", watched)
    with flambeau.autocast("cpu"):
        y = (x @ weight) @ weight
        assert sum(t is weight for t in made) == 1
        with flambeau.no_grad():
            assert not (x @ weight).requires_grad  # a copy of its own
        assert sum(t is weight for t in made) == 2
        weight.data.mul_(3)
        with flambeau.no_grad():
            weight.mul_(2)
        assert (x @ weight).tolist() == [[12.0, 12.0]] * 2
        assert sum(t is weight for t in made) == 3
        flambeau.clear_autocast_cache()
        x @ weight
        assert sum(t is weight for t in made) == 4
    with flambeau.autocast("cpu", cache_enabled=False):
        assert not flambeau.is_autocast_cache_enabled()
    del y


def test_gradients_come_in_the_dtypes_of_what_they_are_of() -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    values = [[0.5, -1.25, 2.0], [1.5, 0.75, -0.5], [-2.0, 1.0, 0.25]]
    results = []
    for package in (flambeau, torch):
        w, x = package.tensor(values, requires_grad=True), package.tensor(values)
        with package.autocast("cpu", dtype=package.bfloat16):
            loss = package.nn.functional.mse_loss(((x @ w).relu() @ w), x)
        loss.backward()
        assert w.grad.dtype is package.float32
        results.append((loss.item(), w.grad.tolist()))
    assert results[0][0] == pytest.approx(results[1][0], rel=1e-3)
    for ours, theirs in zip(*(r[1] for r in results), strict=True):
        assert ours == pytest.approx(theirs, rel=2e-2, abs=2e-2)


def test_backward_within_a_block() -> None:
    w, x = flambeau.ones(2, 2, requires_grad=True), flambeau.ones(2, 2)
    with flambeau.autocast("cpu"):
        (x @ w).sum().backward()
    assert w.grad is not None
    assert w.grad.dtype is flambeau.float32


def test_traces_record_casts() -> None:
    x = flambeau.ones(2, 2)
    with flambeau.autocast("cpu"):
        around = flambeau.jit.trace(product, x)
    within = flambeau.jit.trace(flambeau.autocast("cpu")(product), x)
    for trace in (around, within):
        assert str(trace.graph).count("aten::to(") == 2
        assert trace(x).dtype is flambeau.bfloat16


def test_transforms_of_functions() -> None:
    xs = flambeau.ones(3, 2, 2)
    with flambeau.autocast("cpu"):
        assert flambeau.func.vmap(product)(xs).dtype is flambeau.bfloat16
    block = flambeau.autocast("cpu")
    assert flambeau.func.vmap(block(product))(xs).dtype is flambeau.bfloat16
    assert flambeau.func.grad(block(lambda x: (x @ x).sum()))(xs[0]).dtype is flambeau.float32


def test_switches() -> None:
    x = flambeau.ones(2, 2)
    flambeau.set_autocast_dtype("cpu", flambeau.float16)
    flambeau.set_autocast_enabled("cpu", True)
    try:
        assert (x @ x).dtype is flambeau.float16
        assert flambeau.get_autocast_dtype("cpu") is flambeau.float16
        flambeau.set_autocast_dtype("cpu", flambeau.bfloat16)
        assert (x @ x).dtype is flambeau.bfloat16
    finally:
        flambeau.set_autocast_enabled("cpu", False)
        flambeau.set_autocast_dtype("cpu", flambeau.bfloat16)
    assert (x @ x).dtype is flambeau.float32
    assert flambeau.amp.is_autocast_available("cpu")


def test_a_dtype_that_is_none_of_few_bits_is_left_out_with_a_warning() -> None:
    words = "In CPU autocast, but the target dtype is not supported. Disabling autocast"
    with pytest.warns(UserWarning, match=words), flambeau.autocast("cpu", dtype=flambeau.float32):
        assert not flambeau.is_autocast_enabled("cpu")


def test_devices() -> None:
    with pytest.raises(RuntimeError, match="User specified an unsupported autocast device_type 'abacus'"):
        flambeau.autocast("abacus")
    with pytest.raises(ValueError, match="Expected `device_type` of type `str`, got: `<class 'int'>`"):
        flambeau.autocast(3)  # type: ignore[arg-type]
    words = "User provided device_type of 'cuda', but it is not available. Disabling"
    with pytest.warns(UserWarning, match=words), flambeau.cuda.amp.autocast():
        assert (flambeau.ones(2, 2) @ flambeau.ones(2, 2)).dtype is flambeau.float32


def test_names_for_the_cpu_alone() -> None:
    before = flambeau.get_autocast_cpu_dtype()
    try:
        flambeau.set_autocast_cpu_dtype(flambeau.float16)
        flambeau.set_autocast_cpu_enabled(True)
        assert flambeau.get_autocast_cpu_dtype() is flambeau.get_autocast_dtype("cpu") is flambeau.float16
        assert flambeau.is_autocast_cpu_enabled()
        assert (flambeau.ones(2, 2) @ flambeau.ones(2, 2)).dtype is flambeau.float16
    finally:
        flambeau.set_autocast_cpu_enabled(False)
        flambeau.set_autocast_cpu_dtype(before)
    assert not flambeau.is_autocast_cpu_enabled()
