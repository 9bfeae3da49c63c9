"""Assignment to items and attributes, plain and augmented, and the deletion of items."""

from __future__ import annotations

from flambeau.frontend.emit.attribute_refinement import assigned
from flambeau.frontend.emit.implicit_conversions import convert
from flambeau.frontend.emit.list_slices import assign_slice, has_slice
from flambeau.frontend.emit.numpy.reversed_views import forward_view, turned
from flambeau.frontend.emit.part_targets import assign_part, is_part
from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.emit.subscripts import subscript_values
from flambeau.frontend.emit.tensor_subscripts import Indexing, as_tensor_like, store_tensor_item
from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.emit.values.sugared import Emitter, Given
from flambeau.frontend.trees.tree_views import Select, Subscript
from flambeau.ir.graph import Value
from flambeau.schema.types import FLOAT, INT, ListType, NamedType, TensorType, TupleType, Type
from flambeau.util.errors import CompileError

TUPLE_TARGET = "{type} does not support subscripted assignment: a tuple stays what it is, a list, `[a, b]`, does not"


def assign_item(e: Emitter, target: Subscript, value: Value) -> None:
    """`owner[indices] = value`."""
    where = e.graph.current_range or target.range
    owner = e.value(target.value)
    if isinstance(owner.static_type, TensorType):
        indexed = Indexing(e, where, owner, target.indices)
        if indexed.steps:
            view = forward_view(e, where, indexed.view, indexed.steps)
            source = as_tensor_like(e, where, turned(e, where, value, view, indexed.steps), view)
            call_operator(e, where, "aten::copy_", [view, source, e.constant(False)])
        else:
            store_tensor_item(e, where, indexed, owner, value)
        return
    if isinstance(owner.static_type, TupleType):
        raise CompileError(TUPLE_TARGET.format(type=owner.static_type.annotation), target.range)
    if has_slice(e, target):
        assign_slice(e, target, owner, SimpleValue(value))
        return
    index = subscript_values(e, target)
    if isinstance(owner.static_type, NamedType):
        method = SimpleValue(owner).attribute(e, where, "__setitem__")
        method.call(e, where, [Given(index, target.range), Given(value, target.range)], ())
        return
    call_operator(e, where, "aten::_set_item", [owner, index, as_item(e, owner, value)])


def as_item(e: Emitter, owner: Value, value: Value) -> Value:
    """What is stored in a list of numbers: the number of an element, as where it is assigned to a variable."""
    if (
        isinstance(owner.static_type, ListType)
        and owner.static_type.element in (INT, FLOAT)
        and isinstance(value.static_type, TensorType)
    ):
        return convert(e, value, owner.static_type.element, implicit=True)
    return value


def assign_attribute(e: Emitter, target: Select, value: Value, annotation: Type | None = None) -> None:
    """`owner.name = value`, `owner.name: annotation = value`."""
    where = e.graph.current_range or target.range
    if annotation is not None:
        where = target.range
    owner = e.sugared(target.value)
    if is_part(owner, target.name):
        assign_part(e, where, owner, target.name, value)
        return
    owner.set_attribute(e, where, target.name, value, annotation)
    assigned(e, target, value.static_type)
