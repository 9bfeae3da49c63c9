"""Where pieces of graphs are found, and what comes in their place."""

from __future__ import annotations

import pytest

import flambeau
from flambeau import fx, nn
from flambeau.fx.passes.utils.matcher_utils import SubgraphMatcher


def test_arguments_of_a_pattern_stand_for_different_values() -> None:
    traced = fx.symbolic_trace(lambda x, y: flambeau.relu(x + y) * flambeau.relu(x + x))
    (match,) = fx.replace_pattern(traced, lambda a, b: flambeau.relu(a + b), lambda a, b: flambeau.sigmoid(a - b))
    assert match.anchor.target is flambeau.relu
    assert "add_1 = x + x" in traced.code
    x, y = flambeau.tensor([1.0, 2.0]), flambeau.tensor([0.5, -3.0])
    assert flambeau.equal(traced(x, y), flambeau.sigmoid(x - y) * flambeau.relu(x + x))


def test_a_pattern_of_several_results() -> None:
    def pattern(x, y):
        total = x + y
        return total.relu(), total * 2

    def program(x, y):
        total = x + y
        return total.relu() - total * 2

    traced = fx.symbolic_trace(program)
    assert len(fx.replace_pattern(traced, pattern, lambda x, y: (x - y, y * x))) == 1
    traced.graph.lint()
    x, y = flambeau.tensor([5.0]), flambeau.tensor([3.0])
    assert traced(x, y).item() == (5 - 3) - 3 * 5
    with pytest.raises(ValueError, match="the pattern returns 2 values, its replacement 1"):
        fx.replace_pattern(fx.symbolic_trace(program), pattern, lambda x, y: x - y)


def test_a_replacement_for_each_place() -> None:
    seen = []

    def replacement(match, graph, pattern_graph):
        seen.append((match.returning_nodes, match.placeholder_nodes))
        return fx.symbolic_trace(lambda x, c: x * c).graph

    traced = fx.symbolic_trace(lambda x: flambeau.add(x, 1) + flambeau.add(x, 2))
    places = fx.replace_pattern_with_filters(traced, lambda x, c: flambeau.add(x, c), replacement_callback=replacement)
    assert [[node.name for node in place.replacements] for place in places] == [["mul"], ["mul_1"]]
    assert [values[1] for _, values in seen] == [1, 2]
    assert traced(flambeau.tensor(3)).item() == 9
    with pytest.raises(ValueError, match="a replacement is wanted"):
        fx.replace_pattern_with_filters(traced, lambda x: x.neg())


def test_what_is_used_besides_is_no_match() -> None:
    graph = fx.symbolic_trace(lambda x: ((y := x.neg()).relu(), y)).graph
    assert SubgraphMatcher(fx.symbolic_trace(lambda x: x.neg().relu()).graph).match(graph) == []


def test_places_that_overlap() -> None:
    graph = fx.symbolic_trace(lambda x: x.neg().neg().neg()).graph
    pattern = fx.symbolic_trace(lambda x: x.neg().neg()).graph
    assert len(SubgraphMatcher(pattern).match(graph)) == 1
    assert len(SubgraphMatcher(pattern, remove_overlapping_matches=False).match(graph)) == 2


def test_outputs_and_arguments_may_have_to_match() -> None:
    pattern = fx.symbolic_trace(lambda x: x.neg()).graph
    graph = fx.symbolic_trace(lambda x: x.neg().neg()).graph
    assert [m.returning_nodes[0].name for m in SubgraphMatcher(pattern, match_output=True).match(graph)] == ["neg_1"]
    assert [m.returning_nodes[0].name for m in SubgraphMatcher(pattern, match_placeholder=True).match(graph)] == ["neg"]
    with pytest.raises(ValueError, match="without nodes that it returns"):
        SubgraphMatcher(fx.symbolic_trace(lambda x: 3).graph)


def test_modules_match_by_what_they_are() -> None:
    model = fx.symbolic_trace(nn.Sequential(nn.Linear(2, 2), nn.ReLU()))
    pattern = fx.symbolic_trace(nn.Sequential(nn.ReLU()))
    (match,) = SubgraphMatcher(pattern.graph).match(model.graph)
    assert match.returning_nodes[0].target == "1"
