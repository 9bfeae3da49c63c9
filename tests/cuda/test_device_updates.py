"""Optimisers on a device: all parameters of a step are changed by one launch, as on the host."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor, nn, optim

pytestmark = pytest.mark.usefixtures("cuda")
SHAPES = ((5, 7), (1,), (3000,), (64, 33), ())
OPTIMISERS: dict[str, Callable[[Any], Any]] = {
    "sgd": lambda p: optim.SGD(p, lr=0.1),
    "momentum": lambda p: optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.01, nesterov=True),
    "adam": lambda p: optim.Adam(p, lr=0.01),
    "adamw": lambda p: optim.AdamW(p, lr=0.01, amsgrad=True),
    "rmsprop": lambda p: optim.RMSprop(p, lr=0.01, momentum=0.5, centered=True),
    "adagrad": lambda p: optim.Adagrad(p, lr=0.1),
    "adadelta": lambda p: optim.Adadelta(p),
    "nadam": lambda p: optim.NAdam(p),
    "adamax": lambda p: optim.Adamax(p),
}


def values(dtype: flambeau.dtype = flambeau.float32) -> list[Tensor]:
    flambeau.manual_seed(3)
    return [flambeau.randn(shape).to(dtype) for shape in SHAPES]


def trained(make: Callable[[Any], Any], device: str, steps: int = 3, dtype: flambeau.dtype = flambeau.float32) -> Any:
    parameters = [nn.Parameter(v.to(device)) for v in values(dtype)]
    optimiser = make(parameters)
    for step in range(steps):
        for k, p in enumerate(parameters):
            p.grad = (p.detach() * (k + 1) + step).to(dtype) if k != 1 or step else None
        optimiser.step()
    return optimiser, parameters


@pytest.mark.parametrize("name", OPTIMISERS)
def test_as_on_the_host(name: str) -> None:
    optimiser, there = trained(OPTIMISERS[name], "cuda")
    _, here = trained(OPTIMISERS[name], "cpu")
    for one, other in zip(there, here, strict=True):
        assert one.is_cuda
        np.testing.assert_allclose(one.detach().cpu().numpy(), other.detach().numpy(), rtol=3e-6, atol=1e-6)
    assert all(kernel is not None for kernel in optimiser._update._on_devices._kernels.values())


@pytest.mark.parametrize("name", ["sgd", "adam"])
def test_half_precision(name: str) -> None:
    _, there = trained(OPTIMISERS[name], "cuda", dtype=flambeau.bfloat16)
    _, here = trained(OPTIMISERS[name], "cpu", dtype=flambeau.bfloat16)
    for one, other in zip(there, here, strict=True):
        np.testing.assert_allclose(
            one.detach().cpu().float().numpy(), other.detach().float().numpy(), rtol=0.02, atol=0.02
        )


def test_a_step_is_one_launch(pretended_cuda: Any) -> None:
    from tests.cuda.pretended.engine import engine

    optimiser, parameters = trained(OPTIMISERS["adam"], "cuda")
    for p in parameters:
        p.grad = p.detach() * 2
    engine.launches.clear()
    optimiser.step()
    assert [name for name, *_ in engine.launches] == ["flambeau_many"]


def test_what_does_not_lie_at_multiples_of_16_bytes() -> None:
    base = flambeau.arange(40.0).to("cuda")
    parameter = nn.Parameter(base[1:38])
    parameter.grad = flambeau.ones(37, device="cuda")
    optim.SGD([parameter], lr=0.5).step()
    wanted = np.arange(40.0)
    wanted[1:38] -= 0.5
    assert base.tolist() == wanted.tolist()


def test_gradients_that_are_the_parameter() -> None:
    """What overlaps is left to operators one by one."""
    parameter = nn.Parameter(flambeau.ones(8, device="cuda"))
    parameter.grad = parameter.detach()
    optim.SGD([parameter], lr=0.5).step()
    assert parameter.tolist() == [0.5] * 8


def test_versions_count_and_numbers_change() -> None:
    parameter = nn.Parameter(flambeau.ones(8, device="cuda"))
    optimiser = optim.SGD([parameter], lr=0.5)
    for rate, wanted in ((0.5, 0.5), (0.25, 0.25), (0.25, 0.0)):
        optimiser.param_groups[0]["lr"] = rate
        parameter.grad = flambeau.ones(8, device="cuda")
        before = parameter._version
        optimiser.step()
        assert parameter._version == before + 1
        assert parameter.tolist() == [wanted] * 8


def test_steps_are_captured() -> None:
    parameter = nn.Parameter(flambeau.ones(4, 3, device="cuda"))
    optimiser = optim.SGD([parameter], lr=0.25)
    parameter.grad = flambeau.ones(4, 3, device="cuda")
    optimiser.step()
    graph = flambeau.cuda.CUDAGraph()
    with flambeau.cuda.graph(graph):
        optimiser.step()
    parameter.grad.fill_(2.0)
    graph.replay()
    graph.replay()
    assert parameter.detach().cpu().flatten().tolist() == [0.75 - 1.0] * 12


def test_groups_of_parameters() -> None:
    first, second = (nn.Parameter(flambeau.ones(6, device="cuda")) for _ in range(2))
    optimiser = optim.SGD([{"params": [first]}, {"params": [second], "lr": 1.0}], lr=0.5)
    first.grad = second.grad = flambeau.ones(6, device="cuda")
    optimiser.step()
    assert (first.tolist(), second.tolist()) == ([0.5] * 6, [0.0] * 6)
