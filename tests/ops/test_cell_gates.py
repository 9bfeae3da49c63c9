"""Gates of recurrent cells as one node: values, gradients and derivatives of these are those of the parts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.tensor.dispatch import intercepting

CELLS: dict[str, Any] = {"GRU": flambeau.nn.GRUCell, "LSTM": flambeau.nn.LSTMCell}


def _cell(kind: str, dtype: Any, **options: Any) -> Any:
    flambeau.manual_seed(1)
    return CELLS[kind](3, 4, dtype=dtype, **options)


def _operands(kind: str, dtype: Any, seed: int, scale: float = 1.0) -> list[Tensor]:
    draws = np.random.default_rng(seed)
    shapes = [(5, 3), *[(5, 4)] * (1 if kind == "GRU" else 2)]
    return [flambeau.tensor(draws.standard_normal(s) * scale, dtype=dtype, requires_grad=True) for s in shapes]


def _steps(cell: Any, operands: list[Tensor]) -> list[Tensor]:
    """The results of two steps."""
    x, *states = operands
    for _ in range(2):
        following = cell(x, states[0] if len(states) == 1 else tuple(states))
        states = [following] if len(states) == 1 else list(following)
    return states


def _in_parts(cell: Any, operands: list[Tensor]) -> list[Tensor]:
    with intercepting(lambda definition, arguments, proceed: proceed(arguments)):
        return _steps(cell, operands)


@pytest.mark.parametrize("options", [{}, {"bias": False}])
@pytest.mark.parametrize("dtype", [flambeau.float32, flambeau.float64])
@pytest.mark.parametrize("kind", CELLS)
def test_gates_are_their_parts(kind: str, dtype: Any, options: dict[str, Any]) -> None:
    cell = _cell(kind, dtype, **options)
    bound = 2e-6 if dtype is flambeau.float32 else 1e-14
    for seed in (0, 3):
        gradients = []
        for run in (_steps, _in_parts):
            operands = _operands(kind, dtype, seed)
            results = run(cell, operands)
            loss = flambeau.stack([((k + 1) * result.square()).sum() for k, result in enumerate(results)]).sum()
            gradients.append([*results, *flambeau.autograd.grad(loss, [*operands, *cell.parameters()])])
        for own, wanted in zip(*gradients, strict=True):
            np.testing.assert_allclose(own.detach().numpy(), wanted.detach().numpy(), rtol=bound * 10, atol=bound)


@pytest.mark.parametrize("values", [1.0, 100.0, float("nan"), float("inf")])
@pytest.mark.parametrize("dtype", [flambeau.float32, flambeau.float64])
@pytest.mark.parametrize("kind", CELLS)
def test_gates_that_nothing_is_recorded_of_are_the_recorded_ones(kind: str, dtype: Any, values: float) -> None:
    cell = _cell(kind, dtype)
    for seed in (0, 3):
        operands = _operands(kind, dtype, seed)
        with flambeau.no_grad():
            operands[0][0, 1] *= values
        recorded = _steps(cell, operands)
        for mode in (flambeau.no_grad, flambeau.inference_mode):
            with mode():
                unrecorded = _steps(cell, operands)
                assert all(one.is_inference() == (mode is flambeau.inference_mode) for one in unrecorded)
            for own, wanted in zip(unrecorded, recorded, strict=True):
                assert not own.requires_grad
                np.testing.assert_array_equal(own.numpy(), wanted.detach().numpy())


@pytest.mark.parametrize("kind", CELLS)
def test_modes_see_the_parts_of_gates(kind: str) -> None:
    seen: list[str] = []

    class Names(flambeau.DispatchMode):
        def __flambeau_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(str(func))
            return func(*args, **(kwargs or {}))

    cell, operands = _cell(kind, flambeau.float32), _operands(kind, flambeau.float32, 0)
    with flambeau.no_grad():
        wanted = _steps(cell, operands)
        with Names():
            parts = _steps(cell, operands)
    assert any("sigmoid" in name for name in seen)
    for own, one in zip(parts, wanted, strict=True):
        np.testing.assert_allclose(own.numpy(), one.numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", CELLS)
def test_gates_are_differentiable_twice(kind: str) -> None:
    cell, operands = _cell(kind, flambeau.float64), _operands(kind, flambeau.float64, 0)
    assert flambeau.autograd.gradcheck(lambda *operands: _steps(cell, list(operands)), operands)
    assert flambeau.autograd.gradgradcheck(lambda *operands: _steps(cell, list(operands)), operands)


@pytest.mark.parametrize("kind", CELLS)
def test_gates_far_out_are_finite(kind: str) -> None:
    cell, operands = _cell(kind, flambeau.float32), _operands(kind, flambeau.float32, 0, scale=1e6)
    results = _steps(cell, operands)
    flambeau.autograd.backward([result.sum() for result in results])
    leaves: list[Any] = [*operands, *cell.parameters()]
    assert all(np.isfinite(leaf.grad.numpy()).all() for leaf in leaves)


@pytest.mark.parametrize("kind", CELLS)
def test_one_node_beside_two_products(kind: str) -> None:
    cell, operands = _cell(kind, flambeau.float32), _operands(kind, flambeau.float32, 0)
    x, *states = operands
    result = cell(x, states[0] if kind == "GRU" else tuple(states))
    node = (result if kind == "GRU" else result[1]).grad_fn
    assert node.name() == ("GruGatesBackward0" if kind == "GRU" else "LstmGatesBackward0")
    assert [one.name() for one, _ in node.next_functions[:2]] == ["LinearBackward0", "LinearBackward0"]


def test_a_memory_alone_has_a_gradient() -> None:
    cell, operands = _cell("LSTM", flambeau.float64), _operands("LSTM", flambeau.float64, 0)
    x, hidden, memory = operands
    _, following = cell(x, (hidden, memory))
    own = flambeau.autograd.grad(following.sum(), operands)
    with intercepting(lambda definition, arguments, proceed: proceed(arguments)):
        _, following = cell(x, (hidden, memory))
        wanted = flambeau.autograd.grad(following.sum(), operands)
    pairs: Any = zip(own, wanted, strict=True)
    for one, other in pairs:
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-13)
