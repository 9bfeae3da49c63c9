"""The graph of a function with all that it calls in it: made once, copied by whatever starts from there.

Promotion, the flow of gradients and every plan begin alike: calls are inlined, and what constants alone decide is
folded. For a model that is most of the nodes there ever are.
"""

from __future__ import annotations

from flambeau.ir.clone import clone_graph
from flambeau.ir.frozen import is_frozen
from flambeau.ir.graph import Graph
from flambeau.passes import constant_propagation, inline
from flambeau.program.function import Function
from flambeau.util.kept_on import KeptOn

_known: KeptOn[Function, tuple[Graph, Graph]] = KeptOn()
"""Of each function the graph that it had, and that with its calls inlined."""


def inlined_graph(function: Function) -> Graph:
    """The function's graph with its calls inlined, not to be changed; its own graph if it calls nothing.

    The graph and those of its callees are frozen: whoever asks relies on them.
    """
    graph = function.frozen_graph
    known = _known.get(function)
    if known is None or known[0] is not graph:
        known = _known[function] = (graph, _inlined(graph) if freeze_callees(graph) else graph)
    return known[1]


def freeze_callees(graph: Graph) -> bool:
    """Freeze the graphs that will be inlined in one; whether there are any."""
    waiting, has_calls = [graph], False
    while waiting:
        for node in waiting.pop().all_nodes():
            callee = inline.callee_of(node)
            if callee is not None:
                has_calls = True
                if not is_frozen(callee.graph):
                    waiting.append(callee.frozen_graph)
    return has_calls


def _inlined(graph: Graph) -> Graph:
    copy = clone_graph(graph)
    inline.do(copy, is_folding=True)
    constant_propagation.do(copy, values_only=True)
    return copy
