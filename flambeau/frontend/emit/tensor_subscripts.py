"""Items of tensors: views as far as they go, then one operator for what tensors name, and stores there.

x[i, 1:, mask]    →    %s = aten::select(%x, 0, %i)    %t = aten::slice(%s, 0, 1, None, 1)
                       %l = prim::ListConstruct(%none, %mask)    aten::index(%t, %l)

A mask stands for as many dimensions as it has: none for a bool, which makes a new one. How many those are is known when
the program runs, so what follows such an index is at a dimension that is computed.

A slice of an array that goes backwards is the same elements forwards, and a note of the step: `reversed_views` has what
that stands for.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from flambeau.frontend.emit.container_subscripts import constant_int
from flambeau.frontend.emit.implicit_conversions import convert, pack_list, unpack_tuple
from flambeau.frontend.emit.numpy.array_promotion import UNKNOWN_RANK, as_number, converted, is_array, known_rank
from flambeau.frontend.emit.numpy.element_arithmetic import stored
from flambeau.frontend.emit.numpy.spectra import with_spectrum
from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.emit.values.slice_values import SliceValue
from flambeau.frontend.emit.values.sugared import Emitter, Given, Sugared
from flambeau.frontend.trees.tree_views import Dots, Expr, NoneLit, SliceExpr
from flambeau.ir.graph import Value
from flambeau.schema.array_type import ArrayType, array_of
from flambeau.schema.dtype import bool_, int64, uint8
from flambeau.schema.types import (
    BOOL,
    DEVICE,
    INT,
    TENSOR,
    BoolType,
    IntType,
    ListType,
    NoneType,
    NumberType,
    OptionalType,
    StringType,
    TensorType,
    TupleType,
    Type,
)
from flambeau.util.errors import CompileError
from flambeau.util.instead import instead
from flambeau.util.source import SourceRange

BAD_INDEX = (
    "Unsupported operation: indexing tensor with unsupported index type '{type}'. Only ints, bools, slices, lists and "
    "tensors are supported"
)
BACKWARDS = instead(
    "slices of arrays go forward here: {code} has the elements in reverse order, in memory of their own",
    "np.flip(x, 0).copy()", of="x[::-1]", given="x: np.ndarray",
)  # fmt: skip
FIELDS = (
    ". Programs have no arrays with fields: pass each field as an argument, f(a['x'], a['m']), which is an array on "
    "the memory of the whole; a dict says that it is one, d: dict[str, Tensor]"
)
OPTIONAL_TENSORS = OptionalType(TENSOR)
MASKS = (bool_, uint8)
Item = Value | SliceValue | Dots


class TensorItem(NamedTuple):
    """What `tensor[indices]` is."""

    item: Value
    view: Value
    """What views alone make of it."""
    places: Value | None
    """The list of index tensors, if there are any."""
    steps: dict[int, int]
    """The dimensions that are to be read backwards, each with how far a step is."""


def emit_index(e: Emitter, tree: Expr) -> Sugared:
    """One index: a value or a slice."""
    if not isinstance(tree, SliceExpr):
        return e.sugared(tree)
    parts = [None if p is None or isinstance(p, NoneLit) else e.value(p) for p in (tree.lower, tree.upper, tree.step)]
    return SliceValue(parts[0], parts[1], parts[2])


def load_tensor_item(
    e: Emitter, where: SourceRange, tensor: Value, indices: Sequence[Expr]
) -> tuple[Value, dict[int, int]]:
    """`tensor[indices]`: views as far as ints, slices, None and dots go, then one `aten::index` for index tensors.

    With it the dimensions that are to be read backwards.
    """
    item, view, index, steps = tensor_item(e, where, tensor, indices, operator="python::item")
    if is_array(tensor) and index is None and view is not tensor:
        if known_rank(view) is None and not all(isinstance(i, SliceExpr) for i in indices):
            raise CompileError(UNKNOWN_RANK, where)
        return as_number(e, with_spectrum(view, tensor)), steps
    alias = index is None and view is tensor
    return with_spectrum(call_operator(e, where, "aten::alias", [tensor]) if alias else item, tensor), steps


def store_tensor_item(e: Emitter, where: SourceRange, indexed: Indexing, tensor: Value, value: Value) -> None:
    """`tensor[indices] = value`, none of which goes backwards."""
    if is_array(tensor) and is_array(value) and _is_view(value):
        value = call_operator(e, where, "aten::clone", [value])
    source = as_tensor_like(e, where, value, indexed.view)
    if indexed.has_tensors:
        indices, type_ = indexed.part(), indexed.view.static_type
        if isinstance(type_, ArrayType) and type_.dtype is not None:  # `copy_` converts by itself
            source = converted(e, source, type_.dtype)
        call_operator(e, where, "aten::index_put_", [indexed.view, indices, source, e.constant(False)])
    else:
        call_operator(e, where, "aten::copy_", [indexed.view, source, e.constant(False)])


def add_at(e: Emitter, where: SourceRange, tensor: Value, indices: Sequence[Expr], value: Value) -> None:
    """Add to `tensor[indices]`, as often as an index stands there."""
    indexed = Indexing(e, where, tensor, indices)
    if indexed.steps:
        raise CompileError(BACKWARDS, where)
    source = as_tensor_like(e, where, value, indexed.view)
    if indexed.has_tensors:
        call_operator(e, where, "aten::index_put_", [indexed.view, indexed.part(), source, e.constant(True)])
    else:
        call_operator(e, where, "aten::add_", [indexed.view, source])


def tensor_item(
    e: Emitter, where: SourceRange, tensor: Value, indices: Sequence[Expr], operator: str = "aten::index"
) -> TensorItem:
    """`tensor[indices]`, for reading or for `op=`. Raises CompileError for slices that go backwards beside tensors."""
    indexed = Indexing(e, where, tensor, indices)
    if not indexed.has_tensors:
        return TensorItem(indexed.view, indexed.view, None, indexed.steps)
    index = indexed.tensors() if operator == "python::item" else indexed.part()
    view = indexed.view
    return TensorItem(call_operator(e, where, operator, [view, index]), view, index, {})


def as_tensor_like(e: Emitter, where: SourceRange, value: Value, like: Value) -> Value:
    """A number as a tensor of the dtype and device of another; a tensor as it is."""
    if isinstance(value.static_type, TensorType):
        return value
    value = stored(e, where, value, like.static_type.dtype if isinstance(like.static_type, ArrayType) else None)
    dtype = e.emit("prim::dtype", (like,), INT)
    device = e.emit("prim::device", (like,), DEVICE)
    keywords = [
        Given(dtype, where, "dtype"), Given(device, where, "device"), Given(e.constant(False), where, "requires_grad")
    ]  # fmt: skip
    result = call_operator(e, where, "aten::tensor", [value], keywords)
    if isinstance(like.static_type, ArrayType):
        result.set_type(array_of(like.static_type.dtype, 0))
    return result


def _is_view(value: Value) -> bool:
    """Whether an array shows the memory of another, which a store may change while it reads."""
    definition = None if value.defining_node is None else value.defining_node.definition
    return definition is not None and definition.family == "view"


def _is_empty_literal(value: Value) -> bool:
    """Whether a list is `[]` where it stands."""
    node = value.defining_node
    return node is not None and node.op == "prim::ListConstruct" and not node.operands


class Indexing:
    """One `tensor[indices]`: the view that all but index tensors make, and what is left to index it by."""

    def __init__(self, e: Emitter, where: SourceRange, tensor: Value, indices: Sequence[Expr]) -> None:
        self.e, self.where, self.view = e, where, tensor
        self.front: list[Value | None] = []
        """By dimension of the view: an index tensor, which may stand for several, or None for all of one."""
        self.behind: list[Value | None] = []
        """What `front` is for the first dimensions, for the last ones."""
        self.counts: dict[Value, int | Value] = {}
        self.steps: dict[int, int] = {}
        """The dimensions of the view that are to be read backwards, each with how far a step is."""
        flat = [self.as_index(item) for item in _flattened(e, indices)]
        dots = next((k for k, item in enumerate(flat) if isinstance(item, Dots)), len(flat))
        for item in flat[:dots]:
            self.apply(item, self.front, None)
        rest = [item for item in flat[dots:] if not isinstance(item, Dots)]
        for k, item in enumerate(rest):
            self.apply(item, self.behind, rest[k:])
        if self.steps:
            if self.has_tensors or known_rank(self.view) is None:
                raise CompileError(BACKWARDS, where)
            self.steps = {dim % (known_rank(self.view) or 1): step for dim, step in self.steps.items()}

    @property
    def has_tensors(self) -> bool:
        """Whether views alone do not do."""
        return any(tensor is not None for tensor in self.front + self.behind)

    def as_index(self, item: Item) -> Item:
        """An item, a list as the tensor of its elements."""
        type_ = item.static_type if isinstance(item, Value) else None
        if type_ is None or isinstance(type_, NoneType | BoolType | IntType | NumberType):
            return item
        assert isinstance(item, Value)
        inner = type_.element if isinstance(type_, OptionalType) else type_
        if isinstance(inner, ArrayType) and inner.dtype not in (None, bool_, int64):
            return converted(self.e, item, int64)
        if isinstance(inner, TensorType):
            return item
        if not isinstance(inner, ListType):
            hint = FIELDS if isinstance(inner, StringType) else ""
            raise CompileError(BAD_INDEX.format(type=type_.annotation) + hint, self.where)
        depth, element = 1, inner.element
        while isinstance(element, ListType):
            depth, element = depth + 1, element.element
        listed = self.tensor_of(item, element)
        self.counts[listed] = depth if isinstance(element, BoolType) else 1
        if self.e.arrays:
            listed.set_type(array_of(bool_ if isinstance(element, BoolType) else int64, depth))
        return listed

    def tensor_of(self, listed: Value, element: Type) -> Value:
        """The tensor of a list; an empty one says nothing of its dtype: its type does, and `[]` is of places."""
        known = isinstance(element, BoolType | IntType) or _is_empty_literal(listed)
        dtype = (bool_ if isinstance(element, BoolType) else int64).code
        keywords = [Given(self.e.constant(dtype), self.where, "dtype")] if known else []
        return call_operator(self.e, self.where, "aten::tensor", [listed], keywords)

    def apply(self, item: Item, entries: list[Value | None], following: Sequence[Item] | None) -> None:
        """Make the view of one item, and note its entry; `following`: it and those behind it, from the view's end."""
        assert not isinstance(item, Dots)

        def view(name: str, *rest: Value) -> None:
            dim = self.total(map(self.count, entries)) if following is None else self.from_end(item, following)
            self.view = call_operator(self.e, self.where, name, [self.view, dim, *rest])

        if isinstance(item, SliceValue):
            backwards = _step_backwards(item) if is_array(self.view) else 0
            if backwards:
                self.steps[self.kept_dimension(entries, following)] = backwards
                item = _forwards(self.e, self.where, item)
            bounds = [b if b is not None else self.e.constant(None) for b in (item.start, item.stop)]
            view("aten::slice", *bounds, item.step or self.e.constant(1))
            entries.append(None)
        elif isinstance(item.static_type, IntType | NumberType):
            view("aten::select", item)
        elif _makes_dimension(item):
            view("aten::unsqueeze")
            is_bool = isinstance(item.static_type, BoolType)
            listed = [pack_list(self.e, [item], BOOL)] if is_bool else []
            entries.append(call_operator(self.e, self.where, "aten::tensor", listed) if is_bool else None)
        else:
            entries.append(item)

    def kept_dimension(self, entries: list[Value | None], following: Sequence[Item] | None) -> int:
        """The dimension of a slice in the view when all is done; below 0 behind dots."""
        if following is None:
            return len(entries)
        return -sum(isinstance(i, SliceValue) or _makes_dimension(i) for i in following)

    def from_end(self, item: Item, following: Sequence[Item]) -> Value:
        """The dimension of an item behind dots: below 0."""
        named = [i for i in following if not _makes_dimension(i)]
        counts = [self.count(i) if isinstance(i, Value) else 1 for i in named]
        return self.total(counts, start=-_makes_dimension(item), op="aten::sub")

    def count(self, entry: Value | None) -> int | Value:
        """How many dimensions an entry stands for, or an item that makes none."""
        if entry is None or isinstance(entry.static_type, IntType | NumberType):
            return 1
        if isinstance(entry.static_type, ArrayType) and entry.static_type.rank is not None:
            return entry.static_type.rank if entry.static_type.dtype is bool_ else 1
        if entry not in self.counts:
            self.counts[entry] = _dimensions_of(self.e, self.where, entry)
        return self.counts[entry]

    def total(self, counts: Iterable[int | Value], start: int = 0, op: str = "aten::add") -> Value:
        """`start` and some counts, or less them."""
        parts = list(counts)
        constant = sum(p for p in parts if isinstance(p, int))
        result: Value = self.e.constant(start + constant if op == "aten::add" else start - constant)
        for part in parts:
            if isinstance(part, Value):
                result = call_operator(self.e, self.where, op, [result, part])
        return result

    def tensors(self) -> Value:
        """The list of index tensors; what is between those of the front and those behind dots is taken whole."""
        e, where = self.e, self.where
        front, behind = self.front, self.behind
        while front and front[-1] is None:
            front = front[:-1]
        while behind and behind[0] is None:
            behind = behind[1:]
        listed = self.listed(front)
        if not behind:
            return listed
        rank = call_operator(e, where, "aten::dim", [self.view])
        named = self.total(map(self.count, front + behind))
        between = call_operator(e, where, "aten::sub", [rank, named])
        middle = call_operator(e, where, "aten::mul", [self.listed([None]), between])
        listed = call_operator(e, where, "aten::add", [listed, middle])
        return call_operator(e, where, "aten::add", [listed, self.listed(behind)])

    def part(self) -> Value:
        """The list of index tensors that no view stands for.

        A number between what is taken whole and other places is no place beside these: it makes a view.
        """
        listed = self.tensors()
        at = [k for k, tensor in enumerate(self.front) if tensor is not None]
        is_split = bool(self.behind) or (bool(at) and at[-1] - at[0] >= len(at))
        if not is_split or is_array(self.view):
            return listed
        self.view = call_operator(self.e, self.where, "python::part", [self.view, listed])
        return call_operator(self.e, self.where, "python::places", [listed])

    def listed(self, tensors: Sequence[Value | None]) -> Value:
        """A list of tensors and None."""
        return pack_list(self.e, [self.e.constant(None) if t is None else t for t in tensors], OPTIONAL_TENSORS)


