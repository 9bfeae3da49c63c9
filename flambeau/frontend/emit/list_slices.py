"""Slices of lists as targets: assigned, augmented, deleted. Python's meaning, also where lengths differ.

x[1:3] = y    →    python::set_slice(%x, 1, 3, None, %y)        del x[::2]    →    python::del_slice(%x, None, None, 2)
"""

from __future__ import annotations

from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.emit.tensor_subscripts import emit_index
from flambeau.frontend.emit.values.container_methods import listed
from flambeau.frontend.emit.values.slice_values import SliceValue
from flambeau.frontend.emit.values.sugared import Emitter, Sugared
from flambeau.frontend.trees.tree_views import SliceExpr, Subscript, Var
from flambeau.ir.graph import Value
from flambeau.schema.types import ListType
from flambeau.util.errors import CompileError

NO_SLICE_TARGET = (
    "Sliced expression not yet supported for subscripted assignment of a {type}: only slices of lists and tensors are"
)


def has_slice(e: Emitter, target: Subscript) -> bool:
    """Whether an index of a target is a slice, written there or held in a variable."""
    names = [i.name for i in target.indices if isinstance(i, Var)]
    return any(isinstance(i, SliceExpr) for i in target.indices) or any(
        isinstance(e.scope.find(name), SliceValue) for name in names
    )


def slice_of(e: Emitter, target: Subscript, owner: Value) -> list[Value]:
    """The list and the bounds of the slice. Raises CompileError for what has no slices to assign to."""
    index = emit_index(e, target.indices[0])
    if not isinstance(owner.static_type, ListType) or len(target.indices) != 1 or not isinstance(index, SliceValue):
        raise CompileError(NO_SLICE_TARGET.format(type=owner.static_type.annotation), target.range)
    return [owner, *(e.constant(None) if b is None else b for b in (index.start, index.stop, index.step))]


def assign_slice(e: Emitter, target: Subscript, owner: Value, value: Sugared) -> None:
    """`owner[a:b:c] = value`."""
    where = e.graph.current_range or target.range
    items = listed(e, where, value)
    call_operator(e, where, "python::set_slice", [*slice_of(e, target, owner), items])


def delete_slice(e: Emitter, target: Subscript, owner: Value) -> None:
    """`del owner[a:b:c]`."""
    call_operator(e, target.range, "python::del_slice", slice_of(e, target, owner))
