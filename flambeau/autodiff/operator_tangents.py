"""The tangents of the results of one node, from those of its operands.

In the order in which they are tried:

1. what is linear in some operands together (`linear`), or in each (`multilinear`), is applied to their tangents;
2. a pointwise operator's formula multiplies by a derivative per element: it is the same for a tangent as for a
   gradient;
3. of an operator with one operand whose formula does not look at it, the operator itself is applied to the tangent;
4. else the formulas, which are linear in the gradient, are a graph whose own derivative by the gradient goes forward.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from flambeau.analysis.gradients import is_real
from flambeau.autodiff.graph_operators import Builder
from flambeau.autodiff.list_values import gradient_type, has_real_items
from flambeau.autodiff.not_differentiable import NotDifferentiableError
from flambeau.autodiff.number_operands import number_gradients
from flambeau.autodiff.operator_gradients import Needed, call_of, formulas_of, is_fixed
from flambeau.autodiff.proxies import NumberProxy, TensorProxy, UntraceableError
from flambeau.autodiff.transposed import transposed
from flambeau.ir.clone import clone_node
from flambeau.ir.graph import Node, Value
from flambeau.ops.derivatives.pointwise import PointwiseGradient
from flambeau.schema.gradient import Decomposed, Gradient
from flambeau.schema.opdef import OpDef
from flambeau.schema.rule_tables import RuleTable
from flambeau.schema.types import FloatType, ListType, NumberType, OptionalType, TensorType, Type
from flambeau.util.record import dataclass

Tangents = Sequence[Value | None]
"""Of each operand, or result; None where there is none."""


@dataclass(frozen=True, slots=True)
class Flow:
    """Where tangents are inserted."""

    builder: Builder
    zeros: Callable[[Value], Value]
    """Inserts the tangent of a value that has none."""
    of: Callable[[Value], Value | None]
    """The tangent of a value, if it has one."""


linear: Final = RuleTable[Callable[[], tuple[str, ...]]]("in which operands together it is linear")
"""By the operator's name; of one that writes in place, too."""
multilinear: Final = RuleTable[Callable[[], tuple[str, ...]]]("in which operands, each by itself, it is linear")
of_lists: Final = RuleTable[Callable[[], tuple[str, ...]]]("what is done with lists is done with those of tangents")
node_tangents: Final = RuleTable[Callable[[Flow, Node, Tangents], Tangents]]("tangents in graphs, by hand")


def result_tangents(flow: Flow, node: Node, operands: Tangents) -> Tangents:
    """The tangents of the results of a node without effects, inserted behind it.

    Raises NotDifferentiableError or UntraceableError for what has none as nodes.
    """
    by_hand = node_tangents.get(node.op)
    if by_hand is not None:
        return by_hand(flow, node, operands)
    same = mirrored(flow, node, operands)
    if same is not None:
        return same
    definition = node.definition
    if definition is None:
        raise NotDifferentiableError(f"{node.op} has no tangent in graphs")
    if node.op in multilinear:
        return [_multilinear(flow, node, definition, operands)]
    return by_formulas(flow, node, operands)


def by_formulas(flow: Flow, node: Node, operands: Tangents) -> Tangents:
    """The tangents by the formulas that an operator's gradients have."""
    definition = node.definition
    assert definition is not None
    gradient = formulas_of(definition)
    if gradient is None or isinstance(gradient, Decomposed):
        raise NotDifferentiableError(f"{definition.full_name} has no formulas")
    call = call_of(node, gradient)
    if isinstance(gradient, PointwiseGradient) and not call.is_complex:
        return [diagonal(flow, node, definition, gradient, operands)]
    if _applies_itself(node, definition, gradient):
        return _applied(flow, node, operands)
    if call.is_complex:
        raise NotDifferentiableError(f"{definition.full_name} of complex numbers has no tangent in graphs")
    return transposed(flow.builder, node, operands)


# -- what is linear ---------------------------------------------------------------------------------------------------


def mirrored(flow: Flow, node: Node, operands: Tangents) -> Tangents | None:
    """The results of the same operator on tangents; None for one that is not linear."""
    definition = node.definition
    if definition is None:
        return _applied(flow, node, operands) if node.op in linear else None
    if definition.family == "view" and not definition.schema.is_mutable:
        return _viewed(flow, node, operands)
    if node.op not in linear:
        is_of_list = node.op in of_lists and has_real_items(node.operand(0).static_type)
        return _applied(flow, node, operands) if is_of_list else None
    names = linear[node.op]()
    index = definition.schema.index
    return _applied(flow, node, operands, {index[name] for name in names if name in index})


def _viewed(flow: Flow, node: Node, operands: Tangents) -> Tangents:
    if operands[0] is None:
        raise NotDifferentiableError(f"{node.op} of a list of which some have tangents")
    if node.op == "aten::view" and isinstance(node.operand(1).static_type, ListType):
        f, builder = flow.builder.operators, flow.builder
        return [f.reshape(builder.proxy(operands[0]), builder.proxy(node.operand(1))).value]
    return _applied(flow, node, operands, {0})


