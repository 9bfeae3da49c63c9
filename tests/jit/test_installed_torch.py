"""Functions that were written for PyTorch compile as they are; its tensors are taken; its modules are taken over."""

from __future__ import annotations

import sys
import types
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.tensor.bridge import FOREIGN_GRADIENTS

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed: there is nothing to take over")
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
F = torch.nn.functional
relu, gelu, einsum, no_grad = torch.relu, F.gelu, torch.einsum, torch.no_grad
DOUBLE = torch.float64


def layers(x: torch.Tensor, others: list[torch.Tensor], n: int | None = None) -> tuple[torch.Tensor, torch.Tensor]:
    assert isinstance(x, torch.Tensor)
    for y in others:
        x = x + relu(y) + gelu(y) + F.softmax(y, dim=-1) + torch.linalg.norm(y)
    if n is not None and torch.jit.is_scripting():
        x = x * n
    wide = x.to(torch.float64) + torch.zeros(x.shape, dtype=torch.float32, device=x.device)
    with no_grad():
        rows = einsum("ij,ij->i", x, x).contiguous(memory_format=torch.contiguous_format)
    waiting = torch.jit.fork(F.relu, x)
    return torch.jit.wait(waiting), torch.cat([wide, rows[:, None]], 1)


def test_functions_over_torch_mean_the_same_as_there() -> None:
    ours = flambeau.script(layers)
    x, y = torch.randn(2, 3), torch.randn(2, 3)
    assert "prim::PythonOp" not in str(ours.graph)
    for n in (None, 3):
        for mine, theirs in zip(ours(x, [y, x], n), torch.jit.script(layers)(x, [y, x], n), strict=True):
            assert isinstance(mine, flambeau.Tensor)
            np.testing.assert_allclose(mine.numpy(), theirs.detach().numpy(), rtol=1e-5, atol=1e-6)


def test_constants_that_programs_close_over_are_ours() -> None:
    def wide(x: torch.Tensor) -> torch.Tensor:
        return x.to(DOUBLE)

    assert flambeau.script(wide)(torch.ones(2)).dtype is flambeau.float64


def test_what_flambeau_does_not_have_is_refused_by_its_name() -> None:
    def compiled(x: torch.Tensor) -> torch.Tensor:
        return torch.compiler.assume_constant_result(x)

    with pytest.raises(flambeau.jit.CompileError, match="assume_constant_result"):
        flambeau.script(compiled)


def test_tensors_of_torch_are_taken_with_their_memory() -> None:
    theirs = torch.arange(3.0)
    ours = flambeau.ones(3)
    scripted = flambeau.CompilationUnit("def add(x, y):\n    return x + y\n").add
    for result in (ours + theirs, theirs + ours, flambeau.add(theirs, ours), scripted(theirs, ours)):
        assert isinstance(result, flambeau.Tensor)
        assert result.tolist() == [1.0, 2.0, 3.0]
    assert (ours == theirs).tolist() == [False, True, False]
    assert (1 - ours - theirs).tolist() == [0.0, -1.0, -2.0]
    flambeau.mul(ours, 2, out=flambeau.as_tensor(theirs))
    assert theirs.tolist() == [2.0, 2.0, 2.0]
    copied = flambeau.tensor(theirs, dtype=flambeau.int64)
    theirs.zero_()
    assert copied.tolist() == [2, 2, 2]
    assert flambeau.nn.Linear(3, 2)(theirs).shape == (2,)


def test_gradients_of_torch_are_not_lost_in_silence() -> None:
    asking = torch.ones(3, requires_grad=True)
    for call in (lambda: flambeau.ones(3) + asking, lambda: flambeau.tensor(asking), lambda: flambeau.relu(asking)):
        with pytest.raises(TypeError) as refused:
            call()
        assert str(refused.value) == FOREIGN_GRADIENTS
    with pytest.raises(flambeau.jit.ArgumentError, match=r"pass x\.detach"):
        flambeau.script(layers)(asking, [])


def test_functions_of_torch_refuse_tensors_of_flambeau_at_once() -> None:
    with pytest.raises(TypeError, match=r"dispatch failed for 'torch\.relu'"):
        torch.relu(flambeau.ones(3))


class Net(torch.nn.Module):  # type: ignore[misc, name-defined]
    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Sequential(torch.nn.Conv1d(2, 4, 3), torch.nn.BatchNorm1d(4))

    def forward(self, x: torch.Tensor, rounds: int = 2) -> torch.Tensor:
        for _ in range(rounds):
            x = F.pad(self.first(x), (1, 1))[:, :2]
        return x


@pytest.mark.parametrize("scripted", [False, True])
def test_modules_are_taken_over_with_their_parameters(scripted: bool) -> None:
    net = Net().eval()
    x = torch.randn(1, 2, 6)
    ours = flambeau.jit.from_torch(torch.jit.script(net) if scripted else net)
    assert not ours.training
    assert list(ours.state_dict()) == list(net.state_dict())
    np.testing.assert_allclose(ours(x).detach().numpy(), net(x).detach().numpy(), rtol=1e-4, atol=1e-6)
    traced = flambeau.jit.from_torch(torch.jit.trace(net, (x,)))
    np.testing.assert_allclose(traced(x).detach().numpy(), net(x).detach().numpy(), rtol=1e-4, atol=1e-6)
    with pytest.raises(TypeError, match=r"it is a module of PyTorch: flambeau\.jit\.from_torch"):
        flambeau.script(net)
    with pytest.raises(TypeError, match=r"it is a module of PyTorch: flambeau\.jit\.from_torch"):
        flambeau.trace(net, (x,))


def test_a_module_under_torchs_name_is_none_of_its(monkeypatch: pytest.MonkeyPatch) -> None:
    def other(x: torch.Tensor) -> torch.Tensor:
        return relu(x)

    monkeypatch.setitem(sys.modules, "torch", types.ModuleType("something.else"))
    with pytest.raises(flambeau.jit.CompileError, match="no Python source"):
        flambeau.script(other)
