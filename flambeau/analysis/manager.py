"""Keeps the alias analysis of a graph between passes, for as long as what they change leaves it right.

>>> import flambeau.ops
>>> from flambeau.ir import parse_ir
>>> graph = parse_ir("graph(%x):\\n  %y = aten::relu(%x)\\n  return (%y)")
>>> with keeping_analyses(graph):
...     first, again = alias_analysis(graph), alias_analysis(graph)
...     forget_analyses(graph)
...     first is again, first is alias_analysis(graph)
(True, False)

A pass asks before it changes anything; whoever runs passes forgets what one of them has made wrong. A pass preserves
the analysis if it takes nodes away, moves them, or makes nothing but values without memory: what is then said of shared
memory and of writers may be more than is left, never less.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from flambeau.analysis.alias import AliasAnalysis
from flambeau.ir.graph import Graph
from flambeau.util.errors import InternalError


@contextmanager
def keeping_analyses(graph: Graph) -> Iterator[None]:
    """Inside a `with`, analyses of the graph are computed once, until they are forgotten; those that it has count."""
    graph.analyses = graph.analyses or {}
    try:
        yield
    finally:
        graph.analyses = None


def alias_analysis(graph: Graph) -> AliasAnalysis:
    """The alias analysis of the graph: the one that is kept, or a new one."""
    if graph.analyses is None:
        return AliasAnalysis(graph)
    kept = graph.analyses.get(AliasAnalysis)
    if kept is None:
        kept = graph.analyses[AliasAnalysis] = AliasAnalysis(graph)
    assert isinstance(kept, AliasAnalysis)
    return kept


def kept_alias_analysis(graph: Graph) -> AliasAnalysis | None:
    """The alias analysis that is kept, for whoever changes the graph and can keep it right."""
    kept = None if graph.analyses is None else graph.analyses.get(AliasAnalysis)
    assert kept is None or isinstance(kept, AliasAnalysis)
    return kept


def forget_analyses(graph: Graph) -> None:
    """The graph has changed in a way that analyses do not know of."""
    if graph.analyses is not None:
        graph.analyses.clear()


def check_analyses(graph: Graph, stage: str) -> None:
    """Raise InternalError where the kept alias analysis says less than a new one would: a pass preserved it wrongly."""
    kept = kept_alias_analysis(graph)
    if kept is None:
        return
    new = AliasAnalysis(graph)
    values = [*graph.parameters]
    for node in graph.listed_nodes():
        values += [*node.results, *(v for block in node.nested_blocks for v in block.parameters)]
    questions: dict[str, Any] = {
        "is written": lambda answers, value: answers.has_writers(value),
        "is seen outside": lambda answers, value: answers.leaves(value),
        "has memory": lambda answers, value: bool(answers.locations(value)),
    }
    for value in values:
        for words, holds in questions.items():
            if holds(new, value) and not holds(kept, value):
                raise InternalError(
                    stage, f"it preserved an alias analysis that does not know that %{value.name} {words}"
                )
