"""A derivative as two graphs: the way there, which gives what the way back needs as further results, and the way back.

What the way back needs of the other is computed again from parameters and kept values, if that is cheap: chains of
pointwise operators always are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flambeau.autodiff.differentiate import Derivative
from flambeau.ir.clone import Copies, clone_node
from flambeau.ir.graph import Graph, Node, Value
from flambeau.schema.types import without_refinement
from flambeau.util.record import dataclass


@dataclass(frozen=True, slots=True)
class Halves:
    """A derivative cut in two: the way forward and the way back."""

    forward: Graph
    """Gives the results of the function, then what is kept."""
    backward: Graph
    """Takes the gradients of results, parameters of the function, and what is kept; gives gradients."""
    parameters: tuple[int, ...]
    """The parameters of the function that the way back takes, by number."""
    kept: int
    """How many further results the way there has."""


def split(derivative: Derivative, gradients: Sequence[Value], is_cheap: Callable[[Node], bool]) -> Halves:
    """Both ways, as graphs of their own; `gradients` are the values that the way back gives."""
    graph = derivative.graph
    there = set(derivative.forward)
    back = [n for n in graph.nodes() if n not in there]
    needed = _needed(graph, back, gradients, there, is_cheap)
    number = {v: n for n, v in enumerate(graph.parameters)}
    seeds = set(derivative.seeds)
    parameters = [v for v in needed.kept if v in number and v not in seeds]
    kept = [v for v in needed.kept if v not in number]
    forward = Graph(graph.name)
    copies: Copies = {}
    own = [v for v in graph.parameters if v not in seeds]
    _fill(forward, own, derivative.forward, [*graph.returns, *kept], copies)
    backward = Graph(graph.name)
    _fill(backward, [*derivative.seeds, *parameters, *kept], [*needed.again, *back], gradients, {})
    return Halves(forward, backward, tuple(number[v] for v in parameters), len(kept))


@dataclass(frozen=True, slots=True)
class _Needed:
    kept: list[Value]
    again: list[Node]
    """What the way back computes again, in order."""


def _needed(
    graph: Graph,
    back: Sequence[Node],
    gradients: Sequence[Value],
    there: set[Node],
    is_cheap: Callable[[Node], bool],
) -> _Needed:
    waiting = [*gradients]
    for node in back:
        waiting += _operands(node)
    own = {v for node in back for v in node.results}
    kept: dict[Value, None] = {}
    again: set[Node] = set()
    maker: Node | None
    seen: set[Value] = set()
    while waiting:
        value = waiting.pop()
        if value in seen or value in own or value.owner_block is not graph.body:
            continue
        seen.add(value)
        maker = value.defining_node
        if maker is None or maker not in there or not is_cheap(maker):
            kept[value] = None
        else:
            again.add(maker)
            waiting += maker.operands
    ordered = {v: n for n, v in enumerate(_in_order(graph))}
    return _Needed(sorted(kept, key=ordered.__getitem__), [n for n in graph.nodes() if n in again])


def _in_order(graph: Graph) -> list[Value]:
    return [*graph.parameters, *(v for node in graph.nodes() for v in node.results)]


def _operands(node: Node) -> list[Value]:
    operands = list(node.operands)
    for block in node.nested_blocks:
        for inner in block.walk():
            operands += inner.operands
            for nested in inner.nested_blocks:
                operands += nested.returns
        operands += block.returns
    return operands


def _fill(
    graph: Graph, parameters: Sequence[Value], nodes: Sequence[Node], returns: Sequence[Value], copies: Copies
) -> None:
    """Make a graph of nodes of another."""
    for value in parameters:
        if value not in copies:
            copies[value] = graph.add_parameter(without_refinement(value.static_type), _plain_name(value))
    for node in nodes:
        graph.insert_node(clone_node(node, graph, copies))
    for value in returns:
        graph.add_return(copies[value])


def _plain_name(value: Value) -> str:
    return value.name if value.has_name else ""
