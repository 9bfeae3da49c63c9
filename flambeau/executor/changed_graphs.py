"""What a change of a graph means: all functions that have it in them begin anew with their next call.

Calls that run meanwhile end as they began, by plans of the old graph. Those that are made just now are waited for: none
is half of one graph and half of the other.
"""

from __future__ import annotations

from flambeau.ir.graph import Graph
from flambeau.ir.walk import subgraphs
from flambeau.passes import inline
from flambeau.program.function import Function, relied_on
from flambeau.util.inversions import GRAPH_CHANGES
from flambeau.util.weak_sets import members


@GRAPH_CHANGES.provide
def begin_anew(graph: Graph) -> None:
    """Have all functions forget what was made of them that have a graph, or call what has it."""
    for function in _with_graph(graph):
        function.begin_anew()


def _with_graph(graph: Graph) -> list[Function]:
    """The functions whose graph it is, and those that call them, at any depth."""
    callers: dict[Function, list[Function]] = {}
    waiting: list[Function] = []
    for function in members(relied_on):
        if not function.is_compiled:
            continue
        if function.graph is graph:
            waiting.append(function)
        for callee in _callees(function.graph):
            callers.setdefault(callee, []).append(function)
    reached = dict.fromkeys(waiting)
    while waiting:
        for caller in callers.get(waiting.pop(), ()):
            if caller not in reached:
                reached[caller] = None
                waiting.append(caller)
    return list(reached)


def _callees(graph: Graph) -> set[Function]:
    nodes = [node for part in subgraphs(graph) for node in part.listed_nodes()]
    named = {node.attributes.get("function") for node in nodes}
    return {callee for callee in (*named, *map(inline.callee_of, nodes)) if isinstance(callee, Function)}
