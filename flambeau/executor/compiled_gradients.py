"""The derivative of a function as two functions: one that gives the results and what the way back needs, and the way
back. Both have plans as any function has, so that both are native where that can be.

>>> import flambeau
>>> @flambeau.script
... def energy(x):
...     return (x * x.sin()).sum()
>>> x = flambeau.tensor([1.0, 2.0], requires_grad=True)
>>> energy(x).backward()
>>> [halves] = energy._executor.gradient_plans
>>> [node.op for node in halves.backward.graph.nodes() if node.op in ("aten::sin", "aten::cos")]
['aten::sin', 'aten::cos']
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any

from flambeau.analysis.alias import AliasAnalysis
from flambeau.analysis.gradients import Flow, Marks, holds_tensors, is_real
from flambeau.autodiff.derivatives import cleaned, ready, settled
from flambeau.autodiff.differentiate import Derivative, differentiate
from flambeau.autodiff.graph_operators import is_only_read
from flambeau.autodiff.not_differentiable import NotDifferentiableError
from flambeau.autodiff.scope import is_cheap
from flambeau.autodiff.split import split
from flambeau.autodiff.writes import Writes
from flambeau.executor.gradients import Asking
from flambeau.ir import kinds
from flambeau.ir.clone import clone_graph
from flambeau.ir.graph import Graph, Value
from flambeau.passes import dce, remove_mutation
from flambeau.program.function import Function
from flambeau.program.signature import schema_of
from flambeau.schema.types import ListType, TensorType
from flambeau.util.record import dataclass

LISTS = "tensors in argument {number}, a list or an object, ask for gradients"
RESULTS = "a result is not a tensor, or a tuple or list that the function writes out"


class Stacks(enum.Enum):
    """What lists among that which the way back needs hold: loops fill them there, and empty them on the way back."""

    NONE = enum.auto()
    OF_TENSORS = enum.auto()
    """Tensors with axes only."""
    OF_NUMBERS = enum.auto()
    """Numbers, tensors without axes, or lists, among others: little in each item."""


@dataclass(frozen=True, slots=True, eq=False)
class GradientPlan:
    """How gradients go back through a function, for arguments of one spec of which certain ones ask."""

    forward: Function
    """Gives the results, then what is kept for the way back."""
    backward: Function
    """Takes some of the arguments, what was kept, and the gradients of the results that have any."""
    joint: Function
    """Takes all arguments and the gradients of results; gives the gradients: for those who differentiate again."""
    results: int
    """How many results the function itself has."""
    parameters: tuple[int, ...]
    """Which arguments the way back takes."""
    targets: tuple[int, ...]
    """Which arguments it gives the gradients of."""
    stacks: Stacks
    """What the lists hold that the way there would have to keep."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a function has no derivative as a graph; it is run again, an operator at a time, when gradients come."""

    reason: str


def gradient_plan(
    graph: Graph, name: str, flow: Flow, asks: Asking, attach: Callable[[Function], Any]
) -> GradientPlan | Refusal:
    """The plan of a function, of which this is the graph for a spec; `attach` gives a function what runs it."""
    try:
        return _plan(clone_graph(graph), name, flow, asks, attach)
    except NotDifferentiableError as error:
        return Refusal(str(error))


def _plan(
    graph: Graph, name: str, flow: Flow, asks: Asking, attach: Callable[[Function], Any]
) -> GradientPlan | Refusal:
    for number, (value, asked) in enumerate(zip(graph.parameters, asks, strict=True)):
        if asked is not False and not (asked is True and isinstance(value.static_type, TensorType)):
            return Refusal(LISTS.format(number=number))
    settled(graph)
    remove_mutation.do(graph)
    results = _results(graph, flow.results)
    if results is None:
        return Refusal(RESULTS)
    sources = [v for v, asked in zip(graph.parameters, asks, strict=True) if asked is True]
    ready(graph, sources)
    results = _results(graph, flow.results)
    assert results is not None
    derivative = differentiate(graph, sources, results)
    count = len(graph.parameters) - len(derivative.seeds)
    numbers = {v: n for n, v in enumerate(graph.parameters[:count])}
    targets = [numbers[s] for s, g in zip(sources, derivative.gradients, strict=True) if g is not None]
    derivative = cleaned(derivative)
    gradients = [g for g in derivative.gradients if g is not None]
    writes = Writes(AliasAnalysis(graph, apart=True))
    halves = split(derivative, gradients, lambda node: is_cheap(node, writes))
    joint = _joint(derivative, gradients)

    def function(kind: str, part: Graph) -> Function:
        made = Function(f"{name}_{kind}", part, schema_of(f"{name}_{kind}", part))
        attach(made)
        return made

    return GradientPlan(
        function("forward", halves.forward),
        function("backward", halves.backward),
        function("gradient", joint),
        len(graph.returns),
        halves.parameters,
        tuple(targets),
        _stacks(halves.forward, len(graph.returns)),
    )


def _stacks(forward: Graph, results: int) -> Stacks:
    """What the lists hold that the way there gives behind the function's own results."""
    lists = [v for v in forward.returns[results:] if isinstance(v.static_type, ListType)]
    if not lists:
        return Stacks.NONE
    is_large = all(_holds_axes(item) for v in lists for item in _items(v))
    return Stacks.OF_TENSORS if is_large else Stacks.OF_NUMBERS


def _items(value: Value) -> list[Value]:
    """What a graph puts into a list, as far as it shows."""
    node = value.defining_node
    items = [] if node is None or node.op != "prim::ListConstruct" else list(node.operands)
    return items + [use.user.operand(1) for use in value.uses() if use.user.op == "aten::append" and use.offset == 0]


def _holds_axes(value: Value) -> bool:
    type_ = value.static_type
    return isinstance(type_, TensorType) and type_.rank != 0


def _joint(derivative: Derivative, gradients: Sequence[Value]) -> Graph:
    copies: dict[Value, Value] = {}
    graph = clone_graph(derivative.graph, copies)
    while graph.returns:
        graph.body.remove_return(0)
    for value in gradients:
        graph.add_return(copies[value])
    dce.do(graph)
    for value in graph.parameters:
        if isinstance(value.static_type, TensorType):
            value.set_type(TensorType())
    return graph


def _results(graph: Graph, marks: Sequence[Marks]) -> list[Value] | None:
    """The results that gradients come to, in the order of `recomputed_calls.marked`; None if one is hidden."""
    found: list[Value] = []
    for value, mark in zip(graph.returns, marks, strict=True):
        if not _collect(value, mark, found):
            return None
    return found


def _collect(value: Value, marks: Marks, found: list[Value]) -> bool:
    if marks is False:
        return True
    type_, node = value.static_type, value.defining_node
    if isinstance(type_, TensorType):
        if type_.dtype is None:
            return False
        if is_real(type_):
            found.append(value)
        return True
    if not holds_tensors(type_):
        return True  # a number is one of Python's when the call has ended
    is_made = node is not None and node.op in kinds.BUILD and is_only_read(value)
    if isinstance(marks, tuple) and is_made and node is not None and len(marks) == len(node.operands):
        return all(_collect(v, m, found) for v, m in zip(node.operands, marks, strict=True))
    return False
