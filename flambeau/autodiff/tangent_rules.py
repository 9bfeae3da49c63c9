"""How tangents go through operators in graphs, by hand: which are linear in what, and some that are not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flambeau.analysis.effects import is_only_read
from flambeau.autodiff.list_values import has_real_items
from flambeau.autodiff.not_differentiable import NotDifferentiableError
from flambeau.autodiff.operator_gradients import formulas_of, operand_gradients
from flambeau.autodiff.operator_tangents import (
    Flow,
    Tangents,
    by_formulas,
    diagonal,
    linear,
    multilinear,
    node_tangents,
    of_lists,
)
from flambeau.autodiff.proxies import FloatProxy
from flambeau.ir.graph import Node, Value
from flambeau.ops.derivatives.reduction_formulas import tangent_of_logcumsumexp
from flambeau.schema.rule_tables import RuleTable
from flambeau.schema.types import FloatType, TensorType


def _no_names() -> tuple[str, ...]:
    return ()


of_lists(
    "aten::append", "aten::insert", "aten::extend", "aten::pop", "aten::_set_item", "aten::clear", "aten::reverse",
    "aten::__getitem__", "aten::slice", "aten::copy", "aten::list", "aten::add", "aten::add_", "aten::mul",
    "aten::Delete", "aten::sum",
)(_no_names)  # fmt: skip
linear(
    "prim::ListConstruct", "prim::ListUnpack", "prim::TupleConstruct", "prim::TupleUnpack", "prim::tolist",
)(_no_names)  # fmt: skip


def _declare(table: RuleTable[Callable[[], tuple[str, ...]]], names: tuple[str, ...], *operators: str) -> None:
    def operand_names() -> tuple[str, ...]:
        return names

    table(*operators)(operand_names)


_declare(linear, ("x",), "prim::unchecked_cast")
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
_declare(
    linear, ("self",), "aten::index", "aten::index_select", "aten::gather", "aten::take", "aten::take_along_dim",
    "aten::masked_select",
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


@node_tangents("aten::logcumsumexp")
def _sums_of_powers(flow: Flow, node: Node, operands: Tangents) -> Tangents:
    """By the share of each element before: the formula's logarithms have no derivative at zero."""
    builder, tangent = flow.builder, operands[0]
    assert tangent is not None
    parts = [builder.proxy(one) for one in (tangent, node.operand(0), node.result(), node.operand(1))]
    return [tangent_of_logcumsumexp(builder.operators, *parts).value]


@node_tangents("prim::abs")
def _magnitude(flow: Flow, node: Node, operands: Tangents) -> Tangents:
    """By the sign, 0 at 0."""
    [tangent], [operand], builder = operands, node.operands, flow.builder
    assert tangent is not None
    if isinstance(operand.static_type, TensorType):
        return [(builder.operators.sign(builder.proxy(operand)) * builder.proxy(tangent)).value]
    number = builder.proxy(operand)
    signs = [builder.scalar("aten::Float", [one]) for one in (number > 0.0, number < 0.0)]
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
        return [diagonal(flow, node, definition, gradient, operands)]
    [tangent], [items] = operands, node.operands
    assert tangent is not None
    index = builder.node("aten::index", [items, node.result()])
    return [builder.node("aten::__getitem__", [tangent, index.value]).value]


@node_tangents(
    "aten::max", "aten::min", "aten::sort", "aten::topk", "aten::kthvalue", "aten::median", "aten::nanmedian",
    "aten::mode", "aten::cummax", "aten::cummin",
)  # fmt: skip
def _chosen(flow: Flow, node: Node, operands: Tangents) -> Tangents:
    """Those of the elements that were chosen, which a second result says the indices of."""
    definition, tangent = node.definition, operands[0]
    if definition is None or len(node.results) != 2 or tangent is None:
        return by_formulas(flow, node, operands)
    index, builder, f = definition.schema.index, flow.builder, flow.builder.operators
    source = builder.proxy(node.operand(0))
    if source.dim() == 0:
        return [tangent, None]
    dim = builder.proxy(node.operand(index["dim"])) if "dim" in index else -1
    keeps = index.get("keepdim")
    kept = True if keeps is None else builder.proxy(node.operand(keeps))
    indices = builder.proxy(node.result(1))
    if not isinstance(kept, bool):
        raise NotDifferentiableError(f"{node.op} with a keepdim that only the run knows has no tangent in graphs")
    taken = f.gather(builder.proxy(tangent), dim, indices if kept else f.unsqueeze(indices, dim))
    return [(taken if kept else f.squeeze(taken, dim)).value, None]


