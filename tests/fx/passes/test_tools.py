"""Passes that look at graphs: pictures, sizes, names of what is called, order; and what runs passes."""

from __future__ import annotations

from typing import Any

import pytest

import flambeau
from flambeau import fx, nn
from flambeau.fx.experimental.debug import set_trace
from flambeau.fx.experimental.schema_type_annotation import AnnotateTypesWithSchema
from flambeau.fx.passes import pass_manager, tools_common
from flambeau.fx.passes.graph_drawer import FxGraphDrawer
from flambeau.fx.passes.graph_manipulation import get_size_of_all_nodes, get_tensor_meta
from flambeau.fx.passes.param_fetch import extract_attrs_for_lowering, lift_lowering_attrs_to_nodes
from flambeau.fx.passes.split_utils import getattr_recursive
from flambeau.fx.passes.utils.common import compare_graphs, lift_subgraph_as_module
from flambeau.fx.passes.utils.fuser_utils import fuse_by_partitions
from flambeau.fx.tensor_type import Dyn, TensorType, is_consistent, is_more_precise


def net() -> fx.GraphModule:
    return fx.symbolic_trace(nn.Sequential(nn.Linear(2, 3), nn.ReLU()))


def test_a_picture_has_nodes_arrows_and_escaped_labels(tmp_path: Any) -> None:
    traced = fx.symbolic_trace(lambda x: flambeau.cat([x, x.neg()], dim=0)[0:1] == {"a": x}["a"])
    picture = FxGraphDrawer(traced, "g", rankdir="LR").get_dot_graph()
    assert picture.get_node_list() == [node.name for node in traced.graph.nodes]
    assert ("neg", "cat") in picture.get_edge_list()
    text = picture.to_string()
    assert text.startswith('digraph "g" {\nrankdir=LR;')
    assert "kwargs=\\{dim: 0\\}" in text
    picture.write(tmp_path / "g.dot")
    assert (tmp_path / "g.dot").read_text() == text
    layer = FxGraphDrawer(net(), "net").get_dot_graph().to_string()
    assert "weight: float32[3, 2]" in layer
    assert "weight" not in FxGraphDrawer(net(), "net", ignore_parameters_and_buffers=True).get_dot_graph().to_string()


def test_pictures_of_modules_that_a_graph_calls() -> None:
    outer = fx.GraphModule({"part": net()}, _calling("part"))
    drawer = FxGraphDrawer(outer, "outer")
    assert list(drawer.get_all_dot_graphs()) == ["outer", "outer_part"]
    assert drawer.get_submod_dot_graph("part").get_edge_list() == [("input_1", "_0"), ("_0", "_1"), ("_1", "output")]


def _calling(name: str) -> fx.Graph:
    graph = fx.Graph()
    graph.output(graph.call_module(name, (graph.placeholder("x"),)))
    return graph


def test_sizes_of_values_in_bytes() -> None:
    traced = net()
    get_size_of_all_nodes(traced, [flambeau.ones(4, 2)])
    assert {n.name: tuple(n.size_bytes) for n in traced.graph.nodes} == {
        "input_1": (32, 32), "_0": (48, 48 + 36), "_1": (48, 48), "output": (48, 48),
    }  # fmt: skip
    with pytest.raises(RuntimeError, match="no tensor metadata associated"):
        get_tensor_meta(next(iter(net().graph.nodes)))


def test_what_layers_are_made_of() -> None:
    traced = net()
    lift_lowering_attrs_to_nodes(traced)
    linear = traced.graph.find_nodes(op="call_module")[0]
    assert linear.attrs_for_lowering["in_features"] == 2
    assert linear.attrs_for_lowering["weight"] is traced.get_submodule("0").weight
    with pytest.raises(RuntimeError, match="Softmax is none of Linear, "):
        extract_attrs_for_lowering(nn.Softmax(0))


def test_functions_one_after_the_other() -> None:
    def one(x: int) -> int:
        return x + 1

    def two(x: int) -> int:
        return x * 2

    manager = pass_manager.PassManager([one, two])
    assert manager(3) == 8
    manager.add_constraint(pass_manager.this_before_that_pass_constraint(two, one))
    with pytest.raises(RuntimeError, match="Expected two before one but found two at index 1 and one at index 0"):
        manager(3)
    manager.remove_pass(["one"])
    assert manager(3) == 6
    manager.replace_pass(two, one)
    assert manager(3) == 4
    with pytest.raises(ValueError, match="Exactly one of `n_iter` or `predicate`"):
        pass_manager.loop_pass(one)


def test_names_of_what_is_called() -> None:
    traced = net()
    modules = dict(traced.named_modules())
    calls = traced.graph.find_nodes(op="call_module")
    assert [tools_common.get_node_target(modules, n) for n in calls] == ["flambeau.nn.Linear", "flambeau.nn.ReLU"]
    with pytest.raises(AssertionError, match="but found placeholder"):
        tools_common.get_node_target(modules, next(iter(traced.graph.nodes)))


def test_an_order_that_changes_what_must_change_alone() -> None:
    traced = fx.symbolic_trace(lambda x: (x.neg(), x.relu(), x.exp().sin()))
    x, neg, relu, exp, sin, output = traced.graph.nodes
    sin.append(exp)
    with pytest.raises(RuntimeError, match="used before it has been defined"):
        traced.graph.lint()
    tools_common.stable_topological_sort(traced).graph.lint()
    assert list(traced.graph.nodes) == [x, neg, relu, exp, sin, output]
    exp.args = (sin,)
    with pytest.raises(RuntimeError, match="Input graph has cycles"):
        tools_common.stable_topological_sort(traced)


def test_parts_that_others_need_in_between() -> None:
    traced = fx.symbolic_trace(lambda x: x.neg().relu() + 1)
    _, neg, _, add, _ = traced.graph.nodes
    with pytest.raises(RuntimeError, match="Invalid partition, found dependency cycles"):
        fuse_by_partitions(traced, [{neg: None, add: None}])


def test_graphs_compared_and_made_modules() -> None:
    graphs = [fx.symbolic_trace(f).graph for f in (lambda x: x + 1, lambda y: y + 1, lambda x: x + 2, lambda x: x)]
    assert [compare_graphs(graphs[0], graph) for graph in graphs] == [True, True, False, False]
    traced = net()
    part, names = lift_subgraph_as_module(traced, _calling("1"), "tail")
    assert names == {"tail.1": "1"}
    assert part(flambeau.tensor([-1.0, 1.0])).tolist() == [0, 1]
    assert getattr_recursive(traced, "0.nothing") is None


def test_types_from_what_is_declared() -> None:
    traced = AnnotateTypesWithSchema(net()).transform()
    assert [node.type for node in traced.graph.find_nodes(op="call_module")] == [flambeau.Tensor] * 2
    traced = AnnotateTypesWithSchema(fx.symbolic_trace(lambda x: flambeau.relu(x)), annotate_functionals=False)
    assert traced.transform().graph.find_nodes(op="call_function")[0].type is None


def test_types_of_tensors() -> None:
    some, whole = TensorType((2, Dyn)), TensorType[2, 3]
    assert repr(some) == "TensorType[(2, Dyn)]"
    assert is_consistent(some, whole)
    assert is_more_precise(whole, some)
    assert not is_more_precise(some, whole)
    assert not is_consistent(TensorType((1,)), TensorType((1, 2)))
    assert {TensorType([2, 3]): 1}[whole] == 1


def test_a_breakpoint_in_the_code() -> None:
    assert set_trace(fx.symbolic_trace(lambda x: x + 1)).code.strip().splitlines()[1].strip() == "breakpoint()"
