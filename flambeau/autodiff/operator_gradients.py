"""The gradients of the operands of one node, from those of its results: its operator's formulas, traced.

A formula that asks for what only the run knows stays one node, `prim::GradOf`, which goes back through the operator as
the tape does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from flambeau.analysis.effects import is_only_read, own_effect
from flambeau.autodiff.eager_gradient import EagerGradient
from flambeau.autodiff.fitting import fitted
from flambeau.autodiff.graph_operators import Builder
from flambeau.autodiff.list_values import copied, has_real_items
from flambeau.autodiff.not_differentiable import NotDifferentiableError
from flambeau.autodiff.number_operands import number_gradients
from flambeau.autodiff.proxies import ListProxy, TensorProxy, UntraceableError
from flambeau.autograd.rule import gradient_of
from flambeau.ir import constants
from flambeau.ir.graph import Node, Value
from flambeau.ops.derivatives.pointwise import PointwiseGradient
from flambeau.schema.gradient import Call, Decomposed, Formula, Gradient
from flambeau.schema.opdef import Effect, OpDef
from flambeau.schema.rule_tables import RuleTable
from flambeau.schema.traits import Role
from flambeau.schema.types import ComplexType, ListType, TensorType, without_refinement

Gradients = Sequence[Value | None]
"""Of each operand, or result; None where there is none."""
node_gradients: Final = RuleTable[Callable[[Builder, Node, Gradients], Gradients]](
    "gradients in graphs, of what has no formula"
)
list_gradients: Final = RuleTable[Callable[[Builder, Node, Gradients], Gradients]](
    "gradients in graphs, where lists of tensors or floats are given"
)


def operand_gradients(builder: Builder, node: Node, gradients: Gradients, wanted: Sequence[bool]) -> Gradients:
    """The gradients of the operands that are wanted. Raises NotDifferentiableError for what no formula tells."""
    is_about_lists = any(has_real_items(v.static_type) for v in node.operands)
    rule = (list_gradients.get(node.op) if is_about_lists else None) or node_gradients.get(node.op)
    if rule is not None:
        results = rule(builder, node, gradients)
        return [_as_it_is(builder, g) if w and g is not None else None for g, w in zip(results, wanted, strict=True)]
    return traced_gradients(builder, node, gradients, wanted)


def traced_gradients(builder: Builder, node: Node, gradients: Gradients, wanted: Sequence[bool]) -> Gradients:
    """The gradients of a node's operands by the formulas of its operator, recorded in the graph."""
    definition = node.definition
    if definition is None:
        raise NotDifferentiableError(f"{node.op} has no derivative in graphs")
    try:
        return _traced(builder, node, definition, gradients, wanted)
    except UntraceableError:
        return _eager(builder, node, definition, gradients, wanted)


def _as_it_is(builder: Builder, gradient: Value) -> Value:
    """A gradient; of a list that was filled a copy, which nobody changes."""
    is_filled = isinstance(gradient.static_type, ListType) and not is_only_read(gradient)
    return copied(builder, gradient) if is_filled else gradient


def _traced(builder: Builder, node: Node, definition: OpDef, gradients: Gradients, wanted: Sequence[bool]) -> Gradients:
    gradient = formulas_of(definition)
    if gradient is None or isinstance(gradient, Decomposed):
        raise UntraceableError(f"{definition.full_name} has no formulas")
    call = call_of(node, gradient)
    needed = Needed(builder, node, definition, gradients)
    results: list[Value | None] = []
    for operand, argument, is_wanted in zip(node.operands, definition.schema.arguments, wanted, strict=True):
        if not is_wanted:
            results.append(None)
            continue
        by_number = number_gradients.get(f"{definition.full_name} {argument.name}")
        if by_number is not None and not all(is_fixed(v) for v in node.operands):
            [grad] = [builder.proxy(g) for g in gradients if g is not None]
            results.append(fitted(builder, by_number(builder, node, grad), operand))
            continue
        formula = gradient.formula(argument.name, call)
        if formula is None:
            raise UntraceableError(f"no gradient goes to {argument.name} of {definition.full_name}")
        operand_gradient = formula(builder.operators, needed.of(formula))
        _tell_sizes(builder, definition, operand, operand_gradient)
        results.append(None if operand_gradient is None else _listed(builder, operand_gradient, operand))
    return results


