"""Augmented assignment: tensors and lists change in place, everything else is computed and stored back.

x[0] += 1    with a tensor x    →    %i = aten::select(%x, 0, 0)    aten::add_(%i, 1, 1)
"""

from __future__ import annotations

from typing import Final

from flambeau.frontend.emit.assignment import assign_name
from flambeau.frontend.emit.attribute_refinement import assigned, narrowed
from flambeau.frontend.emit.binary_operators import binary, check_exponents
from flambeau.frontend.emit.item_targets import as_item
from flambeau.frontend.emit.list_slices import has_slice, slice_of
from flambeau.frontend.emit.numpy import array_promotion as arrays
from flambeau.frontend.emit.numpy.array_promotion import as_number, dtype_and_rank, is_array
from flambeau.frontend.emit.numpy.element_arithmetic import filling
from flambeau.frontend.emit.numpy.remainders import with_sign_of
from flambeau.frontend.emit.numpy.reversed_views import forward_view, turned
from flambeau.frontend.emit.part_targets import assign_part, is_part
from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.emit.subscripts import subscript_values
from flambeau.frontend.emit.tensor_subscripts import as_tensor_like, tensor_item
from flambeau.frontend.emit.values import set_values as sets
from flambeau.frontend.emit.values.object_methods import has_method
from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.emit.values.sugared import Emitter, Given
from flambeau.frontend.trees.tree_views import AugAssign, Select, Subscript, Var
from flambeau.ir.graph import Value
from flambeau.schema import registry
from flambeau.schema.array_type import ScalarType
from flambeau.schema.set_type import SetType
from flambeau.schema.types import NONE, DictType, ListType, NamedType, TensorType, TupleType
from flambeau.util.errors import CompileError
from flambeau.util.source import SourceRange

IN_PLACE_MAGIC: Final = {
    "+": "__iadd__", "-": "__isub__", "*": "__imul__", "/": "__itruediv__", "%": "__imod__", "**": "__ipow__",
    "&": "__iand__", "|": "__ior__", "^": "__ixor__", "<<": "__ilshift__", ">>": "__irshift__",
    "//": "__ifloordiv__", "@": "__imatmul__",
}  # fmt: skip

NO_OPERATOR = "Cannot emit inplace op on {type}, since it does not define an {magic} or {plain} method"
TUPLE_TARGET = "{type} does not support augmented assignment."


def emit_augmented(e: Emitter, tree: AugAssign) -> bool:
    """`target op= value`."""
    match tree.target:
        case Var():
            _to_name(e, tree, tree.target)
        case Select():
            _to_attribute(e, tree, tree.target)
        case Subscript():
            _to_item(e, tree, tree.target)
        case _:
            raise CompileError("augmented assignment can only have one LHS expression", tree.target.range)
    return True


def _writes(tree: AugAssign) -> bool:
    """Whether an operator writes its first argument for this sign; `@=` computes a new tensor and rebinds."""
    return registry.is_spelled(f"{tree.op}=")


def _in_place(e: Emitter, tree: AugAssign, left: Value, right: Value) -> Value:
    return call_operator(e, tree.range, registry.spelled(f"{tree.op}="), [left, right])


def _combined(e: Emitter, tree: AugAssign, left: Value, right: Value) -> Value:
    """The new value of what was `left`, which is itself changed if it is a tensor, a list or an object that can be."""
    where = tree.range
    if isinstance(left.static_type, ScalarType):
        return binary(e, where, tree.op, left, right)
    if is_array(left) and _writes(tree) and not isinstance(right.static_type, ListType | TupleType):
        arrays.check_in_place(where, tree.op, left, right)
        dtype, _ = dtype_and_rank(left, where)
        check_exponents(e, where, tree.op, right, dtype)
        right = filling(e, where, right, dtype)
    changed: Value | None = None
    match left.static_type:
        case TensorType() if _writes(tree):
            if is_array(left) and _shows_memory_of(right, left):
                right = call_operator(e, where, "aten::clone", [right])
            changed = _in_place(e, tree, left, right)
            changed = _with_sign(e, where, left, right) if tree.op == "%" and is_array(left) else changed
        case ListType() if tree.op in ("+", "*"):
            changed = _in_place(e, tree, left, right)
        case NamedType():
            changed = _by_method(e, tree, left, left.static_type, right)
        case DictType() if tree.op == "|":
            call_operator(e, where, "aten::update", [left, right])
            changed = left
        case SetType() if sets.is_set(right):
            changed = sets.in_place(e, where, tree.op, left, right)
    return binary(e, where, tree.op, left, right) if changed is None else changed


def _with_sign(e: Emitter, where: SourceRange, left: Value, right: Value) -> Value:
    """An array that holds remainders by now: zeros among floats get the sign of the divisor."""
    if not arrays.dtype_and_rank(left, where)[0].is_floating_point:
        return left
    return call_operator(e, where, "aten::copy_", [left, with_sign_of(e, where, right, left)])


def _shows_memory_of(right: Value, left: Value) -> bool:
    """Whether an array is another part of the array that is changed: NumPy reads it before it writes."""
    base = _base(right)
    return base is not right and is_array(right) and _is_one(base, _base(left))


