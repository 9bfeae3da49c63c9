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
from flambeau.autodiff.list_values import has_real_items
from flambeau.autodiff.not_differentiable import NotDifferentiableError
from flambeau.autodiff.number_operands import number_gradients
from flambeau.autodiff.operator_gradients import Needed, call_of, formulas_of, is_fixed
from flambeau.autodiff.proxies import FloatProxy, NumberProxy, TensorProxy, UntraceableError
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


linear: Final = RuleTable[Callable[[], tuple[str, ...]]]("in which operands together it is linear")
"""By the operator's name; of one that writes in place, too."""
multilinear: Final = RuleTable[Callable[[], tuple[str, ...]]]("in which operands, each by itself, it is linear")
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
    gradient = formulas_of(definition)
    if gradient is None or isinstance(gradient, Decomposed):
        raise NotDifferentiableError(f"{definition.full_name} has no formulas")
    call = call_of(node, gradient)
    if isinstance(gradient, PointwiseGradient) and not call.is_complex:
        return [_diagonal(flow, node, definition, gradient, operands)]
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
        is_of_list = node.op in _of_lists and has_real_items(node.operand(0).static_type)
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


def _applied(flow: Flow, node: Node, operands: Tangents, places: set[int] | None = None) -> Tangents:
    """A copy of a node on tangents, in these places; in all that have some, by default."""
    given: list[Value] = []
    for place, (value, tangent) in enumerate(zip(node.operands, operands, strict=True)):
        is_wanted = is_real(value.static_type) if places is None else place in places
        given.append((tangent or _zero(flow, value)) if is_wanted else value)
    copy = clone_node(node, flow.builder.graph, {})
    copy.set_operands(given)
    flow.builder.graph.insert_node(copy)
    for value in copy.results:
        value.set_name("")
    if node.definition is not None:
        flow.builder.refine(copy, node.definition)
    for value, like in zip(copy.results, node.results, strict=True):
        if isinstance(value.static_type, TensorType) and isinstance(like.static_type, TensorType):
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
    for place, tangent in enumerate(operands):
        if tangent is None:
            continue
        if definition.schema.arguments[place].name not in names:
            raise NotDifferentiableError(f"{definition.full_name} has no tangent by {place}")
        arguments = [*proxies[:place], builder.proxy(tangent), *proxies[place + 1 :]]
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


def _diagonal(flow: Flow, node: Node, definition: OpDef, gradient: Gradient, operands: Tangents) -> Value | None:
    """The sum of the formulas, applied to tangents."""
    builder = flow.builder
    call = call_of(node, gradient)
    total: Any = None
    for argument, tangent in zip(definition.schema.arguments, operands, strict=True):
        if tangent is None:
            continue
        by_number = number_gradients.get(f"{definition.full_name} {argument.name}")
        formula = gradient.formula(argument.name, call)
        if by_number is not None and not all(map(is_fixed, node.operands)):
            one = by_number(builder, node, builder.proxy(tangent))
        elif formula is None:
            continue
        else:
            one = formula(builder.operators, Needed(builder, node, definition, [tangent]).of(formula))
        if isinstance(one, int | float) and one == 0:
            continue
        total = one if total is None else total + one
    return None if total is None else _like(builder, total, node.result())


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
    if not total.has_sizes(like.shape):
        total = builder.operators.expand(total, like.shape)
    builder.sizes.set(total.value, builder.sizes.of(result))
    value: Value = total.value
    return value


def _no_names() -> tuple[str, ...]:
    return ()


_of_lists: Final = RuleTable[Callable[[], tuple[str, ...]]]("what is done with lists is done with those of tangents")
_of_lists(
    "aten::append", "aten::insert", "aten::extend", "aten::pop", "aten::_set_item", "aten::clear", "aten::reverse",
    "aten::__getitem__", "aten::slice", "aten::copy", "aten::list", "aten::add", "aten::add_", "aten::mul",
    "aten::Delete", "aten::sum",
)(_no_names)  # fmt: skip
linear(
    "prim::ListConstruct", "prim::ListUnpack", "prim::TupleConstruct", "prim::TupleUnpack", "prim::unchecked_cast",
    "prim::tolist",
)(_no_names)  # fmt: skip


