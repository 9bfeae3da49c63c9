"""What is computed once, products that become one, and calls that look equal."""

from __future__ import annotations

import operator

import pytest

import flambeau
from flambeau import fx, nn
from flambeau.fx.experimental.const_fold import get_unique_attr_name_in_module, split_const_subgraphs
from flambeau.fx.experimental.merge_matmul import are_nodes_independent, merge_matmul
from flambeau.fx.experimental.normalize import NormalizeArgs, NormalizeOperators


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Parameter(flambeau.ones(2))
        self.b = nn.Parameter(flambeau.ones(2) * 2)

    def forward(self, x):
        return x * (self.a + self.b) + self.a.relu()


def test_what_depends_on_no_argument_is_computed_once() -> None:
    folded = split_const_subgraphs(Scaled())
    assert [n.target for n in folded.graph.nodes if n.op == "get_attr"] == ["_FX_CONST_FOLDED_ATTRS"]
    y = folded(flambeau.ones(2))
    assert (y.tolist(), y.requires_grad, folded.has_folding_been_run) == ([4.0, 4.0], True, True)
    with pytest.raises(AssertionError, match="Folding has already been run"):
        folded.run_folding()


def test_nodes_may_be_left_out() -> None:
    folded = split_const_subgraphs(Scaled(), lambda node: node.target is operator.add)
    assert [node.name for node in folded.graph.nodes if node.op == "call_function"] == ["add", "mul", "add_1"]
    assert folded(flambeau.ones(2)).tolist() == [4.0, 4.0]


def test_nothing_to_compute_before() -> None:
    folded = split_const_subgraphs(nn.Linear(2, 1))
    folded.run_folding()
    folded.run_folding()
    assert folded(flambeau.ones(1, 2)).shape == (1, 1)
    assert get_unique_attr_name_in_module(nn.Linear(1, 1), "other") == "other"


class Products(nn.Module):
    def forward(self, x, y, w):
        a = flambeau.matmul(x, w)
        return a, flambeau.matmul(y, w), flambeau.matmul(a, a.t())


def test_products_with_one_matrix_are_one() -> None:
    merged = merge_matmul(Products())
    assert sum(node.target is flambeau.matmul for node in merged.graph.nodes) == 2
    args = flambeau.randn(2, 3), flambeau.randn(4, 3), flambeau.randn(3, 5)
    for got, want in zip(merged(*args), Products()(*args), strict=True):
        flambeau.testing.assert_close(got, want)


def test_products_that_need_each_other_stay() -> None:
    class Chain(nn.Module):
        def forward(self, x, w):
            return flambeau.matmul(flambeau.matmul(x, w), w)

    merged = merge_matmul(Chain())
    products = [node for node in merged.graph.nodes if node.target is flambeau.matmul]
    assert (len(products), are_nodes_independent(products)) == (2, False)


def test_arguments_by_name() -> None:
    traced = fx.symbolic_trace(lambda x, y: flambeau.add(x, y) + nn.functional.relu(x, True))
    code = NormalizeArgs(traced).transform().code
    assert "flambeau.add(input = x, other = y, alpha = 1)" in code
    assert "relu(input = x, inplace = True)" in code
    model = NormalizeArgs(fx.symbolic_trace(nn.Sequential(nn.ReLU()))).transform()
    assert [node.kwargs.keys() for node in model.graph.nodes if node.op == "call_module"] == [{"input"}]
    assert "flambeau.add(x, y, alpha = 1)" in NormalizeArgs(traced, False).transform().code


def test_operators_in_the_place_of_functions() -> None:
    def program(x, y):
        return flambeau.div(flambeau.add(x, y), flambeau.mul(x, 2)), flambeau.lt(x, y), flambeau.add(x, y, alpha=2)

    code = NormalizeOperators(fx.symbolic_trace(program)).transform().code
    for text in ("x + y", "x * 2", "add / mul", "x < y", "flambeau.add(x, y, alpha = 2)"):
        assert text in code, code