def _base(value: Value) -> Value:
    """The array whose memory views of views show."""
    node = value.defining_node
    while node is not None and node.definition is not None and node.definition.family == "view":
        value = node.operand(0)
        node = value.defining_node
    return value


def _is_one(a: Value, b: Value) -> bool:
    """Whether two values are one variable."""
    nodes = a.defining_node, b.defining_node
    if nodes[0] is None or nodes[1] is None or not nodes[0].op == nodes[1].op == "prim::Load":
        return a is b
    return bool(nodes[0].attribute("name") == nodes[1].attribute("name"))


def _by_method(e: Emitter, tree: AugAssign, left: Value, type_: NamedType, right: Value) -> Value | None:
    """`__iadd__` and the like of an object; None where it has only `__add__`. Raises CompileError if it has neither."""
    magic = IN_PLACE_MAGIC[tree.op]
    if has_method(e, type_, magic, tree.range):
        method = SimpleValue(left).attribute(e, tree.range, magic)
        return method.call(e, tree.range, [Given(right, tree.value.range)], ()).as_value(e, tree.range)
    plain = magic.replace("__i", "__")
    if not has_method(e, type_, plain, tree.range):
        raise CompileError(NO_OPERATOR.format(type=type_.annotation, magic=magic, plain=plain), tree.range)
    return None


def _to_name(e: Emitter, tree: AugAssign, target: Var) -> None:
    left = e.value(target)
    right = e.value(tree.value)
    assign_name(e, target.range, target.name, SimpleValue(_combined(e, tree, left, right)))


def _to_attribute(e: Emitter, tree: AugAssign, target: Select) -> None:
    owner = e.sugared(target.value)
    attribute = narrowed(e, target.range, target, owner.attribute(e, target.range, target.name))
    new = _combined(e, tree, attribute.as_value(e, target.range), e.value(tree.value))
    if is_part(owner, target.name):
        assign_part(e, tree.range, owner, target.name, new)
        return
    owner.set_attribute(e, tree.range, target.name, new)
    assigned(e, target, new.static_type)


def _to_item(e: Emitter, tree: AugAssign, target: Subscript) -> None:
    owner = e.value(target.value)
    if isinstance(owner.static_type, TensorType):
        _to_tensor_item(e, tree, target, owner)
        return
    if isinstance(owner.static_type, TupleType):
        raise CompileError(TUPLE_TARGET.format(type=owner.static_type.annotation), target.range)
    if has_slice(e, target):
        bounds = slice_of(e, target, owner)
        step = e.constant(1) if bounds[3].static_type == NONE else bounds[3]
        items = call_operator(e, target.range, "aten::slice", [*bounds[:3], step])
        new = _combined(e, tree, items, e.value(tree.value))
        call_operator(e, tree.range, "python::set_slice", [*bounds, new])
        return
    index = subscript_values(e, target)
    where = tree.range
    if isinstance(owner.static_type, NamedType):
        getter = SimpleValue(owner).attribute(e, where, "__getitem__")
        left = getter.call(e, where, [Given(index, where)], ()).as_value(e, where)
        new = _combined(e, tree, left, e.value(tree.value))
        setter = SimpleValue(owner).attribute(e, where, "__setitem__")
        setter.call(e, where, [Given(index, where), Given(new, where)], ())
        return
    left = call_operator(e, target.range, "aten::__getitem__", [owner, index])
    new = _combined(e, tree, left, e.value(tree.value))
    if not (isinstance(left.static_type, TensorType) and _writes(tree)):
        call_operator(e, where, "aten::_set_item", [owner, index, as_item(e, owner, new)])


def _to_tensor_item(e: Emitter, tree: AugAssign, target: Subscript, owner: Value) -> None:
    item, view, index, steps = tensor_item(e, target.range, owner, target.indices)
    if steps:
        target_view = forward_view(e, target.range, view, steps)
        _combined(e, tree, target_view, turned(e, tree.range, e.value(tree.value), target_view, steps))
        return
    right = e.value(tree.value)
    if is_array(item) and (index is not None or arrays.known_rank(item) == 0):
        # What the operator gives, put back in the dtype of the array.
        if arrays.known_rank(item) != 0:
            arrays.check_in_place(tree.range, tree.op, item, right)
        new = binary(e, tree.range, tree.op, as_number(e, item), right)
        if is_array(new) and is_array(view):
            new = arrays.converted(e, new, arrays.dtype_and_rank(item, tree.range)[0])
        if index is None:
            source = as_tensor_like(e, tree.range, new, view)
            call_operator(e, tree.range, "aten::copy_", [view, source, e.constant(False)])
            return
    else:
        new = _combined(e, tree, item, right)
    if index is not None:
        source = as_tensor_like(e, tree.range, new, view)
        call_operator(e, tree.range, "aten::index_put_", [view, index, source, e.constant(False)])
    elif not _writes(tree):
        call_operator(e, tree.range, "aten::copy_", [view, new, e.constant(False)])
