"""Statements that are neither branch nor loop."""

from __future__ import annotations

from flambeau.frontend.emit.assignment import about_numbers, assign
from flambeau.frontend.emit.builtins.iterables import RangeValue
from flambeau.frontend.emit.conditions import emit_condition, refine
from flambeau.frontend.emit.control_flow import emit_branches
from flambeau.frontend.emit.declared_mappings import declared_table
from flambeau.frontend.emit.float_powers import about_power
from flambeau.frontend.emit.flow import Stops
from flambeau.frontend.emit.frames import Absent
from flambeau.frontend.emit.generator_lists import no_value, returned
from flambeau.frontend.emit.implicit_conversions import conversion_to
from flambeau.frontend.emit.inlined import Expansion, emit_expanded_return
from flambeau.frontend.emit.list_slices import delete_slice, has_slice
from flambeau.frontend.emit.numbers_of_arms import as_result
from flambeau.frontend.emit.schema_matching import MIXED_UNSIGNED, call_operator
from flambeau.frontend.emit.subscripts import subscript_values
from flambeau.frontend.emit.values.class_values import ExceptionClass, ExceptionValue
from flambeau.frontend.emit.values.object_methods import has_method
from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.emit.values.sugared import Emitter, Given
from flambeau.frontend.emit.with_statements import leave_contexts
from flambeau.frontend.emit.wrong_results import about_result, refuse_objects_of_library
from flambeau.frontend.scopes.array_annotations import ARRAYS_NOT_HERE, VARIABLES, names_array
from flambeau.frontend.scopes.type_annotations import type_of_tree
from flambeau.frontend.trees.tree_views import (
    Assert,
    Assign,
    Delete,
    Expr,
    ExprStmt,
    NoneLit,
    Pass,
    Raise,
    Return,
    StringLiteral,
    Subscript,
    Var,
)
from flambeau.ir.graph import Value
from flambeau.program import protected
from flambeau.program.classes import why_no_interface
from flambeau.schema.array_type import holds_arrays, holds_tensors, plain
from flambeau.schema.dtype import uint64
from flambeau.schema.element_type import joined, kinds_of
from flambeau.schema.shown_type import shown_type
from flambeau.schema.subtype import is_subtype, unify
from flambeau.schema.types import NONE, STRING, DictType, ListType, NamedType, Type
from flambeau.util.errors import CompileError, UnsupportedNodeError

NO_DELETE = "del statements are only supported for deleting list and dict items and variables"
SLICE_DELETE = "del statements only support deletion at a single index"
OTHER_RETURN = (
    "Previous return statement returned a value of type {before} but this return statement returns a value of type "
    "{after}"
)
WRONG_RETURN = "Return value was annotated as having type {wanted} but is actually of type {found}"


def emit_assignment(e: Emitter, tree: Assign) -> bool:
    """`a = b = value`, `a: T = value`."""
    if tree.value is None:
        raise UnsupportedNodeError.of("annotated assignments without assigned value", tree.range)
    annotation = _annotation(e, tree)
    where = tree.value.range
    value = (e.rules.keep(e, tree.value) if annotation is None else None) or e.sugared(tree.value, annotation)
    if isinstance(value, RangeValue):
        value.check(e, where)
    if isinstance(tree.value, NoneLit) and annotation is None:
        for target in tree.targets:
            assign(e, target, SimpleValue(e.constant(None, e.type_variables.none_of(target))), where)
        return True
    if len(tree.targets) > 1 and value.stored_value(e, where) is not None:
        value = SimpleValue(value.as_value(e, where))  # evaluated once: each target is given the same value
    for target in tree.targets:
        assign(e, target, value, where, annotation)
    return True


def _annotation(e: Emitter, tree: Assign) -> Type | None:
    """The type that an assignment declares; None for an array, where what is assigned says which one it is."""
    if tree.annotation is None:
        return None
    table = declared_table(e, tree.annotation)
    if table is not None:
        return table
    type_ = type_of_tree(tree.annotation, e.scope.resolver)
    if not names_array(tree.annotation, e.scope.resolver):
        return type_
    if not e.arrays:
        raise CompileError(ARRAYS_NOT_HERE.format(where=VARIABLES), tree.annotation.range)
    return None


def emit_expression(e: Emitter, tree: ExprStmt) -> bool:
    """An expression for what it does. A text, such as a docstring, does nothing."""
    if not isinstance(tree.value, StringLiteral):
        e.sugared(tree.value).emit_effect(e, tree.value.range)
    return True


def emit_pass(e: Emitter, tree: Pass) -> bool:
    """`pass`."""
    return True


def _with_result(before: Type | None, type_: Type, tree: Return) -> Type | None:
    """What a program on arrays gives, by the types of the returns before and of this one.

    Raises CompileError for what may be a number of Python or one of uint64, which are kept as different ints.
    """
    both = type_ if before is None else unify(before, type_)
    if both is None:
        return None
    both = joined(both, type_) if both == type_ else both
    if any(uint64 in kinds and len(kinds) > 1 for kinds in map(kinds_of, both.walk())):
        raise CompileError(MIXED_UNSIGNED, tree.range)
    return both