def is_fixed(value: Value) -> bool:
    """Whether a value is a tensor, or a constant."""
    return isinstance(value.static_type, TensorType) or constants.is_constant(value)


def _tell_sizes(builder: Builder, definition: OpDef, operand: Value, operand_gradient: Any) -> None:
    """Of convolutions, recurrent layers and what cuts into parts, gradients of operands surely have the operands'
    sizes.
    """
    gives_parts = definition.family == "view" and isinstance(definition.schema.returns[0].type, ListType)
    if not gives_parts and definition.traits.role not in (Role.CONVOLUTION, Role.RECURRENCE):
        return
    maker, pairs = operand.defining_node, [(operand, operand_gradient)]
    if isinstance(operand_gradient, list) and maker is not None:
        pairs = list(zip(maker.operands, operand_gradient, strict=True))
    for one, gradient in pairs:
        if isinstance(gradient, TensorProxy):
            builder.sizes.set(gradient.value, builder.sizes.of(one))


def formulas_of(definition: OpDef) -> Gradient | None:
    """The formulas of an overload; of one on numbers those that follow from its meaning."""
    if definition.schema.concerns_tensors:
        return gradient_of(definition)
    if definition.scalar is None:
        return None
    if definition not in _of_numbers:
        _of_numbers[definition] = NumberGradient(definition.scalar, definition.schema, frozenset())
    return _of_numbers[definition]