def _applied(flow: Flow, node: Node, operands: Tangents, indices: set[int] | None = None) -> Tangents:
    """A copy of a node on tangents, at these indices; at all that have some, by default."""
    new_operands: list[Value] = []
    for index, (value, tangent) in enumerate(zip(node.operands, operands, strict=True)):
        is_wanted = is_real(value.static_type) if indices is None else index in indices
        new_operands.append((tangent or _zero(flow, value)) if is_wanted else value)
    copy = clone_node(node, flow.builder.graph, {})
    copy.set_operands(new_operands)
    flow.builder.graph.insert_node(copy)
    for value, like in zip(copy.results, node.results, strict=True):
        value.set_name("")
        if is_real(like.static_type):
            value.set_type(gradient_type(like))
        flow.builder.sizes.set(value, flow.builder.sizes.of(like))
    return copy.results


def _zero(flow: Flow, value: Value) -> Value:
    type_ = value.static_type
    if isinstance(type_, TensorType | FloatType | ListType):
        return flow.zeros(value)
    return flow.builder.constant(0.0)


def _multilinear(flow: Flow, node: Node, definition: OpDef, operands: Tangents) -> Value:
    """The sum over the operands, each with its tangent in its place."""
    builder = flow.builder
    total: Any = None
    proxies = [builder.proxy(v) for v in node.operands]
    names = multilinear[node.op]()
    for index, tangent in enumerate(operands):
        if tangent is None:
            continue
        if definition.schema.arguments[index].name not in names:
            raise NotDifferentiableError(f"{definition.full_name} has no tangent by {index}")
        arguments = [*proxies[:index], builder.proxy(tangent), *proxies[index + 1 :]]
        one = builder.insert(definition, arguments)
        builder.sizes.set(one.value, builder.sizes.of(node.result()))
        total = one if total is None else total + one
    value: Value = total.value
    return value


def _applies_itself(node: Node, definition: OpDef, gradient: Gradient) -> bool:
    """Whether the operator is linear: it has one operand, at which its formula does not look, and nothing to add."""
    schema = definition.schema
    tensors = [a for a in schema.arguments if _takes_tensors(a.type)]
    if len(tensors) != 1 or schema.is_mutable or definition.effect.name == "RANDOM":
        return False
    if any(isinstance(_inner(a.type), NumberType | FloatType) for a in schema.arguments):
        return False
    formula = gradient.formula(tensors[0].name, call_of(node, gradient))
    if formula is None:
        return False
    looks_at = {tensors[0].name, "result", "results"} | {f"result{n}" for n in range(len(schema.returns))}
    return not looks_at & set(formula.needs)


def _inner(type_: Type) -> Type:
    return type_.element if isinstance(type_, OptionalType) else type_


def _takes_tensors(type_: Type) -> bool:
    inner = _inner(type_)
    return isinstance(_inner(inner.element) if isinstance(inner, ListType) else inner, TensorType)


# -- what goes element by element -------------------------------------------------------------------------------------


def diagonal(flow: Flow, node: Node, definition: OpDef, gradient: Gradient, operands: Tangents) -> Value | None:
    """The sum of the formulas, applied to tangents."""
    builder = flow.builder
    call = call_of(node, gradient)
    total: Any = None
    is_whole = True
    for argument, operand, tangent in zip(definition.schema.arguments, node.operands, operands, strict=True):
        if tangent is None:
            is_whole = is_whole and not isinstance(operand.static_type, TensorType)
            continue
        by_number = number_gradients.get(f"{definition.full_name} {argument.name}")
        formula = gradient.formula(argument.name, call)
        if by_number is not None and not all(map(is_fixed, node.operands)):
            one = by_number(builder, node, builder.proxy(tangent))
        elif formula is None:
            is_whole = False
            continue
        else:
            one = formula(builder.operators, Needed(builder, node, definition, [tangent]).of(formula))
        if isinstance(one, int | float) and one == 0:
            is_whole = False
            continue
        total = one if total is None else total + one
    if total is None:
        return None
    if is_whole and isinstance(total, TensorProxy):  # each operand's sizes are in the sum
        builder.sizes.set(total.value, builder.sizes.of(node.result()))
    return _like(builder, total, node.result())


def _like(builder: Builder, total: Any, result: Value) -> Value:
    """A tangent in the sizes and the dtype of what it belongs to."""
    type_ = result.static_type
    if not isinstance(type_, TensorType):
        if isinstance(total, TensorProxy):
            raise UntraceableError("a tensor as the tangent of a number")
        return total.value if isinstance(total, NumberProxy) else builder.constant(float(total))
    if type_.dtype is None:
        raise UntraceableError("the dtype of a result")
    like = TensorProxy(builder, result)
    if not isinstance(total, TensorProxy):
        full: Value = builder.operators.full_like(like, total).value
        return full
    if total.dtype is not type_.dtype:
        total = builder.operators.to(total, type_.dtype)
    if not _has_sizes(total, like):
        total = builder.operators.expand(total, like.shape)
    builder.sizes.set(total.value, builder.sizes.of(result))
    value: Value = total.value
    return value


def _has_sizes(total: TensorProxy, like: TensorProxy) -> bool:
    """Whether a tensor surely has the sizes of another."""
    known, wanted = total.type.sizes, like.type.sizes
    return (known is not None and None not in known and known == wanted) or total.has_sizes(like.shape)