def emit_return(e: Emitter, tree: Return) -> bool:
    """`return value`: converted to what the signature or the returns before it say."""
    declared = e.flow.declared_return
    if isinstance(e.flow.generator, Expansion):
        no_value(tree.value)
        return emit_expanded_return(e, e.flow.generator)
    if isinstance(e.flow.generator, Stops):
        no_value(tree.value)
        e.flow.merged_return = NONE
        leave_contexts(e, e.flow.contexts)
        nothing = e.constant(None)
        e.insert("prim::ReturnStmt", (nothing if e.flow.wrap_return is None else e.flow.wrap_return(nothing),))
        return False
    if e.flow.generator is not None:
        leave_contexts(e, e.flow.contexts)
        e.insert("prim::ReturnStmt", (returned(e, tree.value),))
        return False
    value = e.value(tree.value, None if e.arrays and declared is not None and holds_tensors(declared) else declared)
    refuse_objects_of_library(value.static_type, tree.value.range)
    if e.arrays and declared is None:
        value = as_result(e, tree.range, value)
    if e.arrays:
        e.flow.array_result = _with_result(e.flow.array_result, value.static_type, tree)
    if declared is not None:
        value = _as_declared(e, tree, value, declared)
        e.flow.merged_return = declared
    elif e.flow.merged_return is None:
        e.flow.merged_return = value.static_type
    else:
        e.type_variables.unify(e.flow.merged_return, value.static_type)
        merged = unify(e.flow.merged_return, value.static_type)
        if merged is None:
            text = OTHER_RETURN.format(before=e.flow.merged_return.annotation, after=value.static_type.annotation)
            raise CompileError(text, tree.range)
        e.flow.merged_return = merged
    leave_contexts(e, e.flow.contexts)
    e.insert("prim::ReturnStmt", (value if e.flow.wrap_return is None else e.flow.wrap_return(value),))
    return False


def _as_declared(e: Emitter, tree: Return, value: Value, declared: Type) -> Value:
    e.type_variables.unify(value.static_type, declared)
    if holds_arrays(value.static_type) and is_subtype(plain(value.static_type), declared):
        return value
    type_, conversion = conversion_to(value, declared, implicit=True)
    if not is_subtype(type_, declared):
        text = WRONG_RETURN.format(wanted=shown_type(declared), found=shown_type(value.static_type))
        text += why_no_interface(value.static_type, declared) + about_numbers(value.static_type)
        text += about_power(value) + about_result(value, tree.value, declared)
        raise CompileError(text, tree.range)
    return value if is_subtype(value.static_type, declared) else conversion(e)


def emit_raise(e: Emitter, tree: Raise) -> bool:
    """`raise Class`, `raise Class(message)`."""
    raised = e.sugared(tree.value)
    where = tree.value.range
    if isinstance(raised, ExceptionClass):
        raised = ExceptionValue(raised, [])
    if not isinstance(raised, ExceptionValue):
        raise CompileError(f"exceptions must derive from BaseException, but this is a {raised.kind}", where)
    message = _own_text(e, raised) if raised.cls.has_own_text else _message(e, raised.arguments)
    e.insert("prim::RaiseException", (message, e.constant(raised.cls.qualified_name)))
    return False


def _own_text(e: Emitter, raised: ExceptionValue) -> Value:
    """What the class itself makes of the arguments."""
    message = protected.Message(raised.cls.python, raised.keywords)
    return e.emit("^message", raised.arguments, STRING, callable=message)


def _message(e: Emitter, arguments: list[Value]) -> Value:
    """The text of an exception: its one argument, or all of them as a tuple prints."""
    where = e.graph.current_range
    assert where is not None
    if not arguments:
        return e.constant("")
    if len(arguments) == 1:
        return (
            arguments[0] if arguments[0].static_type == STRING else call_operator(e, where, "aten::str", [arguments[0]])
        )
    form = e.constant("(" + ", ".join(["{}"] * len(arguments)) + ")")
    return call_operator(e, where, "aten::format", [form, *arguments])


def emit_assert(e: Emitter, tree: Assert) -> bool:
    """`assert condition, message`: behind it the condition holds."""
    condition = emit_condition(e, tree.condition)
    if condition.known is True:
        refine(e, condition.if_true)
        return True
    if condition.known is False:
        _raise_assertion(e, tree.message)
        return False
    emit_branches(e, condition, tree.range, lambda: True, lambda: _raise_assertion(e, tree.message))
    return True


def _raise_assertion(e: Emitter, message: Expr | None) -> bool:
    if message is None:
        text = e.constant("AssertionError: ")
    elif isinstance(message, StringLiteral):
        text = e.constant(f"AssertionError: {message.value}")
    else:
        value = e.value(message)
        text = call_operator(
            e, message.range, "aten::add", [e.constant("AssertionError: "), _as_text(e, message, value)]
        )
    e.insert("prim::RaiseException", (text, e.constant(None)))
    return False


def _as_text(e: Emitter, tree: Expr, value: Value) -> Value:
    return value if value.static_type == STRING else call_operator(e, tree.range, "aten::str", [value])


def emit_delete(e: Emitter, tree: Delete) -> bool:
    """`del name`, `del x[i]`."""
    for target in tree.targets:
        if isinstance(target, Var):
            if e.scope.find(target.name) is None:
                raise CompileError(f"undefined value {target.name}", target.range)
            e.scope.frame.names[target.name] = Absent(f"undefined value {target.name}", None)
        elif isinstance(target, Subscript):
            _delete_item(e, target)
        else:
            raise CompileError(NO_DELETE, target.range)
    return True


def _delete_item(e: Emitter, target: Subscript) -> None:
    if len(target.indices) != 1:
        raise CompileError(SLICE_DELETE, target.range)
    owner = e.value(target.value)
    where = target.range
    if has_slice(e, target):
        delete_slice(e, target, owner)
        return
    if isinstance(owner.static_type, NamedType):
        if not has_method(e, owner.static_type, "__delitem__", where):
            raise CompileError("Class does not define __delitem__", where)
        index = Given(subscript_values(e, target), where)
        SimpleValue(owner).attribute(e, where, "__delitem__").call(e, where, [index], ())
        return
    if not isinstance(owner.static_type, ListType | DictType):
        raise CompileError(NO_DELETE, where)
    call_operator(e, where, "aten::Delete", [owner, subscript_values(e, target)])
