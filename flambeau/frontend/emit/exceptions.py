"""`try`: the body is a function that Python calls and whose exceptions it catches; the rest is branches on its end.

try: A                        %how, %what = ^try(what A reads)
except ValueError as e: B →   prim::If(%how == 10)  block0: B  block1: …
finally: C                    (C comes first, then a pending exception is raised again)

A variable that the body changes is kept in a list of one, so that what was assigned before an exception is seen.
"""

from __future__ import annotations

from collections.abc import Callable

from flambeau.frontend.closures.captures import names_needed
from flambeau.frontend.emit.cells import open_cell
from flambeau.frontend.emit.conditions import Condition
from flambeau.frontend.emit.control_flow import OUTCOME, emit_branches, emit_break, emit_continue
from flambeau.frontend.emit.emission import Emission
from flambeau.frontend.emit.flow import Entry, Flow, Stops
from flambeau.frontend.emit.frames import Frame, Variable
from flambeau.frontend.emit.function_scope import FunctionScope
from flambeau.frontend.emit.graph_builder import Builder
from flambeau.frontend.emit.implicit_conversions import pack_list, pack_tuple
from flambeau.frontend.emit.numbers_of_arms import as_result
from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.emit.simple_statements import OTHER_RETURN
from flambeau.frontend.emit.values.carried_values import carry
from flambeau.frontend.emit.values.class_values import ExceptionClass
from flambeau.frontend.emit.values.sugared import Emitter, Sugared
from flambeau.frontend.emit.widening import entered
from flambeau.frontend.emit.with_statements import leave_contexts
from flambeau.frontend.scopes.captured_names import Name
from flambeau.frontend.scopes.scope_tree import assigned_names, used_names
from flambeau.frontend.ssa.cleanup import clean
from flambeau.frontend.ssa.exits import make_structured
from flambeau.frontend.ssa.to_ssa import to_ssa
from flambeau.frontend.trees.tree_views import Break, Continue, Expr, Handler, Reraise, Try, TupleLiteral
from flambeau.ir.graph import Graph, Value
from flambeau.program.function import Function
from flambeau.program.protected import BROKE, CONTINUED, FELL, HANDLED, RETURNED, Protected, raise_again, text_of
from flambeau.program.signature import schema_of
from flambeau.schema.subtype import unify
from flambeau.schema.types import ANY, INT, NONE, STRING, TupleType, Type
from flambeau.util.errors import CompileError, NotSupportedError
from flambeau.util.record import dataclass, field, replace

NOT_A_CLASS = "except needs classes of exceptions, but this is a {kind}"


@dataclass(slots=True)
class _Body:
    """The body of a `try` as a function, and what its call passes and gives back."""

    function: Function
    inputs: list[Value]
    cells: dict[Name, tuple[Value, Variable]]
    """The lists that hold the variables it changes, by name."""
    new: list[tuple[Name, Type]]
    """Variables that are new in it."""
    falls: bool
    returns: Type | None
    exits: set[int] = field(default_factory=set)


def emit_try(e: Emitter, tree: Try) -> bool:
    """`try` with handlers, or with a `finally`; the converter nests one in the other."""
    handlers = [_classes(e, h) for h in tree.handlers]
    if tree.finalbody:
        handlers = [(BaseException,)]
    with entered(e, tree):
        body = _compiled(e, tree)
    with e.graph.at_range(tree.range):
        result = e.emit("^try", body.inputs, OUTCOME, callable=Protected(body.function, handlers))
        outcome = e.graph.insert("prim::TupleUnpack", (result,), (INT, ANY))
        how, what = outcome.results
        for name, (cell, variable) in body.cells.items():
            e.store(name, call_operator(e, tree.range, "aten::__getitem__", [cell, e.constant(0)]), variable.type)
    if tree.finalbody and not e.statements(tree.finalbody):
        return False
    arms: list[tuple[int, Callable[[], bool]]] = []
    if tree.finalbody:
        arms.append((HANDLED, lambda: _raise_again(e, what)))
    for number, handler in enumerate(tree.handlers):
        arms.append((HANDLED + number, _handler(e, handler, what)))
    if body.returns is not None:
        arms.append((RETURNED, lambda: _return(e, body, what)))
    if BROKE in body.exits:
        arms.append((BROKE, lambda: emit_break(e, Break(tree.range))))
    if CONTINUED in body.exits:
        arms.append((CONTINUED, lambda: emit_continue(e, Continue(tree.range))))
    return _dispatch(e, tree, how, arms, lambda: _after(e, tree, body, what))


