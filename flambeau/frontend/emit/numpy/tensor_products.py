"""`np.tensordot`: sums of products over axes that are written out, so that the dimensions of the result are known.

np.tensordot(a, b, axes=([0], [1]))    →    aten::tensordot(%a, %b, [0], [1])
"""

from __future__ import annotations

from typing import Final

from flambeau.frontend.emit.implicit_conversions import pack_list, unpack_tuple
from flambeau.frontend.emit.numpy.array_products import product
from flambeau.frontend.emit.numpy.array_promotion import dtype_and_rank, promoted
from flambeau.frontend.emit.numpy.method_calls import constant_int
from flambeau.frontend.emit.values.sugared import Emitter
from flambeau.ir.graph import Value
from flambeau.schema.array_type import array_of
from flambeau.schema.types import INT, TupleType
from flambeau.util.errors import CompileError
from flambeau.util.source import SourceRange

AXES: Final = "np.tensordot takes axes that are written out: how many, or a pair of axes or of lists of axes"
OUT_OF_RANGE: Final = "np.tensordot: axis {axis} is out of bounds for an array with {rank} dimension(s)"
COUNTS: Final = "shape-mismatch for sum: np.tensordot takes as many axes of the one array as of the other"


def tensordot(e: Emitter, where: SourceRange, a: Value, b: Value, axes: Value | None) -> Value:
    """The sums over some axes of both arrays. Raises CompileError for axes that are not known, or not there."""
    left, right = promoted(e, where, [a, b])
    dtype, rank = dtype_and_rank(left, where)
    other = dtype_and_rank(right, where)[1]
    first, second = _axes(e, where, axes, rank)
    if len(first) != len(second):
        raise CompileError(COUNTS, where)
    for own_axes, count in ((first, rank), (second, other)):
        for axis in own_axes:
            if not -count <= axis < count:
                raise CompileError(OUT_OF_RANGE.format(axis=axis, rank=count), where)
    lists = [pack_list(e, [e.constant(axis) for axis in own_axes], INT) for own_axes in (first, second)]
    result = product(e, where, "tensordot", [left, right], *lists)
    result.set_type(array_of(dtype, rank + other - 2 * len(first)))
    return result


def _axes(e: Emitter, where: SourceRange, axes: Value | None, rank: int) -> tuple[list[int], list[int]]:
    """The axes of both: the last ones of the first and the first ones of the second, if only told how many."""
    count = 2 if axes is None else constant_int(axes)
    if count is not None:
        return list(range(rank - count, rank)), list(range(count))
    assert axes is not None
    pair = _items(e, axes)
    if pair is None or len(pair) != 2:
        raise CompileError(AXES, where)
    first, second = (_numbers(e, where, each) for each in pair)
    return first, second


def _numbers(e: Emitter, where: SourceRange, value: Value) -> list[int]:
    items = _items(e, value)
    numbers = [constant_int(item) for item in ([value] if items is None else items)]
    if None in numbers:
        raise CompileError(AXES, where)
    return [n for n in numbers if n is not None]


def _items(e: Emitter, value: Value) -> list[Value] | None:
    """The items of a literal tuple or list; None for anything else."""
    if isinstance(value.static_type, TupleType):
        return unpack_tuple(e, value)
    node = value.defining_node
    return list(node.operands) if node is not None and node.op == "prim::ListConstruct" else None
