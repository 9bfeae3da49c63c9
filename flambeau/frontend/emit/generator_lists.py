"""Generators: a function that yields gives the list of what it yields.

def g(n):                          %r = prim::ListConstruct()
    for i in range(n):      →      a loop that appends to it
        yield i                    return (%r)
"""

from __future__ import annotations

from typing import Final

from flambeau.frontend.emit.container_displays import list_element
from flambeau.frontend.emit.flow import Generated, Stops
from flambeau.frontend.emit.implicit_conversions import convert, pack_list
from flambeau.frontend.emit.inlined import Expansion, emit_expanded_yield
from flambeau.frontend.emit.loop_iterations import emit_for
from flambeau.frontend.emit.values.sugared import Emitter, Sugared
from flambeau.frontend.scopes.name_resolution import Resolver
from flambeau.frontend.scopes.type_annotations import type_of_tree
from flambeau.frontend.trees.function_conversion import parse_annotation
from flambeau.frontend.trees.tree_views import (
    Def,
    Expr,
    Select,
    Stmt,
    StringLiteral,
    Subscript,
    Tree,
    TrueLit,
    Var,
    While,
    Yield,
)
from flambeau.ir.graph import Value
from flambeau.program.generators import hand_over
from flambeau.schema.types import TENSOR, ListType, Type
from flambeau.util.errors import CompileError, NotSupportedError

ITERATORS: Final = ("Iterator", "Iterable", "Generator")
ENDLESS = "a generator without an end isn't supported: generators run to their end when they are called"


def yields(tree: Def) -> bool:
    """Whether a function is a generator. Functions inside it do not count."""
    pending: list[Tree] = list(tree.body)
    while pending:
        part = pending.pop()
        if isinstance(part, Yield):
            return True
        if isinstance(part, Stmt) and not isinstance(part, Def):
            pending += part.children
    return False


def begin(e: Emitter, tree: Def) -> None:
    """The empty list, at the start of the function. Raises NotSupportedError for a generator that cannot end."""
    _check_end(tree)
    element = declared_element(tree, e.scope.resolver)
    e.flow.generator = Generated(pack_list(e, (), element or TENSOR), element)


def declared_element(tree: Def, resolver: Resolver) -> Type | None:
    """What a generator says that it yields, as in `-> Iterator[int]`; None if it says nothing."""
    returns = tree.decl.returns
    if isinstance(returns, StringLiteral):
        returns = parse_annotation(returns.value, returns)
    if isinstance(returns, Subscript) and isinstance(returns.value, Var | Select) and returns.value.name in ITERATORS:
        return type_of_tree(returns.indices[0], resolver)
    return None


def _check_end(tree: Def) -> None:
    """`while True` without `break` or `return` never ends."""
    for part in (p for statement in tree.body for p in statement.walk()):
        if isinstance(part, While) and isinstance(part.condition, TrueLit):
            kinds = {type(inner).__name__ for statement in part.body for inner in statement.walk()}
            if not kinds & {"Break", "Return", "Raise"}:
                raise NotSupportedError(ENDLESS, part.range)


def emit_yield(e: Emitter, tree: Yield) -> bool:
    """`yield value`."""
    if e.flow.generator is None:
        raise NotSupportedError("yield isn't supported in a try block. Append to a list and return it", tree.range)
    if isinstance(e.flow.generator, Expansion):
        return emit_expanded_yield(e, tree, e.flow.generator)
    if isinstance(e.flow.generator, Stops):
        return _emit_stop(e, tree, e.flow.generator)
    if not tree.is_from:
        _append(e, e.value(tree.value, e.flow.generator.element))
        return True
    source = tree.value

    def body(each: Sugared) -> bool:
        _append(e, each.as_value(e, source.range))
        return True

    return emit_for(e, tree.range, e.sugared(source).iterate(e, source.range), body)


def _emit_stop(e: Emitter, tree: Yield, stops: Stops) -> bool:
    """`yield value` of a generator that stops there."""

    def stop(value: Value) -> bool:
        if stops.element is not None:
            value = convert(e, value, stops.element, implicit=False)
        stops.yielded.append(value.static_type)
        e.insert("^yield", (value,), callable=hand_over)
        return True

    if not tree.is_from:
        return stop(e.value(tree.value, stops.element))
    iteration = e.sugared(tree.value).iterate(e, tree.value.range)
    return emit_for(e, tree.range, iteration, lambda item: stop(item.as_value(e, tree.value.range)))


def _append(e: Emitter, value: Value) -> None:
    collected = e.flow.generator
    assert collected is not None
    if collected.element is not None:
        value = convert(e, value, collected.element, implicit=False)
    collected.values.append(value)
    collected.appends.append(e.emit("aten::append", (collected.result, value), collected.result.static_type))


def finish(e: Emitter, tree: Def) -> ListType:
    """The type of the list, now that all that is yielded is known. Raises CompileError for values of several types."""
    collected = e.flow.generator
    assert collected is not None
    wanted = None if collected.element is None else ListType(collected.element)
    type_ = ListType(list_element(e, tree.range, collected.values, wanted))
    for value in (collected.result, *collected.appends):
        value.set_type(type_)
    return type_


def returned(e: Emitter, value: Expr) -> Value:
    """What `return` gives in a generator: all that was yielded. Raises CompileError for a value of its own."""
    assert e.flow.generator is not None
    no_value(value)
    result: Value = e.flow.generator.result
    return result


def no_value(value: Expr) -> None:
    """Refuse `return value` in a generator."""
    if type(value).__name__ != "NoneLit":
        raise CompileError("a generator returns no value in programs: yield it", value.range)
