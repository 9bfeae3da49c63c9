"""Slices of arrays that go backwards, `x[::-1]`: NumPy shows the memory backwards, tensors have no such view.

np.sort(x)[::-1]    →    flip of what nobody else has        x[::-1] * w    →    flip where the operator reads it
x[::-1] = y         →    x[:] = flip of y

With a name, or as a result, it is a copy that stands for a view: `ssa.reversed_copies` refuses writes that would tell.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from flambeau.frontend.emit.implicit_conversions import pack_list, unpack_tuple
from flambeau.frontend.emit.numpy.array_promotion import dtype_and_rank, is_array
from flambeau.frontend.emit.numpy.method_calls import AXIS, constant_int
from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.emit.values.sugared import Emitter, Given, Iteration, Sugared
from flambeau.frontend.ssa.reversed_copies import SHOWS
from flambeau.ir.graph import Value
from flambeau.schema.types import INT, NoneType, TupleType
from flambeau.util.errors import CompileError
from flambeau.util.record import dataclass
from flambeau.util.source import SourceRange

FLIPS: Final = ("flip", "flipud", "fliplr", "rot90")
"""Functions of NumPy that show memory backwards."""
PLANE: Final = "np.rot90 takes numbers that are written out: how many quarters, and a pair of two axes"
_READ: Final = ("copy", "sum", "cumsum", "cumprod", "argmax", "argmin", "tolist", "astype", "mean")
"""Methods that give new arrays or numbers."""


def reversed_view(e: Emitter, where: SourceRange, owner: Value, view: Value, steps: dict[int, int]) -> Sugared:
    """What the slice stands for: its elements, if nobody else has the array, else what reads them."""
    result = ReversedView(view, steps)
    return SimpleValue(result.flipped(e, where)) if _is_new(owner) else result


def flipped_view(
    e: Emitter, where: SourceRange, name: str, args: Sequence[Given], keywords: Sequence[Given]
) -> Sugared:
    """`np.flip(x, axis)`, `flipud`, `fliplr` and `rot90`. Raises CompileError for an axis that is not written out."""
    array, *rest = [a.value for a in args]
    _, rank = dtype_and_rank(array, where)
    if name == "rot90":
        return _turned(e, where, array, [*rest, *(k.value for k in keywords)])
    if name != "flip":
        backwards: list[int | None] = [0 if name == "flipud" else 1]
    else:
        axes = rest + [k.value for k in keywords if k.name == "axis"]
        if not axes or isinstance(axes[0].static_type, NoneType):
            return reversed_view(e, where, array, array, dict.fromkeys(range(rank), 1))
        is_tuple = isinstance(axes[0].static_type, TupleType)
        backwards = [constant_int(v) for v in (unpack_tuple(e, axes[0]) if is_tuple else axes[:1])]
    steps = {axis % rank: 1 for axis in backwards if axis is not None and -rank <= axis < rank}
    if len(steps) != len(backwards):
        raise CompileError(AXIS, where)
    return reversed_view(e, where, array, array, steps) if steps else SimpleValue(array)


def _turned(e: Emitter, where: SourceRange, array: Value, rest: Sequence[Value]) -> Sugared:
    """`np.rot90(m, k=1, axes=(0, 1))`: both axes backwards, or the axes exchanged and one of them backwards."""
    _, rank = dtype_and_rank(array, where)
    pair = next((v for v in rest if isinstance(v.static_type, TupleType)), None)
    axes = [0, 1] if pair is None else [constant_int(v) for v in unpack_tuple(e, pair)]
    quarters = next((constant_int(v) for v in rest if v is not pair), 1)
    if quarters is None or len(axes) != 2 or any(a is None or not -rank <= a < rank for a in axes):
        raise CompileError(PLANE, where)
    first, second = [a % rank for a in axes if a is not None]
    if quarters % 2 == 0:
        steps = {first: 1, second: 1} if quarters % 4 else {}
        return reversed_view(e, where, array, array, steps) if steps else SimpleValue(array)
    exchanged = call_operator(e, where, "aten::transpose", [array, e.constant(first), e.constant(second)])
    return reversed_view(e, where, array, exchanged, {first if quarters % 4 == 1 else second: 1})


def read(e: Emitter, meaning: Sugared, where: SourceRange) -> Value:
    """The value of something that is read before anything is written."""
    return meaning.flipped(e, where) if isinstance(meaning, ReversedView) else meaning.as_value(e, where)


def forward_view(e: Emitter, where: SourceRange, view: Value, steps: dict[int, int]) -> Value:
    """The places of a slice that goes backwards from the first to the last in memory, for writes."""
    for dimension, step in steps.items():
        if step > 1:
            size = call_operator(e, where, "aten::size", [view, e.constant(dimension)])
            last = call_operator(e, where, "aten::sub", [size, e.constant(1)])
            first = call_operator(e, where, "aten::remainder", [last, e.constant(step)])
            bounds = [e.constant(dimension), first, e.constant(None), e.constant(step)]
            view = call_operator(e, where, "aten::slice", [view, *bounds])
    return view


def turned(e: Emitter, where: SourceRange, value: Value, view: Value, steps: dict[int, int]) -> Value:
    """What is written to `forward_view`: an array backwards along the dimensions that it has, in memory of its own."""
    if not is_array(value):
        return value
    ranks = [dtype_and_rank(v, where)[1] for v in (view, value)]
    dims = [d - ranks[0] + ranks[1] for d in steps if d >= ranks[0] - ranks[1]]
    if not dims:
        return call_operator(e, where, "aten::clone", [value])
    return call_operator(e, where, "aten::flip", [value, pack_list(e, [e.constant(d) for d in dims], INT)])


def _is_new(array: Value) -> bool:
    """Whether an array was just made by an operator, so that no name and no other array shows its memory."""
    node = array.defining_node
    definition = None if node is None else node.definition
    return definition is not None and not any(r.alias is not None for r in definition.schema.returns)


@dataclass(slots=True)
class ReversedView(Sugared):
    """A slice that goes backwards, of an array that others may have."""

    view: Value
    steps: dict[int, int]
    copy: Value | None = None
    """What stands for it where it is a value."""

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return "slice that goes backwards"

    def as_value(self, e: Emitter, where: SourceRange) -> Value:
        """A copy that stands for the view."""
        if self.copy is not None:
            return self.copy
        value = self.copy = self.flipped(e, where)
        node = value.defining_node
        while node is not None and node.op != "aten::flip":
            node = node.operand(0).defining_node
        assert node is not None
        node.attributes[SHOWS] = True
        return value

    def stored_value(self, e: Emitter, where: SourceRange) -> Value | None:
        """The copy."""
        return self.as_value(e, where)

    def length(self, e: Emitter, where: SourceRange) -> Value:
        """How many rows or numbers there are."""
        return SimpleValue(self.as_value(e, where)).length(e, where)

    def iterate(self, e: Emitter, where: SourceRange) -> Iteration:
        """The rows or numbers, the last one first."""
        return SimpleValue(self.as_value(e, where)).iterate(e, where)

    def attribute(self, e: Emitter, where: SourceRange, name: str) -> Sugared:
        """An attribute or a method of the array backwards."""
        value = self.flipped(e, where) if name in _READ else self.as_value(e, where)
        return SimpleValue(value).attribute(e, where, name)

    def flipped(self, e: Emitter, where: SourceRange) -> Value:
        """The elements in that order, in an array of their own."""
        dims = pack_list(e, [e.constant(d) for d in self.steps], INT)
        value = call_operator(e, where, "aten::flip", [self.view, dims])
        for dimension, step in self.steps.items():
            if step > 1:
                bounds = [e.constant(dimension), e.constant(None), e.constant(None), e.constant(step)]
                value = call_operator(e, where, "aten::slice", [value, *bounds])
        return value
