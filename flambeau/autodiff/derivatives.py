"""Before and behind `differentiate`: graphs whose operators have formulas, derivatives without what nobody needs."""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.analysis import shapes
from flambeau.autodiff import copied_items, decompose, decompose_losses, expanded_operators, uninitialised_values
from flambeau.autodiff.activity import relevant
from flambeau.autodiff.differentiate import Derivative
from flambeau.ir.graph import Graph, Value
from flambeau.passes import dce, settle_attention, settle_items, settle_numbers


def settled(graph: Graph) -> None:
    """Say of numbers of elements what they are, of items that tensors name whether they are views, which hand gradients
    on in another way than copies, and of what depends on them which dtype it has."""
    changed = settle_items.do(graph)
    if settle_numbers.do(graph) or changed:
        shapes.propagate(graph)


def ready(graph: Graph, sources: Sequence[Value]) -> None:
    """Make of a graph one whose operators have formulas and whose values have elements."""
    copied_items.do(graph)
    if settle_attention.settle(graph):
        shapes.propagate(graph)
    if expanded_operators.for_gradients(graph):
        shapes.propagate(graph)
    depending = relevant(graph, sources, graph.returns)
    if decompose.do(graph, depending):
        depending = relevant(graph, sources, graph.returns)
    decompose_losses.do(graph, depending)
    uninitialised_values.do(graph)


def cleaned(derivative: Derivative) -> Derivative:
    """The derivative without what neither its results nor its gradients need."""
    graph, count = derivative.graph, len(derivative.graph.returns)
    for value in derivative.gradients:
        if value is not None:
            graph.add_return(value)
    dce.do(graph)
    gradients = list(graph.returns[count:])
    for index in reversed(range(count, len(graph.returns))):
        graph.body.remove_return(index)
    forward = [n for n in derivative.forward if n.is_inserted]
    sums = [n for n in derivative.sums if n.is_inserted]
    return Derivative(graph, forward, derivative.seeds, [*gradients], sums)
