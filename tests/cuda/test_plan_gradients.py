"""Gradients of compiled functions on devices are those of the host."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
import flambeau.nn.functional as F  # noqa: N812
from flambeau import Tensor

pytestmark = pytest.mark.usefixtures("cuda")
R = flambeau.randn


def assert_equal(found: Any, wanted: Any) -> None:
    assert found.is_cuda
    np.testing.assert_allclose(found.detach().cpu().numpy(), wanted.detach().numpy(), rtol=1e-4, atol=1e-5)


def layers(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    y = F.gelu(F.linear(x, w, b))
    for _ in range(2):
        y = y * 0.5 + F.softmax(y, dim=-1)
    return (y - y.mean(dim=1, keepdim=True)).pow(2).mean()


@pytest.mark.parametrize("options", [{}, {"without": ("cuda_graphs",)}, {"backend": "interpreter"}])
def test_of_functions(options: Any) -> None:
    def own(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
        y = F.gelu(F.linear(x, w, b))
        for _ in range(2):
            y = y * 0.5 + F.softmax(y, dim=-1)
        return (y - y.mean(dim=1, keepdim=True)).pow(2).mean()

    script = flambeau.script(own, **options)
    w, b = R(4, 5), R(4)
    there = [w.to("cuda").requires_grad_(), b.to("cuda").requires_grad_()]
    here = [w.clone().requires_grad_(), b.clone().requires_grad_()]
    for _ in range(6):
        x = R(3, 5)
        loss, wanted = script(x.to("cuda"), *there), layers(x, *here)
        assert_equal(loss, wanted)
        loss.backward()
        wanted.backward()
        for one, other in zip(there, here, strict=True):
            assert_equal(one.grad, other.grad)


class MLP(flambeau.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = flambeau.nn.Linear(6, 8), flambeau.nn.Linear(8, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.second(F.relu(self.first(x)))


def test_training_goes_as_on_the_host() -> None:
    flambeau.manual_seed(3)
    here = MLP()
    there = MLP()
    there.load_state_dict(here.state_dict())
    there.to("cuda")
    script = flambeau.jit.script(there)
    optimisers = [flambeau.optim.SGD(m.parameters(), lr=0.1) for m in (here, there)]
    for _ in range(7):
        x, y = R(5, 6), R(5, 3)
        losses = [F.mse_loss(here(x), y), F.mse_loss(script(x.to("cuda")), y.to("cuda"))]
        for optimiser, loss in zip(optimisers, losses, strict=True):
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        assert_equal(losses[1], losses[0])
    for one, other in zip(there.parameters(), here.parameters(), strict=True):
        assert_equal(one, other)
