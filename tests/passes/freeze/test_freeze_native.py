"""Frozen modules are native where the modules that they come from are, and mean the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor, nn


class Cache(nn.Module):
    """Writes what it is given to a buffer, and reads all that was written so far."""

    kept: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.project = nn.Linear(3, 3)
        self.register_buffer("kept", flambeau.zeros(8, 3))

    def forward(self, x: Tensor, position: int) -> Tensor:
        self.kept[position : position + 1] = self.project(x)
        return self.kept[: position + 1].sum(0) * x


class Recurrent(nn.Module):
    """A layer both ways, whose weights freezing makes one constant list."""

    def __init__(self, kind: Any) -> None:
        super().__init__()
        self.layer = kind(4, 5, bidirectional=True, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.layer(x)[0]
        return result * 2.0


def is_native(module: Any) -> bool:
    return all(c.is_native for c in module.forward.explain().compilations)


def numbers(*sizes: int, seed: int = 0) -> Tensor:
    return flambeau.from_numpy(np.random.default_rng(seed).standard_normal(sizes).astype(np.float32))


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_recurrent_layers_whose_weights_are_constants(kind: Any) -> None:
    module = Recurrent(kind).eval()
    frozen = flambeau.jit.freeze(flambeau.script(module))
    with flambeau.no_grad():
        frozen.forward.compile(numbers(2, 3, 4))
        nodes = frozen.forward.graph_for(numbers(2, 3, 4)).nodes()
        assert max(len(node.operands) for node in nodes) >= 8, "the group is given each of the weights"
        for seed in range(3):
            x = numbers(2, 3, 4, seed=seed)
            np.testing.assert_allclose(frozen(x).numpy(), module(x).numpy(), rtol=1e-5, atol=1e-6)


def test_buffers_that_are_written_stay_and_the_method_is_native() -> None:
    module, again = Cache().eval(), Cache().eval()
    again.load_state_dict(module.state_dict())
    frozen = flambeau.jit.freeze(flambeau.script(module))
    with flambeau.no_grad():
        frozen.forward.compile(numbers(1, 3), 0)
        for position in range(6):
            x = numbers(1, 3, seed=position)
            np.testing.assert_allclose(frozen(x, position).numpy(), again(x, position).numpy(), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(frozen.kept.numpy(), again.kept.numpy(), rtol=1e-5, atol=1e-6)
    assert is_native(frozen)


def test_a_parameter_that_is_written_may_show_the_memory_of_a_constant() -> None:
    constant, matrix = numbers(3, 4, seed=1), numbers(4, 4, seed=2)
    start, square = constant.clone(), matrix.clone()

    def program(x: Tensor, y: Tensor) -> Tensor:
        x[:, :2] = y[:, 2:] * 2.0
        columns = (constant * 3.0 + y).sum(0)
        x.add_(1.0)
        product = x @ matrix
        for i in range(3):
            x[0] += constant[1] + i
            product = product + constant
        return product + constant.sum() + columns

    def call(function: object, shown: int) -> list[np.ndarray]:
        constant.copy_(start), matrix.copy_(square)
        x = (numbers(3, 4), constant, matrix[:3], matrix[1:])[shown]
        y = (numbers(3, 4, seed=4), numbers(3, 4, seed=4), constant, matrix[:3])[shown]
        result = function(x, y)  # type: ignore[operator]
        return [v.numpy().copy() for v in (result, x, constant, matrix)]

    traced = flambeau.trace(program, (numbers(3, 4), numbers(3, 4)))
    traced.compile(numbers(3, 4), numbers(3, 4))
    for shown in (0, 1, 2, 3, 0):
        for mine, plain in zip(call(traced, shown), call(program, shown), strict=True):
            np.testing.assert_allclose(mine, plain, rtol=1e-4, atol=1e-4)
    assert all(c.is_native for c in traced.explain().compilations)


def test_a_constant_that_is_written_itself_is_interpreted() -> None:
    constant = flambeau.ones(3)

    def program(x: Tensor) -> Tensor:
        constant.add_(1.0)
        return constant * x

    traced = flambeau.trace(program, (flambeau.ones(3),), check_trace=False)
    before = constant.clone()
    for times in range(1, 5):
        result = traced(flambeau.ones(3))
        assert result.tolist() == (before + times).tolist()
