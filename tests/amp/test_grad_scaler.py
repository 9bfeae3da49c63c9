"""Scaled losses, beside PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import flambeau


def story(package: Any) -> list[Any]:
    """Some steps of a training, with an infinite gradient among them: what can be seen after each."""
    weight = package.ones(2, requires_grad=True)
    optimizer = package.optim.SGD([weight], lr=0.1)
    scaler = package.amp.GradScaler("cpu", init_scale=4.0, growth_interval=2)
    log: list[Any] = [scaler.get_scale(), scaler.is_enabled(), scaler.state_dict()]
    for factor in (2.0, 3.0, float("inf"), 1.0, 1.0, 1.0):
        optimizer.zero_grad()
        scaler.scale((weight * factor).sum()).backward()
        log.append(weight.grad.tolist())
        if factor == 3.0:
            scaler.unscale_(optimizer)
            log.append(weight.grad.tolist())
        scaler.step(optimizer)
        scaler.update()
        log += [[round(v, 5) for v in weight.tolist()], scaler.get_scale(), scaler.state_dict()]
    scaler.update(new_scale=2.0)
    log.append(scaler.get_scale())
    other = package.amp.GradScaler("cpu")
    other.load_state_dict(scaler.state_dict())
    log.append(other.state_dict())
    scaled = scaler.scale([package.ones(1), (package.ones(1, dtype=package.bfloat16),)])
    log.append((scaled[0].tolist(), type(scaled[1]).__name__, str(scaled[1][0].dtype).rpartition(".")[2]))
    return log


def refusals(package: Any) -> list[str]:
    """The words of every refusal."""
    weight = package.ones(1, requires_grad=True)
    half = package.ones(1, dtype=package.float16, requires_grad=True)
    optimizer, of_half = package.optim.SGD([weight], lr=0.1), package.optim.SGD([half], lr=0.1)
    scaler, fresh = package.amp.GradScaler("cpu"), package.amp.GradScaler("cpu")
    scaler.scale(weight.sum() + half.float().sum()).backward()
    empty = package.optim.SGD([package.ones(1, requires_grad=True)], lr=0.1)
    scaler.unscale_(optimizer)
    attempts: list[Callable[[], Any]] = [
        lambda: scaler.unscale_(optimizer),
        lambda: scaler.step(empty),
        lambda: scaler.unscale_(of_half),
        lambda: [scaler.step(optimizer), scaler.step(optimizer)],
        lambda: scaler.unscale_(optimizer),
        lambda: scaler.step(optimizer, closure=lambda: 0),
        lambda: scaler.load_state_dict({}),
        lambda: scaler.scale([3]),
        lambda: fresh.step(optimizer),
        lambda: fresh.unscale_(optimizer),
        lambda: fresh.update(),
        lambda: [scaler.update(), scaler.update()],
        lambda: package.amp.GradScaler("cpu", growth_factor=1.0),
        lambda: package.amp.GradScaler("cpu", backoff_factor=1.0),
    ]
    words = []
    for attempt in attempts:
        with pytest.raises((RuntimeError, ValueError, AssertionError)) as caught:
            attempt()
        words.append(f"{caught.type.__name__}: {caught.value}")
    return words


@pytest.mark.parametrize("what", [story, refusals])
def test_as_in_pytorch(what: Callable[[Any], list[Any]]) -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    assert what(flambeau) == what(torch)


def test_what_is_not_enabled_does_nothing() -> None:
    scaler, loss = flambeau.amp.GradScaler("cpu", enabled=False), flambeau.ones(1)
    weight = flambeau.ones(1, requires_grad=True)
    weight.grad = flambeau.ones(1)
    assert scaler.scale(loss) is loss
    scaler.step(flambeau.optim.SGD([weight], lr=0.5))
    scaler.update()
    assert weight.tolist() == [0.5]
    assert (scaler.get_scale(), scaler.state_dict()) == (1.0, {})
    with pytest.warns(UserWarning, match="GradScaler is enabled, but there is no device 'cuda' here"):
        assert not flambeau.cuda.amp.GradScaler().is_enabled()


def test_factors_can_be_set() -> None:
    scaler = flambeau.amp.GradScaler("cpu")
    scaler.set_growth_factor(3.0)
    scaler.set_backoff_factor(0.25)
    scaler.set_growth_interval(7)
    found = (scaler.get_growth_factor(), scaler.get_backoff_factor(), scaler.get_growth_interval())
    assert found == (3.0, 0.25, 7)
