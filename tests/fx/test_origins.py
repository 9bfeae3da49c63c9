"""What nodes remember of where they come from: modules, lines of code, notes, nodes of another graph."""

from __future__ import annotations

from typing import Any

import pytest

import flambeau
from flambeau import fx, nn
from flambeau.fx.annotate import annotate as with_type
from flambeau.fx.traceback import annotate, annotate_fn, get_current_meta, preserve_node_meta, set_current_meta


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(2, 3)
        self.rest = nn.Sequential(nn.ReLU(), nn.Linear(3, 2))

    def forward(self, x: Any) -> Any:
        return self.rest(self.first(x)) + 1


def test_nodes_know_the_modules_that_they_are_of() -> None:
    tracer = fx.Tracer()
    graph = tracer.trace(Net())
    scopes = {name: path for name, (path, _) in tracer.node_name_to_scope.items()}
    assert scopes == {"x": "", "first": "first", "rest_0": "rest.0", "rest_1": "rest.1", "add": "", "output": ""}
    assert tracer.node_name_to_scope["rest_0"][1] is nn.ReLU
    stacks = {node.name: list(node.meta.get("nn_module_stack", {})) for node in graph.nodes}
    assert stacks["rest_1"] == ["rest", "rest.1"]
    assert stacks["add"] == []
    assert tracer.trace(lambda x: x.neg()).nodes is not None
    assert list(tracer.node_name_to_scope) == ["x", "neg", "output"]


def test_stack_traces_end_in_the_users_line() -> None:
    class Recording(fx.Tracer):
        record_stack_traces = True

    add = Recording().trace(Net()).find_nodes(op="call_function")[0]
    assert add.stack_trace.rstrip().endswith("return self.rest(self.first(x)) + 1")
    assert "flambeau/fx" not in add.stack_trace
    assert fx.Tracer().trace(Net()).find_nodes(op="call_function")[0].stack_trace is None


def test_a_tracer_that_refuses_writes() -> None:
    class Functional(fx.Tracer):
        check_mutable_operations = True

    assert Functional().trace(lambda x: flambeau.relu(x)).find_nodes(op="call_function")
    with pytest.raises(RuntimeError, match="Tried to trace mutable operation aten::relu_"):
        Functional().trace(lambda x: flambeau.relu_(x))


def test_notes_of_a_program() -> None:
    @annotate_fn({"part": "tail"})
    def tail(x: Any) -> Any:
        return x.neg()

    def f(x: Any) -> Any:
        with annotate({"a": 1}):
            y = x + 1
            with annotate({"b": 2}):
                y = y * 2
        return tail(y)

    with preserve_node_meta():
        noted = fx.symbolic_trace(f)
    customs = {node.name: node.meta.get("custom") for node in noted.graph.nodes}
    assert customs == {"x": None, "add": {"a": 1}, "mul": {"a": 1, "b": 2}, "neg": {"part": "tail"}, "output": None}
    assert all("custom" not in node.meta for node in fx.symbolic_trace(f).graph.nodes)
    assert get_current_meta() == {}
    with preserve_node_meta():
        copied = fx.Transformer(noted).transform()
    origins = {n.name: (n.meta.get("custom"), n.meta.get("from_node")) for n in copied.graph.nodes}
    assert origins["mul"] == ({"a": 1, "b": 2}, [("mul", "Transformer")])
    with set_current_meta(noted.graph.find_nodes(op="call_function")[0]):
        assert get_current_meta() == {}


def test_a_type_is_said_once() -> None:
    traced = fx.symbolic_trace(lambda x: with_type(x + 1, flambeau.Tensor) * 2)
    assert [node.type for node in traced.graph.nodes if node.name == "add"] == [flambeau.Tensor]
    assert "add : flambeau.Tensor = x + 1" in traced.code
    with pytest.raises(TypeError, match=r"add has the type .* already"):
        fx.symbolic_trace(lambda x: with_type(with_type(x + 1, int), int))


def test_nodes_of_a_graph_are_in_order() -> None:
    x, neg, relu, output = fx.symbolic_trace(lambda x: x.neg().relu()).graph.nodes
    assert sorted([output, relu, x, neg]) == [x, neg, relu, output]
    assert x < neg <= relu
    assert not neg < neg
    assert relu > x
    assert relu >= relu
    with pytest.raises(ValueError, match="nodes of different graphs"):
        _ = x < next(iter(fx.symbolic_trace(lambda x: x).graph.nodes))


def test_arguments_that_stay_as_they_are_have_a_hash() -> None:
    x, add, _ = fx.symbolic_trace(lambda x: flambeau.cat([x, x], dim=0)).graph.nodes
    assert hash(add.args) == hash(([x, x],) and add.args)
    assert {add.kwargs: 1}[add.kwargs] == 1
