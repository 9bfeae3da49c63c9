"""Programs that ask for gradients themselves: potentials whose forces are gradients, steps that descend."""

from __future__ import annotations

import io
from typing import Any

import pytest

import flambeau
from flambeau import Tensor, nn
from flambeau.jit import CompileError, ExecutionError
from tests.jit.modules.module_support import BACKENDS


class Potential(nn.Module):
    """The energy of points, and the forces on them."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))

    def energy(self, position: Tensor) -> Tensor:
        return self.layers(position).sum()

    def forward(self, position: Tensor) -> dict[str, Tensor]:
        position = position.detach().requires_grad_(True)
        energy = self.energy(position)
        force = flambeau.autograd.grad([energy], [position], create_graph=self.training)[0]
        assert force is not None
        return {"energy": energy, "force": -force}


def agree(a: dict[str, Tensor], b: dict[str, Tensor]) -> None:
    for name in ("energy", "force"):
        assert flambeau.allclose(a[name], b[name], atol=1e-6)
    assert a["force"].requires_grad == b["force"].requires_grad


@pytest.mark.parametrize("backend", BACKENDS)
def test_forces_are_gradients_of_energies(backend: str) -> None:
    flambeau.manual_seed(0)
    potential = Potential()
    scripted = flambeau.script(potential, backend=backend)
    for n in range(4):
        position = flambeau.randn(5, 3) * n
        agree(scripted(position), potential(position))
        slopes = []
        for module in (potential, scripted):
            module.zero_grad()
            module(position)["force"].square().sum().backward()
            slopes.append([p.grad.clone() for p in potential.parameters() if p.grad is not None])
        for a, b in zip(*slopes, strict=True):
            assert flambeau.allclose(a, b, atol=1e-6)
    content = scripted.save_to_buffer()
    loaded = flambeau.jit.load(io.BytesIO(content))
    agree(loaded(flambeau.ones(2, 3)), potential(flambeau.ones(2, 3)))
    potential.eval(), scripted.eval()
    agree(scripted(flambeau.ones(4, 3)), potential(flambeau.ones(4, 3)))
    agree(flambeau.jit.freeze(scripted)(flambeau.ones(2, 3)), potential(flambeau.ones(2, 3)))


def descended(x: Tensor, steps: int) -> Tensor:
    for _ in range(steps):
        [slope] = flambeau.autograd.grad([(x * x).sum()], [x])
        if slope is not None:
            x = (x - 0.25 * slope).detach().requires_grad_(True)
    return x


def added(x: Tensor, y: Tensor) -> Any:
    z = x * y
    z.backward(flambeau.ones_like(z), retain_graph=True)
    flambeau.autograd.backward([z, y.sum()], [flambeau.full_like(z, 2.0), None])
    return x.grad, y.grad


@pytest.mark.parametrize("backend", BACKENDS)
def test_steps_of_a_descent(backend: str) -> None:
    scripted = flambeau.script(descended, backend=backend)
    for value in (2.0, -4.0):
        x = flambeau.full((3,), value).requires_grad_()
        assert flambeau.equal(scripted(x, 2), descended(x, 2))
        assert scripted(x, 2).tolist() == [value / 4] * 3
    calls = flambeau.script(called, backend=backend)
    traced = flambeau.trace(lambda x: scripted(x, 2) * 2, flambeau.ones(2).requires_grad_())
    for value in (8.0, -4.0):
        x = flambeau.full((2,), value).requires_grad_()
        assert calls(x).tolist() == [value / 2] * 2
        assert traced(x).tolist() == [value / 2] * 2


def called(x: Tensor) -> Tensor:
    return descended(x, 1) + 0.0


@pytest.mark.parametrize("backend", BACKENDS)
def test_gradients_of_leaves_add_up(backend: str) -> None:
    scripted = flambeau.script(added, backend=backend)
    for value in (1.0, 3.0):
        ours = [flambeau.full((2,), v).requires_grad_() for v in (value, 2.0)]
        theirs = [flambeau.full((2,), v).requires_grad_() for v in (value, 2.0)]
        for _ in range(2):
            for a, b in zip(scripted(*ours), added(*theirs), strict=True):
                assert flambeau.equal(a, b)


def nothing_asks(x: Tensor) -> Any:
    return flambeau.autograd.grad([x.sum()], [x])


def unused(x: Tensor, y: Tensor) -> Any:
    return flambeau.autograd.grad([x.sum()], [y])


def one_tensor(x: Tensor) -> Any:
    return flambeau.autograd.grad(x.sum(), [x])


def test_what_has_no_gradient_says_where() -> None:
    with pytest.raises(ExecutionError, match=r"autograd\.grad\(\[x\.sum\(\)\](.|\n)*does not require grad"):
        flambeau.script(nothing_asks)(flambeau.ones(1))
    asking = flambeau.ones(1).requires_grad_(), flambeau.ones(1).requires_grad_()
    with pytest.raises(ExecutionError, match="appears to not have been used in the graph"):
        flambeau.script(unused)(*asking)
    with pytest.raises(CompileError, match=r"Expected a value of type 'List\[Tensor\]' for argument 'outputs'"):
        flambeau.script(one_tensor)