@node_tangents("aten::einsum")
def _sum_of_products(flow: Flow, node: Node, operands: Tangents) -> Tangents:
    """The sum over the factors, each with its tangent in its place."""
    builder, maker = flow.builder, node.operand(1).defining_node
    if maker is None or maker.op != "prim::ListConstruct" or not is_only_read(node.operand(1)):
        raise NotDifferentiableError("aten::einsum of a list of unknown length has no tangent in graphs")
    factors = [builder.proxy(v) for v in maker.operands]
    total: Any = None
    for index, value in enumerate(maker.operands):
        tangent = flow.of(value)
        if tangent is not None:
            changed = [*factors[:index], builder.proxy(tangent), *factors[index + 1 :]]
            one = builder.call(node.op, (builder.proxy(node.operand(0)), changed), {})
            builder.sizes.set(one.value, builder.sizes.of(node.result()))
            total = one if total is None else total + one
    return [None if total is None else total.value]


@node_tangents("aten::linalg_solve")
def _solved(flow: Flow, node: Node, operands: Tangents) -> Tangents:
    """Of `A x = b`: the solution for what `b` changes by, less `A`'s change times `x`."""
    builder, f = flow.builder, flow.builder.operators
    matrix, right, left = [builder.proxy(v) for v in node.operands[:3]]
    solution = builder.proxy(node.result())
    own, other = (None if t is None else builder.proxy(t) for t in operands[:2])
    is_vector = right.dim() == 1
    if not isinstance(left, bool) or not (is_vector or right.dim() == matrix.dim()) or matrix.dim() < 2:
        return by_formulas(flow, node, operands)
    change = None
    if own is not None:
        change = f.matmul(own, solution) if left else f.matmul(solution, own)
    whole = other if change is None else f.neg(change) if other is None else other - change
    solved = f.linalg_solve(matrix, whole, left=left)
    builder.sizes.set(solved.value, builder.sizes.of(node.result()))
    return [solved.value]


@node_tangents("aten::linalg_det", "aten::det", "aten::logdet", "aten::linalg_slogdet", "aten::slogdet")
def _determinant(flow: Flow, node: Node, operands: Tangents) -> Tangents:
    """Of a number for each matrix: the sum of the products with its gradient by each element."""
    builder, f = flow.builder, flow.builder.operators
    [tangent], number = operands, node.results[-1]
    assert tangent is not None
    one = f.ones_like(builder.proxy(number)).value
    builder.sizes.set(one, builder.sizes.of(number))
    [gradient] = operand_gradients(builder, node, [*[None] * (len(node.results) - 1), one], [True])
    assert gradient is not None
    total: Value = f.sum(builder.proxy(gradient) * builder.proxy(tangent), [-2, -1]).value
    builder.sizes.set(total, builder.sizes.of(number))
    return [*[None] * (len(node.results) - 1), total]


@node_tangents("aten::linalg_inv", "aten::inverse")
def _inverse(flow: Flow, node: Node, operands: Tangents) -> Tangents:
    """Of `X = A^-1`: `-X A' X`."""
    builder, f = flow.builder, flow.builder.operators
    [tangent] = operands
    assert tangent is not None
    inverse = builder.proxy(node.result())
    value: Value = f.neg(f.matmul(f.matmul(inverse, builder.proxy(tangent)), inverse)).value
    builder.sizes.set(value, builder.sizes.of(node.result()))
    return [value]
