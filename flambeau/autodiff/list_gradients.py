"""Gradients of what takes lists and of what gives them: parts, sums, the largest item, tensors of numbers."""

from __future__ import annotations

from flambeau.autodiff.fitting import fitted
from flambeau.autodiff.graph_operators import Builder
from flambeau.autodiff.list_values import append, counted, empty_like, item_of, length_of, total_of, zeros_of_items
from flambeau.autodiff.not_differentiable import NotDifferentiableError
from flambeau.autodiff.operator_gradients import Gradients, list_gradients, node_gradients
from flambeau.ir.graph import Node, Value
from flambeau.schema.types import FLOAT, INT, FloatType, ListType, TensorType, Type, without_refinement


def numbers(builder: Builder, gradient: Value, like: Type) -> Value:
    """The elements of a tensor of gradients as a number, or as nested lists of a type."""
    graph = builder.graph
    depth, element = 0, like
    while isinstance(element, ListType):
        depth, element = depth + 1, element.element
    if not isinstance(element, FloatType):
        raise NotDifferentiableError(f"numbers of the type {element.annotation} have no derivative in graphs")
    if not isinstance(like, ListType):
        return graph.insert("aten::Float", [gradient], [FLOAT]).result()
    back = graph.insert("prim::ListConstruct", (), [like]).result()
    zero = builder.constant(0)
    length = graph.insert("aten::size", [gradient, zero], [INT]).result()
    with counted(builder, length) as index:
        part = builder.operators.select(builder.proxy(gradient), 0, builder.proxy(index)).value
        append(builder, back, numbers(builder, part, like.element))
    return back


@node_gradients("prim::tolist")
def _as_list(builder: Builder, node: Node, gradients: Gradients) -> Gradients:
    """The gradient of a tensor that became numbers: a tensor of theirs."""
    [gradient], tensor = gradients, node.operand(0)
    assert gradient is not None
    assert isinstance(tensor.static_type, TensorType)
    dtype = tensor.static_type.dtype
    if dtype is None or dtype.is_complex:
        raise NotDifferentiableError("tolist() of a tensor of unknown dtype, or of complex numbers, has no derivative")
    f = builder.operators
    if not isinstance(gradient.static_type, ListType):
        return [f.full_like(builder.proxy(tensor), builder.proxy(gradient)).value, *[None] * (len(node.operands) - 1)]
    back: Value = f.zeros_like(builder.proxy(tensor)).value
    builder.sizes.set(back, builder.sizes.of(tensor))
    _store(builder, back, gradient)
    return [back, *[None] * (len(node.operands) - 1)]


def _store(builder: Builder, target: Value, items: Value) -> None:
    """Write the numbers of nested lists to a tensor of as many axes."""
    with counted(builder, length_of(builder, items)) as index:
        item = item_of(builder, items, index)
        element = builder.operators.select(builder.proxy(target), 0, builder.proxy(index))
        if isinstance(item.static_type, ListType):
            _store(builder, element.value, item)
        else:
            builder.call("aten::fill_", (element, builder.proxy(item)), {})


@node_gradients("aten::as_tensor")
def _of_numbers(builder: Builder, node: Node, gradients: Gradients) -> Gradients:
    """The gradient of lists of numbers that became a tensor, or of a tensor that was converted."""
    [gradient], data = gradients, node.operand(0)
    assert gradient is not None
    rest = [None] * (len(node.operands) - 1)
    if isinstance(data.static_type, TensorType):
        return [fitted(builder, builder.proxy(gradient), data), *rest]
    return [numbers(builder, gradient, without_refinement(data.static_type)), *rest]


@list_gradients("aten::tensor")
def _of_list(builder: Builder, node: Node, gradients: Gradients) -> Gradients:
    return _of_numbers(builder, node, gradients)


@list_gradients("aten::copy", "aten::list")
def _copied(builder: Builder, node: Node, gradients: Gradients) -> Gradients:
    """The gradient of a list that was copied: of the same items."""
    return gradients


@list_gradients("aten::sum")
def _total(builder: Builder, node: Node, gradients: Gradients) -> Gradients:
    """The gradient of a sum of numbers, for each of them, and of what it begins with."""
    [gradient], items = gradients, node.operand(0)
    assert gradient is not None
    back = empty_like(builder, items)
    with counted(builder, length_of(builder, builder.use(items))):
        append(builder, back, gradient)
    return [back, *[gradient] * (len(node.operands) - 1)]


@list_gradients("aten::slice")
def _part(builder: Builder, node: Node, gradients: Gradients) -> Gradients:
    """The gradient of a part of a list: zeros for the items left out."""
    [gradient], items = gradients, node.operand(0)
    assert gradient is not None
    back, graph = zeros_of_items(builder, builder.use(items)), builder.graph
    ints = ListType(INT)
    positions = graph.insert("prim::rangelist", [length_of(builder, back)], [ints]).result()
    taken = graph.insert("aten::slice", [positions, *map(builder.use, node.operands[1:])], [ints]).result()
    with counted(builder, length_of(builder, gradient)) as index:
        position, part = item_of(builder, taken, index), item_of(builder, gradient, index)
        graph.insert("aten::_set_item", [back, position, part], [back.static_type])
    return [back, *[None] * (len(node.operands) - 1)]


@list_gradients("aten::add")
def _joined(builder: Builder, node: Node, gradients: Gradients) -> Gradients:
    """The gradients of two lists that were put together."""
    [gradient], graph = gradients, builder.graph
    assert gradient is not None
    none, one = builder.constant(None), builder.constant(1)
    length = length_of(builder, builder.use(node.operand(0)))
    type_ = without_refinement(gradient.static_type)
    parts = [(none, length), (length, none)]
    return [graph.insert("aten::slice", [gradient, *part, one], [type_]).result() for part in parts]


@list_gradients("aten::mul")
def _repeated(builder: Builder, node: Node, gradients: Gradients) -> Gradients:
    """The gradient of a list that was repeated: the sum of those of the repetitions."""
    [gradient], graph = gradients, builder.graph
    assert gradient is not None
    operand_index = 0 if isinstance(node.operand(0).static_type, ListType) else 1
    items, count = node.operand(operand_index), builder.use(node.operand(1 - operand_index))
    total, type_ = zeros_of_items(builder, builder.use(items)), without_refinement(gradient.static_type)
    length, one = length_of(builder, total), builder.constant(1)
    with counted(builder, count) as index:
        start = (builder.proxy(index) * builder.proxy(length)).value
        end = (builder.proxy(start) + builder.proxy(length)).value
        part = graph.insert("aten::slice", [gradient, start, end, one], [type_]).result()
        added = total_of(builder, total, part)
        with counted(builder, length) as item:
            graph.insert("aten::_set_item", [total, item, item_of(builder, added, item)], [type_])
    results: list[Value | None] = [None, None]
    results[operand_index] = total
    return results


@list_gradients("prim::max", "prim::min")
def _extreme(builder: Builder, node: Node, gradients: Gradients) -> Gradients:
    """The gradient of the largest number of a list: all of it to the first that is as large."""
    if len(node.operands) > 1:
        raise NotDifferentiableError("the larger one of two lists has no derivative in graphs")
    [gradient], items, graph = gradients, node.operand(0), builder.graph
    assert gradient is not None
    back = zeros_of_items(builder, builder.use(items))
    searched = [builder.use(items), builder.use(node.result())]
    index_value = graph.insert("aten::index", searched, [INT]).result()
    graph.insert("aten::_set_item", [back, index_value, gradient], [back.static_type])
    return [back]
