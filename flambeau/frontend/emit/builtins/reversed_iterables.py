"""`reversed` in programs."""

from __future__ import annotations

from flambeau.frontend.emit.builtins.iterables import RangeValue
from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.emit.values.container_methods import listed
from flambeau.frontend.emit.values.simple_value import SimpleValue, UnrolledIteration
from flambeau.frontend.emit.values.sugared import Emitter, Iteration, Sugared
from flambeau.frontend.trees.tree_views import Apply
from flambeau.ir.graph import Value
from flambeau.schema.types import ListType, Type
from flambeau.util.errors import CompileError
from flambeau.util.record import dataclass
from flambeau.util.source import SourceRange


@dataclass(slots=True)
class ReversedIteration(Iteration):
    """Another iteration from its end."""

    inner: Iteration
    count: Value

    def trip_count(self, e: Emitter, where: SourceRange) -> Value:
        """As many rounds as what is reversed has."""
        return self.count

    def at(self, e: Emitter, where: SourceRange, index: Value) -> Sugared:
        """Its item as far from the end as the round is from the start."""
        last = call_operator(e, where, "aten::sub", [self.count, e.constant(1)])
        return self.inner.at(e, where, call_operator(e, where, "aten::sub", [last, index]))


@dataclass(slots=True)
class ReversedValue(Sugared):
    """`reversed(a)`."""

    inner: Sugared

    def as_value(self, e: Emitter, where: SourceRange) -> Value:
        """The list of the items from the end."""
        if isinstance(self.inner, SimpleValue) and isinstance(self.inner.value.static_type, ListType):
            return call_operator(e, where, "python::reversed", [self.inner.value])
        return listed(e, where, self)

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return "reversed"

    def iterate(self, e: Emitter, where: SourceRange) -> Iteration:
        """From the end."""
        iteration = self.inner.iterate(e, where)
        if iteration.unrolled is not None:
            return UnrolledIteration(iteration.unrolled[::-1])
        count = iteration.trip_count(e, where)
        if count is None:
            raise CompileError("reversed needs something with an end", where)
        if isinstance(self.inner, RangeValue) and self.inner.start is None:
            # A range with a negative end is empty: the number of rounds is what the indices count back from.
            count = call_operator(e, where, "prim::max", [count, e.constant(0)])
        return ReversedIteration(iteration, count)


def emit_reversed(e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
    """`reversed(...)`."""
    if len(tree.args) != 1 or tree.keywords:
        count = len(tree.args) + len(tree.keywords)
        raise CompileError(f"reversed expected 1 argument, got {count}", tree.callee.range)
    return ReversedValue(e.sugared(tree.args[0]))
