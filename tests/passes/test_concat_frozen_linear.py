"""Linears of one input as one linear."""

from __future__ import annotations

from typing import Any

import pytest
from flambeau._C import _create_function_from_graph, _jit_pass_concat_frozen_linear

import flambeau
from flambeau import Tensor, nn


def frozen(module: nn.Module) -> Any:
    return flambeau.jit.freeze(flambeau.script(module.eval()))


def linears(graph: Any) -> int:
    return len(graph.findAllNodes("aten::linear"))


class Heads(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v = nn.Linear(3, 4), nn.Linear(3, 2), nn.Linear(3, 1)
        self.a, self.b = nn.Linear(3, 2, bias=False), nn.Linear(3, 5, bias=False)
        self.other = nn.Linear(4, 2)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
        q = self.q(x)
        return q, self.k(x).relu_(), self.v(x), self.a(x), self.b(x), self.other(q)


@pytest.mark.parametrize("sizes", [(2, 3), (3,), (0, 3), (1, 3), (2, 2, 3)])
def test_results_are_the_same(sizes: tuple[int, ...]) -> None:
    model = frozen(Heads())
    x = flambeau.randn(*sizes)
    wanted = model(x)
    graph = model.graph.copy()
    _jit_pass_concat_frozen_linear(graph)
    graph.lint()
    assert linears(graph) == 3
    for one, other in zip(_create_function_from_graph("f", graph)(model, x), wanted, strict=True):
        assert flambeau.allclose(one, other, atol=1e-6)
        assert one.shape == other.shape
        assert one.is_contiguous()


class Written(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(3, 3), nn.Linear(3, 3)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        x = x + 1
        first = self.a(x)
        x.mul_(2)
        return first, self.b(x)


def test_an_input_that_is_written_to_between() -> None:
    graph = frozen(Written()).graph.copy()
    _jit_pass_concat_frozen_linear(graph)
    assert linears(graph) == 2


def test_other_weights_stay_apart() -> None:
    graph = flambeau.script(Heads()).inlined_graph
    before = linears(graph)
    _jit_pass_concat_frozen_linear(graph)
    assert linears(graph) == before == 6