def _declare(table: RuleTable[Callable[[], tuple[str, ...]]], names: tuple[str, ...], *operators: str) -> None:
    def operand_names() -> tuple[str, ...]:
        return names

    table(*operators)(operand_names)


_declare(linear, ("tensors",), "aten::cat", "aten::concat", "aten::concatenate", "aten::stack")
_declare(linear, ("self", "values"), "aten::index_put", "aten::index_put_")
_declare(
    linear, ("self", "source"), "aten::index_add", "aten::index_add_", "aten::index_copy", "aten::index_copy_",
    "aten::masked_scatter", "aten::masked_scatter_",
)  # fmt: skip
_declare(
    linear, ("self", "src"), "aten::scatter_add", "aten::scatter_add_", "aten::select_scatter", "aten::slice_scatter",
    "aten::diagonal_scatter", "aten::copy_",
)  # fmt: skip
_declare(
    linear, ("self", "value"), "aten::masked_fill", "aten::masked_fill_", "aten::index_fill", "aten::index_fill_",
    "aten::fill_", "aten::zero_",
)  # fmt: skip
_declare(linear, ("fill_value",), "aten::full", "aten::full_like", "aten::new_full")
_declare(linear, ("start", "end"), "aten::linspace")
_declare(
    linear, ("data", "self", "t", "s", "a"), "aten::as_tensor", "aten::tensor", "aten::scalar_tensor",
    "prim::NumToTensor", "aten::item", "aten::ScalarImplicit",
)  # fmt: skip
_declare(multilinear, ("self", "mat2"), "aten::mm", "aten::bmm")
_declare(multilinear, ("self", "other"), "aten::matmul", "aten::linalg_matmul", "aten::kron", "aten::inner",
         "aten::vdot", "aten::cross", "aten::linalg_cross")  # fmt: skip
_declare(multilinear, ("self", "vec"), "aten::mv")
_declare(multilinear, ("self", "tensor"), "aten::dot")
_declare(multilinear, ("self", "vec2"), "aten::outer", "aten::ger")


@node_tangents("aten::Float", "aten::FloatImplicit")
def _number(flow: Flow, node: Node, operands: Tangents) -> Tangents:
    """The tangent of the only element, or of a number that is a float already."""
    [tangent] = operands
    assert tangent is not None
    if isinstance(tangent.static_type, FloatType):
        return [tangent]
    return [FloatProxy(flow.builder, flow.builder.node("aten::Float", [tangent]).value).value]


@node_tangents("prim::abs")
def _magnitude(flow: Flow, node: Node, operands: Tangents) -> Tangents:
    """By the sign, 0 at 0."""
    [tangent], [operand], builder = operands, node.operands, flow.builder
    assert tangent is not None
    if isinstance(operand.static_type, TensorType):
        return [(builder.operators.sign(builder.proxy(operand)) * builder.proxy(tangent)).value]
    signs = [
        builder.scalar("aten::Float", [builder.proxy(builder.scalar(op, [builder.proxy(operand), 0.0]).value)])
        for op in ("aten::gt", "aten::lt")
    ]
    return [(builder.proxy(tangent) * (signs[0] - signs[1])).value]


@node_tangents("prim::max", "prim::min")
def _extreme(flow: Flow, node: Node, operands: Tangents) -> Tangents:
    """That of the first item of a list that is as large, or of the larger number."""
    builder = flow.builder
    if len(node.operands) > 1:
        definition = node.definition
        gradient = None if definition is None else formulas_of(definition)
        if definition is None or gradient is None or has_real_items(node.operand(0).static_type):
            raise NotDifferentiableError("the larger one of two lists has no tangent in graphs")
        return [_diagonal(flow, node, definition, gradient, operands)]
    [tangent], [items] = operands, node.operands
    assert tangent is not None
    place = builder.node("aten::index", [items, node.result()])
    return [builder.node("aten::__getitem__", [tangent, place.value]).value]
