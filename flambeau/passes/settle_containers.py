"""Do without lists and dicts, one way after the other until none goes on: each uncovers work for the others."""

from __future__ import annotations

from flambeau.analysis.manager import forget_analyses
from flambeau.ir.graph import Graph, Node
from flambeau.passes import (
    constant_propagation,
    lower_containers,
    lower_dicts,
    lower_tuples,
    open_containers,
    peephole,
    remove_list_mutation,
    split_carried,
)


def do(graph: Graph) -> bool:
    """Make values of what lies in containers, in loops and in what is given to functions; whether anything changed."""
    return _settle(graph, None, are_lists_open=open_containers.takes_lists(graph))


def _settle(graph: Graph, within: Node | None, *, are_lists_open: bool) -> bool:
    def inside(part: Graph, loop: Node) -> bool:
        return _settle(part, loop, are_lists_open=are_lists_open)

    changed = _lower(graph, are_lists_open=are_lists_open)
    goes_on = changed or within is not None or are_lists_open
    goes_on = open_containers.do(graph) or split_carried.do(graph, inside, within) or goes_on
    while goes_on:
        changed = True
        forget_analyses(graph)
        goes_on = remove_list_mutation.do(graph)
        if goes_on:
            peephole.do(graph)
            constant_propagation.do(graph, values_only=True)
        lower_tuples.do(graph)
        goes_on = lower_dicts.do(graph) or goes_on
        goes_on = _lower(graph, are_lists_open=are_lists_open) or goes_on
        goes_on = open_containers.do(graph) or split_carried.do(graph, inside, within) or goes_on
    return changed


def _lower(graph: Graph, *, are_lists_open: bool) -> bool:
    """Make values of what lies in containers; what was known of memory is known no more where there were any."""
    changed = lower_containers.do(graph, are_lists_open=are_lists_open)
    if changed:
        forget_analyses(graph)
    return changed
