"""Graphs without their module, whose tensors come in as further inputs."""

from __future__ import annotations

import pytest
from flambeau._C import _create_function_from_graph, _jit_pass_lower_graph

import flambeau
from flambeau import Tensor, nn


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(3, 3), nn.Linear(3, 2)
        self.second.bias = None  # type: ignore[assignment]
        self.again = self.first.weight
        self.times = 2

    def forward(self, x: Tensor) -> Tensor:
        return self.second(self.first(x) @ self.again) * self.times


def test_tensors_become_inputs() -> None:
    model = flambeau.script(Net())
    graph, tensors = _jit_pass_lower_graph(model.graph, model._c)
    graph.lint()
    names = [v.debugName() for v in graph.inputs()][1:]
    assert sorted(names) in (["again", "first_bias", "second_weight"], ["first_bias", "first_weight", "second_weight"])
    assert graph.findNode("prim::GetAttr") is None
    assert len(tensors) == 3
    x = flambeau.randn(4, 3)
    lowered = _create_function_from_graph("lowered", graph)
    assert flambeau.equal(lowered(x, *tensors), model(x))
    assert not flambeau.equal(lowered(x, *(2 * t for t in tensors)), model(x))
    assert model.graph.findNode("prim::GetAttr") is not None


class Counter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def forward(self, x: Tensor) -> Tensor:
        self.count += 1
        return x + self.count


class Listed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.sizes = [1, 2]

    def forward(self, x: Tensor) -> Tensor:
        self.sizes.append(3)
        return x + self.sizes[0]


@pytest.mark.parametrize(
    ("module", "reason"),
    [
        (Counter(), "'count' is assigned by what the graph calls"),
        (Listed(), r"'sizes' is \[1, 2\]: only tensors come in as inputs"),
    ],
)
def test_what_needs_the_module(module: nn.Module, reason: str) -> None:
    model = flambeau.script(module)
    with pytest.raises(RuntimeError, match=reason):
        _jit_pass_lower_graph(model.graph, model._c)
