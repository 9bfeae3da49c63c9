"""Tasks are given what they read of objects, and nothing that they do not use; methods that fork have plans."""

from __future__ import annotations

import pytest

import flambeau
from flambeau import Tensor, nn
from flambeau.codegen import available
from flambeau.ir.clone import clone_graph
from flambeau.ir.graph import Graph
from flambeau.ir.verify import verify
from flambeau.passes import narrow_tasks


class Forking(nn.Module):
    """Forks what reads of the module, and what does not."""

    def __init__(self) -> None:
        super().__init__()
        self.factor = 3
        self.count = 0

    def scaled(self, x: Tensor, k: int) -> Tensor:
        return flambeau.sin(x) * (k + self.factor)

    def forward(self, x: Tensor) -> Tensor:
        tasks: list[flambeau.jit.Future[Tensor]] = []
        for i in range(3):
            tasks.append(flambeau.jit.fork(self.scaled, x, i))
        out = x
        for task in tasks:
            out = out + flambeau.jit.wait(task)
        return out


class Assigning(Forking):
    """Assigns what a task reads, after it was forked."""

    def forward(self, x: Tensor) -> Tensor:
        task = flambeau.jit.fork(self.scaled, x, 1)
        self.factor = 5
        return flambeau.jit.wait(task)


def method_of(module: nn.Module) -> Graph:
    return clone_graph(flambeau.script(module).forward._executor.function.graph)


def forks(graph: Graph) -> list[list[str]]:
    return [[str(v.static_type) for v in n.operands] for n in graph.find_all("prim::fork")]


def test_tasks_are_given_attributes_in_place_of_the_object() -> None:
    graph = method_of(Forking())
    assert narrow_tasks.do(graph)
    verify(graph)
    assert forks(graph) == [["Tensor", "int", "int"]]
    assert not narrow_tasks.do(graph)


def test_tasks_keep_objects_whose_attributes_are_assigned() -> None:
    graph = method_of(Assigning())
    before = str(graph)
    assert not narrow_tasks.do(graph)
    assert str(graph) == before


@pytest.mark.skipif(not available(), reason="native code needs llvmlite")
def test_methods_that_fork_short_tasks_are_native() -> None:
    model = Forking()
    scripted = flambeau.script(model)
    x = flambeau.arange(3.0)
    for _ in range(40):
        assert flambeau.allclose(scripted(x), model(x))
    found = scripted.forward.explain(measure=False)
    assert found.is_native, str(found)
    assert "its tasks are short" in str(found)
    scripted.factor = model.factor = 7
    assert flambeau.allclose(scripted(x), model(x))
