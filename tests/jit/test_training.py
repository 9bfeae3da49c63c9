"""A scripted module that trains: gradients written out, statistics and parameters updated in place."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import flambeau
from flambeau import Tensor, nn
from tests.jit.modules.module_support import BACKENDS


class Product(nn.Module):
    """Learns the product of two numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(2, 8)
        self.norm = nn.BatchNorm1d(8)
        self.drop = nn.Dropout(0.2)
        self.b = nn.Linear(8, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.b(self.drop(flambeau.tanh(self.norm(self.a(x)))))

    @flambeau.jit.export
    def step(self, x: Tensor, y: Tensor, rate: float) -> float:
        with flambeau.no_grad():
            z = self.a(x)
            h = flambeau.tanh(self.norm(z))
            error = self.b(h) - y
            loss = float((error * error).mean())
            g = 2 * error / error.numel()
            to_norm = (g @ self.b.weight) * (1 - h * h)
            mean, var = z.mean(0), z.var(0, unbiased=False)
            unit = (z - mean) / flambeau.sqrt(var + self.norm.eps)
            scaled = to_norm * self.norm.weight
            back = scaled - scaled.mean(0) - unit * (scaled * unit).mean(0)
            to_a = back / flambeau.sqrt(var + self.norm.eps)
            self.a.weight -= rate * (to_a.t() @ x)
            self.a.bias.sub_(to_a.sum(0) * rate)
            self.b.weight -= rate * (g.t() @ h)
            self.b.bias -= rate * g.sum(0)
            self.norm.weight.sub_(rate * (to_norm * unit).sum(0))
            self.norm.bias.sub_(rate * to_norm.sum(0))
            return loss


def test_a_scripted_module_learns_as_its_eager_twin_does() -> None:
    flambeau.manual_seed(1)
    x = flambeau.rand(32, 2) * 2 - 1
    y = x[:, :1] * x[:, 1:]
    eager = Product()
    twins = [flambeau.script(copy.deepcopy(eager), backend=backend) for backend in BACKENDS]
    losses = [[m.step(x, y, 0.5) for _ in range(80)] for m in (eager, *twins)]
    assert losses[0][-1] < 0.3 * losses[0][0]
    for twin, found in zip(twins, losses[1:], strict=True):
        np.testing.assert_allclose(found, losses[0], rtol=1e-3)
        assert twin.norm.num_batches_tracked.item() == 80
        for name, value in eager.state_dict().items():
            np.testing.assert_allclose(twin.state_dict()[name].numpy(), value.numpy(), atol=1e-4, err_msg=name)


def test_modes_decide_what_dropout_and_statistics_do() -> None:
    flambeau.manual_seed(0)
    scripted = flambeau.script(Product())
    x = flambeau.randn(16, 2)
    before = scripted.norm.running_mean.clone()
    assert scripted(x).tolist() != scripted(x).tolist()
    assert scripted.norm.running_mean.tolist() != before.tolist()
    scripted.eval()
    assert scripted(x).tolist() == scripted(x).tolist()
    assert scripted.norm.num_batches_tracked.item() == 2


def test_a_scripted_module_gets_the_gradients_of_its_eager_twin() -> None:
    eager = Product().eval()
    scripted = flambeau.script(copy.deepcopy(eager))
    x = flambeau.rand(8, 2)
    (eager(x) ** 2).sum().backward()
    (scripted(x) ** 2).sum().backward()
    for ours, theirs in zip(scripted.parameters(), eager.parameters(), strict=True):
        np.testing.assert_allclose(ours.grad.numpy(), theirs.grad.numpy(), rtol=1e-5, atol=1e-6)


def test_other_attributes_that_tensors_do_not_have() -> None:
    with pytest.raises(AttributeError, match=r"'Tensor' object has no attribute 'bakward'$"):
        _ = flambeau.ones(1).bakward
