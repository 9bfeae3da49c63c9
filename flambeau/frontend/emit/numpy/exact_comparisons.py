"""Comparisons of arrays of whole numbers with numbers that their dtype does not hold: by what they are, as NumPy does.

x < 300    with uint8s in `x`     →    aten::lt(aten::to(%x, int16), 256): the number next to all that `x` may have
x > n      with uint64s in `x`    →    aten::gt(%x, max(n, 0)), or true where `n` is below 0
x < y      with int64s and uint64s →    true where `x` is below 0, else compared without signs
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from flambeau.frontend.emit.numpy.array_promotion import constant_number, converted, is_array
from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.emit.values.sugared import Emitter
from flambeau.ir.graph import Value
from flambeau.schema.array_type import ArrayType
from flambeau.schema.dtype import DType, int16, int32, int64, uint64
from flambeau.schema.element_type import PYTHON, kinds_of
from flambeau.schema.types import INT
from flambeau.util.source import SourceRange

Compare = Callable[[str, Value, Value], Value]
"""Compares two values, of which the first is an array, by a sign."""
SWAPPED: Final = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_WIDER: Final = {1: int16, 2: int32, 4: int64}
_ABOVE: Final = frozenset((">", ">=", "!="))
"""What holds of a number and one that lies below all of its kind."""


def exact_comparison(
    e: Emitter, where: SourceRange, op: str, left: Value, right: Value, compare: Compare
) -> Value | None:
    """`left op right` of which one is an array; None where comparing in the dtype in which they meet is exact."""
    if not is_array(left):
        return exact_comparison(e, where, SWAPPED[op], right, left, compare) if is_array(right) else None
    dtype = _whole_dtype(left)
    if dtype is None:
        return None
    if is_array(right):
        other = _whole_dtype(right)
        if (dtype is uint64) is (other is uint64) or other is None or not (dtype.is_signed or other.is_signed):
            return None
        if dtype is uint64:
            return exact_comparison(e, where, SWAPPED[op], right, left, compare)
        zero = e.constant(0)
        unsigned = compare(op, converted(e, left, uint64), right)
        return _where_below(e, where, SWAPPED[op] in _ABOVE, compare("<", left, zero), unsigned)
    if right.static_type != INT or kinds_of(right.static_type) != PYTHON or dtype is int64:
        return None
    return _with_number(e, where, op, left, right, dtype, compare)


def _with_number(
    e: Emitter, where: SourceRange, op: str, array: Value, number: Value, dtype: DType, compare: Compare
) -> Value | None:
    known = constant_number(number)
    least, most = int(np.iinfo(dtype.numpy).min), int(np.iinfo(dtype.numpy).max)
    if known is not None and least <= known.real <= most:
        return None
    if dtype is uint64:
        positive = call_operator(e, where, "prim::max", [number, e.constant(0)])
        is_below = call_operator(e, where, "aten::lt", [number, e.constant(0)])
        return _where_below(e, where, op in _ABOVE, is_below, compare(op, array, positive))
    low = call_operator(e, where, "prim::max", [number, e.constant(least - 1)])
    clamped = call_operator(e, where, "prim::min", [low, e.constant(most + 1)])
    return compare(op, converted(e, array, _WIDER[dtype.itemsize]), clamped)


def _where_below(e: Emitter, where: SourceRange, holds: bool, is_below: Value, otherwise: Value) -> Value:
    """A comparison where one operand may lie below all numbers of the other's dtype, of which is known what it is."""
    if is_array(is_below):
        if holds:
            return call_operator(e, where, "aten::logical_or", [is_below, otherwise])
        return call_operator(
            e, where, "aten::logical_and", [call_operator(e, where, "aten::logical_not", [is_below]), otherwise]
        )
    if holds:
        return call_operator(e, where, "aten::__or__", [otherwise, is_below])
    return call_operator(e, where, "aten::__and__", [otherwise, call_operator(e, where, "aten::__not__", [is_below])])


def _whole_dtype(array: Value) -> DType | None:
    """The dtype of an array of whole numbers; None for another."""
    dtype = array.static_type.dtype if isinstance(array.static_type, ArrayType) else None
    return dtype if dtype is not None and dtype.is_integral else None
