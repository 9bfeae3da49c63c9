"""Gradients of lists as lists: of zeros and of sums, item by item, whatever their lengths."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from flambeau.autodiff.graph_operators import Builder
from flambeau.autodiff.not_differentiable import NotDifferentiableError
from flambeau.ir.graph import Value
from flambeau.schema.dtype import bool_
from flambeau.schema.types import (
    BOOL,
    FLOAT,
    INT,
    FloatType,
    ListType,
    OptionalType,
    TensorType,
    Type,
    without_refinement,
)


def has_real_items(type_: Type) -> bool:
    """Whether a type is that of lists of tensors or floats, or of such lists."""
    if not isinstance(type_, ListType):
        return False
    return isinstance(type_.element, TensorType | FloatType) or has_real_items(type_.element)


def is_optional_tensor(type_: Type) -> bool:
    """Whether a value of a type is a tensor or None. Its gradient is a tensor either way, which broadcasts."""
    return isinstance(type_, OptionalType) and isinstance(type_.element, TensorType)


def gradient_type(value: Value) -> Type:
    """The type of the gradient of a value. Raises NotDifferentiableError for values that hold tensors otherwise than as
    items of lists."""
    type_ = value.static_type
    if isinstance(type_, TensorType):
        return type_.refine(strides=None, requires_grad=None)
    if isinstance(type_, OptionalType) and isinstance(type_.element, TensorType):
        tensor = type_.element
        if tensor.dtype is None or tensor.rank is None:
            return TensorType()
        return tensor.refine(sizes=(None,) * tensor.rank, strides=None, requires_grad=None)
    if isinstance(type_, ListType):
        return without_refinement(type_)
    if any(isinstance(part, TensorType) for part in type_.walk()):
        raise NotDifferentiableError(f"a value of the type {type_.annotation} has no derivative in graphs")
    return FLOAT


@contextmanager
def counted(builder: Builder, length: Value) -> Iterator[Value]:
    """A loop at the insertion point, whose body the block fills: gives the number of the round."""
    goes_on = builder.constant(True, BOOL)
    body = builder.graph.insert("prim::Loop", [length, goes_on], []).add_block()
    index = body.add_parameter(INT)
    with builder.graph.inserting(body):
        yield index
    body.add_return(goes_on)


def length_of(builder: Builder, items: Value) -> Value:
    """How many items a list has."""
    return builder.graph.insert("aten::len", [items], [INT]).result()


def item_of(builder: Builder, items: Value, index: Value, type_: Type | None = None) -> Value:
    """An item of a list, of its element type if no other is given."""
    element = items.static_type.contained[0] if type_ is None else type_
    return builder.graph.insert("aten::__getitem__", [items, index], [element]).result()


def empty_like(builder: Builder, items: Value) -> Value:
    """An empty list of the same element type."""
    return builder.graph.insert("prim::ListConstruct", (), [without_refinement(items.static_type)]).result()


def copied(builder: Builder, items: Value) -> Value:
    """A list of the same items, which nobody changes."""
    return builder.graph.insert("aten::list", [items], [without_refinement(items.static_type)]).result()


def append(builder: Builder, items: Value, item: Value) -> None:
    """Put an item behind those of a list; of a list that was filled a copy, so that none is known to be changed."""
    if isinstance(item.static_type, ListType):
        item = copied(builder, item)
    builder.graph.insert("aten::append", [items, item], [items.static_type])


def zeros(builder: Builder, value: Value) -> Value:
    """The gradient of what has none: zeros of its sizes, 0, or as many of them as a list has items."""
    type_ = value.static_type
    if isinstance(type_, TensorType):
        zero: Value = builder.operators.zeros_like(builder.proxy(value)).value
        builder.sizes.set(zero, builder.sizes.of(value))
        return zero
    if is_optional_tensor(type_):
        return _nothing(builder, gradient_type(value))
    if not isinstance(type_, ListType):
        return builder.constant(0.0)
    if not has_real_items(type_):
        raise NotDifferentiableError(f"a list of {type_.element.annotation} has no derivative in graphs")
    return copied(builder, zeros_of_items(builder, builder.use(value)))


def _nothing(builder: Builder, type_: Type) -> Value:
    """A zero that changes neither the sizes nor the dtype of what it is added to."""
    assert isinstance(type_, TensorType)
    dtype, sizes = (bool_, []) if type_.dtype is None else (type_.dtype, [1] * (type_.rank or 0))
    gradient: Value = builder.operators.zeros(sizes, dtype=dtype).value
    gradient.set_type(type_)
    return gradient


def of_tensor(builder: Builder, gradient: Value, value: Value) -> Value:
    """The gradient of what is a tensor or None, for the tensor that it is: of its sizes and dtype."""
    whole: Value = builder.operators.zeros_like(builder.proxy(value)).value
    return added(builder, whole, gradient, value.static_type)


def added(builder: Builder, first: Value, second: Value, type_: Type) -> Value:
    """The sum of two tensors of which little may be known."""
    return builder.graph.insert("aten::add", [first, second, builder.constant(1)], [type_]).result()


def zeros_of_items(builder: Builder, items: Value) -> Value:
    """A list of zeros like the items of a list that is at hand on the way back."""
    empty = empty_like(builder, items)
    with counted(builder, length_of(builder, items)) as index:
        append(builder, empty, zeros(builder, item_of(builder, items, index)))
    return empty


def total_of(builder: Builder, first: Value, second: Value) -> Value:
    """The sum of two gradients of one value."""
    if not isinstance(first.static_type, ListType):
        total: Value = (builder.proxy(first) + builder.proxy(second)).value
        return total
    empty = empty_like(builder, first)
    with counted(builder, length_of(builder, first)) as index:
        append(builder, empty, total_of(builder, *(item_of(builder, items, index) for items in (first, second))))
    return copied(builder, empty)