def _dispatch(
    e: Emitter, tree: Try, how: Value, arms: list[tuple[int, Callable[[], bool]]], otherwise: Callable[[], bool]
) -> bool:
    if not arms:
        return otherwise()
    (code, arm), *rest = arms
    test = call_operator(e, tree.range, "aten::eq", [how, e.constant(code)])
    return emit_branches(e, Condition(test), tree.range, arm, lambda: _dispatch(e, tree, how, rest, otherwise))


def _after(e: Emitter, tree: Try, body: _Body, what: Value) -> bool:
    """The body came to its end: its new variables are there, and the `else` runs."""
    if not body.falls:
        e.insert("prim::RaiseException", (e.constant("unreachable"), e.constant(None)))
        return False
    if body.new:
        type_ = TupleType(tuple(t for _, t in body.new))
        items = e.emit("prim::unchecked_cast", (what,), type_)
        node = e.graph.insert("prim::TupleUnpack", (items,), type_.elements)
        for (name, kind), value in zip(body.new, node.results, strict=True):
            e.store(name, value, kind)
    return e.statements(tree.orelse)


def _return(e: Emitter, body: _Body, what: Value) -> bool:
    assert body.returns is not None
    value = e.constant(None) if body.returns == NONE else e.emit("prim::unchecked_cast", (what,), body.returns)
    if e.flow.declared_return is None:
        where = e.graph.current_range
        value = value if where is None else as_result(e, where, value)
        returned = value.static_type
        merged = returned if e.flow.merged_return is None else unify(e.flow.merged_return, returned)
        if merged is None:
            assert e.flow.merged_return is not None
            text = OTHER_RETURN.format(before=e.flow.merged_return.annotation, after=returned.annotation)
            raise CompileError(text, e.graph.current_range)
        e.flow.merged_return = merged
    else:
        e.flow.merged_return = e.flow.declared_return
    leave_contexts(e, e.flow.contexts)
    e.insert("prim::ReturnStmt", (value if e.flow.wrap_return is None else e.flow.wrap_return(value),))
    return False


def _raise_again(e: Emitter, what: Value) -> bool:
    e.insert("^raise", (what,), callable=raise_again)
    e.insert("prim::RaiseException", (e.constant("unreachable"), e.constant(None)))
    return False


def _handler(e: Emitter, handler: Handler, what: Value) -> Callable[[], bool]:
    def run() -> bool:
        with e.flow.inside_handler(what):
            with e.graph.at_range(handler.range):
                if handler.ident is not None:
                    e.store(handler.ident.name, e.emit("^text", (what,), STRING, callable=text_of))
            return e.statements(handler.body)

    return run


def emit_bare_raise(e: Emitter, tree: Reraise) -> bool:
    """`raise` alone, in a handler."""
    if e.flow.caught is None:
        text = "raise without an exception isn't supported outside of a handler. Name the exception to raise"
        raise NotSupportedError(text, tree.range)
    return _raise_again(e, e.flow.caught)


def _classes(e: Emitter, handler: Handler) -> tuple[type, ...]:
    if handler.kind is None:
        return (BaseException,)
    trees: tuple[Expr, ...] = handler.kind.items if isinstance(handler.kind, TupleLiteral) else (handler.kind,)
    classes = []
    for tree in trees:
        sugared = e.sugared(tree)
        if not isinstance(sugared, ExceptionClass):
            raise CompileError(NOT_A_CLASS.format(kind=sugared.kind), tree.range)
        classes.append(sugared.python)
    return tuple(classes)


# -- the body as a function -------------------------------------------------------------------------------------------


def _compiled(e: Emitter, tree: Try) -> _Body:
    """The body as a function of what it reads."""
    inner = _inner_emission(e)
    inputs = _pass_caught(e, inner, tree)
    cells = _pass_names(e, inner, tree, inputs)
    inner.flow.entries.append(Entry(tree, Frame(names=dict(inner.scope.frame.names))))
    falls = inner.statements(tree.body)
    new = []
    if falls:
        own = [(n, v) for n, v in inner.scope.frame.variables() if not isinstance(e.scope.find(n), Variable)]
        new = [(name, variable.type) for name, variable in own]
        values = [inner.load(name, variable) for name, variable in own]
        inner.insert("prim::ReturnStmt", (_outcome(inner, FELL, pack_tuple(inner, values)),))
    inner.graph.keeps_errors = True
    make_structured(inner.graph, OUTCOME)
    to_ssa(inner.graph)
    clean(inner.graph)
    function = Function("try", inner.graph, schema_of("try", inner.graph))
    return _Body(function, inputs, cells, new, falls, inner.flow.merged_return, inner.flow.exits or set())


