"""`no_grad()` around a whole function: values, what asks for gradients, and what has to stay as it is."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest

import flambeau
from flambeau import Tensor, nn
from flambeau.codegen import available
from flambeau.ir import parse_ir
from flambeau.ir.clone import clone_graph
from flambeau.passes import inline, lower_no_grad, lower_tuples


@flambeau.script
@flambeau.no_grad()
def doubled(x: Tensor, w: Tensor) -> tuple[Tensor, bool]:
    y = flambeau.matmul(x, w)
    return y * 2.0, flambeau.is_grad_enabled()


@flambeau.script
@flambeau.no_grad()
def averaged(mean: Tensor, x: Tensor) -> Tensor:
    mean.mul_(0.9).add_(x.mean(0) * 0.1)
    return mean + 1.0


@flambeau.script
@flambeau.no_grad()
def itself(x: Tensor, n: int) -> Tensor:
    for _ in range(n):
        x = x * 2.0
    return x


@flambeau.script
@flambeau.no_grad()
def asked(x: Tensor) -> bool:
    return (x * 2.0).requires_grad


@flambeau.script
@flambeau.no_grad()
def recorded_within(x: Tensor) -> Tensor:
    with flambeau.enable_grad():
        y = x * 2.0
    return y + 1.0


def test_what_comes_in_is_detached() -> None:
    graph = clone_graph(doubled.graph)
    assert inline.do(graph) is not None
    lower_tuples.do(graph)
    assert lower_no_grad.do(graph)
    kinds = [n.op for n in graph.all_nodes() if n.op != "prim::Constant"]
    assert kinds == ["aten::detach", "aten::detach", "aten::matmul", "aten::mul", "prim::TupleConstruct"]
    assert not lower_no_grad.do(graph)


@pytest.mark.parametrize("function", [itself, asked, recorded_within])
def test_what_looks_at_gradients_or_may_give_an_argument_is_left(function: Any) -> None:
    graph = clone_graph(function.graph)
    before = str(graph)
    assert not lower_no_grad.do(graph)
    assert str(graph) == before


def test_a_function_without_a_block_is_left() -> None:
    graph = parse_ir("graph(%x : Tensor):\n %y : Tensor = aten::relu(%x)\n return (%y)")
    assert not lower_no_grad.do(graph)


@pytest.mark.parametrize("mode", [flambeau.enable_grad, flambeau.no_grad])
def test_results_never_ask(mode: Callable[[], AbstractContextManager[Any]]) -> None:
    x, w = flambeau.ones(2, 3, requires_grad=True), flambeau.ones(3, 2, requires_grad=True)
    with mode():
        for _ in range(5):
            y, enabled = doubled(x, w)
            assert y.tolist() == [[6.0, 6.0], [6.0, 6.0]]
            assert (y.requires_grad, enabled) == (False, False)
    assert (x.grad, w.grad) == (None, None)


def test_what_is_written_is_written() -> None:
    mean, x = flambeau.zeros(3), flambeau.ones(4, 3, requires_grad=True)
    for k in range(5):
        result = averaged(mean, x)
        assert flambeau.allclose(mean, flambeau.full((3,), 1 - 0.9 ** (k + 1)))
        assert flambeau.allclose(result, mean + 1)
        assert not result.requires_grad
        assert not mean.requires_grad
    leaf = flambeau.zeros(3, requires_grad=True)
    averaged(leaf, x)
    assert leaf.requires_grad
    assert flambeau.allclose(leaf.detach(), flambeau.full((3,), 0.1))


def test_arguments_that_come_back_ask_as_before() -> None:
    x = flambeau.ones(2, requires_grad=True)
    for _ in range(4):
        assert itself(x, 0) is x
        assert not itself(x, 1).requires_grad
        assert not asked(x)
        assert recorded_within(x).tolist() == [3.0, 3.0]


class Writer(nn.Module):
    """Writes numbers one after the other."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(7, 4)
        self.out = nn.Linear(4, 7)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.out(self.table(tokens))

    @flambeau.jit.export
    @flambeau.no_grad()
    def generate(self, tokens: Tensor, steps: int) -> Tensor:
        for _ in range(steps):
            newest = self.forward(tokens[:, -1]).argmax(-1, keepdim=True)
            tokens = flambeau.cat([tokens, newest], 1)
        return tokens


@pytest.mark.skipif(not available(), reason="native code needs llvmlite")
def test_decorated_methods_are_native_although_their_weights_ask() -> None:
    flambeau.manual_seed(0)
    model = Writer()
    scripted = flambeau.script(model)
    tokens = flambeau.tensor([[1], [2]])
    for _ in range(4):
        assert scripted.generate(tokens, 6).equal(model.generate(tokens, 6))
    found = scripted.generate.explain(measure=False)
    assert found.is_native, str(found)
    scripted(tokens).sum().backward()
    assert scripted.table.weight.grad is not None
