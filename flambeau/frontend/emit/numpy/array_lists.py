"""Lists of arrays whose length only the run tells, joined: `np.array(rows)`, `np.stack(rows)`, `np.hstack(parts)`."""

from __future__ import annotations

from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.emit.values.sugared import Emitter
from flambeau.ir.graph import Value
from flambeau.schema.array_type import ArrayType, array_of
from flambeau.schema.types import TENSOR, ListType
from flambeau.util.source import SourceRange


def item_of(value: Value) -> ArrayType | None:
    """The type of the arrays in a list; None for anything else."""
    type_ = value.static_type
    return type_.element if isinstance(type_, ListType) and isinstance(type_.element, ArrayType) else None


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
