"""Which nodes are needed: what is told without an alias analysis is what the analysis would say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import flambeau.ops  # noqa: F401  # the operators
from flambeau.analysis.liveness import Liveness, surely_written
from flambeau.analysis.manager import keeping_analyses, kept_alias_analysis
from flambeau.ir import parse_ir
from flambeau.ir.graph import Graph, Node
from flambeau.jit.script import script
from tests.analysis.corpus import corpus

WRITTEN = """graph(%x : Tensor, %n : int, %c : bool):
  %one : int = prim::Constant[value=1]()
  %zero : int = prim::Constant[value=0]()
  %t : bool = prim::Constant[value=1]()
  %a : Tensor = aten::relu(%x)
  %b : Tensor = aten::neg(%x)
  %dead : Tensor = aten::abs(%x)
   = prim::Loop(%n, %t)
    block0(%i : int):
      %v : Tensor = aten::select(%a, %zero, %i)
      %w : Tensor = aten::t(%v)
      %p : Tensor = aten::relu_(%w)
      %q : Tensor = aten::relu_(%b)
      %r : Tensor = aten::relu_(%dead)
      %s : Tensor = aten::select(%b, %zero, %i)
      %u : Tensor = aten::add_(%v, %s, %one)
      -> (%t)
  return (%a)
"""


def _by_analysis_alone(monkeypatch: pytest.MonkeyPatch, graph: Graph) -> set[Node]:
    def left(liveness: Liveness, writing: list[Node]) -> list[Node]:
        return [node for node in writing if node not in liveness.nodes]

    with monkeypatch.context() as patch:
        patch.setattr(Liveness, "_mark_plain_writers", left)
        return Liveness(graph, graph.listed_nodes()).nodes


def _graphs() -> Iterator[Any]:
    for function, _ in corpus():
        yield pytest.param(function, id=getattr(function, "__name__", str(function)))


def test_writes_to_what_is_needed_stay_and_others_go(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = parse_ir(WRITTEN)
    needed = Liveness(graph, graph.listed_nodes()).nodes
    kept = {node.result().name for node in graph.listed_nodes() if node in needed and len(node.results) == 1}
    assert {"p", "q", "u"} <= kept
    assert not {"dead", "r"} & kept
    assert needed == _by_analysis_alone(monkeypatch, graph)


def test_no_analysis_where_all_writes_are_to_what_is_needed() -> None:
    graph = parse_ir(
        "graph(%x : Tensor, %l : Tensor[]):\n  %v : Tensor = aten::t(%x)\n  %w : Tensor = aten::relu_(%v)\n"
        "  %m : Tensor[] = aten::append(%l, %x)\n  return ()"
    )
    with keeping_analyses(graph):
        needed = Liveness(graph, graph.listed_nodes()).nodes
        assert kept_alias_analysis(graph) is None
    assert len(needed) == 3


def test_what_is_taken_out_of_a_list_is_left_to_the_analysis() -> None:
    graph = parse_ir(
        "graph(%l : Tensor[], %i : int):\n  %v : Tensor = aten::__getitem__(%l, %i)\n"
        "  %w : Tensor = aten::relu_(%v)\n  return ()"
    )
    write = graph.find("aten::relu_")
    assert write is not None
    assert [value.name for value in surely_written(write)] == ["v"]
    with keeping_analyses(graph):
        needed = Liveness(graph, graph.listed_nodes()).nodes
        assert kept_alias_analysis(graph) is not None
    assert write in needed


@pytest.mark.parametrize("function", _graphs())
def test_the_analysis_says_the_same_of_programs(function: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = script(function).graph.copy()
    assert Liveness(graph, graph.listed_nodes()).nodes == _by_analysis_alone(monkeypatch, graph)
