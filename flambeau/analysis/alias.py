"""Which values may share memory, and who writes to it: a points-to analysis driven by the alias annotations of schemas.

>>> import flambeau.ops
>>> from flambeau.ir import parse_ir
>>> graph = parse_ir('''graph(%x : Tensor, %n : int):
...   %y : Tensor = aten::mul(%x, %n)
...   %v : Tensor = aten::t(%y)
...   %w : Tensor = aten::add_(%v, %n, %n)
...   return (%y)''')
>>> aliases = AliasAnalysis(graph)
>>> values = {v.name: v for n in graph.nodes() for v in n.results}
>>> aliases.may_alias(values["y"], values["v"]), aliases.may_alias(graph.parameters[0], values["y"])
(True, False)
>>> [n.op for n in aliases.writers(values["y"])]
['aten::add_']

Parameters of the graph, what calls return and what is read from objects may be any outside memory of their type. New
results are new memory. Containers are followed: what is taken out of a list that the graph made is one of the things
it put in. The analysis does not look at the order of nodes, so its answers hold at every point of the graph, until
the graph changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from flambeau.analysis import effects
from flambeau.analysis.memory import TENSOR, Location, Memory, any_overlap, compatible
from flambeau.analysis.points_to import PointsTo
from flambeau.ir.graph import Graph, Node, Value
from flambeau.ir.walk import nodes_within, operands_within


class AliasAnalysis:
    """The answers for one graph as it is now."""

    def __init__(self, graph: Graph, *, apart: bool = False) -> None:
        """`apart`: take it that no parameter of the graph shares memory with another, or with anything outside."""
        self._points_to = PointsTo(graph, apart=apart)
        self._memory: Memory = self._points_to.memory
        self._written: dict[Location, list[Node]] = {}
        for node, locations in self._points_to.writes.items():
            for location in locations:
                self._written.setdefault(location, []).append(node)
        self._wild_writes = [p for p in self._written if p.escaped]
        self._returned = self.reach(graph.returns)

    # -- values -------------------------------------------------------------------------------------------------------

    def locations(self, value: Value) -> frozenset[Location]:
        """What a value may point to; empty for numbers and other immutable values."""
        return frozenset(self._points_to.of(value))

    def is_new(self, value: Value) -> bool:
        """Whether the node that gives a value makes the memory of it, in every iteration of a loop anew."""
        return self._points_to.is_new(value)

    def may_alias(self, a: Value, b: Value) -> bool:
        """Whether writing to one value may change the other itself."""
        return any_overlap(self._points_to.of(a), self._points_to.of(b))

    def may_contain_alias(self, a: Iterable[Value] | Value, b: Iterable[Value] | Value) -> bool:
        """Whether anything in or at one may be anything in or at the other."""
        return any_overlap(self.reach(a), self.reach(b))

    def escapes(self, value: Value) -> bool:
        """Whether code outside the graph may reach the value while the graph runs."""
        return any(location.escaped for location in self._points_to.of(value))

    def writers(self, value: Value) -> list[Node]:
        """The nodes that may write to the value or to something in it."""
        writing: dict[Node, None] = {}
        for location in self.reach(value):
            for written, nodes in self._candidates(location):
                if written.overlaps(location):
                    writing.update(dict.fromkeys(nodes))
        return list(writing)

    def has_writers(self, value: Value) -> bool:
        """Whether any node may write to the value or to something in it."""
        return any(w.overlaps(location) for location in self.reach(value) for w, _ in self._candidates(location))

    def has_tensor_writers(self, value: Value) -> bool:
        """Whether any node may write to the value or to something in it, a container that changes left aside."""
        return next(self.tensor_writers(value), None) is not None

    def tensor_writers(self, value: Value) -> Iterator[Node]:
        """The nodes that may write to the value or to something in it, a container that changes left aside. One may
        come several times.
        """
        for location in [p for p in self.reach(value) if compatible(p.keys, TENSOR)]:
            for written, nodes in self._candidates(location):
                if written.overlaps(location):
                    yield from nodes

    def is_written(self, value: Value) -> bool:
        """Whether any node may write to the value itself, whatever may be in it."""
        return any(
            w.overlaps(location) for location in self._points_to.of(value) for w, _ in self._candidates(location)
        )

    def _candidates(self, location: Location) -> Iterable[tuple[Location, list[Node]]]:
        if location in self._written:
            yield location, self._written[location]
        if location.escaped:
            for written in self._wild_writes:
                if written is not location:
                    yield written, self._written[written]

    def reach(self, values: Iterable[Value] | Value) -> set[Location]:
        """The memory that the values may point to, with everything in it."""
        starts = (values,) if isinstance(values, Value) else values
        return self._memory.reach(location for value in starts for location in self._points_to.of(value))

    # -- nodes --------------------------------------------------------------------------------------------------------

    def writes(self, node: Node) -> set[Location]:
        """The locations that a node, with what is nested in it, may write to."""
        written: set[Location] = set()
        for inner in nodes_within(node):
            written |= self._points_to.writes.get(inner, set())
        return written

    def reads(self, node: Node) -> set[Location]:
        """The locations that a node, with what is nested in it, may look at."""
        return self.reach(operands_within(node))

    def writes_to(self, node: Node, values: Iterable[Value] | Value) -> bool:
        """Whether a node may write to any of the values or to something in them."""
        return any_overlap(self.writes(node), self.reach(values))

    def depends_on_writes(self, node: Node) -> bool:
        """Whether any operand of the node, or something in it, is written anywhere."""
        return any(self.has_writers(v) for v in node.operands)

    def may_reach(self, value: Value, locations: Iterable[Location]) -> bool:
        """Whether the value, or something in it, may be one of these locations."""
        return any_overlap(self.reach(value), locations)

    def leaves(self, values: Iterable[Value] | Value) -> bool:
        """Whether the value, or something in it, may be seen outside: it escapes, or the graph returns it."""
        reach = self.reach(values)
        return any(p.escaped for p in reach) or any_overlap(reach, self._returned)

    @property
    def writes_outside(self) -> bool:
        """Whether any node may write to memory that the graph shows no origin of."""
        return any(location.is_wild for location in self._written)

    def is_returned(self, value: Value) -> bool:
        """Whether the graph may return the value itself, alone or in something."""
        return any_overlap(self._points_to.of(value), self._returned)

    def can_merge(self, a: Iterable[Value], b: Iterable[Value]) -> bool:
        """Whether two results of equal content may become one: nobody writes to them, and not both are seen outside."""
        first, second = list(a), list(b)
        if any(map(self.has_writers, first)) or any(map(self.has_writers, second)):
            return False
        return not (self.leaves(first) and self.leaves(second))

    def note_merge(self, a: Iterable[Value], b: Iterable[Value]) -> None:
        """Keep `can_merge` right after one of two results took the place of the other."""
        both = self.reach([*a, *b])
        if any(p.escaped for p in both) or any_overlap(both, self._returned):
            self._returned |= both

    def note_replaced(self, old: Value, new: Value) -> None:
        """Stay right after a new value, which no loop makes anew in every iteration, took the place of another."""
        self._points_to.replace(old, new)

    def may_exchange(self, first: Node, second: Node) -> bool:
        """Whether two neighbours may run in the other order: no data, memory or effect goes from one to the other."""
        results = set(first.results)
        if any(v in results for v in operands_within(second)):
            return False
        writes_a, writes_b = self.writes(first), self.writes(second)
        if writes_a and any_overlap(writes_a, self.reads(second) | writes_b):
            return False
        if writes_b and any_overlap(writes_b, self.reads(first)):
            return False
        return not _effects_collide(first, second, _is_seen(writes_a), _is_seen(writes_b))

    def can_move_before(self, node: Node, other: Node) -> bool:
        """Whether a later node of the same block may move to before `other`."""
        if node.owner_block is not other.owner_block or not other.is_before(node):
            return False
        return all(self.may_exchange(between, node) for between in _from_to(other, node))

    def can_move_after(self, node: Node, other: Node) -> bool:
        """Whether an earlier node of the same block may move to after `other`."""
        if node.owner_block is not other.owner_block or not node.is_before(other):
            return False
        return all(self.may_exchange(node, between) for between in _from_to(node.next, other.next))


def _from_to(first: Node | None, end: Node | None) -> Iterator[Node]:
    """The nodes of a block from one on, up to another."""
    while first is not None and first is not end:
        yield first
        first = first.next


def _is_seen(locations: Iterable[Location]) -> bool:
    """Whether a write would show after a failure."""
    return any(location.escaped for location in locations)


def _effects_collide(a: Node, b: Node, a_shows: bool, b_shows: bool) -> bool:
    """Whether the world could tell in which order two nodes ran, also by what had happened when one of them failed.

    `a_shows` and `b_shows` say whether they write to memory that the outside may reach.
    """
    if effects.is_random(a) and effects.is_random(b):
        return True
    a_acts, b_acts = effects.has_effect(a), effects.has_effect(b)
    if a_acts and b_acts:
        return True
    return ((a_acts or a_shows) and effects.may_raise(b)) or ((b_acts or b_shows) and effects.may_raise(a))
