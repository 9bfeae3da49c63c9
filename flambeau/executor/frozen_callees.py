"""Freezing the graphs that will be inlined in one: whoever inlines them relies on what they are."""

from __future__ import annotations

from flambeau.ir.frozen import is_frozen
from flambeau.ir.graph import Graph
from flambeau.passes import inline


def freeze_callees(graph: Graph) -> bool:
    """Freeze the graphs that will be inlined in one; whether there are any."""
    waiting, has_calls = [graph], False
    while waiting:
        for node in waiting.pop().listed_nodes():
            callee = inline.callee_of(node)
            if callee is not None:
                has_calls = True
                if not is_frozen(callee.graph):
                    waiting.append(callee.frozen_graph)
    return has_calls
