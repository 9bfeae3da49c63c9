"""Graphs cut by what a backend can do, by tags, and passes one after the other."""

from __future__ import annotations

import operator

import pytest

import flambeau
from flambeau import fx, nn
from flambeau.fx.passes.dialect.common.cse_pass import CSEPass
from flambeau.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from flambeau.fx.passes.infra.pass_base import PassBase, PassResult
from flambeau.fx.passes.infra.pass_manager import (
    PassManager,
    pass_result_wrapper,
    this_before_that_pass_constraint,
)
from flambeau.fx.passes.operator_support import (
    OperatorSupport,
    OpSupports,
    any_chain,
    chain,
    create_op_support,
)
from flambeau.fx.passes.shape_prop import ShapeProp
from flambeau.fx.passes.split_module import split_module
from flambeau.fx.passes.split_utils import split_by_tags
from flambeau.fx.passes.utils.fuser_utils import fuse_by_partitions, topo_sort


def chain_of_steps(x, y):
    a = x + y
    b = flambeau.relu(a)
    c = flambeau.sigmoid(b)
    d = c + b
    return flambeau.relu(d)


SUMS = create_op_support(lambda submodules, node: node.target in (operator.add, flambeau.relu))


def test_parts_of_what_a_backend_can_do() -> None:
    traced = fx.symbolic_trace(chain_of_steps)
    partitioner = CapabilityBasedPartitioner(traced, SUMS)
    parts = partitioner.propose_partitions()
    assert [[node.name for node in part.nodes] for part in parts] == [["add_1", "relu_1"], ["add", "relu"]]
    fused = partitioner.fuse_partitions(parts)
    calls = [node.target for node in fused.graph.nodes if node.op == "call_module"]
    assert calls == ["fused_1", "fused_0"]
    x, y = flambeau.tensor([0.5, -2.0]), flambeau.tensor([1.0, 1.0])
    assert flambeau.equal(fused(x, y), chain_of_steps(x, y))


def test_a_part_never_needs_results_that_need_its_own() -> None:
    traced = fx.symbolic_trace(lambda x: (y := x + 1) + flambeau.sigmoid(y))
    parts = CapabilityBasedPartitioner(traced, SUMS, allows_single_node_partition=True).propose_partitions()
    assert sorted(len(part.nodes) for part in parts) == [1, 1]
    assert CapabilityBasedPartitioner(traced, SUMS).propose_partitions() == []


def test_what_computes_nothing_is_no_part() -> None:
    traced = fx.symbolic_trace(lambda x: (x + 1, flambeau.relu(x)))
    names = ["operator.add"]
    partitioner = CapabilityBasedPartitioner(traced, SUMS, True, non_compute_ops=names)
    (part,) = partitioner.propose_partitions()
    partitioner.remove_bookend_non_compute_ops([part])
    assert [node.name for node in part.nodes] == ["relu"]


def test_support_by_names_and_dtypes() -> None:
    traced = fx.symbolic_trace(nn.Sequential(nn.Linear(2, 2), nn.ReLU()))
    ShapeProp(traced).propagate(flambeau.ones(1, 2))
    modules = dict(traced.named_modules())
    _, linear, relu, _ = traced.graph.nodes
    floats = OperatorSupport({"flambeau.nn.Linear": (((flambeau.float32,),), {}), "flambeau.nn.ReLU": None})
    halves = OperatorSupport({"flambeau.nn.Linear": (((flambeau.float16,),), {})})
    assert [floats.is_node_supported(modules, n) for n in (linear, relu)] == [True, True]
    assert [halves.is_node_supported(modules, n) for n in (linear, relu)] == [False, False]
    declined = OpSupports.decline_if_input_dtype(flambeau.float32)
    assert not chain(floats, declined).is_node_supported(modules, linear)
    assert any_chain(declined, floats).is_node_supported(modules, linear)
    assert not OpSupports.decline_if_node_in_names({linear.name}).is_node_supported(modules, linear)


def test_submodules_by_tags() -> None:
    traced = fx.symbolic_trace(chain_of_steps)
    for node in traced.graph.nodes:
        node.tag = "first" if node.name in ("add", "relu") else "second"
    parts, names = split_by_tags(traced, ["first", "second"], return_fqn_mapping=True)
    assert ([name for name, _ in parts.named_children()], names) == (["first", "second"], {})
    x = flambeau.tensor([0.5, -2.0])
    assert flambeau.equal(parts(x, x), chain_of_steps(x, x))
    next(n for n in traced.graph.nodes if n.name == "add").tag = "third"
    with pytest.raises(RuntimeError, match=r"node add has the tag 'third': set .* one of \['first', 'second'\]"):
        split_by_tags(traced, ["first", "second"])


