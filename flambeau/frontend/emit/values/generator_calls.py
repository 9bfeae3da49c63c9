"""A call of a generator: a loop goes over it item by item, a variable keeps it, anything else takes the list of its
items.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from flambeau.frontend.closures.call_arguments import OBJECTS, Argument, takes_anything
from flambeau.frontend.closures.captures import Closure, name_at
from flambeau.frontend.emit.frames import Variable
from flambeau.frontend.emit.generator_lists import declared_element
from flambeau.frontend.emit.implicit_conversions import convert
from flambeau.frontend.emit.inlined import expand
from flambeau.frontend.emit.values.carried_values import slots_of
from flambeau.frontend.emit.values.coroutines import (
    GeneratorArguments,
    SuspendedGenerator,
    SuspendedIteration,
    suspended_generator,
)
from flambeau.frontend.emit.values.simple_value import ItemIteration, SimpleValue
from flambeau.frontend.emit.values.sugared import Emitter, Iteration, Sugared
from flambeau.frontend.scopes.captured_names import CapturedName, Name
from flambeau.frontend.scopes.python_constants import constant_type, constant_value
from flambeau.frontend.scopes.type_annotations import type_of_tree
from flambeau.frontend.trees.own_statements import own_statements
from flambeau.frontend.trees.tree_views import Def, Param, Try, Yield
from flambeau.ir.graph import Value
from flambeau.program.function import Function
from flambeau.schema.subtype import is_subtype
from flambeau.schema.types import TENSOR, Type
from flambeau.util.record import dataclass
from flambeau.util.source import SourceRange


@dataclass(slots=True)
class GeneratorCall(Sugared):
    """`g(n)` of a generator `g`."""

    is_lazy: ClassVar[bool] = True

    called: GeneratorArguments
    listed: Callable[[Emitter], Value]
    """Emits the call that gives all its items."""

    def must_stop(self, e: Emitter) -> bool:
        """Whether it cannot be inlined: it is inside of itself, or yields in a `try`."""
        tree = self.called.tree
        return id(tree) in e.scope.expanding or any(
            isinstance(inner, Yield)
            for statement in own_statements(tree.body)
            if isinstance(statement, Try)
            for inner in own_statements((statement,))
        )

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return "generator"

    def as_value(self, e: Emitter, where: SourceRange) -> Value:
        """The list of its items."""
        return self.kept(e, where).as_value(e, where) if self.must_stop(e) else self.listed(e)

    def kept(self, e: Emitter, where: SourceRange) -> SuspendedGenerator:
        """The generator, which has not begun."""
        return suspended_generator(e, where, self.called)

    def as_tuple(self, e: Emitter, where: SourceRange, size: int | None = None) -> list[Sugared]:
        """Its items."""
        return SimpleValue(self.as_value(e, where)).as_tuple(e, where, size)

    def iterate(self, e: Emitter, where: SourceRange) -> Iteration:
        """Item by item."""
        return GeneratorIteration(self)


@dataclass(slots=True)
class GeneratorIteration(Iteration):
    """Over what a generator yields: inlined in a loop of its own, else over the list of all."""

    call: GeneratorCall
    all: ItemIteration | None = None

    def _all(self, e: Emitter, where: SourceRange) -> ItemIteration:
        if self.all is None:
            self.all = ItemIteration(self.call.as_value(e, where))
        return self.all

    def trip_count(self, e: Emitter, where: SourceRange) -> Value | None:
        """The length of the list."""
        return self._all(e, where).trip_count(e, where)

    def at(self, e: Emitter, where: SourceRange, index: Value) -> Sugared:
        """An item of the list."""
        return self._all(e, where).at(e, where, index)

    def emit(self, e: Emitter, where: SourceRange, body: Callable[[Sugared], bool], jumps: bool) -> bool | None:
        """The loop, with the generator inlined if it can be."""
        call = self.call
        if call.must_stop(e):
            kept = call.kept(e, where)
            SuspendedIteration(kept).emit(e, where, body, jumps)
            kept.attribute(e, where, "close").call(e, where, (), ())
            return True
        called = call.called
        names: dict[Name, Variable | Sugared] = {}
        for name, value in called.values.items():
            if isinstance(value, Sugared):
                names[name] = value
            else:
                names[name] = e.store_aside(name, value)
        for capture in () if called.closure is None else called.closure.captured:
            assert called.closure is not None
            name = capture.name
            meaning = e.scope.find(name_at(called.closure, name, e.scope.unique_name))
            if isinstance(meaning, Variable | Sugared):
                names[name] = meaning
                names[CapturedName(name, called.closure.defining_scope)] = meaning  # for what calls itself
            for slot in slots_of(meaning):
                variable = e.scope.find(slot)
                assert isinstance(variable, Variable)
                names[slot] = variable
        element = declared_element(called.tree, called.resolver)
        return expand(
            e, where, called.tree, called.resolver, names, element, body,
            jumps=jumps, is_method=called.is_method, symbols=None if called.closure is None else called.closure.symbols,
        )


def generator_call(
    e: Emitter,
    tree: Def,
    resolver: Any,
    defaults: Mapping[str, Any],
    args: Sequence[Argument],
    keywords: Mapping[str, Argument],
    listed: Callable[[Emitter], Value],
    compile_: Callable[..., Function],
    closure: Closure | None = None,
    *,
    is_method: bool = False,
) -> GeneratorCall | None:
    """The call of a generator with values; None where only the compiled function can tell what it means."""
    passed = _passed(e, tree, args, keywords)
    if passed is None:
        return None
    values: dict[str, Value | Sugared] = {}
    for param in tree.decl.params:
        value = passed.get(param.name)
        if value is None:
            value = _default(e, defaults, param.name)
        if isinstance(value, Value):
            value = _as_parameter(e, param, value, resolver, in_closure=closure is not None)
        if value is None:
            return None
        values[param.name] = value
    return GeneratorCall(GeneratorArguments(tree, resolver, values, compile_, defaults, closure, is_method), listed)


def _passed(
    e: Emitter, tree: Def, args: Sequence[Argument], keywords: Mapping[str, Argument]
) -> dict[str, Value | Sugared] | None:
    """What a call passes, by parameter; None for a call that does not fit."""
    decl = tree.decl
    positional = [p for p in decl.params if not p.keyword_only]
    if decl.vararg is not None or decl.kwarg is not None or len(args) > len(positional):
        return None
    by_name = {p.name for p in decl.params if not p.positional_only}
    passed: dict[str, Value | Sugared] = {}
    pairs = [(p.name, a) for p, a in zip(positional, args, strict=False)]
    for name, argument in (*pairs, *keywords.items()):
        if name in passed or (name in keywords and name not in by_name):
            return None
        passed[name] = argument.value(e) if argument.is_value else argument.sugared
    return passed


def _default(e: Emitter, defaults: Mapping[str, Any], name: str) -> Value | None:
    """The default of a parameter; None if there is none, or it is no constant."""
    if name not in defaults:
        return None
    try:
        default = constant_value(defaults[name])
        return e.constant(default, constant_type(default))
    except TypeError:
        return None


def _as_parameter(e: Emitter, param: Param, value: Value, resolver: Any, *, in_closure: bool) -> Value | None:
    """An argument as the type of its parameter; None if it cannot be."""
    if takes_anything(param):
        is_plain = not in_closure and param.annotation is None
        fits = is_subtype(value.static_type, TENSOR) or isinstance(value.static_type, OBJECTS)
        return None if is_plain and not fits else value
    wanted: Type = TENSOR if param.annotation is None else type_of_tree(param.annotation, resolver)
    value = convert(e, value, wanted, implicit=True)
    return value if is_subtype(value.static_type, wanted) else None
