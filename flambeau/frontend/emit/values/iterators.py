"""Loops over objects: what `__iter__` gives, item by item from `__next__`, or from `__getitem__` while it has items.

for v in steps: …        →      it = steps.__iter__()          inlined as if it were a generator,
                                while True:                    whose `yield` is the body of the loop
                                    try:
                                        item = it.__next__()
                                    except StopIteration:
                                        return
                                    yield item
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flambeau.frontend.closures.bound import Bound
from flambeau.frontend.emit.schema_matching import call_function, call_method
from flambeau.frontend.emit.values.coroutines import GeneratorArguments
from flambeau.frontend.emit.values.generator_calls import GeneratorCall
from flambeau.frontend.emit.values.object_methods import find_method, gives_iterator, has_method
from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.emit.values.sugared import Emitter, Given, Sugared
from flambeau.frontend.trees.tree_views import (
    Apply,
    Assign,
    AugAssign,
    Compare,
    Const,
    Decl,
    Def,
    FalseLit,
    For,
    Handler,
    Ident,
    If,
    NoneLit,
    Param,
    Return,
    Select,
    Stmt,
    Subscript,
    TrueLit,
    Try,
    Var,
    While,
    Yield,
)
from flambeau.ir.graph import Value
from flambeau.program.function import Function
from flambeau.schema.subtype import is_subtype
from flambeau.schema.types import INT, NamedType, Type
from flambeau.util.errors import CompileError
from flambeau.util.record import dataclass
from flambeau.util.source import SourceRange

Compiler = Callable[..., Function]
NO_ITERATOR = "__iter__ of '{type}' gives an object of '{found}', which has no __next__: return self, a list, or yield"
OBJECT, ITEM, AT, WANTED = "it", "item", "at", "wanted"


def iterator(e: Emitter, where: SourceRange, value: Value, compile_: Compiler) -> Sugared | None:
    """What a loop over an object goes over; None for what is no object, or cannot be gone over.

    Raises CompileError for an object whose `__iter__` gives one without `__next__`.
    """
    type_ = value.static_type
    if not isinstance(type_, NamedType) or getattr(type_.definition, "is_module", False):
        return None
    generator = e.rules.generator_method(e, value, "__iter__", where)
    if generator is not None:
        return generator.call(e, where, (), ())
    method = find_method(e, type_, "__iter__", where)
    if method is None:
        return _call(e, where, value, _by_index, compile_) if _has_index(e, type_, where) else None
    result = call_method(e, where, method, "__iter__", value, (), ())
    if not isinstance(result.static_type, NamedType):
        return SimpleValue(result)
    if not has_method(e, result.static_type, "__next__", where):
        raise CompileError(NO_ITERATOR.format(type=type_.annotation, found=result.static_type.annotation), where)
    return _call(e, where, result, _by_next, compile_)


def _has_index(e: Emitter, type_: NamedType, where: SourceRange) -> bool:
    method = find_method(e, type_, "__getitem__", where)
    schema = method.schema if isinstance(method, Function) else method
    return schema is not None and len(schema.arguments) == 2 and is_subtype(INT, schema.arguments[1].type)


def search(e: Emitter, where: SourceRange, container: Value, item: Value, compile_: Compiler) -> Value | None:
    """`item in container` of an object that takes no more items than it needs; None for other things."""
    if not _one_by_one(e, container.static_type, where):
        return None
    types = {OBJECT: container.static_type, WANTED: item.static_type}
    function = compile_(_Trees(where).search(), e.scope.resolver, bound=Bound(types))
    return call_function(e, where, function, [Given(container, where), Given(item, where)], ())


def _one_by_one(e: Emitter, type_: Type, where: SourceRange) -> bool:
    if not isinstance(type_, NamedType) or getattr(type_.definition, "is_module", False):
        return False
    if has_method(e, type_, "__iter__", where):
        return gives_iterator(e, type_, where)
    return _has_index(e, type_, where)


def _call(
    e: Emitter, where: SourceRange, value: Value, statements: Callable[[_Trees], tuple[Stmt, ...]], compile_: Compiler
) -> GeneratorCall:
    trees = _Trees(where)
    tree = trees.function("iterate", (OBJECT,), statements(trees))

    def listed(e: Emitter) -> Value:
        function = compile_(tree, e.scope.resolver, bound=Bound({OBJECT: value.static_type}))
        return call_function(e, where, function, [Given(value, where)], ())

    return GeneratorCall(GeneratorArguments(tree, e.scope.resolver, {OBJECT: value}, compile_, {}), listed)


def _by_next(t: _Trees) -> tuple[Stmt, ...]:
    call = Apply(t.where, Select(t.where, t.name(OBJECT), t.ident("__next__")), (), ())
    return t.until(call, "StopIteration", ())


def _by_index(t: _Trees) -> tuple[Stmt, ...]:
    step = AugAssign(t.where, t.name(AT), "+", Const(t.where, 1))
    start = Assign(t.where, (t.name(AT),), Const(t.where, 0), None)
    return (start, *t.until(Subscript(t.where, t.name(OBJECT), (t.name(AT),)), "IndexError", (step,)))


@dataclass(frozen=True, slots=True)
class _Trees:
    """Trees that all stand where the loop stands."""

    where: SourceRange

    def ident(self, name: str) -> Ident:
        return Ident(self.where, name)

    def name(self, name: str) -> Var:
        return Var(self.where, self.ident(name))

    def function(self, name: str, params: tuple[str, ...], body: tuple[Stmt, ...]) -> Def:
        listed = tuple(Param(self.where, self.ident(p), None, None, False) for p in params)
        return Def(self.where, self.ident(name), Decl(self.where, listed, None), body)

    def until(self, item: Any, error: str, step: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        """Items, until evaluating the next raises an error."""
        w = self.where
        stop = Handler(w, self.name(error), None, (Return(w, NoneLit(w)),))
        taken = Try(w, (Assign(w, (self.name(ITEM),), item, None),), (stop,), (), ())
        return (While(w, TrueLit(w), (taken, *step, Yield(w, self.name(ITEM), False))),)

    def search(self) -> Def:
        """Whether an item is among those that are gone over."""
        w = self.where
        test = Compare(w, "==", self.name(ITEM), self.name(WANTED))
        hit = If(w, test, (Return(w, TrueLit(w)),), ())
        loop = For(w, (self.name(ITEM),), (self.name(OBJECT),), (hit,))
        return self.function("contains", (OBJECT, WANTED), (loop, Return(w, FalseLit(w))))
