"""The derivative of a function as two functions: one that gives the results and what the way back needs, and the way
back. Both have plans as any function has, so that both are native where that can be.

>>> import flambeau
>>> @flambeau.script
... def energy(x):
...     return (x * x.sin()).sum()
>>> x = flambeau.tensor([1.0, 2.0], requires_grad=True)
>>> energy(x).backward()
>>> [halves] = energy._executor.derivatives.gradient_plans
>>> [node.op for node in halves.backward.graph.nodes() if node.op in ("aten::sin", "aten::cos")]
['aten::sin', 'aten::cos']
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any

from flambeau.analysis.effects import is_only_read, looks_at_no_elements
from flambeau.analysis.gradients import Flow, Marks, holds_tensors, is_real
from flambeau.autodiff.derivatives import ready, settled
from flambeau.autodiff.graph_gradient import Gradient, gradient_of_graph
from flambeau.autodiff.not_differentiable import NotDifferentiableError
from flambeau.autodiff.undefined_gradients import without
from flambeau.executor.gradients import Asking
from flambeau.ir import kinds
from flambeau.ir.clone import clone_graph
from flambeau.ir.graph import Graph, Node, Value
from flambeau.passes import constant_propagation, fold_control, lower_tuples, peephole, remove_mutation
from flambeau.program.function import Function
from flambeau.program.origin import Provenance
from flambeau.program.signature import schema_of
from flambeau.schema.types import ListType, OptionalType, TensorType
from flambeau.specialise.cache import SpecialisationCache
from flambeau.util.record import dataclass

LISTS = "tensors in argument {number}, a list or an object, ask for gradients"
RESULTS = "a result is not a tensor, or a tuple or list that the function writes out"
WAYS = 8
"""Ways back of one function that are kept: for gradients that come to different results."""
Attach = Callable[[Function], Any]


class Stacks(enum.Enum):
    """What lists among that which the way back needs hold: loops fill them there, and empty them on the way back."""

    NONE = enum.auto()
    OF_TENSORS = enum.auto()
    """Tensors with axes only."""
    OF_NUMBERS = enum.auto()
    """Numbers, tensors without axes, or lists, among others: little in each item."""


@dataclass(frozen=True, slots=True, eq=False)
class CompiledWayBack:
    """What goes back from some results."""

    function: Function
    """Takes some of the gradients of results first; gives some of those of the arguments."""
    seeds: tuple[int, ...]
    """Which gradients of results it takes."""
    targets: tuple[int, ...]
    """Which arguments it gives the gradients of."""
    needed: tuple[int, ...]
    """Which arguments it needs the elements of."""
    flags: tuple[int | None, ...]
    """Which result says of each gradient whether it is there, None of those that surely are; empty where all are."""

    def gradients(self, outcome: Any) -> Any:
        """The gradients in what the function gave, None for those that are not there."""
        if self.flags:
            return [g if n is None or outcome[n] else None for g, n in zip(outcome, self.flags, strict=False)]
        if len(self.targets) == 1:
            return (outcome,)
        return outcome if self.targets else ()


@dataclass(frozen=True, slots=True, eq=False)
class WayThere:
    """What runs when a function is called whose results gradients may go back from."""

    function: Function
    """Gives the results, then what is kept."""
    results: int
    """How many results there are."""
    parameters: tuple[int, ...]
    """Which arguments are kept as well."""
    stacks: Stacks
    """What the lists hold that are kept."""


class GradientPlan:
    """How gradients go back through a function, for arguments of one spec of which certain ones ask."""

    def __init__(
        self, name: str, way_there: WayThere, gradient: Callable[[], Gradient], attach: Attach,
        provenance: Provenance | None = None,
    ) -> None:  # fmt: skip
        """`gradient` is asked when something goes back; `provenance` is the derivative's."""
        self._name = name
        self._attach = attach
        self._gradient = gradient
        self._provenance = provenance
        self.way_there = way_there
        self.gives_several = len(way_there.function.schema.returns) > 1
        """Whether the way there gives more than one value."""
        self._run(self.forward, "forward")
        self._ways: SpecialisationCache[tuple[frozenset[int], bool], CompiledWayBack] = SpecialisationCache(
            "ways back", WAYS, describe=str
        )

    @property
    def gradient(self) -> Gradient:
        """The function and its derivative."""
        return self._gradient()

    @property
    def forward(self) -> Function:
        """Gives the results, then what is kept for the way back."""
        return self.way_there.function

    @property
    def stacks(self) -> Stacks:
        """What the lists hold that the way there would have to keep."""
        return self.way_there.stacks

    @property
    def results(self) -> int:
        """How many results the function itself has."""
        return self.way_there.results

    @property
    def parameters(self) -> tuple[int, ...]:
        """Which arguments the way back takes."""
        return self.way_there.parameters

    @property
    def backward(self) -> Function:
        """The way back from all results."""
        return self.way_back(frozenset()).function

    @property
    def joint(self) -> Function:
        """The same from all arguments, for those who differentiate again, or keep nothing."""
        return self.way_back(frozenset(), again=True).function

    @property
    def functions(self) -> list[Function]:
        """The way there, and the ways back that were asked for."""
        return [self.forward, *(way.function for way in self._ways.values)]

    def way_back(self, missing: frozenset[int], *, again: bool = False) -> CompiledWayBack:
        """The way back where results have no gradients, those numbered in `missing`; `again`, from all arguments, to be
        differentiated itself."""
        known = self._ways.get((missing, again))
        if known is not None:
            return known
        return self._ways.get_or_make((missing, again), lambda cause: self._new_way_back(missing, again))

    def _new_way_back(self, missing: frozenset[int], again: bool) -> CompiledWayBack:
        gradient = self.gradient
        part = without(gradient.joint if again else gradient.df, len(gradient.df_input_vjps), missing)
        targets = tuple(gradient.df_output_vjps[n] for n in part.gradients)
        taken = range(len(gradient.f.parameters)) if again else self.parameters
        values = part.graph.parameters[len(part.seeds) :]
        needed = tuple(n for n, value in zip(taken, values, strict=False) if _needs_elements(value))
        function = function_of(self._name, "gradient" if again else "backward", part.graph)
        self._run(function, "way back", sorted(missing), again)
        return CompiledWayBack(function, part.seeds, targets, needed, part.flags if any(part.flags) else ())

    def _run(self, function: Function, *names: Any) -> None:
        if self._provenance is not None:
            function.provenance = self._provenance.part(*names)
        self._attach(function)


