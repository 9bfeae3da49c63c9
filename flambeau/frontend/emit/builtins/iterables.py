"""`range`, `enumerate` and what `zip` gives: things a loop goes over that are no values."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from flambeau.frontend.emit.call_expressions import emit_arguments
from flambeau.frontend.emit.float_powers import about_power
from flambeau.frontend.emit.flow import LoopState
from flambeau.frontend.emit.schema_matching import as_int, call_operator
from flambeau.frontend.emit.values.simple_value import ItemIteration, SimpleValue, UnrolledIteration
from flambeau.frontend.emit.values.sugared import Emitter, Iteration, Sugared
from flambeau.frontend.emit.values.tuple_values import TupleValue
from flambeau.frontend.trees.tree_views import Apply
from flambeau.ir.graph import Value
from flambeau.schema.types import INT, ListType, TensorType, Type
from flambeau.util.errors import CompileError
from flambeau.util.record import dataclass
from flambeau.util.source import SourceRange

ZERO_STEP = "range() arg 3 must not be zero"


@dataclass(slots=True)
class RangeValue(Sugared):
    """`range(start, stop, step)`; with only a stop the index of the loop is the item."""

    start: Value | None
    stop: Value
    step: Value | None
    is_parallel: bool = False
    """Whether it is a `prange`."""

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return "prange" if self.is_parallel else "range"

    def check(self, e: Emitter, where: SourceRange) -> None:
        """Raise for a step of 0, now: for a range that is not looped over where it is made."""
        if self.step is None or _literal(self.step):
            return
        node = e.graph.insert("prim::If", (call_operator(e, where, "aten::eq", [self.step, e.constant(0)]),), ())
        with e.inside(node.add_block()):
            e.insert("prim::RaiseException", (e.constant(ZERO_STEP), e.constant("builtins.ValueError")))
        node.add_block()

    def iterate(self, e: Emitter, where: SourceRange) -> Iteration:
        """Over its numbers."""
        return RangeIteration(self)

    def length(self, e: Emitter, where: SourceRange) -> Value:
        """How many numbers."""
        return RangeIteration(self).trip_count(e, where)

    def contains(self, e: Emitter, where: SourceRange, item: Value) -> Value:
        """`n in range(...)`, without a loop."""
        start = self.start if self.start is not None else e.constant(0)
        step = self.step if self.step is not None else e.constant(1)
        count = call_operator(e, where, "aten::__range_length", [start, self.stop, step])
        offset = call_operator(e, where, "aten::sub", [item, start])
        steps = call_operator(e, where, "aten::floordiv", [offset, step])
        on_step = call_operator(e, where, "aten::eq", [call_operator(e, where, "aten::mul", [steps, step]), offset])
        after = call_operator(e, where, "aten::ge", [steps, e.constant(0)])
        before = call_operator(e, where, "aten::lt", [steps, count])
        inside = call_operator(e, where, "aten::__and__", [after, before])
        return call_operator(e, where, "aten::__and__", [inside, on_step])

    def item(self, e: Emitter, where: SourceRange, index: Value) -> Sugared:
        """The number at an index."""
        return RangeIteration(self).at(e, where, index)


@dataclass(slots=True)
class RangeIteration(Iteration):
    """Over the numbers of a range."""

    range: RangeValue

    @property
    def is_parallel(self) -> bool:
        """Whether the iterations may run at the same time."""
        return self.range.is_parallel

    def trip_count(self, e: Emitter, where: SourceRange) -> Value:
        """How many numbers."""
        if self.range.start is None or self.range.step is None:
            return self.range.stop
        return call_operator(e, where, "aten::__range_length", [self.range.start, self.range.stop, self.range.step])

    def at(self, e: Emitter, where: SourceRange, index: Value) -> Sugared:
        """The number of a round."""
        if self.range.start is None or self.range.step is None:
            return SimpleValue(index)
        kind = "aten::__derive_index"
        return SimpleValue(call_operator(e, where, kind, [index, self.range.start, self.range.step]))


@dataclass(slots=True)
class JoinedValue(Sugared):
    """`zip(a, b)` and `enumerate(a)`: several iterations in step; items are tuples."""

    name: str
    parts: list[Iteration]

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return self.name

    def iterate(self, e: Emitter, where: SourceRange) -> Iteration:
        """All at once."""
        bounded = [p.most for p in self.parts if isinstance(p, BoundedIteration)]
        if not bounded and all(p.unrolled is None for p in self.parts):
            return JoinedIteration(self.parts)
        lengths = [(p, _static_length(p)) for p in self.parts if not isinstance(p, CountIteration)]
        counts = [*bounded, *(n for _, n in lengths if n is not None)]
        length = min(counts)
        shorter = [p for p, n in lengths if n is None]
        if shorter:
            return BoundedIteration(self.parts, length, JoinedIteration(shorter).trip_count(e, where))
        indices = [e.constant(i) for i in range(length)]
        return UnrolledIteration([TupleValue([p.at(e, where, i) for p in self.parts]) for i in indices])

    def length(self, e: Emitter, where: SourceRange) -> Value:
        """The length of the shortest iterable."""
        count = self.iterate(e, where).trip_count(e, where)
        assert count is not None
        return count


def _static_length(part: Iteration) -> int | None:
    """How many items, if that is known: those of a tuple, a list as it is written down, a range of literals."""
    if part.unrolled is not None:
        return len(part.unrolled)
    if isinstance(part, ItemIteration):
        node = part.value.defining_node
        return len(node.operands) if node is not None and node.op == "prim::ListConstruct" else None
    if isinstance(part, RangeIteration):
        bounds = (part.range.start, part.range.stop, part.range.step)
        numbers = [_literal(b) for b in bounds if b is not None]
        return len(range(*[k for k in numbers if k is not None])) if None not in numbers else None
    return None


def _literal(value: Value) -> int | None:
    node = value.defining_node
    return node.attribute("value") if node is not None and node.op == "prim::Constant" else None


@dataclass(slots=True)
class JoinedIteration(Iteration):
    """Several iterations in step."""

    parts: list[Iteration]

    def trip_count(self, e: Emitter, where: SourceRange) -> Value:
        """The smallest of theirs."""
        counts = [c for c in (p.trip_count(e, where) for p in self.parts) if c is not None]
        if len(counts) == 1:
            return counts[0]
        items = e.emit("prim::ListConstruct", counts, ListType(INT))
        return call_operator(e, where, "prim::min", [items])

    def at(self, e: Emitter, where: SourceRange, index: Value) -> Sugared:
        """Their items."""
        return TupleValue([p.at(e, where, index) for p in self.parts])

    def emit(self, e: Emitter, where: SourceRange, body: Callable[[Sugared], bool], jumps: bool) -> bool | None:
        """The loop where a generator is among them."""
        counters = [part for part in self.parts if isinstance(part, CountIteration)]
        return e.rules.joined(e, where, self.parts, counters, body, jumps)


@dataclass(slots=True)
class BoundedIteration(JoinedIteration):
    """Several iterations in step, some of them known item by item, up to the end of lists that may be shorter."""

    most: int
    """How many items those have that are known."""
    count: Value
    """How many the shortest of the lists has."""

    def trip_count(self, e: Emitter, where: SourceRange) -> Value:
        """The smallest of theirs."""
        items = e.emit("prim::ListConstruct", [self.count, e.constant(self.most)], ListType(INT))
        return call_operator(e, where, "prim::min", [items])

    def emit(self, e: Emitter, where: SourceRange, body: Callable[[Sugared], bool], jumps: bool) -> bool:
        """The body once for each known item, where the lists have one."""
        with e.flow.inside_loop(LoopState(None, len(e.flow.contexts))):
            for i in range(self.most):
                index = e.constant(i)
                more = call_operator(e, where, "aten::lt", [index, self.count])
                e.rules.branch(e, more, where, partial(self._round, e, where, index, body))
        return True

    def _round(self, e: Emitter, where: SourceRange, index: Value, body: Callable[[Sugared], bool]) -> bool:
        return body(self.at(e, where, index))


@dataclass(slots=True)
class CountIteration(Iteration):
    """The numbers of an `enumerate`, without an end of their own."""

    start: Value | None

    def trip_count(self, e: Emitter, where: SourceRange) -> None:
        """No end."""

    def at(self, e: Emitter, where: SourceRange, index: Value) -> Sugared:
        """The number of a round."""
        if self.start is None:
            return SimpleValue(index)
        return SimpleValue(call_operator(e, where, "aten::add", [index, self.start]))


def emit_range(e: Emitter, tree: Apply, hint: Type | None, name: str = "range") -> RangeValue:
    """`range(...)`."""
    where = tree.callee.range
    if tree.keywords:
        raise CompileError(f"{name} doesn't accept any keyword arguments", where)
    args, _ = emit_arguments(e, tree)
    if not args:
        raise CompileError(f"{name} expected at least 1 arguments, got 0", where)
    if len(args) > 3:
        raise CompileError(f"{name} expected at most 3 arguments, got {len(args)}", where)
    values: list[Value] = []
    for index, argument in enumerate(args):
        value = argument.value
        if isinstance(value.static_type, TensorType):
            value = e.emit("aten::IntImplicit", (value,), INT)
        if value.static_type != INT:
            actual = value.static_type.annotation
            text = f"all inputs of {name} must be ints, found {actual} in argument {index}{about_power(value)}"
            raise CompileError(text, tree.range)
        values.append(as_int(e, where, value))
    if len(values) == 1:
        return RangeValue(None, values[0], None)
    step = values[2] if len(values) == 3 else e.constant(1)
    return RangeValue(values[0], values[1], step)


def emit_prange(e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
    """`prange(...)`."""
    numbers = emit_range(e, tree, hint, "prange")
    numbers.is_parallel = True
    return numbers


def emit_enumerate(e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
    """`enumerate(...)`."""
    where = tree.callee.range
    trees = [*tree.args, *(k.value for k in tree.keywords if k.name in ("iterable", "start"))]
    if not trees:
        raise CompileError("enumerate expected at least 1 arguments, got 0", where)
    if len(trees) > 2:
        raise CompileError(f"enumerate expected at most 2 arguments, got {len(trees)}", where)
    iteration = e.sugared(trees[0]).iterate(e, trees[0].range)
    start = e.value(trees[1]) if len(trees) == 2 else None
    if start is not None and start.static_type != INT:
        raise CompileError(
            f"the start of enumerate must be an int, found {start.static_type.annotation}", trees[1].range
        )
    return JoinedValue("enumerate", [CountIteration(start), iteration])