class NumberGradient(PointwiseGradient):
    """The formulas of an operator on numbers, all of which are operands of its meaning."""

    def statics(self, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        """Nothing: no argument chooses a formula."""
        return ()


_of_numbers: Final[dict[OpDef, NumberGradient]] = {}


def call_of(node: Node, gradient: Gradient) -> Call:
    """What decides which formulas a node has. Raises UntraceableError where it is not known."""
    is_complex = False
    for value in (*node.operands, *node.results):
        for part in value.static_type.walk():
            if isinstance(part, TensorType):
                if part.dtype is None:
                    raise UntraceableError("a dtype")
                is_complex = is_complex or part.dtype.is_complex
            is_complex = is_complex or isinstance(part, ComplexType)
    if gradient.is_static:
        return Call(is_complex, ())
    statics = [constants.constant_value(v) if constants.is_constant(v) else ... for v in node.operands]
    return Call(is_complex, gradient.statics(tuple(statics)))


class Needed:
    """What formulas are computed from, by name."""

    def __init__(self, builder: Builder, node: Node, definition: OpDef, gradients: Gradients) -> None:
        self._builder = builder
        self._node = node
        self._index = definition.schema.index
        self._gradients = gradients

    def of(self, formula: Formula) -> dict[str, Any]:
        """The values for one formula."""
        needs = [n for n in formula.needs if not (n in formula.optional and n not in self._index)]
        return {name: self._value(name) for name in needs}

    def _value(self, name: str) -> Any:
        builder, node = self._builder, self._node
        if name == "grad":
            [gradient] = self._gradients
            assert gradient is not None
            return builder.proxy(gradient)
        if name in ("grads", "results_sizes"):
            return self._of_several(name)
        if name in self._index:
            return builder.proxy(node.operand(self._index[name]))
        stem = name.removesuffix("_sizes")
        if stem != name and stem in self._index:
            return self._sizes(node.operand(self._index[stem]))
        if name == "results":
            return [builder.proxy(v) for v in node.results]
        return builder.proxy(node.result(0 if name == "result" else int(name.removeprefix("result"))))

    def _of_several(self, name: str) -> list[Any]:
        """The gradients of all results, or the sizes of these; of a result that is a list, those of its tensors."""
        builder = self._builder
        if parts := self._parts():
            return parts if name == "grads" else [part.shape for part in parts]
        if name == "results_sizes":
            return [TensorProxy(builder, v).shape for v in self._node.results]
        return [None if g is None else builder.proxy(g) for g in self._gradients]

    def _parts(self) -> list[Any]:
        """The gradients of the tensors in a result that is a list; nothing for other results."""
        results = self._node.results
        if len(results) != 1 or not isinstance(results[0].static_type, ListType):
            return []
        [gradient] = self._gradients
        assert gradient is not None
        parts = self._builder.proxy(gradient)
        if not isinstance(parts, list):
            raise UntraceableError("the gradients in a list of unknown length")
        return parts

    def _sizes(self, value: Value) -> Any:
        if isinstance(value.static_type, TensorType):
            return TensorProxy(self._builder, value).shape
        items = self._builder.proxy(value)
        return [item.shape for item in items]


def _listed(builder: Builder, gradient_of_operand: Any, operand: Value) -> Value:
    """The gradient of an operand; of a list of tensors, a list."""
    if not isinstance(operand.static_type, ListType):
        return fitted(builder, gradient_of_operand, operand)
    node = operand.defining_node
    if node is None or node.op != "prim::ListConstruct" or not is_only_read(operand):
        if isinstance(gradient_of_operand, ListProxy):
            return gradient_of_operand.value
        raise UntraceableError("the gradient of a list of unknown length")
    if isinstance(gradient_of_operand, ListProxy):
        types = [without_refinement(item.static_type) for item in node.operands]
        parts = builder.graph.insert("prim::ListUnpack", [gradient_of_operand.value], types).results
        for part, item in zip(parts, node.operands, strict=True):
            if isinstance(item.static_type, TensorType):
                part.set_type(item.static_type.refine(strides=None, requires_grad=None))
                builder.sizes.set(part, builder.sizes.of(item))
        gradient_of_operand = [builder.proxy(part) for part in parts]
    items = [_item(builder, gradient_of_operand, n, item) for n, item in enumerate(node.operands)]
    return builder.graph.insert("prim::ListConstruct", items, [without_refinement(operand.static_type)]).result()


def _item(builder: Builder, gradient_of_operand: Any, number: int, operand: Value) -> Value:
    """The gradient of one tensor of a list."""
    gradient = gradient_of_operand[number]
    if gradient is None:
        zeros: Value = builder.operators.zeros_like(builder.proxy(operand)).value
        return zeros
    return fitted(builder, gradient, operand)


def _eager(builder: Builder, node: Node, definition: OpDef, gradients: Gradients, wanted: Sequence[bool]) -> Gradients:
    """One node that goes back through the operator when it runs."""
    operands = [builder.use(v) for v in node.operands]
    wanted_indices = [n for n, is_wanted in enumerate(wanted) if is_wanted]
    is_known = all(
        isinstance(t, TensorType) or (isinstance(t, ListType) and isinstance(t.element, TensorType))
        for t in (operands[n].static_type for n in wanted_indices)
    )
    if not is_known or own_effect(node) is not Effect.NONE:
        raise NotDifferentiableError(f"{definition.full_name} has no derivative in graphs")
    present = [g for g in gradients if g is not None]
    kernel = EagerGradient(definition, [g is not None for g in gradients], wanted_indices)
    way_back = builder.graph.insert(
        "prim::GradOf",
        [*present, *operands],
        [without_refinement(operands[n].static_type) for n in wanted_indices],
        name=definition.full_name,
        gradients=len(present),
        kernel=kernel,
    )
    results: list[Value | None] = [None] * len(operands)
    for index, value in zip(wanted_indices, way_back.results, strict=True):
        type_ = node.operand(index).static_type
        if isinstance(type_, TensorType):
            value.set_type(type_.refine(strides=None, requires_grad=None))
            builder.sizes.set(value, builder.sizes.of(node.operand(index)))
        results[index] = value
    return results