def function_of(name: str, kind: str, part: Graph) -> Function:
    """A part of the derivative of a function as one of its own."""
    return Function(f"{name}_{kind}", part, schema_of(f"{name}_{kind}", part))


def way_there_of(name: str, gradient: Gradient) -> WayThere:
    """The function of a derivative that gives the results."""
    results = gradient.f_real_outputs
    forward = function_of(name, "forward", gradient.f)
    return WayThere(forward, results, gradient.df_input_captured_inputs, _stacks(gradient.f, results))


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a function has no derivative as a graph; it is run again, an operator at a time, when gradients come."""

    reason: str


def gradient_plan(
    graph: Graph, name: str, flow: Flow, asks: Asking, attach: Attach, provenance: Provenance | None = None
) -> GradientPlan | Refusal:
    """The plan of a function, of which this is the graph for a spec; `attach` gives a function what runs it."""
    try:
        gradient = _gradient(clone_graph(graph), flow, asks)
    except NotDifferentiableError as error:
        return Refusal(str(error))
    if isinstance(gradient, Refusal):
        return gradient
    return GradientPlan(name, way_there_of(name, gradient), lambda: gradient, attach, provenance)


def _gradient(graph: Graph, flow: Flow, asks: Asking) -> Gradient | Refusal:
    for number, (value, asked) in enumerate(zip(graph.parameters, asks, strict=True)):
        if asked is not False and not (asked is True and isinstance(value.static_type, TensorType)):
            return Refusal(LISTS.format(number=number))
    settled(graph)
    remove_mutation.do(graph)
    if _results(graph, flow.results) is None or any(map(_may_be_absent, graph.find_all("prim::If"))):
        _decide_ranks(graph)
    if _results(graph, flow.results) is None:
        return Refusal(RESULTS)
    sources = [v for v, asked in zip(graph.parameters, asks, strict=True) if asked is True]
    ready(graph, sources)
    results = _results(graph, flow.results)
    assert results is not None
    return gradient_of_graph(graph, sources, results)


def _may_be_absent(branch: Node) -> bool:
    """Whether a branch gives a tensor or None, which formulas cannot be traced through."""
    return any(isinstance(v.static_type, OptionalType) for v in branch.results)


def _decide_ranks(graph: Graph) -> None:
    """Take the branches that ranks and types decide, so that the tuples which they give are literals, and values there
    or not."""
    peephole.do(graph)
    constant_propagation.do(graph, by_types=True)
    fold_control.do(graph, by_types=True)
    lower_tuples.do(graph)


def _needs_elements(value: Value) -> bool:
    """Whether a graph looks at more of a value than its sizes and dtype."""
    return not all(looks_at_no_elements(use.user) for use in value.uses())


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


def _results(graph: Graph, marks: Sequence[Marks]) -> list[Value] | None:
    """The results that gradients come to, in the order of `recomputed_calls.marked`; None if one is hidden."""
    results: list[Value] = []
    for value, mark in zip(graph.returns, marks, strict=True):
        if not _collect(value, mark, results):
            return None
    return results


def _collect(value: Value, marks: Marks, results: list[Value]) -> bool:
    if marks is False:
        return True
    type_, node = value.static_type, value.defining_node
    if isinstance(type_, TensorType):
        if type_.dtype is None:
            return False
        if is_real(type_):
            results.append(value)
        return True
    if not holds_tensors(type_):
        return True  # a number is one of Python's when the call has ended
    is_made = node is not None and node.op in kinds.BUILD and is_only_read(value)
    if not is_made or node is None:
        return False
    each = marks if isinstance(marks, tuple) else (marks,) * len(node.operands)
    return len(each) == len(node.operands) and all(
        _collect(v, m, results) for v, m in zip(node.operands, each, strict=True)
    )
