"""`map` in programs: a function applied to items as they are asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from flambeau.frontend.emit.builtins.iterables import JoinedValue
from flambeau.frontend.emit.values.simple_value import UnrolledIteration
from flambeau.frontend.emit.values.sugared import Emitter, Given, Iteration, Sugared
from flambeau.frontend.emit.values.tuple_values import TupleValue
from flambeau.frontend.trees.tree_views import Apply
from flambeau.ir.graph import Value
from flambeau.schema.types import Type
from flambeau.util.errors import CompileError
from flambeau.util.record import dataclass
from flambeau.util.source import SourceRange


@dataclass(slots=True)
class MappedValue(Sugared):
    """`map(f, a, b)`: what a function gives for the items of one or several things."""

    is_lazy: ClassVar[bool] = True

    function: Sugared
    source: Sugared

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return "map"

    def iterate(self, e: Emitter, where: SourceRange) -> Iteration:
        """Over the function's results."""
        inner = self.source.iterate(e, where)
        if inner.unrolled is not None:
            return UnrolledIteration([apply_item(e, where, self.function, item) for item in inner.unrolled])
        return MappedIteration(self.function, inner)


@dataclass(slots=True)
class MappedIteration(Iteration):
    """Another iteration through a function."""

    function: Sugared
    inner: Iteration

    def trip_count(self, e: Emitter, where: SourceRange) -> Value | None:
        """As many rounds as what the function is mapped over has."""
        return self.inner.trip_count(e, where)

    def at(self, e: Emitter, where: SourceRange, index: Value) -> Sugared:
        """What the function gives for its item."""
        return apply_item(e, where, self.function, self.inner.at(e, where, index))

    def emit(self, e: Emitter, where: SourceRange, body: Callable[[Sugared], bool], jumps: bool) -> bool | None:
        """The loop of what has a form of its own."""
        return self.inner.emit(e, where, lambda item: body(apply_item(e, where, self.function, item)), jumps)


def apply_item(e: Emitter, where: SourceRange, function: Sugared, item: Sugared) -> Sugared:
    """The function's result for an item; the items of a `zip` are its arguments."""
    parts = item.items if isinstance(item, TupleValue) else [item]
    return function.call(e, where, [Given(part.as_value(e, where), where) for part in parts], ())


def emit_map(e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
    """`map(f, a, ...)`."""
    if len(tree.args) < 2 or tree.keywords:
        raise CompileError("map expected a function and at least one iterable", tree.callee.range)
    function = e.sugared(tree.args[0])
    sources = [e.sugared(arg) for arg in tree.args[1:]]
    if len(sources) == 1:
        return MappedValue(function, sources[0])
    parts = [s.iterate(e, a.range) for s, a in zip(sources, tree.args[1:], strict=True)]
    return MappedValue(function, JoinedValue("map", parts))
