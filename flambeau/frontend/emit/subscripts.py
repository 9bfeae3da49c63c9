"""Subscripts: items and slices of lists, dicts, texts and tuples; those of tensors are in `tensor_subscripts`."""

from __future__ import annotations

from flambeau.frontend.emit.builtins.iterables import RangeValue
from flambeau.frontend.emit.container_subscripts import constant_int, subscripted
from flambeau.frontend.emit.implicit_conversions import pack_tuple, unpack_tuple
from flambeau.frontend.emit.numpy.index_tricks import IndexTrick
from flambeau.frontend.emit.numpy.reversed_views import ReversedView, reversed_view
from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.emit.tensor_subscripts import emit_index, load_tensor_item
from flambeau.frontend.emit.values.attribute_advice import MAY_BE_NONE
from flambeau.frontend.emit.values.simple_value import SimpleValue, tuple_item
from flambeau.frontend.emit.values.slice_values import SliceValue
from flambeau.frontend.emit.values.sugared import Emitter, Given, Sugared
from flambeau.frontend.trees.tree_views import Subscript
from flambeau.ir.graph import Value
from flambeau.schema.shown_type import shown_type
from flambeau.schema.types import (
    INT,
    DictType,
    ListType,
    NamedType,
    OptionalType,
    StringType,
    TensorType,
    TupleType,
    Type,
)
from flambeau.util.errors import CompileError

OUT_OF_RANGE = "Tuple index out of range. Tuple is length {length} and index is {index}"
DIMENSIONS = "Tuple index out of range: shape[{index}] of an array with {length} dimension(s)"
UNRESOLVED = "Cannot index into a {type} with a non-integer literal because we cannot resolve the output type"


def emit_subscript(e: Emitter, tree: Subscript, hint: Type | None) -> Sugared:
    """`owner[indices]`."""
    owner = e.sugared(tree.value)
    if isinstance(owner, ReversedView):
        owner = SimpleValue(owner.as_value(e, tree.value.range))
    if not isinstance(owner, SimpleValue):
        if isinstance(owner, IndexTrick):
            return owner.subscript(e, tree.range, tree.indices)
        if isinstance(owner, RangeValue) or len(tree.indices) == 1:
            return owner.item(e, tree.range, e.value(tree.indices[0]))
        raise CompileError(f"'{owner.kind}' object is not subscriptable", tree.range)
    value = owner.value
    if isinstance(value.static_type, TensorType):
        item, steps = load_tensor_item(e, tree.range, value, tree.indices)
        return reversed_view(e, tree.range, value, item, steps) if steps else SimpleValue(item)
    if len(tree.indices) != 1:
        index: Sugared = SimpleValue(pack_tuple(e, [e.value(i) for i in tree.indices]))
    else:
        index = emit_index(e, tree.indices[0])
    result = subscripted(e, tree, value, index, hint)
    if result is not None:
        return result
    return SimpleValue(_item(e, tree, value, index))


def _item(e: Emitter, tree: Subscript, value: Value, index: Sugared) -> Value:
    type_, where = value.static_type, tree.range
    if isinstance(type_, TupleType):
        return _tuple_item(e, tree, value, type_, index)
    if isinstance(index, SliceValue):
        if isinstance(type_, ListType | StringType):
            bounds = [b if b is not None else e.constant(None) for b in (index.start, index.stop)]
            return call_operator(e, where, "aten::slice", [value, *bounds, index.step or e.constant(1)])
        raise CompileError(f"'{shown_type(type_)}' object is not subscriptable with a slice", where)
    position = index.as_value(e, tree.indices[0].range)
    if isinstance(type_, NamedType):
        method = SimpleValue(value).attribute(e, where, "__getitem__")
        return method.call(e, where, [Given(position, where)], ()).as_value(e, where)
    if isinstance(type_, ListType | DictType | StringType):
        return call_operator(e, where, "aten::__getitem__", [value, position])
    advice = f".{MAY_BE_NONE}" if isinstance(type_, OptionalType) else ""
    raise CompileError(f"'{shown_type(type_)}' object is not subscriptable{advice}", where)


def _tuple_item(e: Emitter, tree: Subscript, value: Value, type_: TupleType, index: Sugared) -> Value:
    where, length = tree.range, len(type_.elements)
    if isinstance(index, SliceValue):
        bounds = [(b, constant_int(b)) for b in (index.start, index.stop, index.step)]
        if any(b is not None and constant is None for b, constant in bounds):
            raise CompileError(UNRESOLVED.format(type=type_.annotation), where)
        step = bounds[2][1]
        if step == 0:
            raise CompileError("slice step cannot be zero", where)
        items = unpack_tuple(e, value)[slice(bounds[0][1], bounds[1][1], step)]
        return pack_tuple(e, items)
    position = index.as_value(e, tree.indices[0].range)
    if position.static_type != INT:
        raise CompileError("tuple index must be an integer", where)
    constant = constant_int(position)
    if constant is not None:
        if not -length <= constant < length:
            text = DIMENSIONS if _are_sizes(value) else OUT_OF_RANGE
            raise CompileError(text.format(length=length, index=constant), where)
        return tuple_item(e, value, constant % length)
    if not type_.elements or any(t != type_.elements[0] for t in type_.elements):
        raise CompileError(UNRESOLVED.format(type=type_.annotation), where)
    return e.emit("prim::TupleIndex", (value, position), type_.elements[0])


def subscript_values(e: Emitter, tree: Subscript) -> Value:
    """The index of a list, dict or object: one value, or a tuple of several."""
    values = [e.value(i) for i in tree.indices]
    return values[0] if len(values) == 1 else pack_tuple(e, values)


def _are_sizes(value: Value) -> bool:
    """Whether a tuple is the shape of an array."""
    node = value.defining_node
    items = () if node is None else [item.defining_node for item in node.operands]
    return bool(items) and all(item is not None and item.op == "aten::size" for item in items)
