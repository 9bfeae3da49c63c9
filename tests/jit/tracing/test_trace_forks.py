"""Tasks in traces: forked functions, modules and scripts; what they give, and what must not leave them another way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor, nn
from flambeau.ir import parse_ir
from flambeau.jit import fork, wait

X = flambeau.ones(2, 3)
OTHER = flambeau.arange(12.0).view(4, 3)


def kinds(traced: Any) -> list[str]:
    return [n.op for n in traced.graph.nodes() if n.op not in ("prim::Constant", "prim::GetAttr")]


def double(x: Tensor) -> Tensor:
    return x * 2


def one(x: Tensor) -> Tensor:
    return wait(fork(double, x)) + 1


def two_waits(x: Tensor) -> Tensor:
    future = fork(double, x)
    return future.wait() + wait(future)


def nested(x: Tensor) -> Tensor:
    def outer(y: Tensor) -> Tensor:
        inner = fork(double, y)
        return y + wait(inner)

    a, b = fork(outer, x), fork(double, x)
    return wait(a) - wait(b)


def several_results(x: Tensor) -> Tensor:
    def both(y: Tensor) -> tuple[Tensor, list[Tensor]]:
        return y + 1, [y, y * y]

    a, (b, c) = wait(fork(both, x))
    return a + b + c


def a_dict(x: Tensor) -> Tensor:
    found = wait(fork(lambda y: {"a": y + 1, "b": y - 1}, x))
    return found["a"] * found["b"]


def what_was_given(x: Tensor) -> Tensor:
    return wait(fork(lambda y: y, x)) + 1


def by_keyword(x: Tensor) -> Tensor:
    return wait(fork(lambda y, k: y * k, y=x, k=3))


def sizes(x: Tensor) -> Tensor:
    return wait(fork(lambda y: y.sum() * y.shape[0], x)) + x.shape[1]


def nobody_waits(x: Tensor) -> Tensor:
    fork(double, x)
    return x + 1


@flambeau.script
def positive(x: Tensor) -> Tensor:
    if bool(x.sum() > 4):
        x = x - 1
    return x


def of_a_script(x: Tensor) -> Tensor:
    return wait(fork(positive, x))


def in_place(x: Tensor) -> Tensor:
    y = x + 1
    wait(fork(lambda t: t.add_(1), y))
    return y * 2


@pytest.mark.parametrize(
    "function",
    [one, two_waits, nested, several_results, a_dict, what_was_given, by_keyword, sizes, nobody_waits, of_a_script,
     in_place],
)  # fmt: skip
def test_tasks(function: Callable[[Tensor], Tensor]) -> None:
    traced = flambeau.trace(function, X)
    assert "prim::fork" in str(traced.graph) or function is nobody_waits
    for given in (X, OTHER):
        np.testing.assert_allclose(traced(given.clone()).numpy(), function(given.clone()).numpy())
    if "prim::CallFunction" in str(traced.graph):
        return
    for backend in ("reference", "interpreter", "native"):
        read = flambeau.jit.create_function_from_graph("f", parse_ir(str(traced.graph)))
        again = flambeau.script(read, backend=backend)
        np.testing.assert_allclose(again(X.clone()).numpy(), function(X.clone()).numpy())


def test_nodes_of_tasks() -> None:
    assert kinds(flambeau.trace(one, X)) == ["prim::fork", "aten::wait", "aten::add"]
    assert kinds(flambeau.trace(two_waits, X)) == ["prim::fork", "aten::wait", "aten::wait", "aten::add"]
    fork_ = flambeau.trace(nested, X).graph.find("prim::fork")
    body = [n.op for n in fork_.attribute("Subgraph").nodes() if n.op != "prim::Constant"]
    assert body == ["prim::fork", "aten::wait", "aten::add"]


class Layers(nn.Module):
    """A submodule in a task, a task in a submodule, and a task of the module's own."""

    class Inner(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(3, 3)
            self.register_buffer("scale", flambeau.full((3,), 2.0))

        def forward(self, x: Tensor) -> Tensor:
            future = fork(self.linear, x)
            return wait(fork(self.scaled, x)) + wait(future)

        def scaled(self, x: Tensor) -> Tensor:
            return x * self.scale

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = self.Inner(), nn.Linear(3, 2)

    def forward(self, x: Tensor) -> Tensor:
        a = fork(self.first, x)
        b = fork(self.second, x)
        return wait(a).sum(1, keepdim=True) + wait(b) * self.first.scale.sum()


def test_tasks_of_modules() -> None:
    flambeau.manual_seed(0)
    model = Layers()
    traced = flambeau.trace(model, X)
    assert kinds(traced) == [
        "prim::fork", "prim::fork", "aten::wait", "prim::ListConstruct", "aten::sum", "aten::wait",
        "aten::sum", "aten::mul", "aten::add",
    ]  # fmt: skip
    with flambeau.no_grad():
        model.second.weight.add_(1)  # a parameter is still the module's
    for given in (X, OTHER):
        np.testing.assert_allclose(traced(given).detach().numpy(), model(given).detach().numpy(), rtol=1e-5)
    frozen = flambeau.jit.freeze(traced.eval())
    np.testing.assert_allclose(frozen(OTHER).numpy(), model(OTHER).detach().numpy(), rtol=1e-5)
    np.testing.assert_allclose(flambeau.jit._get_trace_graph(model, X)[1].detach().numpy(), model(X).detach().numpy())


def test_what_leaves_a_task_another_way_is_refused() -> None:
    def leaks(x: Tensor) -> Tensor:
        seen = []

        def task(y: Tensor) -> Tensor:
            seen.append(y * 2)
            return y

        wait(fork(task, x))
        return seen[0] + 1

    with pytest.raises(RuntimeError, match="did not have observable data dependence with trace inputs") as caught:
        flambeau.trace(leaks, X)
    line = leaks.__code__.co_firstlineno + 8
    assert f"test_trace_forks.py:{line}:" in str(caught.value)
    assert "have the function return it" in str(caught.value)


def test_errors_of_tasks() -> None:
    def fails(x: Tensor) -> Tensor:
        future = fork(lambda y: y.view(-1, 7), x)
        y = x + 1
        return wait(future) + y

    with pytest.raises(RuntimeError, match="invalid for input of size"):
        flambeau.trace(fails, X)

    with pytest.raises(RuntimeError, match="a forked function returned what a trace cannot hold"):
        flambeau.trace(lambda x: wait(fork(lambda y: {1, 2}, x)) and x, X)


def test_what_python_learns_in_a_task_is_guarded() -> None:
    def task(x: Tensor) -> Tensor:
        return x + 1 if x.sum() > 0 else x

    with pytest.warns(flambeau.jit.TracerWarning, match="a Python boolean"):
        traced = flambeau.trace(lambda x: wait(fork(task, x)), X)
    with pytest.raises(flambeau.jit.GuardError):
        traced(-X)


@pytest.mark.parametrize("function", [one, two_waits, nested, several_results, by_keyword])
def test_the_same_nodes_as_the_peer(function: Callable[[Tensor], Tensor]) -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    import warnings

    plain = dict(function.__globals__) | {"fork": torch.jit.fork, "wait": torch.jit.wait}
    theirs = type(function)(function.__code__, plain)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer = torch.jit.trace(theirs, torch.ones(2, 3))
    expected = [n.kind() for n in peer.graph.nodes() if n.kind() != "prim::Constant"]
    assert kinds(flambeau.trace(function, X)) == expected
