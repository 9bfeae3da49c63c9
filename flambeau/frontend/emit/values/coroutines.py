"""Generators that are kept: a value of the graph stands for one, and each item is asked for.

it = g(3); a = next(it)     →    %it : Any = ^generator(%three)    %there, %item = ^next(%it)
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from flambeau.frontend.closures.bound import Bound
from flambeau.frontend.closures.captured_parameters import captured_parameters
from flambeau.frontend.closures.captures import Closure
from flambeau.frontend.emit.generator_lists import declared_element
from flambeau.frontend.emit.implicit_conversions import convert
from flambeau.frontend.emit.loop_iterations import emit_while
from flambeau.frontend.emit.refusals import raise_unless
from flambeau.frontend.emit.values.container_methods import listed
from flambeau.frontend.emit.values.object_methods import has_method
from flambeau.frontend.emit.values.simple_value import ItemIteration, SimpleValue
from flambeau.frontend.emit.values.sugared import Emitter, FormValue, Iteration, Sugared
from flambeau.frontend.trees.tree_views import Apply, Def, Expr
from flambeau.ir.graph import Value
from flambeau.program.function import Function
from flambeau.program.generators import Suspended, close, over, rest, step
from flambeau.schema.subtype import unify_all
from flambeau.schema.types import (
    ANY,
    BOOL,
    STRING,
    TENSOR,
    DictType,
    ListType,
    NamedType,
    StringType,
    TensorType,
    TupleType,
    Type,
)
from flambeau.util.errors import CompileError
from flambeau.util.record import dataclass
from flambeau.util.source import SourceRange

STEP = TupleType((BOOL, ANY))
ASSIGNS = (
    "'{name}' assigns variables of the function around it, so it cannot be kept: loop over the call, or pass a list "
    "and change that"
)
CHANGED = (
    "'{name}' is read by a generator that is kept in a variable, so it cannot be assigned from here on: pass it to the "
    "generator as an argument, or give the new value another name"
)
NO_NEXT = (
    "Python builtin {builtin!r} is currently not supported in Torchscript but for one object whose class has __next__; "
    "loop with for, which can break, or take items of a list"
)
UNDECLARED = "a generator that calls itself has to say what it yields, as in `-> Iterator[int]`"
NO_METHOD = "a generator in a program has no '{name}': call next() on it, loop over it, or close() it"
NO_DEFAULT = "next() takes a generator or an iterator, and a value for when there is nothing more"
TWO_TYPES = "the default of next() is a {default}, but the items are {items}"


@dataclass(slots=True)
class GeneratorArguments:
    """A generator with the arguments of a call."""

    tree: Def
    resolver: Any
    """Where its names are looked up."""
    values: Mapping[str, Value | Sugared]
    """Its parameters."""
    compile: Callable[..., Function]
    """`compile_def`."""
    defaults: Mapping[str, Any]
    closure: Closure | None = None
    """The nested function that it is, if it is one."""
    is_method: bool = False

    @property
    def declared(self) -> Type | None:
        """What it says that it yields."""
        return declared_element(self.tree, self.resolver)


class _Active(threading.local):
    """The generators that are being compiled to be kept, by what they are compiled for."""

    def __init__(self) -> None:
        self.compiling: dict[Any, tuple[Suspended, Type | None]] = {}


_active = _Active()


@dataclass(slots=True)
class SuspendedGenerator(Sugared):
    """A generator or an iterator that is kept."""

    is_lazy: ClassVar[bool] = True

    handle: Value
    element: Type

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return "generator"

    def as_value(self, e: Emitter, where: SourceRange) -> Value:
        """The list of the items that are left."""
        return e.emit("^rest", (self.handle,), ListType(self.element), callable=rest)

    def as_tuple(self, e: Emitter, where: SourceRange, size: int | None = None) -> list[Sugared]:
        """The items that are left."""
        return SimpleValue(self.as_value(e, where)).as_tuple(e, where, size)

    def attribute(self, e: Emitter, where: SourceRange, name: str) -> Sugared:
        """`close`."""
        if name != "close":
            raise CompileError(NO_METHOD.format(name=name), where)
        return FormValue("close", lambda e, tree, hint: self._closed(e))

    def _closed(self, e: Emitter) -> Sugared:
        e.insert("^close", (self.handle,), callable=close)
        return SimpleValue(e.constant(None))

    def iterate(self, e: Emitter, where: SourceRange) -> Iteration:
        """Item by item."""
        return SuspendedIteration(self)

    def step(self, e: Emitter) -> tuple[Value, Value]:
        """Whether there is another item, and the item, which has its type only if there is."""
        result = e.emit("^next", (self.handle,), STEP, callable=step)
        node = e.graph.insert("prim::TupleUnpack", (result,), STEP.elements)
        return node.results[0], node.results[1]

    def item_of(self, e: Emitter, item: Value) -> Value:
        """An item that is there."""
        return e.emit("prim::unchecked_cast", (item,), self.element)


@dataclass(slots=True)
class SuspendedIteration(Iteration):
    """Over a generator that is kept."""

    source: SuspendedGenerator
    all: ItemIteration | None = None

    def _all(self, e: Emitter, where: SourceRange) -> ItemIteration:
        if self.all is None:
            self.all = ItemIteration(self.source.as_value(e, where))
        return self.all

    def trip_count(self, e: Emitter, where: SourceRange) -> Value | None:
        """The length of the list of what is left."""
        return self._all(e, where).trip_count(e, where)

    def at(self, e: Emitter, where: SourceRange, index: Value) -> Sugared:
        """An item of that list."""
        return self._all(e, where).at(e, where, index)

    def emit(self, e: Emitter, where: SourceRange, body: Callable[[Sugared], bool], jumps: bool) -> bool:
        """A loop that asks for an item before each round."""
        there, first = self.source.step(e)
        variable = e.store_aside("item", first)

        def again() -> Value:
            goes_on, item = self.source.step(e)
            e.insert("prim::Store", (item,), name=variable.slot, type=ANY)
            return goes_on

        def round_() -> bool:
            return body(SimpleValue(self.source.item_of(e, e.load("item", variable))))

        emit_while(e, there, lambda: None, again, round_)
        return True


def suspended_generator(e: Emitter, where: SourceRange, call: GeneratorArguments) -> SuspendedGenerator:
    """A call of a generator that stops at each `yield`. Raises CompileError for what cannot be kept."""
    tree = call.tree
    types: dict[str, Type] = {}
    constants: dict[str, Sugared] = {}
    operands: list[Value] = []
    for name, value in call.values.items():
        if isinstance(value, Sugared):
            constants[name] = value
        else:
            types[name] = TENSOR if isinstance(value.static_type, TensorType) else value.static_type
            operands.append(value)
    refusal = ASSIGNS.format(name=tree.name)
    captured = captured_parameters(e, where, call.closure, constants, tree, refusal)
    for name, variable in captured.variables.items():
        if variable.slot in e.builder.cells:
            raise CompileError(refusal, where)
        e.builder.observers[variable.slot] = _refusal(e, name)
    types.update(captured.types)
    bound = Bound(
        types, captured.constants, captured.trees(where), aliases=captured.aliases, is_suspended=True,
        has_self=call.is_method, symbols=None if call.closure is None else call.closure.symbols,
    )  # fmt: skip
    body, element = _suspended(call, bound, where)
    return SuspendedGenerator(e.emit("^generator", [*operands, *captured.values.values()], ANY, callable=body), element)


def _refusal(e: Emitter, name: str) -> Callable[[Value], None]:
    def refuse(value: Value) -> None:
        raise CompileError(CHANGED.format(name=name), e.graph.current_range)

    return refuse


def _suspended(call: GeneratorArguments, bound: Bound, where: SourceRange) -> tuple[Suspended, Type]:
    """The body, compiled for these types, and what it yields."""
    key = (id(call.tree), tuple(bound.types.items()), tuple(bound.constants))
    active = _active.compiling.get(key)
    if active is not None:
        if active[1] is None:
            raise CompileError(UNDECLARED, where)
        return active[0], active[1]
    body, declared = Suspended(), call.declared
    _active.compiling[key] = body, declared
    try:
        body.body = call.compile(call.tree, call.resolver, defaults=call.defaults, bound=bound)
    finally:
        del _active.compiling[key]
    return body, declared or unify_all(bound.yielded, default_to_union=True) or TENSOR


@dataclass(slots=True)
class IteratorCall(Sugared):
    """`iter(x)` of a container or a generator."""

    source: Sugared

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return "iterator"

    def as_value(self, e: Emitter, where: SourceRange) -> Value:
        """A list of the items; a list itself."""
        return listed(e, where, self.source)

    def as_tuple(self, e: Emitter, where: SourceRange, size: int | None = None) -> list[Sugared]:
        """The items."""
        return self.source.as_tuple(e, where, size)

    def iterate(self, e: Emitter, where: SourceRange) -> Iteration:
        """As over the thing itself."""
        return self.source.iterate(e, where)

    def kept(self, e: Emitter, where: SourceRange) -> Sugared:
        """An iterator, which sees what is done to the container meanwhile."""
        source = self.source.kept(e, where)
        if isinstance(source, SuspendedGenerator):
            return source
        value = source.stored_value(e, where)
        if value is None or not isinstance(value.static_type, ListType | DictType | StringType):
            value = listed(e, where, source)
        element = value.static_type.key if isinstance(value.static_type, DictType) else STRING
        if isinstance(value.static_type, ListType):
            element = value.static_type.element
        return SuspendedGenerator(e.emit("^iter", (value,), ANY, callable=over), element)


def emit_next(e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
    """`next(it)`, which raises StopIteration behind the last item, and `next(it, default)`."""
    if not 1 <= len(tree.args) <= 2 or tree.keywords:
        raise CompileError(NO_DEFAULT, tree.callee.range)
    with e.builder.observing_for_now():
        source = e.rules.keep(e, tree.args[0]) or e.sugared(tree.args[0]).kept(e, tree.args[0].range)
    type_ = source.value.static_type if isinstance(source, SimpleValue) else None
    if isinstance(type_, NamedType) and has_method(e, type_, "__next__", tree.range):
        if len(tree.args) == 2:
            raise CompileError(NO_NEXT.format(builtin=next), tree.callee.range)
        return source.attribute(e, tree.range, "__next__").call(e, tree.range, (), ())
    if not isinstance(source, SuspendedGenerator):
        raise CompileError(f"'{source.kind}' object is not an iterator: call iter() on it", tree.args[0].range)
    if len(tree.args) == 1:
        return SimpleValue(_next_item(e, source))
    return SimpleValue(_next_or(e, source, tree.args[1]))


def _next_item(e: Emitter, source: SuspendedGenerator) -> Value:
    """The next item; StopIteration is raised where there is none."""
    there, item = source.step(e)
    raise_unless(e, there, "", StopIteration)
    return source.item_of(e, item)


def _next_or(e: Emitter, source: SuspendedGenerator, tree: Expr) -> Value:
    """The next item; the value of `tree` where there is none."""
    default = e.value(tree, source.element)
    there, item = source.step(e)
    common = unify_all([source.element, default.static_type])
    if common is None:
        text = TWO_TYPES.format(default=default.static_type.annotation, items=source.element.annotation)
        raise CompileError(text, tree.range)
    node = e.graph.insert("prim::If", (there,), ())
    one, other = node.add_block(), node.add_block()
    with e.inside(one):
        one.add_return(source.item_of(e, item))
    with e.inside(other):
        other.add_return(convert(e, default, common, implicit=False))
    return node.add_result(common)
