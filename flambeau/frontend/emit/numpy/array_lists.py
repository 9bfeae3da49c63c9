"""Lists of arrays whose length only the run tells, joined: `np.array(rows)`, `np.stack(rows)`, `np.hstack(parts)`."""

from __future__ import annotations

from typing import Final

from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.emit.values.sugared import Emitter, Given
from flambeau.ir.graph import Value
from flambeau.schema.array_type import ArrayType, array_of
from flambeau.schema.dtype import DType, bool_, complex128, float64, int64
from flambeau.schema.element_type import PYTHON, kinds_of
from flambeau.schema.types import BOOL, COMPLEX, FLOAT, INT, TENSOR, ListType, Type
from flambeau.util.source import SourceRange

_DTYPES: Final[dict[Type, DType]] = {FLOAT: float64, INT: int64, BOOL: bool_, COMPLEX: complex128}


def item_of(value: Value) -> ArrayType | None:
    """The type of the arrays in a list; None for anything else."""
    type_ = value.static_type
    return type_.element if isinstance(type_, ListType) and isinstance(type_.element, ArrayType) else None


def as_array(e: Emitter, where: SourceRange, value: Value) -> Value:
    """A list of numbers as the array that NumPy makes of it; other values as they are."""
    element = value.static_type.element if isinstance(value.static_type, ListType) else None
    dtype = _DTYPES.get(element) if element is not None and kinds_of(element) == PYTHON else None
    if dtype is None:
        return value
    array = call_operator(e, where, "aten::tensor", [value], [Given(e.constant(dtype.code, INT), where, "dtype")])
    array.set_type(array_of(dtype, 1))
    return array


def joined_list(e: Emitter, where: SourceRange, name: str, value: Value, axis: int) -> Value:
    """`stack` or `cat` of the arrays in a list or tuple, along an axis."""
    item = item_of(value)
    if item is None:
        return call_operator(e, where, f"aten::{name}", [value, e.constant(axis)])
    tensors = e.emit("prim::unchecked_cast", (value,), ListType(TENSOR))
    result = call_operator(e, where, f"aten::{name}", [tensors, e.constant(axis)])
    rank = item.rank if item.rank is None or name == "cat" else item.rank + 1
    result.set_type(array_of(item.dtype, rank))
    return result
