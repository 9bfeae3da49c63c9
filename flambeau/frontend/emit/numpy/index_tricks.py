"""`np.r_`, `np.c_`, `np.mgrid`, `np.ogrid`: subscripts that make arrays; and `np.ix_`.

np.r_[x, 1.0, 0:3]        →    cat of %x, a number as an array, and arange(0, 3)
np.mgrid[0:2, 0:3:4j]     →    arange(2) and arange(4) * %step, each spread over the grid, and a stack of them
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from flambeau.frontend.emit.binary_operators import binary
from flambeau.frontend.emit.builtins.library_functions import MAKES_ARRAY
from flambeau.frontend.emit.implicit_conversions import pack_list, pack_tuple
from flambeau.frontend.emit.numpy.array_promotion import converted, dtype_and_rank, is_array, promoted, result_type
from flambeau.frontend.emit.numpy.numpy_creation import numpy_creation
from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.emit.values.sugared import Emitter, Given, Sugared
from flambeau.frontend.trees.tree_views import Expr, SliceExpr
from flambeau.ir.graph import Value
from flambeau.schema.array_type import array_of
from flambeau.schema.dtype import bool_, float64, int64
from flambeau.schema.types import COMPLEX, INT, TENSOR, ListType
from flambeau.util.errors import CompileError
from flambeau.util.instead import instead
from flambeau.util.record import dataclass
from flambeau.util.source import SourceRange

SLICES: Final = "np.{name} takes slices, start:stop or start:stop:step, with stop written out"
PARTS: Final = "np.{name} takes arrays of one or two axes, numbers and slices here"
PLACES: Final = "np.ix_ takes arrays, or lists, of one axis"
_OF_TENSORS: Final = {
    "r_": instead("{code}", "flambeau.cat((x, x))", of="np.r_[x, x]", given="x: Tensor"),
    "c_": instead("{code}", "flambeau.column_stack((x, x))", of="np.c_[x, x]", given="x: Tensor"),
    "mgrid": instead(
        "{code}", "flambeau.stack(flambeau.meshgrid(flambeau.arange(2), flambeau.arange(3), indexing=\"ij\"))",
        of="np.mgrid[0:2, 0:3]", given="x: Tensor", shown="flambeau.meshgrid",
    ),
    "ogrid": instead(
        "{code}", "flambeau.arange(2)", of="np.ogrid[0:2]", given="x: Tensor", shown="flambeau.arange(n)[:, None]",
    ),
    "ix_": "x[rows][:, columns]",
}  # fmt: skip
"""What to write in a program of tensors."""


def _check_arrays(e: Emitter, where: SourceRange, name: str) -> None:
    if not e.arrays:
        raise CompileError(MAKES_ARRAY.format(name=name, instead=_OF_TENSORS[name]), where)


@dataclass(slots=True)
class IndexTrick(Sugared):
    """`np.r_`, `np.c_`, `np.s_`, `np.mgrid` and their like, which are indexed."""

    name: str

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return f"np.{self.name}"

    def subscript(self, e: Emitter, where: SourceRange, indices: Sequence[Expr]) -> Sugared:
        """The array, or arrays, that a subscript makes. Raises CompileError for what it does not take, and where a
        program has tensors.
        """
        _check_arrays(e, where, self.name)
        return SimpleValue(_TRICKS[self.name](e, where, self.name, indices))


def _bounds(e: Emitter, where: SourceRange, name: str, tree: Expr) -> tuple[Value, Value, Value]:
    """Start, stop and step of a slice."""
    if not isinstance(tree, SliceExpr) or tree.upper is None:
        raise CompileError(SLICES.format(name=name), where)
    start = e.constant(0) if tree.lower is None else e.value(tree.lower)
    return start, e.value(tree.upper), e.constant(1) if tree.step is None else e.value(tree.step)


def _numbers(e: Emitter, where: SourceRange, name: str, tree: Expr) -> Value:
    """The numbers of a slice by itself: so many of them where the step is a complex number."""
    start, stop, step = _bounds(e, where, name, tree)
    if step.static_type == COMPLEX:
        return _counted(e, where, start, stop, step)
    return _made(e, where, np.arange, [start, stop, step])


def _counted(e: Emitter, where: SourceRange, start: Value, stop: Value, step: Value) -> Value:
    """So many floats from a start on: `k * step + start`, as grids have them, which `arange` adds up otherwise."""
    way = binary(e, where, "-", stop, start)
    if step.static_type == COMPLEX:
        count = call_operator(e, where, "aten::Int", [call_operator(e, where, "prim::abs", [step])])
        gaps = call_operator(e, where, "prim::max", [binary(e, where, "-", count, e.constant(1)), e.constant(1)])
        step = binary(e, where, "/", way, gaps)
    else:
        count = call_operator(e, where, "aten::ceil", [binary(e, where, "/", way, step)])
    numbers = converted(e, _made(e, where, np.arange, [count]), float64)
    return binary(e, where, "+", binary(e, where, "*", numbers, step), start)


def _grid(e: Emitter, where: SourceRange, name: str, indices: Sequence[Expr]) -> list[Value]:
    """The numbers of several slices, all of one dtype."""
    bounds = [_bounds(e, where, name, index) for index in indices]
    if all(value.static_type == INT for values in bounds for value in values):
        return [_made(e, where, np.arange, values) for values in bounds]
    return [_counted(e, where, *values) for values in bounds]


def _made(e: Emitter, where: SourceRange, function: Callable[..., Any], values: Sequence[Value]) -> Value:
    """What a function of NumPy that makes arrays gives."""
    maker = numpy_creation(function)
    assert maker is not None
    return maker.call(e, where, [Given(value, where) for value in values], ()).as_value(e, where)


def _as_axis(e: Emitter, where: SourceRange, numbers: Value, axis: int, rank: int) -> Value:
    """Numbers along one of so many axes."""
    sizes = [e.constant(-1 if k == axis else 1) for k in range(rank)]
    return call_operator(e, where, "aten::reshape", [numbers, pack_list(e, sizes, INT)])


def _open_grid(e: Emitter, where: SourceRange, name: str, indices: Sequence[Expr]) -> Value:
    """Arrays that broadcast to the grid: of one slice its numbers."""
    if len(indices) == 1:
        return _numbers(e, where, name, indices[0])
    numbers = _grid(e, where, name, indices)
    return pack_tuple(e, [_as_axis(e, where, part, k, len(numbers)) for k, part in enumerate(numbers)])


def _dense_grid(e: Emitter, where: SourceRange, name: str, indices: Sequence[Expr]) -> Value:
    """The coordinates of the places of the grid, along the first axis; of one slice its numbers."""
    if len(indices) == 1:
        return _numbers(e, where, name, indices[0])
    numbers = _grid(e, where, name, indices)
    sizes = pack_list(e, [call_operator(e, where, "aten::size", [part, e.constant(0)]) for part in numbers], INT)
    axes = [_as_axis(e, where, part, k, len(numbers)) for k, part in enumerate(numbers)]
    spread = [call_operator(e, where, "aten::expand", [part, sizes]) for part in axes]
    return call_operator(e, where, "aten::stack", [pack_list(e, spread, TENSOR), e.constant(0)])


def _parts(e: Emitter, where: SourceRange, name: str, indices: Sequence[Expr]) -> list[Value]:
    """The parts of `np.r_` or `np.c_` as arrays of one dtype, to which numbers of Python give way."""
    values = [_numbers(e, where, name, i) if isinstance(i, SliceExpr) else e.value(i) for i in indices]
    parts = [_part(e, where, name, value, tree) for value, tree in zip(values, indices, strict=True)]
    deciding = [p if isinstance(v.static_type, ListType) else v for v, p in zip(values, parts, strict=True)]
    return promoted(e, where, parts, result_type(where, *deciding))


def _part(e: Emitter, where: SourceRange, name: str, value: Value, tree: Expr) -> Value:
    """A part as an array."""
    if is_array(value):
        return value
    part = _made(e, where, np.asarray, [value])
    if dtype_and_rank(part, where)[1] > 1:
        raise CompileError(PARTS.format(name=name), tree.range)
    return part if isinstance(value.static_type, ListType) else _as_axis(e, where, part, 0, 1)


def _in_a_row(e: Emitter, where: SourceRange, name: str, indices: Sequence[Expr]) -> Value:
    """Parts behind each other."""
    parts = _parts(e, where, name, indices)
    return call_operator(e, where, "aten::cat", [pack_list(e, parts, TENSOR), e.constant(0)])


def _in_columns(e: Emitter, where: SourceRange, name: str, indices: Sequence[Expr]) -> Value:
    """Parts side by side: those of one axis are columns."""
    parts = _parts(e, where, name, indices)
    columns = [_as_axis(e, where, p, 0, 2) if dtype_and_rank(p, where)[1] == 1 else p for p in parts]
    return call_operator(e, where, "aten::cat", [pack_list(e, columns, TENSOR), e.constant(1)])


@dataclass(slots=True)
class OpenMesh(Sugared):
    """`np.ix_`: places along axes, which together name the elements where they cross."""

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return "function np.ix_"

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """A tuple of arrays that broadcast against each other. Raises CompileError for what is no list of places."""
        _check_arrays(e, where, "ix_")
        if keywords or not args:
            raise CompileError(PLACES, where)
        axes = []
        for k, argument in enumerate(args):
            is_list = isinstance(argument.value.static_type, ListType)
            index = _made(e, where, np.asarray, [argument.value]) if is_list else argument.value
            if not is_array(index) or dtype_and_rank(index, where)[1] != 1:
                raise CompileError(PLACES, argument.where)
            if dtype_and_rank(index, where)[0] is bool_:
                index = call_operator(e, where, "aten::nonzero", [index])
                index.set_type(array_of(int64, 2))
            axes.append(_as_axis(e, where, index, k, len(args)))
        return SimpleValue(pack_tuple(e, axes))


_TRICKS: Final = {"r_": _in_a_row, "c_": _in_columns, "mgrid": _dense_grid, "ogrid": _open_grid}
_OBJECTS: Final = {type(getattr(np, name)): name for name in _TRICKS}


def index_trick(value: Any) -> Sugared | None:
    """What such an object of NumPy is in a program; None for any other value."""
    if value is np.ix_:
        return OpenMesh()
    name = _OBJECTS.get(type(value))
    return None if name is None else IndexTrick(name)
