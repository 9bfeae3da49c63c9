"""`with`: objects entered, and left on every way out of the body.

with a as b: return x    →    %b = prim::Enter(%a)    prim::Exit(%a)    prim::ReturnStmt(%x)
"""

from __future__ import annotations

from flambeau.frontend.emit.assignment import assign
from flambeau.frontend.emit.values.context_values import ContextValue
from flambeau.frontend.emit.values.object_methods import find_method
from flambeau.frontend.emit.values.region_contexts import Region
from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.emit.values.sugared import Emitter
from flambeau.frontend.trees.tree_views import With, WithItem
from flambeau.ir.graph import Value
from flambeau.program.function import Function
from flambeau.schema.function import FunctionSchema
from flambeau.schema.shown_type import shown_type
from flambeau.schema.types import ANY, NamedType, Type
from flambeau.util.errors import CompileError
from flambeau.util.source import SourceRange

NOT_AN_OBJECT = "With item expression must return an object, but this is a {found}"
NO_METHODS = "Object returned by with item does not define __enter__ and __exit__ methods: {type}"
NO_TARGET = "this context is nothing when the program runs, so that there is nothing to give a name to"
BAD_ENTER = "__enter__ must have only one argument and one return value"
BAD_EXIT = "__exit__ must have four arguments"
BAD_EXIT_TYPE = "argument {index} of __exit__ must have Any type; TorchScript does not support exception types"


def emit_with(e: Emitter, tree: With) -> bool:
    """`with a as b, c: body`."""
    outside = e.graph.current_scope
    entered = [value for item in tree.items if (value := _enter(e, item, tree)) is not None]
    with e.flow.inside_contexts(entered):
        falls = e.statements(tree.body)
    if falls:
        leave_contexts(e, entered)
    e.graph.current_scope = outside
    return falls


def leave_contexts(e: Emitter, contexts: list[Value]) -> None:
    """Leave objects in the opposite order."""
    for context in reversed(contexts):
        e.insert("prim::Exit", (context,))


def _enter(e: Emitter, item: WithItem, tree: With) -> Value | None:
    """What was entered; None for a region, which is nothing when the program runs."""
    where = item.value.range
    context = e.sugared(item.value)
    if isinstance(context, Region):
        _begin_region(e, context, item, tree)
        return None
    if isinstance(context, ContextValue):
        value = context.made(e, where)
        entered_type: Type = ANY
    else:
        value = context.as_value(e, where)
        entered_type = _check_methods(e, value, where)
    entered = e.emit("prim::Enter", (value,), entered_type)
    if item.target is not None:
        assign(e, item.target, SimpleValue(entered), where)
    return value


def _begin_region(e: Emitter, region: Region, item: WithItem, tree: With) -> None:
    """Mark the nodes that follow as of a region."""
    if item.target is not None:
        raise CompileError(NO_TARGET, item.target.range)
    if region.is_strict:
        with e.graph.at_range(tree.range):
            e.insert("prim::StrictFusion")
    e.graph.current_scope = "/".join(filter(None, (e.graph.current_scope, region.scope)))


def _check_methods(e: Emitter, value: Value, where: SourceRange) -> Type:
    """What `__enter__` of an object gives. Raises CompileError if it cannot be entered and left."""
    type_ = value.static_type
    if not isinstance(type_, NamedType):
        raise CompileError(NOT_AN_OBJECT.format(found=f"value of type '{shown_type(type_)}'"), where)
    methods = [find_method(e, type_, name, where) for name in ("__enter__", "__exit__")]
    if any(m is None for m in methods):
        raise CompileError(NO_METHODS.format(type=type_.name), where)
    enter, leave = (_schema(m) for m in methods if m is not None)
    if len(enter.arguments) != 1 or len(enter.returns) != 1:
        raise CompileError(BAD_ENTER, where)
    if len(leave.arguments) != 4:
        raise CompileError(BAD_EXIT, where)
    for index, argument in enumerate(leave.arguments[1:], 1):
        if argument.type != ANY:
            raise CompileError(BAD_EXIT_TYPE.format(index=index), where)
    return enter.returns[0].type


def _schema(method: Function | FunctionSchema) -> FunctionSchema:
    return method if isinstance(method, FunctionSchema) else method.schema
