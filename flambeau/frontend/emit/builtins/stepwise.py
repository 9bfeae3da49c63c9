"""`zip` and `enumerate` of generators: each item is asked for when its turn comes, in the order of the parts.

for i, v in enumerate(g()):    →    the body of g, with a counter        for a, b in zip(x, g()):    →    g is kept
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flambeau.frontend.emit.frames import Variable
from flambeau.frontend.emit.loop_iterations import emit_while
from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.emit.values.coroutines import SuspendedGenerator, SuspendedIteration
from flambeau.frontend.emit.values.generator_calls import GeneratorIteration
from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.emit.values.sugared import Emitter, Iteration, Sugared
from flambeau.frontend.emit.values.tuple_values import TupleValue
from flambeau.ir.graph import Value
from flambeau.schema.types import ANY, BOOL, INT
from flambeau.util.record import dataclass, field
from flambeau.util.source import SourceRange

Body = Callable[[Sugared], bool]


def emit_joined(
    e: Emitter, where: SourceRange, parts: Sequence[Iteration], counters: Sequence[Iteration], body: Body, jumps: bool
) -> bool | None:
    """The loop over several things in step, if a generator is among them; `counters` are those without an end."""
    lazy = [part for part in parts if _is_lazy(part)]
    if not lazy:
        return None
    if len(lazy) == 1 and len(parts) == len(counters) + 1:
        return _counted(e, where, parts, lazy[0], body, jumps)
    joined = _Joined(e, where, parts, counters)
    emit_while(e, joined.ask(0), lambda: None, joined.again, lambda: body(joined.items()))
    return True


def _is_lazy(part: Iteration) -> bool:
    """Whether a generator is what, or among what, an iteration goes over."""
    inner = (*getattr(part, "parts", ()), *(p for p in (getattr(part, "inner", None),) if p is not None))
    return isinstance(part, GeneratorIteration | SuspendedIteration) or any(map(_is_lazy, inner))


def _counted(
    e: Emitter, where: SourceRange, parts: Sequence[Iteration], lazy: Iteration, body: Body, jumps: bool
) -> bool | None:
    counter = e.store_aside("round", e.constant(0))

    def each(item: Sugared) -> bool:
        index = e.load("round", counter)
        following = call_operator(e, where, "aten::add", [index, e.constant(1)])
        e.insert("prim::Store", (following,), name=counter.slot, type=INT)
        return body(TupleValue([item if part is lazy else part.at(e, where, index) for part in parts]))

    return lazy.emit(e, where, each, jumps)


@dataclass(slots=True)
class _Joined:
    """Several things in step, generators among them, while a loop over them is emitted."""

    e: Emitter
    where: SourceRange
    parts: Sequence[Iteration]
    counters: Sequence[Iteration]
    round: Variable = field(init=False)
    generators: dict[int, tuple[SuspendedGenerator, Variable]] = field(init=False)
    counts: dict[int, Value] = field(init=False)

    def __post_init__(self) -> None:
        e = self.e
        self.round = e.store_aside("round", e.constant(0))
        self.generators, self.counts = {}, {}
        for at, part in enumerate(self.parts):
            if isinstance(part, GeneratorIteration | SuspendedIteration):
                source = part.source if isinstance(part, SuspendedIteration) else part.call.kept(e, self.where)
                self.generators[at] = source, e.store_aside("item", e.emit("prim::Uninitialized", (), ANY))
            elif not any(part is counter for counter in self.counters):
                count = part.trip_count(e, self.where)
                assert count is not None
                self.counts[at] = count

    def ask(self, at: int) -> Value:
        """Whether all parts from one on have another item; generators are asked only if those before them have."""
        e = self.e
        while at not in self.generators and at not in self.counts:
            at += 1
        if at in self.generators:
            source, variable = self.generators[at]
            there, item = source.step(e)
            e.insert("prim::Store", (item,), name=variable.slot, type=ANY)
        else:
            there = call_operator(e, self.where, "aten::lt", [e.load("round", self.round), self.counts[at]])
        if not any(later in self.generators or later in self.counts for later in range(at + 1, len(self.parts))):
            return there
        node = e.graph.insert("prim::If", (there,), ())
        more, ended = node.add_block(), node.add_block()
        with e.inside(more):
            more.add_return(self.ask(at + 1))
        with e.inside(ended):
            ended.add_return(e.constant(False))
        return node.add_result(BOOL)

    def again(self) -> Value:
        """The question before every round but the first."""
        e = self.e
        following = call_operator(e, self.where, "aten::add", [e.load("round", self.round), e.constant(1)])
        e.insert("prim::Store", (following,), name=self.round.slot, type=INT)
        return self.ask(0)

    def items(self) -> TupleValue:
        """The items of a round."""
        e = self.e
        index = e.load("round", self.round)
        results: list[Sugared] = []
        for at, part in enumerate(self.parts):
            if at in self.generators:
                source, variable = self.generators[at]
                results.append(SimpleValue(source.item_of(e, e.load("item", variable))))
            else:
                results.append(part.at(e, self.where, index))
        return TupleValue(results)
