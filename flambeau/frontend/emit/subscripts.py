"""Subscripts: items and slices of lists, dicts, texts, tuples and tensors, and stores into tensors.

x[i, 1:, mask]    →    %s = aten::select(%x, 0, %i)    %t = aten::slice(%s, 0, 1, None, 1)
                       %l = prim::ListConstruct(%none, %mask)    aten::index(%t, %l)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flambeau.frontend.emit.conversions import pack_list, pack_tuple, unpack_tuple
from flambeau.frontend.emit.emission import Emission
from flambeau.frontend.emit.held import constant_int, held_item
from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.trees.views import Dots, Expr, NoneLit, SliceExpr, Subscript
from flambeau.frontend.values.iterables import RangeValue
from flambeau.frontend.values.simple_value import SimpleValue, shown, tuple_item
from flambeau.frontend.values.slices import SliceValue
from flambeau.frontend.values.sugared import Given, Sugared
from flambeau.ir.value import Value
from flambeau.schema.types import (
    INT,
    TENSOR,
    DictType,
    IntType,
    ListType,
    NamedType,
    NoneType,
    NumberType,
    OptionalType,
    StringType,
    TensorType,
    TupleType,
    Type,
)
from flambeau.util.errors import CompileError
from flambeau.util.source import SourceRange

OUT_OF_RANGE = "Tuple index out of range. Tuple is length {length} and index is {index}"
UNRESOLVED = "Cannot index into a {type} with a non-integer literal because we cannot resolve the output type"
BAD_INDEX = (
    "Unsupported operation: indexing tensor with unsupported index type '{type}'. Only ints, slices, lists and tensors "
    "are supported"
)
OPTIONAL_TENSORS = OptionalType(TENSOR)


def emit_subscript(e: Emission, tree: Subscript, hint: Type | None) -> Sugared:
    """`owner[indices]`."""
    owner = e.sugared(tree.value)
    if not isinstance(owner, SimpleValue):
        if isinstance(owner, RangeValue) or len(tree.indices) == 1:
            return owner.item(e, tree.range, e.value(tree.indices[0]))
        raise CompileError(f"'{owner.kind}' object is not subscriptable", tree.range)
    value = owner.value
    if isinstance(value.type, TensorType):
        return SimpleValue(load_tensor_item(e, tree.range, value, tree.indices))
    if len(tree.indices) != 1:
        index: Sugared = SimpleValue(pack_tuple(e, [e.value(i) for i in tree.indices]))
    else:
        index = emit_index(e, tree.indices[0])
    held = held_item(e, tree, value, index, hint)
    if held is not None:
        return held
    return SimpleValue(_item(e, tree, value, index))


def emit_index(e: Emission, tree: Expr) -> Sugared:
    """One index: a value or a slice."""
    if not isinstance(tree, SliceExpr):
        return e.sugared(tree)
    parts = [None if p is None or isinstance(p, NoneLit) else e.value(p) for p in (tree.lower, tree.upper, tree.step)]
    return SliceValue(parts[0], parts[1], parts[2])


def _item(e: Emission, tree: Subscript, value: Value, index: Sugared) -> Value:
    type_, where = value.type, tree.range
    if isinstance(type_, TupleType):
        return _tuple_item(e, tree, value, type_, index)
    if isinstance(index, SliceValue):
        if isinstance(type_, ListType | StringType):
            bounds = [b if b is not None else e.constant(None) for b in (index.start, index.stop)]
            return call_operator(e, where, "aten::slice", [value, *bounds, index.step or e.constant(1)])
        raise CompileError(f"'{shown(type_)}' object is not subscriptable with a slice", where)
    position = index.as_value(e, tree.indices[0].range)
    if isinstance(type_, NamedType):
        method = SimpleValue(value).attribute(e, where, "__getitem__")
        return method.call(e, where, [Given(position, where)], ()).as_value(e, where)
    if isinstance(type_, ListType | DictType | StringType):
        return call_operator(e, where, "aten::__getitem__", [value, position])
    raise CompileError(f"'{shown(type_)}' object is not subscriptable", where)


def _tuple_item(e: Emission, tree: Subscript, value: Value, type_: TupleType, index: Sugared) -> Value:
    where, length = tree.range, len(type_.elements)
    if isinstance(index, SliceValue):
        bounds = [(b, constant_int(b)) for b in (index.start, index.stop, index.step)]
        if any(b is not None and known is None for b, known in bounds):
            raise CompileError(UNRESOLVED.format(type=type_.annotation), where)
        step = bounds[2][1]
        if step == 0:
            raise CompileError("slice step cannot be zero", where)
        items = unpack_tuple(e, value)[slice(bounds[0][1], bounds[1][1], step)]
        return pack_tuple(e, items)
    position = index.as_value(e, tree.indices[0].range)
    if position.type != INT:
        raise CompileError("tuple index must be an integer", where)
    known = constant_int(position)
    if known is not None:
        if not -length <= known < length:
            raise CompileError(OUT_OF_RANGE.format(length=length, index=known), where)
        return tuple_item(e, value, known % length)
    if not type_.elements or any(t != type_.elements[0] for t in type_.elements):
        raise CompileError(UNRESOLVED.format(type=type_.annotation), where)
    return e.emit("prim::TupleIndex", (value, position), type_.elements[0])


# -- tensors ----------------------------------------------------------------------------------------------------------


def load_tensor_item(e: Emission, where: SourceRange, tensor: Value, indices: Sequence[Expr]) -> Value:
    """`tensor[indices]`: views as far as ints, slices, None and dots go, then one `aten::index` for index tensors."""
    view, tensors = _basic_indexing(e, where, tensor, indices)
    if not tensors:
        return call_operator(e, where, "aten::alias", [tensor]) if view is tensor else view
    return call_operator(e, where, "aten::index", [view, _index_list(e, where, view, tensors)])


def store_tensor_item(e: Emission, target: Subscript, tensor: Value, value: Value) -> None:
    """`tensor[indices] = value`."""
    where = e.graph.current_range or target.range
    view, tensors = _basic_indexing(e, where, tensor, target.indices)
    source = as_tensor_like(e, where, value, view)
    if tensors:
        index = _index_list(e, where, view, tensors)
        call_operator(e, where, "aten::index_put_", [view, index, source, e.constant(False)])
    else:
        call_operator(e, where, "aten::copy_", [view, source, e.constant(False)])


def as_tensor_like(e: Emission, where: SourceRange, value: Value, like: Value) -> Value:
    """A number as a tensor of the dtype and device of another; a tensor as it is."""
    if isinstance(value.type, TensorType):
        return value
    dtype = e.emit("prim::dtype", (like,), INT)
    device = SimpleValue(like).attribute(e, where, "device").as_value(e, where)
    keywords = [
        Given(dtype, where, "dtype"), Given(device, where, "device"), Given(e.constant(False), where, "requires_grad")
    ]  # fmt: skip
    return call_operator(e, where, "aten::tensor", [value], keywords)


def _index_list(e: Emission, where: SourceRange, view: Value, tensors: Mapping[int, Value]) -> Value:
    """The index tensors by dimension; those behind dots count from the end, whose number only the run tells."""
    front = _listed(e, [tensors.get(d) for d in range(max((d for d in tensors if d >= 0), default=-1) + 1)])
    behind = [d for d in tensors if d < 0]
    if not behind:
        return front
    count = -min(behind)
    rank = call_operator(e, where, "aten::dim", [view])
    known = e.constant(count + max((d + 1 for d in tensors if d >= 0), default=0))
    between = call_operator(e, where, "aten::sub", [rank, known])
    middle = call_operator(e, where, "aten::mul", [_listed(e, [None]), between])
    back = _listed(e, [tensors.get(d) for d in range(-count, 0)])
    return call_operator(e, where, "aten::add", [call_operator(e, where, "aten::add", [front, middle]), back])


def _listed(e: Emission, tensors: Sequence[Value | None]) -> Value:
    return pack_list(e, [e.constant(None) if t is None else t for t in tensors], OPTIONAL_TENSORS)


def _basic_indexing(
    e: Emission, where: SourceRange, tensor: Value, indices: Sequence[Expr]
) -> tuple[Value, dict[int, Value]]:
    """The view that all but index tensors make, and the index tensors by dimension of that view.

    Behind dots dimensions count from the end.
    """
    flat = _flattened(e, indices)
    view, dim, after_dots = tensor, 0, False
    tensors: dict[int, Value] = {}
    for position, index in enumerate(flat):
        if isinstance(index, Dots):
            after_dots = True
            continue
        if after_dots:
            # Counted from the end: how many dimensions this index and those behind it speak of.
            dim = -sum(1 for i in flat[position:] if not isinstance(i, Dots) and not _is_none(i))
        if isinstance(index, SliceValue):
            bounds = [b if b is not None else e.constant(None) for b in (index.start, index.stop)]
            arguments = [view, e.constant(dim), *bounds, index.step or e.constant(1)]
            view = call_operator(e, where, "aten::slice", arguments)
            dim += 1
        elif _is_none(index):
            view = call_operator(e, where, "aten::unsqueeze", [view, e.constant(dim - 1 if after_dots else dim)])
            dim += 1
        elif isinstance(index.type, IntType | NumberType):
            view = call_operator(e, where, "aten::select", [view, e.constant(dim), index])
        elif after_dots:
            kept = [i for i in flat[position:] if not isinstance(getattr(i, "type", None), IntType | NumberType)]
            tensors[-len(kept)] = _index_tensor(e, where, index)
        else:
            tensors[dim] = _index_tensor(e, where, index)
            dim += 1
    return view, tensors


def _is_none(index: Value | SliceValue | Dots) -> bool:
    return isinstance(index, Value) and isinstance(index.type, NoneType)


def _index_tensor(e: Emission, where: SourceRange, index: Value) -> Value:
    type_ = index.type
    if isinstance(type_, OptionalType):
        type_ = type_.element
    if isinstance(type_, TensorType):
        return index
    if isinstance(type_, ListType):
        return call_operator(e, where, "aten::tensor", [index])
    raise CompileError(BAD_INDEX.format(type=index.type.annotation), where)


def _flattened(e: Emission, indices: Sequence[Expr]) -> list[Value | SliceValue | Dots]:
    """The indices in order: a tuple as the only index counts as its items."""
    flat: list[Value | SliceValue | Dots] = []
    for tree in indices:
        if isinstance(tree, Dots):
            flat.append(tree)
            continue
        index = emit_index(e, tree)
        if isinstance(index, SliceValue):
            flat.append(index)
            continue
        value = index.as_value(e, tree.range)
        flat += unpack_tuple(e, value) if isinstance(value.type, TupleType) else [value]
    return flat


def subscript_values(e: Emission, tree: Subscript) -> Value:
    """The index of a list, dict or object: one value, or a tuple of several."""
    values = [e.value(i) for i in tree.indices]
    return values[0] if len(values) == 1 else pack_tuple(e, values)


def tensor_item(
    e: Emission, where: SourceRange, tensor: Value, indices: Sequence[Expr]
) -> tuple[Value, Value, Value | None]:
    """For `tensor[indices] op= v`: the item, the view it is in, and the list of index tensors if there are any."""
    view, tensors = _basic_indexing(e, where, tensor, indices)
    if not tensors:
        return view, view, None
    index = _index_list(e, where, view, tensors)
    return call_operator(e, where, "aten::index", [view, index]), view, index
