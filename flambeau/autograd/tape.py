"""Recording: an operator on tensors that ask for gradients runs, and its results know how they were computed.

Each overload has a function that runs its calls. Most calls are of one kind: tensors and numbers go in, one new tensor
comes out, and the formulas are known from which operands ask; `quick_calls` has what is made for these. The others are
looked at argument by argument, here.

>>> import flambeau
>>> x = flambeau.ones(2, requires_grad=True)
>>> (x * 2).grad_fn.name()
'MulBackward0'
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flambeau.autograd import anomaly_mode, views
from flambeau.autograd.node import Edge, Gradients, Node, edge_of, next_number
from flambeau.autograd.operator_node import CallFormulas, OperatorNode, Shape
from flambeau.autograd.quick_calls import quick, unrecorded
from flambeau.autograd.rule import Rule, gradient_of, is_complex, rule_of
from flambeau.ops.derivatives.operators import OPERATORS
from flambeau.ops.families.composite import device_of, making_on
from flambeau.schema.gradient import Decomposed
from flambeau.schema.opdef import Effect, OpDef
from flambeau.schema.own_gradient import is_spelling
from flambeau.tensor import recorder
from flambeau.tensor.grad_mode import is_grad_enabled, refuse_saving
from flambeau.tensor.interceptors import changed
from flambeau.tensor.repeated_kernels import repeated
from flambeau.tensor.subclasses import special
from flambeau.tensor.tensor import Tensor
from flambeau.util.inversions import LEVEL_TAPE, TAPE

Recorded = Callable[..., Any]
"""Runs calls of an overload, given all arguments in schema order."""


class NotDifferentiable(Node):
    """Stands for an operator without formulas: what it computes asks for gradients, and none can go back through it."""

    __slots__ = ("operator",)

    def __init__(self, operator: str, edges: Sequence[Edge]) -> None:
        super().__init__(edges)
        self.operator = operator

    def apply(self, gradients: Gradients) -> Gradients:
        """Raise: there is no formula."""
        raise NotImplementedError(f"derivative for {self.operator} is not implemented")


@TAPE.provide
def recorded(definition: OpDef) -> Recorded:
    """What runs calls of an overload while gradients are recorded, and puts nodes on the tape for operands that ask.

    It raises RuntimeError for a write that may not be while gradients are recorded.
    """
    gradient = gradient_of(definition)
    if definition.is_about_tensor or is_spelling(definition):
        return repeated(definition)  # the parts of a composite one are recorded
    if isinstance(gradient, Decomposed):
        return _decomposed(definition, gradient)
    rule = rule_of(definition)
    if rule is None and definition.differentiable is False and not definition.schema.is_mutable:
        return repeated(definition)  # nothing asks of what it gives

    run = unrecorded(definition)

    def slowly(*arguments: Any) -> Any:
        if not is_grad_enabled() or not recorder.is_asked(arguments):
            return run(*arguments)
        written = recorder.refuse_writes(definition, arguments)
        return _record(definition, rule, arguments, written, run, is_kept=True)

    return slowly if rule is None else quick(rule, slowly) or slowly


def _decomposed(definition: OpDef, gradient: Decomposed) -> Recorded:
    names = [gradient.first, *[a.name for a in definition.schema.arguments[1:]]]
    run = unrecorded(definition)

    def record(*arguments: Any) -> Any:
        if not is_grad_enabled() or not recorder.is_asked(arguments):
            return run(*arguments)
        written = recorder.refuse_writes(definition, arguments)
        _admit(definition, arguments)
        values = list(arguments)
        if written:  # what stands in for it may keep the elements that are written over
            values[0] = OPERATORS.clone(values[0])
        named = dict(zip(names, values, strict=True))
        if special.exists:
            with making_on(device_of(values)):
                result = gradient.body(OPERATORS, **named)
        else:
            result = gradient.body(OPERATORS, **named)
        return written[0].copy_(result) if written else result

    return record


_admitted: dict[OpDef, set[Any]] = {}
MOST_ADMITTED = 64
"""Kinds of calls that are remembered for each operator."""


def _admit(definition: OpDef, arguments: Sequence[Any]) -> None:
    """Let the kernel refuse arguments that the operators which stand in for it may take: once for each kind of call."""
    writes = definition.schema.is_mutable or definition.traits.writes_when is not None
    if definition.effect is not Effect.NONE or writes:
        return
    known = _admitted.setdefault(definition, set())
    key: Any = tuple([_kind(argument) for argument in arguments])
    try:
        is_known = key in known
    except TypeError:  # something that cannot be looked up
        key = repr(key)
        is_known = key in known
    if not is_known:
        with changed(modes=()):
            definition.kernel(*arguments)
        if len(known) >= MOST_ADMITTED:
            known.clear()
        known.add(key)


def _kind(argument: Any) -> Any:
    if isinstance(argument, Tensor):
        return argument._array.shape, argument._array.dtype
    if isinstance(argument, list | tuple):
        return tuple([_kind(one) for one in argument])
    return type(argument), argument


@LEVEL_TAPE.provide
def record_within(definition: OpDef, arguments: Sequence[Any], run: Callable[[OpDef, Sequence[Any]], Any]) -> Any:
    """Run an operator on tensors of a transform, which no kernel takes, by `run`, and put a node on their tape.

    Raises RuntimeError for a write that may not be while gradients are recorded.
    """
    gradient = gradient_of(definition)
    if gradient is None and definition.family == "composite":
        return definition.kernel(*arguments)
    written = recorder.refuse_writes(definition, arguments)
    if isinstance(gradient, Decomposed):
        names = [gradient.first, *[a.name for a in definition.schema.arguments[1:]]]
        values = [OPERATORS.clone(arguments[0]) if written else arguments[0], *arguments[1:]]
        result = gradient.body(OPERATORS, **dict(zip(names, values, strict=True)))
        return written[0].copy_(result) if written else result

    def kernel(*values: Any) -> Any:
        return run(definition, values)

    return _record(definition, rule_of(definition), arguments, written, kernel, is_kept=False)


def _record(
    definition: OpDef, rule: Rule | None, arguments: Sequence[Any], written: Sequence[Tensor], kernel: Recorded, *,
    is_kept: bool,
) -> Any:  # fmt: skip
    """`is_kept`: what formulas need may live longer than whoever calls."""
    if rule is None:
        return _without_formula(definition, arguments, written, kernel)
    call = _Call(rule, arguments)
    if call.is_without_formula:
        return _without_formula(definition, arguments, written, kernel)
    if is_kept:  # what transforms keep lives no longer than these
        call.refuse_inference()
    if rule.is_in_place:
        return call.in_place(kernel)
    result = kernel(*arguments)
    if call.known.steps:
        call.attach(result)
    return result


def _without_formula(definition: OpDef, arguments: Sequence[Any], written: Sequence[Tensor], kernel: Recorded) -> Any:
    """Run an operator that nothing can go back through: its results ask, and say so when a gradient comes."""
    flows = definition.differentiable
    if flows is False and not written:
        return kernel(*arguments)
    operands = list(recorder.tensors_in(list(arguments)))
    node = NotDifferentiable(definition.name, [edge_of(tensor) for tensor in operands])
    behind = [views.base_edge(tensor) for tensor in written]
    result = kernel(*arguments)
    if flows is False:
        return result
    for tensor, edge in zip(written, behind, strict=True):
        if tensor._array.dtype.kind in "fcV":
            views.note_written(tensor, edge, node)
    flowing = result if isinstance(flows, bool) else [r for r, flow in zip(result, flows, strict=True) if flow]
    for tensor in recorder.tensors_in(flowing):
        if tensor._array.dtype.kind in "fcV" and not any(tensor is operand for operand in operands):
            tensor._node, tensor.output_nr = node, 0
    return result


class _Call:
    """One call of an operator with formulas."""

    def __init__(self, rule: Rule, arguments: Sequence[Any]) -> None:
        self.rule = rule
        self.arguments = arguments
        self.edges: list[Edge] = []
        self.shapes: list[Shape | None] = []
        self.counts: list[int] = []
        asking = []
        for position, _ in rule.operands:
            value = arguments[position]
            if isinstance(value, list | tuple):
                asking.append(True in list(map(self._add, value)))
                self.counts.append(len(value))
            else:
                asking.append(self._add(value))
                self.counts.append(-1)
        self.known: CallFormulas = rule.formulas(tuple(asking), is_complex(arguments), arguments)
        self.is_without_formula = len(self.known.steps) < sum(asking)

    def refuse_inference(self) -> None:
        """Raise RuntimeError if a formula needs the elements of an argument that was made in `inference_mode()`."""
        for name, position in self.known.kept:
            if position >= 0 and not name.endswith("_sizes"):
                for tensor in recorder.tensors_in(self.arguments[position]):
                    refuse_saving(tensor._storage.version)

    def _add(self, value: Any) -> bool:
        edge = edge_of(value) if isinstance(value, Tensor) else None
        self.edges.append(edge)
        self.shapes.append(None if edge is None else (value._array.shape, value._array.dtype))
        return edge is not None

    def in_place(self, kernel: Recorded) -> Any:
        """Run an operator that writes its first operand, which from then on is its result."""
        target = self.arguments[0]
        before = {
            name: self.arguments[position].clone()
            for name, position in self.known.kept
            if position >= 0 and self.arguments[position] is target and not name.endswith("_sizes")
        }
        behind = views.base_edge(target)
        result = kernel(*self.arguments)
        if self.known.steps and target._array.dtype.kind in "fcV":
            node = self._node(is_single=True)
            views.note_written(target, behind, node)
            self._keep(node, result, before)
        return result

    def attach(self, result: Any) -> None:
        """Have the results know the node."""
        is_list = isinstance(result, list | tuple)
        results = list(result) if is_list else [result]
        node = self._node(is_single=not is_list)
        flows = self.rule.flows
        for number, one in enumerate(results):
            if not isinstance(one, Tensor) or not (flows is True or (flows and flows[number])):
                continue
            if one._array.dtype.kind in "fcV" and not any(one is argument for argument in self.arguments):
                one._node, one.output_nr = node, number
                if one._base is not None:
                    node.shown = one._base._node
        self._keep(node, result, {})

    def _node(self, *, is_single: bool) -> OperatorNode:
        counts = self.counts if max(self.counts) >= 0 else None
        node = self.rule.node_type(self.edges, self.known, self.shapes, [], next_number(), counts, is_single)
        anomaly_mode.note(node)
        return node

    def _keep(self, node: OperatorNode, result: Any, before: dict[str, Any]) -> None:
        for name, position in self.known.kept:
            as_sizes = name.endswith("_sizes")
            if position >= 0:
                node.keep(before.get(name, self.arguments[position]), as_sizes=as_sizes)
            elif name in ("result", "results", "results_sizes"):
                node.keep(result, 0, as_sizes=as_sizes)
            else:
                number = -1 - position
                node.keep(result[number], number, as_sizes=as_sizes)
