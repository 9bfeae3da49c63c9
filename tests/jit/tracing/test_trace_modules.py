"""Traced modules keep their structure: submodules are called, attributes read, state is left alone."""

from __future__ import annotations

import warnings
from copy import deepcopy
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor, nn
from flambeau.ir import parse_ir
from flambeau.ir.graph import Graph
from flambeau.ir.verify import verify
from flambeau.jit import export, freeze, get_trace_graph, script_if_tracing, trace_module
from flambeau.util.errors import TracerWarning


class Block(nn.Module):
    def __init__(self, n: int) -> None:
        super().__init__()
        self.fc, self.act = nn.Linear(n, n), nn.ReLU()

    def forward(self, x: Tensor, skip: Tensor | None = None) -> Tensor:
        y = self.act(self.fc(x))
        return y if skip is None else y + skip


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.none = Block(4), Block(4), None
        self.w = nn.Parameter(flambeau.ones(4))
        self.register_buffer("seen", flambeau.zeros(4))
        self.layers = nn.ModuleList([nn.Linear(4, 4), nn.Tanh()])
        self.unused = nn.Linear(1, 1)

    def forward(self, first_arg: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
        bar = self.a(first_arg)
        quick_brown_fox = self.b(bar, skip=first_arg * second.shape[0])
        z = self.a(quick_brown_fox)
        self.seen.add_(1)
        for layer in self.layers:
            z = layer(z)
        return z * self.w + self.seen, quick_brown_fox


def traced_net() -> tuple[Net, Any]:
    module = Net()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return module, flambeau.trace(module, (flambeau.randn(3, 4), flambeau.ones(2)))


def calls(graph: Graph) -> list[str]:
    found = []
    for node in graph.find_all("prim::CallMethod"):
        owner = node.operand(0).defining_node
        assert owner is not None
        found.append(f"{owner.attribute('name')}.{node.attribute('name')}")
    return found


def method(module: Any, name: str = "forward") -> Graph:
    found = module.script_object.type.definition.methods[name].graph
    verify(found)
    assert isinstance(found, Graph)
    return found


def test_submodules_are_called() -> None:
    _, traced = traced_net()
    assert calls(traced.graph) == ["a.forward", "b.forward", "a.forward1", "0.forward", "1.forward"]
    assert calls(method(traced.a)) == ["fc.forward", "act.forward"]
    assert calls(method(traced.a, "forward1")) == ["fc.forward1", "act.forward1"]
    assert [v.name for v in method(traced.b).parameters] == ["self", "bar", "skip"]
    assert [v.name for v in traced.graph.parameters] == ["self", "first_arg", "second"]
    assert "quick_brown_fox" in str(traced.graph)
    verify(traced.graph)
    assert traced.inlined_graph.find("prim::CallMethod") is None
    assert ", scope: __module.a.fc # " in str(traced.inlined_graph)


def test_the_text_of_a_trace_is_read_again() -> None:
    _, traced = traced_net()
    assert str(parse_ir(str(traced.inlined_graph))).count("aten::linear") == 4


def test_results_state_and_other_sizes() -> None:
    module, traced = traced_net()
    assert module.seen.tolist() == [0.0] * 4
    for rows in (3, 5):
        x, s = flambeau.randn(rows, 4), flambeau.ones(rows)
        twin = deepcopy(module)
        for want, got in zip(twin(x, s), traced(x, s), strict=True):
            np.testing.assert_allclose(got.detach().numpy(), want.detach().numpy(), rtol=1e-5, atol=1e-6)
    assert module.seen.tolist() == [2.0] * 4
    assert list(traced.state_dict()) == list(module.state_dict())
    copy = deepcopy(traced)
    copy.load_state_dict(Net().state_dict())
    assert copy(x, s)[0].tolist() != traced(x, s)[0].tolist()


def test_submodules_of_a_trace_cannot_be_called_or_removed() -> None:
    _, traced = traced_net()
    with pytest.raises(RuntimeError, match="Trace submodules cannot be called"):
        traced.a(flambeau.ones(1, 4))
    with pytest.raises(RuntimeError, match="'a' cannot be removed"):
        del traced.a
    assert not hasattr(traced.a.fc, "in_features"), "Python attributes are not in a trace"


def test_mode_and_python_attributes() -> None:
    module = Block(2).eval()
    module.note = "text"
    traced = flambeau.trace(module, flambeau.ones(1, 2))
    assert traced.training is False
    assert not hasattr(traced, "note")


class Shared(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(2, 2), nn.Linear(2, 2)
        self.second.weight = self.first.weight

    def forward(self, x: Tensor) -> Tensor:
        return self.second(self.first(x)) @ self.first.weight


def test_shared_parameters() -> None:
    module = Shared()
    traced = flambeau.trace(module, flambeau.ones(1, 2))
    x = flambeau.randn(3, 2)
    np.testing.assert_allclose(traced(x).detach().numpy(), module(x).detach().numpy(), rtol=1e-5)
    graph, out = get_trace_graph(module, flambeau.ones(1, 2))
    assert [v.name for v in graph.parameters] == ["x", "first_weight", "first_bias", "second_bias"]
    assert out.shape == (1, 2)
    verify(graph)
    assert len(get_trace_graph(lambda x: x + 1, x, return_inputs=True)) == 3


def test_buffers_that_are_rebound() -> None:
    class Counter(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("count", flambeau.zeros(1))

        def forward(self, x: Tensor) -> Tensor:
            self.count = self.count + 1
            return x * self.count

    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.counter = Counter()

        def forward(self, x: Tensor) -> Tensor:
            return self.counter(self.counter(x))

    module = Outer()
    traced = flambeau.trace(module, flambeau.ones(1))
    assert module.counter.count.tolist() == [0.0] == traced.counter.count.tolist()
    assert [traced(flambeau.ones(1)).item() for _ in range(2)] == [2.0, 12.0]
    frozen = freeze(flambeau.trace(Outer().eval(), flambeau.ones(1)))
    assert [frozen(flambeau.ones(1)).item() for _ in range(2)] == [2.0, 12.0]


def test_tracing_leaves_modules_as_they_were() -> None:
    class Stateful(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.steps, self.rebound, self.written = 0, flambeau.zeros(2), flambeau.zeros(2)

        def forward(self, x: Tensor) -> Tensor:
            self.steps += 1
            self.extra = x
            self.written.add_(1)
            self.rebound = self.rebound + x
            return x + self.rebound + self.written

    module = nn.Sequential(Stateful())
    with pytest.warns(TracerWarning, match=r"'0\.rebound' .* Register it as a buffer") as seen:
        traced = flambeau.trace(module, flambeau.ones(2))
    assert [w.filename for w in seen] == [__file__]
    assert (module[0].steps, hasattr(module[0], "extra")) == (0, False)
    assert module[0].rebound.tolist() == module[0].written.tolist() == [0.0, 0.0]
    assert [traced(flambeau.ones(2)).tolist() for _ in range(2)] == [[3.0, 3.0], [4.0, 4.0]]


def test_hooks_are_recorded() -> None:
    module = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    module[0].register_forward_hook(lambda m, args, out: out + 1)
    module.register_forward_pre_hook(lambda m, args: (args[0] * 2,))
    traced = flambeau.trace(module, flambeau.ones(1, 2))
    x = flambeau.randn(3, 2)
    np.testing.assert_allclose(traced(x).detach().numpy(), module(x).detach().numpy(), rtol=1e-5)
    assert method(traced._modules["0"]).find("aten::add") is not None


def test_the_bound_forward_and_other_methods() -> None:
    class Two(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(2, 2)

        def forward(self, x: Tensor) -> Tensor:
            return self.fc(x)

        def scaled(self, x: Tensor, by: Tensor) -> Tensor:
            return self.fc(x) * by

    module, x = Two(), flambeau.randn(3, 2)
    assert calls(flambeau.trace(module.forward, x).graph) == ["fc.forward"]
    with pytest.raises(AttributeError, match="trace doesn't support compiling individual module's functions"):
        flambeau.trace(module.scaled, (x, x))
    traced = trace_module(module, {"forward": x, "scaled": (x, flambeau.ones(2))}, check_inputs=[{"forward": x}])
    assert traced.scaled(x, flambeau.ones(2) * 2).tolist() == (traced(x) * 2).tolist()
    assert calls(traced.scaled.graph) == ["fc.forward1"]
    named = trace_module(module, {"scaled": {"by": flambeau.ones(2), "x": x}}, example_inputs_is_kwarg=True)
    assert named.scaled(x=x, by=flambeau.ones(2)).tolist() == traced(x).tolist()
    with pytest.raises(AttributeError, match="expected a module"):
        trace_module(lambda x: x, {"forward": x})  # type: ignore[arg-type]
    with pytest.raises(AttributeError):
        trace_module(module, {"nothing": x})


class Exported(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.n = 3
        self.w = nn.Parameter(flambeau.ones(2))

    def forward(self, x: Tensor) -> Tensor:
        return x * self.w

    @export
    def many(self, x: Tensor, times: int) -> Tensor:
        for _ in range(times):
            x = x * self.w + self.n
        return x


def test_exported_methods_are_compiled() -> None:
    traced = flambeau.trace(nn.Sequential(Exported()), flambeau.ones(2))
    assert traced._modules["0"].many(flambeau.zeros(2), 2).tolist() == [6.0, 6.0]
    assert not hasattr(flambeau.trace(Shared(), flambeau.ones(1, 2)), "nothing")


@flambeau.script
def clipped(
    x: Tensor, parts: dict[str, Tensor], more: list[Tensor], rest: tuple[Tensor, int]
) -> dict[str, list[Tensor]]:
    if bool(x.sum() > 1):
        x = x / x.sum()
    return {"all": [x, parts["a"] + more[0], rest[0] * rest[1]]}


@script_if_tracing
def until(x: Tensor, limit: float = 10.0) -> Tensor:
    while bool(x.sum() < limit):
        x = x * 2
    return x


def test_scripts_in_traces_in_scripts() -> None:
    def uses(x: Tensor) -> Tensor:
        found = clipped(x, {"a": x}, [x], (x, 2))["all"]
        return found[0] + found[1] + found[2] + until(x)

    traced = flambeau.trace(uses, flambeau.ones(2))
    assert traced.baked == []
    assert (until.__script_if_tracing_wrapper, until.__original_fn.__name__) == (True, "until")

    @flambeau.script
    def outer(x: Tensor) -> Tensor:
        return traced(x) + until(x)

    for x in (flambeau.ones(2), flambeau.full((2,), 0.25)):
        assert traced(x).tolist() == uses(x).tolist()
        assert outer(x).tolist() == (uses(x) + until(x)).tolist()
    assert until(flambeau.ones(1)).item() == 16.0


class Parent(nn.Module):
    def __init__(self, child: Any) -> None:
        super().__init__()
        self.child = child

    def forward(self, x: Tensor) -> Tensor:
        return self.child(x) + 1


def test_traced_modules_inside_others() -> None:
    x = flambeau.randn(3, 2)
    block = Block(2)
    child = flambeau.trace(block, flambeau.ones(1, 2))
    want = (block(x) + 1).tolist()
    np.testing.assert_allclose(flambeau.script(Parent(child))(x).detach().numpy(), want, rtol=1e-5)
    traced = flambeau.trace(Parent(child), flambeau.ones(1, 2))
    assert calls(traced.graph) == ["child.forward"]
    np.testing.assert_allclose(traced(x).detach().numpy(), want, rtol=1e-5)
    scripted = flambeau.trace(Parent(flambeau.script(block)), flambeau.ones(1, 2))
    np.testing.assert_allclose(scripted(x).detach().numpy(), want, rtol=1e-5)


def test_frozen_traces_stay_open_in_sizes() -> None:
    module = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 2)).eval()

    class Sized(Parent):
        def forward(self, x: Tensor) -> Tensor:
            return self.child(x).reshape(x.shape[0] * x.shape[1]) * x.size(0)

    frozen = freeze(flambeau.trace(Sized(module).eval(), flambeau.ones(3, 2)))
    assert frozen.graph.find("prim::GetAttr") is None
    x = flambeau.randn(5, 2)
    np.testing.assert_allclose(frozen(x).numpy(), Sized(module)(x).detach().numpy(), rtol=1e-5)


def test_modules_of_nobody_are_refused() -> None:
    layer = nn.Linear(2, 2)
    with pytest.raises(RuntimeError, match="Cannot insert a Tensor that requires grad as a constant"):
        flambeau.trace(lambda x: layer(x), flambeau.ones(1, 2))
    scripted = flambeau.script(nn.Linear(2, 2))
    with pytest.raises(RuntimeError, match="that module is no part of what is traced"):
        flambeau.trace(lambda x: scripted(x), flambeau.ones(1, 2))


def test_random_modules_are_not_compared() -> None:
    class Random(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return flambeau.dropout(x, 0.5, self.training)

    with pytest.warns(TracerWarning, match="Trace had nondeterministic nodes"):
        flambeau.trace(nn.Sequential(Random()), flambeau.ones(1))
    with pytest.warns(TracerWarning, match="aten::dropout"):
        flambeau.trace(Parent(flambeau.script(Random())), flambeau.ones(1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        flambeau.trace(Parent(flambeau.script(Random().eval())), flambeau.ones(1))


def test_the_structure_is_that_of_torch() -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")

    def model(lib: Any) -> Any:
        class TorchBlock(lib.nn.Module):  # type: ignore[misc, name-defined]
            def __init__(self) -> None:
                super().__init__()
                self.fc, self.act = lib.nn.Linear(4, 4), lib.nn.ReLU()

            def forward(self, x: Any, skip: Any = None) -> Any:
                y = self.act(self.fc(x))
                return y if skip is None else y + skip

        class TorchNet(lib.nn.Module):  # type: ignore[misc, name-defined]
            def __init__(self) -> None:
                super().__init__()
                self.a, self.b, self.last = TorchBlock(), TorchBlock(), lib.nn.Linear(4, 2)

            def forward(self, x: Any) -> Any:
                y = self.a(x)
                return self.last(self.b(y, y * 2)) + self.a(y).sum()

        return TorchNet()

    def shape(graph: Any) -> list[str]:
        nodes = [n for n in graph.nodes() if n.kind() not in ("prim::Constant", "prim::GetAttr")]
        return [n.kind() + (n.s("name") if n.kind() == "prim::CallMethod" else "") for n in nodes]

    mine = flambeau.trace(model(flambeau), flambeau.ones(3, 4))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = torch.jit.trace(model(torch), torch.ones(3, 4))

    def own_shape(graph: Graph) -> list[str]:
        nodes = [n for n in graph.nodes() if n.op not in ("prim::Constant", "prim::GetAttr")]
        return [n.op + n.attributes.get("name", "") for n in nodes]

    assert own_shape(mine.graph) == shape(theirs.graph)
    assert own_shape(method(mine.b)) == shape(theirs.b.graph)
    assert own_shape(mine.inlined_graph) == shape(theirs.inlined_graph)
