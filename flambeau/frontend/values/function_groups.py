"""Functions in a list or tuple, and functions that a condition or an index chooses: known to the compiler, no values.

for g in [relu, lambda x: x * 2]: y = g(y)    →    the body once for each
(g if c else h)(x)                            →    prim::If(%c) with a call in each arm
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from flambeau.frontend.emit.calls import emit_arguments
from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.trees.views import Apply
from flambeau.frontend.values.simple_value import SimpleValue, UnrolledIteration
from flambeau.frontend.values.sugared import Given, Iteration, Sugared
from flambeau.ir.value import Value
from flambeau.schema.subtype import unify
from flambeau.schema.types import INT, Type
from flambeau.util.errors import CompileError
from flambeau.util.record import dataclass
from flambeau.util.source import SourceRange

if TYPE_CHECKING:
    from flambeau.frontend.emit.emission import Emission

OUT_OF_RANGE = "index {index} is out of range: there are {count} functions"
TWO_RESULTS = "the functions that are chosen among return {first} and {second}: they have to return one type"


@dataclass(slots=True)
class FunctionsValue(Sugared):
    """`[f, g]` of functions."""

    items: list[Sugared]
    places: list[SourceRange]
    """Where each was written."""

    @property
    def kind(self) -> str:
        """As messages call it."""
        return "list of functions"

    def as_value(self, e: Emission, where: SourceRange) -> Value:
        """Functions are no values. Raises CompileError."""
        self.items[0].as_value(e, self.places[0])
        return Sugared.as_value(self, e, where)

    def as_tuple(self, e: Emission, where: SourceRange, size: int | None = None) -> list[Sugared]:
        """The functions."""
        return self.items

    def iterate(self, e: Emission, where: SourceRange) -> Iteration:
        """Over the functions, written out."""
        return UnrolledIteration(self.items)

    def length(self, e: Emission, where: SourceRange) -> Value:
        """How many."""
        return e.constant(len(self.items))

    def item(self, e: Emission, where: SourceRange, index: Value) -> Sugared:
        """The function at an index, or one that is chosen by it when the program runs."""
        count = len(self.items)
        node = index.node
        known: int | None = node.attribute("value") if node is not None and node.kind == "prim::Constant" else None
        if index.type != INT:
            raise CompileError("an index of functions must be an integer", where)
        if known is not None:
            if not -count <= known < count:
                raise CompileError(OUT_OF_RANGE.format(index=known, count=count), where)
            return self.items[known]
        wrapped = call_operator(e, where, "aten::remainder", [index, e.constant(count)])
        return ChosenFunction(wrapped, self.items)


@dataclass(slots=True)
class ChosenFunction(Sugared):
    """One of several functions, by number."""

    index: Value
    items: list[Sugared]

    @property
    def kind(self) -> str:
        """As messages call it."""
        return "function"

    def call(self, e: Emission, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """A call of the one that is chosen. Raises CompileError if they return values of different types."""
        return self._call(e, where, 0, args, keywords)

    def _call(
        self, e: Emission, where: SourceRange, at: int, args: Sequence[Given], keywords: Sequence[Given]
    ) -> Sugared:
        if at == len(self.items) - 1:
            return self.items[at].call(e, where, args, keywords)
        test = call_operator(e, where, "aten::eq", [self.index, e.constant(at)])
        node = e.graph.insert("prim::If", (test,), ())
        results: list[Value] = []
        for function in (self.items[at], None):
            block = node.add_block()
            with e.inside(block):
                made = (
                    self._call(e, where, at + 1, args, keywords)
                    if function is None
                    else function.call(e, where, args, keywords)
                )
                results.append(made.as_value(e, where))
                block.add_output(results[-1])
        common = unify(results[0].type, results[1].type)
        if common is None:
            text = TWO_RESULTS.format(first=results[0].type.annotation, second=results[1].type.annotation)
            raise CompileError(text, where)
        return SimpleValue(node.add_output(common))


@dataclass(slots=True)
class PartialCall(Sugared):
    """`functools.partial(f, a, k=b)` with values of the program."""

    function: Sugared
    args: list[Given]
    keywords: list[Given]

    @property
    def kind(self) -> str:
        """As messages call it."""
        return "partial function"

    def call(self, e: Emission, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """A call with the given arguments first; keywords of the call replace those given."""
        names = {k.name for k in keywords}
        kept = [k for k in self.keywords if k.name not in names]
        return self.function.call(e, where, [*self.args, *args], [*kept, *keywords])


def emit_partial(e: Emission, tree: Apply, hint: Type | None) -> Sugared:
    """`functools.partial(f, ...)`."""
    if not tree.args:
        raise CompileError("partial expected a function", tree.callee.range)
    rest = Apply(tree.range, tree.callee, tree.args[1:], tree.keywords)
    args, keywords = emit_arguments(e, rest)
    return PartialCall(e.sugared(tree.args[0]), args, keywords)
