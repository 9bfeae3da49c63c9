"""Blocks of `no_grad()` within a function: native where nothing asks, recorded as written where something does."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor, nn
from flambeau.analysis.modes import is_about_mode
from flambeau.codegen import available
from flambeau.ir.clone import clone_graph
from flambeau.passes import drop_modes


@flambeau.script
def partly(x: Tensor, n: int) -> Tensor:
    y = x + 1.0
    for k in range(n):
        with flambeau.no_grad():
            if k == 3:
                return y * 100.0
            scale = (y * y).mean()
        y = y / scale
    with flambeau.no_grad(), flambeau.enable_grad():
        y = y * 2.0
    with flambeau.set_grad_enabled(n > 1):
        y = y - 1.0
    return y


@flambeau.script
def fails_within(x: Tensor, k: int) -> Tensor:
    with flambeau.no_grad():
        y = x * 2.0
        if int(y.sum()) == k:
            raise ValueError("as asked")
    return y + x


@flambeau.script
def looks(x: Tensor) -> tuple[Tensor, bool]:
    with flambeau.no_grad():
        y = x * 2.0
        within = flambeau.is_grad_enabled()
    return y, within


@flambeau.script
def makes_leaf(x: Tensor) -> tuple[Tensor, bool]:
    with flambeau.no_grad():
        leaf = flambeau.zeros(2).requires_grad_(True)
        y = leaf + x
    with flambeau.enable_grad():
        z = leaf * 2.0
    return y, z.requires_grad


@flambeau.script
def stays_so(x: Tensor) -> Tensor:
    with flambeau.no_grad():
        y = x * 2.0
    flambeau.set_grad_enabled(False)
    return y


class Layer(nn.Module):
    """A layer whose scale is no part of what is recorded."""

    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(flambeau.tensor([2.0, -3.0]))

    def forward(self, x: Tensor) -> tuple[Tensor, bool, bool]:
        with flambeau.no_grad():
            scaled = x * self.w
        y = x * self.w
        return scaled + y, scaled.requires_grad, y.requires_grad


STRANGE = (
    flambeau.tensor([[1.0, float("nan")], [float("inf"), -0.0]]),
    flambeau.zeros(0, 2),
    flambeau.arange(12.0).reshape(2, 6).t()[::2, :],
    flambeau.ones(1, 2).expand(3, 2),
)


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_values_are_those_of_python(n: int) -> None:
    for x in STRANGE:
        for _ in range(4):
            np.testing.assert_array_equal(partly(x, n).numpy(), partly.__wrapped__(x, n).numpy())
            assert flambeau.is_grad_enabled()


@pytest.mark.skipif(not available(), reason="native code needs llvmlite")
def test_blocks_leave_native_code_whole() -> None:
    function = flambeau.script(partly.__wrapped__)
    for _ in range(4):
        function(STRANGE[2], 2)
    found = function.explain(measure=False)
    assert found.is_native, str(found)


@pytest.mark.parametrize("function", [looks, makes_leaf, stays_so])
def test_blocks_that_are_looked_at_stay(function: Any) -> None:
    graph = clone_graph(function.graph)
    before = str(graph)
    assert any(map(is_about_mode, graph.all_nodes()))
    assert not drop_modes.do(graph)
    assert str(graph) == before


def test_the_mode_is_what_it_would_be() -> None:
    x = flambeau.ones(2)
    for _ in range(4):
        assert looks(x)[1] is False
        with flambeau.no_grad():
            assert looks(x)[1] is False
        with flambeau.enable_grad():
            stays_so(x)
            assert not flambeau.is_grad_enabled()
        assert flambeau.is_grad_enabled()


def test_errors_within_are_those_of_python_and_the_mode_is_restored() -> None:
    x = flambeau.ones(3)
    for _ in range(4):
        with pytest.raises(flambeau.jit.Error, match="as asked") as caught:
            fails_within(x, 6)
        assert 'raise ValueError("as asked")' in str(caught.value)
        assert flambeau.is_grad_enabled()
        assert fails_within(x, 5).tolist() == [3.0, 3.0, 3.0]


def test_what_asks_is_recorded_as_written() -> None:
    x = flambeau.ones(2, requires_grad=True)
    for _ in range(4):
        x.grad = None
        fails_within(x, 0).sum().backward()
        assert x.grad is not None
        assert x.grad.tolist() == [1.0, 1.0]
        with flambeau.no_grad():
            assert not fails_within(x, 0).requires_grad


@pytest.mark.parametrize("saved", [False, True])
def test_layers_with_blocks(saved: bool) -> None:
    model = flambeau.script(Layer())
    if saved:
        file = io.BytesIO()
        flambeau.jit.save(model, file)
        file.seek(0)
        model = flambeau.jit.load(file)
    x = flambeau.tensor([1.0, 10.0])
    for _ in range(4):
        with flambeau.no_grad():
            y, *asks = model(x)
        assert (y.tolist(), asks) == ([4.0, -60.0], [False, False])
    if available():
        assert model.explain(measure=False).is_native
    y, *asks = model(x)
    assert asks == [False, True]
    y.sum().backward()
    assert model.w.grad.tolist() == [1.0, 10.0]