def test_names_of_parts_with_an_affix() -> None:
    traced = fx.symbolic_trace(chain_of_steps)
    parts = split_module(traced, traced, lambda node: 0, partition_affix="gpu")
    assert [name for name, _ in parts.named_children()] == ["submod_gpu_0"]


def test_nodes_that_need_each_other_have_no_order() -> None:
    traced = fx.symbolic_trace(chain_of_steps)
    _, _, add, relu, sigmoid, *_ = traced.graph.nodes
    assert topo_sort([sigmoid, relu, add]) == [add, relu, sigmoid]
    add.args = (relu, relu)
    with pytest.raises(RuntimeError, match="they need each other"):
        topo_sort([add, relu])


def test_a_part_of_several_results() -> None:
    traced = fx.symbolic_trace(lambda x: ((y := x + 1) * 2).neg() + y)
    _, add, mul, *_ = traced.graph.nodes
    fused = fuse_by_partitions(traced, [[mul, add]], prefix="piece_")
    assert fused(flambeau.tensor(3)).item() == -8 + 4
    assert fused.piece_0(flambeau.tensor(3)) == (4, 8)


def test_equal_calls_are_one() -> None:
    def program(x):
        equal, drawn = flambeau.relu(x) + flambeau.relu(x), flambeau.rand_like(x) + flambeau.rand_like(x)
        return equal, drawn, x * 1, x * 1.0, x * True

    result = CSEPass()(fx.symbolic_trace(program))
    assert result.modified
    kinds = [node.target.__name__ for node in result.graph_module.graph.nodes if node.op == "call_function"]
    assert kinds == ["relu", "add", "rand_like", "rand_like", "add", "mul", "mul", "mul"]
    assert not CSEPass(lambda node: True)(fx.symbolic_trace(program)).modified


def replaced(old, new):
    def change(module):
        nodes = [node for node in module.graph.nodes if node.target is old]
        for node in nodes:
            node.target = new
        return PassResult(module, bool(nodes))

    change.__name__ = f"{old.__name__}_to_{new.__name__}"
    return change


def test_passes_run_in_order_until_nothing_changes() -> None:
    first, second = replaced(operator.add, operator.mul), replaced(operator.mul, operator.sub)
    manager = PassManager([first, second], [this_before_that_pass_constraint(first, second)], steps=5)
    result = manager(fx.symbolic_trace(lambda x: x + 1))
    assert (result.modified, result.graph_module(5)) == (True, 4)
    assert not manager(result.graph_module).modified


def test_constraints_bring_passes_into_order() -> None:
    first, second = replaced(operator.add, operator.mul), replaced(operator.mul, operator.sub)
    manager = PassManager([second], [this_before_that_pass_constraint(first, second)])
    manager.add_pass(first)
    with pytest.raises(RuntimeError, match=r"constraint violated\. Expected add_to_mul before mul_to_sub"):
        manager(fx.symbolic_trace(lambda x: x + 1))
    manager.solve_constraints()
    assert manager.passes == [first, second]
    manager.add_constraint(this_before_that_pass_constraint(second, first))
    with pytest.raises(RuntimeError, match="Circular dependency detected within the following passes"):
        manager.solve_constraints()


def test_errors_name_the_pass() -> None:
    manager = PassManager([replaced(operator.add, operator.mul), lambda module: 3])
    with pytest.raises(Exception, match=r"running the '<lambda>' pass after the following passes: \['add_to_mul'\]"):
        manager(fx.symbolic_trace(lambda x: x + 1))
    wrapped = PassManager([pass_result_wrapper(lambda module: None)])
    assert wrapped(fx.symbolic_trace(lambda x: x)).modified


def test_checks_look_at_modules() -> None:
    def check(module):
        raise KeyError("bad")

    manager = PassManager([])
    manager.add_checks(check)
    with pytest.raises(KeyError, match="bad"):
        manager(fx.symbolic_trace(lambda x: x))
    manager.suppress_check_failures = True
    assert not manager(fx.symbolic_trace(lambda x: x)).modified
    with pytest.raises(TypeError, match="should only take in one variable"):
        manager.add_checks(lambda a, b: None)


def test_a_pass_says_what_it_needs() -> None:
    steps = []

    class Pass(PassBase):
        def requires(self, graph_module):
            steps.append("requires")

        def call(self, graph_module):
            steps.append("call")
            return PassResult(graph_module, False)

        def ensures(self, graph_module):
            steps.append("ensures")

    assert Pass()(fx.symbolic_trace(lambda x: x)).modified is False
    assert steps == ["requires", "call", "ensures"]