def _step_backwards(item: SliceValue) -> int:
    """How far a step is, in a slice that is known to go backwards; else 0."""
    return max(-(constant_int(item.step) or 1), 0) if item.step is not None else 0


def _forwards(e: Emitter, where: SourceRange, backwards: SliceValue) -> SliceValue:
    """The same elements from the first to the last: `x[8:2:-1]` has those of `x[3:9]`."""
    return SliceValue(_behind(e, where, backwards.stop), _behind(e, where, backwards.start), None)


def _behind(e: Emitter, where: SourceRange, bound: Value | None) -> Value | None:
    """The place behind a bound: b + 1, and the end for -1, which is the last element."""
    if bound is None or isinstance(bound.static_type, NoneType):
        return None
    known = constant_int(bound)
    if known is not None:
        return e.constant(sys.maxsize if known == -1 else known + 1)
    if not isinstance(bound.static_type, IntType | NumberType | TensorType):
        raise CompileError(BACKWARDS, where)
    bound = convert(e, bound, INT, implicit=True)
    is_last = call_operator(e, where, "aten::Int", [call_operator(e, where, "aten::eq", [bound, e.constant(-1)])])
    further = call_operator(e, where, "aten::mul", [is_last, e.constant(sys.maxsize)])
    return call_operator(e, where, "aten::add", [call_operator(e, where, "aten::add", [bound, e.constant(1)]), further])


