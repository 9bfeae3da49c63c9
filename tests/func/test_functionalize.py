"""`func.functionalize`: the same results, arguments written once, no write in the graph."""

from __future__ import annotations

import pytest

import flambeau
from flambeau import Tensor, fx
from flambeau.func import functionalize, grad


def written(x: Tensor) -> Tensor:
    y = x * 2
    y[0].add_(1)
    x.mul_(3)
    return y + x


@pytest.mark.parametrize("remove", ["mutations", "mutations_and_views"])
def test_results_and_arguments_are_those_of_the_function(remove: str) -> None:
    x, other = flambeau.arange(3.0), flambeau.arange(3.0)
    assert functionalize(written, remove=remove)(x).tolist() == written(other).tolist()
    assert x.tolist() == other.tolist() == [0.0, 3.0, 6.0]


def test_its_graph_has_no_writes_and_gradients_go_through() -> None:
    kept = fx.make_fx(functionalize(lambda x: x.clone().mul_(x)))(flambeau.ones(2))
    assert "mul_" not in kept.code
    gradient = grad(lambda x: functionalize(lambda y: y.clone().mul_(y))(x).sum())(flambeau.tensor([1.0, 2.0]))
    assert gradient.tolist() == [2.0, 4.0]


def test_other_removals_are_refused() -> None:
    with pytest.raises(RuntimeError, match="received invalid argument for remove=all"):
        functionalize(written, remove="all")
