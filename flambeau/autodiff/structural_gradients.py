"""The gradients of nodes without formulas: containers, numbers from tensors, tensors from numbers."""

from __future__ import annotations

from flambeau.autodiff.fitting import as_number, fitted
from flambeau.autodiff.graph_operators import Builder
from flambeau.autodiff.list_values import zeros
from flambeau.autodiff.operator_gradients import Gradients, node_gradients
from flambeau.ir.graph import Node, Value
from flambeau.schema.types import BOOL, FLOAT, TensorType, without_refinement


@node_gradients("prim::ListConstruct", "prim::TupleConstruct")
def _constructed(builder: Builder, node: Node, gradients: Gradients) -> Gradients:
    [gradient] = gradients
    assert gradient is not None
    types = [without_refinement(v.static_type) for v in node.operands]
    op = "prim::ListUnpack" if node.op == "prim::ListConstruct" else "prim::TupleUnpack"
    parts = builder.graph.insert(op, [gradient], types).results
    for part, operand in zip(parts, node.operands, strict=True):
        part.set_type(operand.static_type)
        builder.sizes.set(part, builder.sizes.of(operand))
    return parts


@node_gradients("prim::ListUnpack", "prim::TupleUnpack")
def _unpacked(builder: Builder, node: Node, gradients: Gradients) -> Gradients:
    parts = [zeros(builder, v) if g is None else g for v, g in zip(node.results, gradients, strict=True)]
    op = "prim::ListConstruct" if node.op == "prim::ListUnpack" else "prim::TupleConstruct"
    return [builder.graph.insert(op, parts, [without_refinement(node.operand(0).static_type)]).result()]


@node_gradients("prim::unchecked_cast")
def _seen_differently(builder: Builder, node: Node, gradients: Gradients) -> Gradients:
    return gradients


@node_gradients("aten::item", "aten::Float", "aten::FloatImplicit", "aten::ScalarImplicit")
def _number(builder: Builder, node: Node, gradients: Gradients) -> Gradients:
    """The gradient of the only element."""
    [gradient], [operand] = gradients, node.operands
    if not isinstance(operand.static_type, TensorType):
        return gradients
    if operand.static_type.rank == 0 and operand.static_type.dtype is not None:
        number = builder.proxy(gradient)  # type: ignore[arg-type]
        return [builder.operators.scalar_tensor(number, dtype=operand.static_type.dtype).value]
    filled = builder.operators.full_like(builder.proxy(operand), builder.proxy(gradient))  # type: ignore[arg-type]
    return [filled.value]


@node_gradients("aten::tensor", "aten::scalar_tensor", "prim::NumToTensor")
def _of_number(builder: Builder, node: Node, gradients: Gradients) -> Gradients:
    return [_summed(builder, gradients), *[None] * (len(node.operands) - 1)]


@node_gradients("aten::copy_")
def _stored(builder: Builder, node: Node, gradients: Gradients) -> Gradients:
    [gradient] = gradients
    assert gradient is not None
    source = node.operand(1)
    return [None, fitted(builder, builder.proxy(gradient), source), *[None] * (len(node.operands) - 2)]


@node_gradients("aten::fill_")
def _set_to_number(builder: Builder, node: Node, gradients: Gradients) -> Gradients:
    [gradient] = gradients
    assert gradient is not None
    return [None, fitted(builder, builder.operators.sum(builder.proxy(gradient)), node.operand(1))]


@node_gradients("aten::zero_")
def _set_to_zero(builder: Builder, node: Node, gradients: Gradients) -> Gradients:
    return [None]


@node_gradients("aten::full", "aten::full_like", "aten::new_full")
def _filled(builder: Builder, node: Node, gradients: Gradients) -> Gradients:
    definition = node.definition
    assert definition is not None
    results: list[Value | None] = [None] * len(node.operands)
    results[definition.schema.index["fill_value"]] = _summed(builder, gradients)
    return results


@node_gradients("aten::linspace")
def _evenly(builder: Builder, node: Node, gradients: Gradients) -> Gradients:
    """Of the ends: the gradient along a line from the one to the other."""
    [gradient] = gradients
    assert gradient is not None
    grad = builder.proxy(gradient)
    share = builder.operators.linspace(0.0, 1.0, builder.proxy(node.operand(2)), dtype=grad.dtype)
    start, end = builder.operators.sum(grad - grad * share), builder.operators.sum(grad * share)
    return [as_number(builder, start), as_number(builder, end), *[None] * (len(node.operands) - 2)]


@node_gradients("prim::abs")
def _magnitude(builder: Builder, node: Node, gradients: Gradients) -> Gradients:
    """By the sign, 0 at 0."""
    [gradient], [operand] = gradients, node.operands
    assert gradient is not None
    if isinstance(operand.static_type, TensorType):
        return [(builder.operators.sign(builder.proxy(operand)) * builder.proxy(gradient)).value]
    operand, zero, graph = builder.use(operand), builder.constant(0.0), builder.graph
    above = graph.insert("aten::gt", [operand, zero], [BOOL]).result()
    below = graph.insert("aten::lt", [operand, zero], [BOOL]).result()
    signs = [graph.insert("aten::Float", [one], [FLOAT]).result() for one in (above, below)]
    sign = builder.proxy(signs[0]) - builder.proxy(signs[1])
    return [(builder.proxy(gradient) * sign).value]


def _summed(builder: Builder, gradients: Gradients) -> Value:
    [gradient] = gradients
    assert gradient is not None
    return as_number(builder, builder.proxy(gradient))