def _makes_dimension(item: Item) -> bool:
    """Whether an item stands for no dimension and makes one: None and bools."""
    return isinstance(item, Value) and isinstance(item.static_type, NoneType | BoolType)


def _dimensions_of(e: Emitter, where: SourceRange, index: Value) -> int | Value:
    """How many dimensions an index tensor stands for: a mask for its own, one of places for one.

    1 + (dim - 1) * int(dtype is bool or uint8), where the type does not say.
    """
    type_ = index.static_type
    if not isinstance(type_, TensorType):
        return 1
    if type_.dtype is not None and type_.dtype not in MASKS:
        return 1

    def call(name: str, *arguments: Value) -> Value:
        return call_operator(e, where, name, arguments)

    dtype = e.emit("prim::dtype", (index,), INT)
    equal = [call("aten::eq", dtype, e.constant(mask.code)) for mask in MASKS]
    is_mask = call("aten::Int", call("aten::__or__", *equal))
    more = call("aten::sub", call("aten::dim", index), e.constant(1))
    return call("aten::add", call("aten::mul", more, is_mask), e.constant(1))


def _flattened(e: Emitter, indices: Sequence[Expr]) -> list[Item]:
    """The indices in order: a tuple as the only index counts as its items."""
    flat: list[Item] = []
    for tree in indices:
        if isinstance(tree, Dots):
            flat.append(tree)
            continue
        index = emit_index(e, tree)
        if isinstance(index, SliceValue):
            flat.append(index)
            continue
        value = index.as_value(e, tree.range)
        flat += unpack_tuple(e, value) if isinstance(value.static_type, TupleType) else [value]
    return flat
