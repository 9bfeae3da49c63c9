"""`fork`, `wait` and awaitables: calls whose graph is an attribute of the node that will run it.

fork(g, x)    →    %f : Future(int) = prim::fork(%x)  with the graph  graph(%x): return (prim::CallFunction(%g, %x))
"""

from __future__ import annotations

from flambeau.frontend.emit.call_expressions import emit_arguments
from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.emit.values.sugared import Emitter, Sugared
from flambeau.frontend.trees.tree_views import Apply
from flambeau.ir.clone import Copies, clone_node
from flambeau.ir.constants import CONSTANT
from flambeau.ir.graph import Graph, Node, Value
from flambeau.ir.walk import outer_values
from flambeau.schema.shown_type import shown_type
from flambeau.schema.types import AwaitType, FutureType, Type
from flambeau.util.errors import CompileError
from flambeau.util.record import replace

NO_CALLEE = "{form} expects a function and its arguments"
NOT_A_FUTURE = "wait expects a Future, but this is a value of type '{found}'"
NOT_AN_AWAIT = "awaitable_wait expects an Await, but this is a value of type '{found}'"


def emit_fork(e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
    """`fork(f, *args, **kwargs)`: a future of the call's result."""
    node, result = _deferred(e, tree, "prim::fork")
    return SimpleValue(node.add_result(FutureType(result)))


def emit_awaitable(e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
    """`_awaitable(f, *args)`: the call's result, when it is asked for."""
    node, result = _deferred(e, tree, "prim::awaitable")
    return SimpleValue(node.add_result(AwaitType(result)))


def emit_wait(e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
    """`wait(future)`."""
    value = _only(e, tree, "wait")
    if not isinstance(value.static_type, FutureType):
        raise CompileError(NOT_A_FUTURE.format(found=shown_type(value.static_type)), tree.args[0].range)
    return SimpleValue(e.emit("aten::wait", (value,), value.static_type.element))


def emit_awaitable_wait(e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
    """`_awaitable_wait(a)`."""
    value = _only(e, tree, "_awaitable_wait")
    if not isinstance(value.static_type, AwaitType):
        raise CompileError(NOT_AN_AWAIT.format(found=shown_type(value.static_type)), tree.args[0].range)
    return SimpleValue(e.emit("prim::awaitable_wait", (value,), value.static_type.element))


def emit_awaitable_nowait(e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
    """`_awaitable_nowait(v)`: an awaitable of a value that is there."""
    value = _only(e, tree, "_awaitable_nowait")
    return SimpleValue(e.emit("prim::awaitable_nowait", (value,), AwaitType(value.static_type)))


def _only(e: Emitter, tree: Apply, form: str) -> Value:
    if len(tree.args) != 1 or tree.keywords:
        count = len(tree.args) + len(tree.keywords)
        raise CompileError(f"{form} expected 1 argument, got {count}", tree.callee.range)
    return e.value(tree.args[0])


def _deferred(e: Emitter, tree: Apply, kind: str) -> tuple[Node, Type]:
    """A node without result whose graph makes the call, and the type of the call's result."""
    if not tree.args:
        raise CompileError(NO_CALLEE.format(form=kind.rpartition("::")[2]), tree.callee.range)
    callee = e.sugared(tree.args[0])
    args, keywords = emit_arguments(e, replace(tree, args=tree.args[1:]))
    holder = e.graph.insert("prim::Closure", (), ())
    block = holder.add_block()
    with e.inside(block):
        block.add_return(callee.call(e, tree.range, args, keywords).as_value(e, tree.range))
    for read in [n for n in block if n.op == "prim::Load"]:  # what a function reads around it, it reads now
        read.move_before(holder)
    result = block.returns[0].static_type
    inputs, inner = _without_captures(holder)
    node = e.graph.insert(kind, inputs, (), Subgraph=inner)
    holder.erase()
    return node, result


def _without_captures(holder: Node) -> tuple[list[Value], Graph]:
    """The block of a node as a graph, and what it uses from outside, in the order of its parameters."""
    block = holder.nested_blocks[0]
    inner = Graph()
    copies: Copies = {}
    inputs: list[Value] = []
    for value in outer_values(holder):
        if value.defining_node is not None and value.defining_node.op == CONSTANT:
            inner.insert_node(clone_node(value.defining_node, inner, copies))
        else:
            copies[value] = inner.add_parameter(value.static_type, value.name if value.has_name else "")
            inputs.append(value)
    for node in block:
        inner.insert_node(clone_node(node, inner, copies))
    for value in block.returns:
        inner.add_return(copies[value])
    return inputs, inner