def _inner_emission(e: Emitter) -> Emission:
    """What emits the body: another graph in the same function of the program."""
    exits: set[int] | None = set() if e.flow.loop is not None or e.flow.exits is not None else None
    stops = isinstance(e.flow.generator, Stops)
    scope: FunctionScope[Sugared] = FunctionScope(
        name=e.scope.name,
        resolver=e.scope.resolver,
        symbols=e.scope.symbols,
        unique_name=e.scope.unique_name,
        has_self=e.scope.has_self,
        inherited=e.scope.inherited,
        expanding=e.scope.expanding if stops else (),
    )
    flow: Flow[Sugared] = Flow(
        declared_return=e.flow.declared_return, exits=exits, generator=e.flow.generator if stops else None
    )
    builder = Builder(Graph("try"), scope_names=e.builder.scope_names)
    inner = Emission(builder=builder, scope=scope, flow=flow, rules=e.rules, type_variables=e.type_variables)
    inner.flow.wrap_return = lambda value: _outcome(inner, RETURNED, value)
    return inner


def _pass_caught(e: Emitter, inner: Emission, tree: Try) -> list[Value]:
    """The exception that a handler around caught, if the body raises it again."""
    if e.flow.caught is None or not any(isinstance(t, Reraise) for part in tree.body for t in part.walk()):
        return []
    inner.flow.caught = inner.graph.add_parameter(e.flow.caught.static_type)
    return [e.flow.caught]


def _pass_names(e: Emitter, inner: Emission, tree: Try, inputs: list[Value]) -> dict[Name, tuple[Value, Variable]]:
    """Let the body have what it uses, adding to `inputs`; the lists that keep what it changes, by name."""
    used, changed = _used_and_changed(e, tree)
    cells: dict[Name, tuple[Value, Variable]] = {}
    for name in used:
        meaning = e.scope.find(name)
        if isinstance(meaning, Variable):
            value = e.load(name, meaning)
            if name in changed:
                # In a body inside of a body both use one cell: an exception may leave both at once.
                value = e.builder.cells.get(meaning.slot) or pack_list(e, [value], meaning.type)
                cells[name] = (value, meaning)
            inputs.append(value)
            _parameter(inner, name, value, meaning, name in changed)
        elif isinstance(meaning, Sugared):
            inner.scope.frame.names[name], parts = carry(meaning, str(name), tree.body[0].range)
            for slot, value in parts.items():
                inputs.append(value)
                inner.store(slot, inner.graph.add_parameter(value.static_type, slot))
        elif meaning is not None:
            inner.scope.frame.names[name] = meaning
    return cells


def _used_and_changed(e: Emitter, tree: Try) -> tuple[list[Name], set[Name]]:
    """The names that the body uses, and those that it assigns; nested functions that it calls use and assign some."""
    changed: set[Name] = {*assigned_names(tree.body)}
    used: dict[Name, None] = dict.fromkeys(used_names(tree.body))
    for name in list(used):
        meaning = e.scope.find(name)
        if isinstance(meaning, Sugared):
            needed = names_needed(e, meaning)
            used.update(dict.fromkeys(needed))
            changed |= {n for n, is_assigned in needed.items() if is_assigned}
    return list(used), changed


def _parameter(inner: Emission, name: Name, value: Value, variable: Variable, is_cell: bool) -> None:
    text = str(name)
    parameter = inner.graph.add_parameter(value.static_type, text if text.isascii() and text.isidentifier() else "")
    if is_cell:
        open_cell(inner, name, parameter, variable.type)
    else:
        inner.store(name, parameter, variable.type)
    own = inner.scope.frame.names[name]
    assert isinstance(own, Variable)
    inner.scope.frame.names[name] = replace(own, declared=variable.declared)


def _outcome(e: Emitter, code: int, value: Value) -> Value:
    return pack_tuple(e, [e.constant(code), value], OUTCOME)
