"""Runs over a graph until nothing new can be said of what its values point to.

A value is said everything of before anything uses it, except what a loop gives to its next iteration. So one run is
enough unless that, or something put into memory that was there before, or memory that escapes, says more.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from flambeau.analysis.effects import hidden_writes
from flambeau.analysis.memory import Location, Memory, compatible, element_keys, keys_of, of_kind, own_locations
from flambeau.ir import kinds
from flambeau.ir.constants import CONSTANT, is_mutable
from flambeau.ir.graph import Block, Graph, Node, Value
from flambeau.ir.printer import SUBGRAPH
from flambeau.ir.walk import subgraphs
from flambeau.schema.alias import AliasInfo
from flambeau.schema.function import FunctionSchema
from flambeau.schema.opdef import OpDef
from flambeau.schema.types import ANY, DictType, FunctionType, ListType, OptionalType, TupleType, Type, UnionType

_NOTHING: frozenset[Location] = frozenset()


class PointsTo:
    """What each value may point to, and what each node writes."""

    def __init__(self, graph: Graph, *, apart: bool = False) -> None:
        """`apart`: whether each parameter of the graph is memory of its own."""
        self.memory = Memory()
        self.writes: dict[Node, set[Location]] = {}
        """The locations that each node itself may write to; nodes that write nothing are missing."""
        self._points: dict[Value, set[Location]] = {}
        self._new: dict[Value, Location] = {}
        self._shared: dict[int, Location] = {}
        """Locations of constants by the identity of what they hold."""
        self._containers: dict[tuple[Location, Type], Location] = {}
        """New containers in a new container, by their type."""
        self._steps: dict[Block, list[Callable[[], None]]] = {}
        """What to do in each block, in order."""
        self._attributes: dict[str, set[Location]] = {}
        """What was stored in attributes, by name."""
        for value in graph.parameters:
            self._add(value, own_locations(value.static_type) if apart else self.memory.wildcards(value.static_type))
        self.memory.changed = True
        while self.memory.changed:
            self.memory.changed = False
            self._block(graph.body)

    def of(self, value: Value) -> Collection[Location]:
        """What a value may point to."""
        return self._points.get(value, _NOTHING)

    def is_new(self, value: Value) -> bool:
        """Whether the node that gives a value makes the memory of it, in every iteration of a loop anew."""
        return value in self._new

    def replace(self, old: Value, new: Value) -> None:
        """`new`, of which nothing is known, gives from now on what `old` gave."""
        if old in self._points:
            self._points[new] = self._points[old]

    # -- recording ----------------------------------------------------------------------------------------------------

    def _add(self, value: Value, locations: Iterable[Location]) -> None:
        wanted = keys_of(value.static_type)
        if not wanted:
            return
        known = self._points.setdefault(value, set())
        # Most of what is said has been said before, of hundreds of locations in a long program.
        new = set(locations) - known
        if new:
            known.update(of_kind(new, wanted))

    def _write(self, node: Node, locations: Iterable[Location]) -> None:
        new = set(locations)
        if new:
            self.writes.setdefault(node, set()).update(new)

    def _fresh(self, value: Value) -> Location | None:
        """The memory that comes into being with a value."""
        keys = keys_of(value.static_type)
        if not keys:
            return None
        location = self._new.get(value)
        if location is None:
            location = self._new[value] = Location(keys, element_keys(value.static_type))
        self._add(value, (location,))
        return location

    def _all_of(self, values: Iterable[Value]) -> set[Location]:
        return {p for v in values for p in self.of(v)}

    # -- rules --------------------------------------------------------------------------------------------------------

    def _block(self, block: Block) -> None:
        steps = self._steps.get(block)
        if steps is None:
            steps = self._steps[block] = [step for node in block.own_nodes() if (step := self._step(node)) is not None]
        for step in steps:
            step()

    def _step(self, node: Node) -> Callable[[], None] | None:
        """What to do for a node each time it is reached; None where it is done with: it has to do with numbers alone,
        or gives new memory whatever its operands are.
        """
        if node.op == CONSTANT:
            self._constant(node)
            return None
        rule = _RULES.get(node.op)
        if rule is not None:
            return partial(rule, self, node)
        if node.op in kinds.OPAQUE or node.op.startswith("^"):
            return partial(self._opaque, node)
        if isinstance(node.attributes.get(SUBGRAPH), Graph):
            return partial(self._group, node, node.attributes[SUBGRAPH])
        if node.op in kinds.PASS:
            return partial(self._passed, node)
        if node.op in kinds.TAKE:
            return partial(self._taken, node)
        if node.op in kinds.BUILD:
            return partial(self._built, node)
        definition = node.definition
        if definition is not None:
            return self._step_of_operator(node, definition)
        if node.op in kinds.QUERY:
            self._query(node)
            return None
        return partial(self._opaque, node)

    def _step_of_operator(self, node: Node, definition: OpDef) -> Callable[[], None] | None:
        schema = definition.schema
        if schema.says_aliases or (definition.traits.writes_when is not None and hidden_writes(node)):
            is_plain = not any(keys_of(v.static_type) for v in (*node.operands, *node.results))
            return None if is_plain else partial(self._operator, node, schema)
        if any(element_keys(v.static_type) for v in node.results):
            return partial(self._operator, node, schema)
        self._query(node)
        return None

    def _query(self, node: Node) -> None:
        for value in node.results:
            self._fresh(value)

    def _constant(self, node: Node) -> None:
        value = node.result()
        contents = node.attributes.get("value")
        if value.static_type.__class__ is not FunctionType and is_mutable(contents):
            self._add(value, (self._location_of_constant(contents, value.static_type),))

    def _location_of_constant(self, contents: Any, type_: Type) -> Location:
        """The location of a constant, with those of what is in it; tensors on one extent of memory share theirs."""
        key = memory_key(contents)
        location = self._shared.get(key)
        if location is None:
            location = self._shared[key] = Location(keys_of(type_), element_keys(type_))
            location.escaped = not isinstance(contents, list | dict | tuple)
            for item, inner in _inside(contents, type_):
                if is_mutable(item):
                    self.memory.fill(location, (self._location_of_constant(item, inner),))
        return location

    def _if(self, node: Node) -> None:
        for block in node.nested_blocks:
            self._block(block)
            for result, returned in zip(node.results, block.returns, strict=False):
                self._add(result, self.of(returned))

    def _loop(self, node: Node) -> None:
        (body,) = node.nested_blocks
        for parameter, start, result in zip(body.parameters[1:], node.operands[2:], node.results, strict=False):
            self._add(parameter, self.of(start))
            self._add(result, self.of(start))
        self._block(body)
        for parameter, returned, result in zip(body.parameters[1:], body.returns[1:], node.results, strict=False):
            before = len(self.of(parameter))
            self._add(parameter, self.of(returned))
            self._add(result, self.of(returned))
            if len(self.of(parameter)) > before:
                self.memory.changed = True

    def _built(self, node: Node) -> None:
        for value in node.results:
            put = self.memory.put if value in self._new else self.memory.fill
            location = self._fresh(value)
            if location is not None:
                put(location, of_kind(self._all_of(node.operands), location.element_keys))

    def _taken(self, node: Node) -> None:
        sources = self._all_of(node.operands)
        inside = {p for location in sources for p in self.memory.contents(location)}
        for value in node.results:
            self._add(value, inside)
            if node.op == "prim::TupleSlice":
                self._add(value, sources)

    def _passed(self, node: Node) -> None:
        """Each result is the operand at its index; a single one of several operands may be any of them."""
        if len(node.results) == 1:
            self._add(node.result(), self._all_of(node.operands))
            return
        for index, value in enumerate(node.results):
            if node.operands:
                self._add(value, self.of(node.operand(min(index, len(node.operands) - 1))))

    def _get_attribute(self, node: Node) -> None:
        value = node.result()
        stored = self._attributes.get(str(node.attributes.get("name")), _NOTHING)
        self._add(value, stored)
        if not stored or any(p.escaped for p in self.of(node.operand(0))):
            self._add(value, self.memory.wildcards(value.static_type))

    def _set_attribute(self, node: Node) -> None:
        owner, value = node.operands
        locations = set(self.of(value))
        known = self._attributes.setdefault(str(node.attributes.get("name")), set())
        if not locations <= known:
            known |= locations
            self.memory.changed = True
        self._write(node, self.of(owner))
        for location in self.of(owner):
            self.memory.put(location, locations)

    def _opaque(self, node: Node) -> None:
        """Every operand may be kept, and everything within reach may be written."""
        operands = self._all_of(node.operands)
        self.memory.escape(operands)
        self._write(node, {*self.memory.reach(operands), self.memory.wildcard("*")})
        for value in node.results:
            self._add(value, self.memory.wildcards(value.static_type))
        for block in node.nested_blocks:
            for parameter in block.parameters:
                self._add(parameter, self.memory.wildcards(parameter.static_type))
            self._block(block)
            self.memory.escape(self._all_of(block.returns))

    def _group(self, node: Node, graph: Graph) -> None:
        """A subgraph: new results for groups that are known to be harmless; else results may be what operands are."""
        for value in node.results:
            self._fresh(value)
            if node.op not in kinds.GROUPS:
                self._add(value, self.memory.reach(self._all_of(node.operands)))
        if node.op not in kinds.GROUPS and any(_may_write(n) for g in subgraphs(graph) for n in g.listed_nodes()):
            self._opaque(node)

    # -- operators ----------------------------------------------------------------------------------------------------

    def _operator(self, node: Node, schema: FunctionSchema) -> None:
        sets: dict[str, set[Location]] = {}
        for value, argument in zip(node.operands, schema.arguments, strict=False):
            if argument.alias is not None:
                self._argument(node, value, argument.alias, sets)
        for value in hidden_writes(node):
            self._write(node, set(self.of(value)))
        self._store(node, schema)
        operands = self._all_of(node.operands)
        for index, value in enumerate(node.results):
            alias = schema.returns[index].alias if index < len(schema.returns) else None
            self._result(value, alias, sets, operands)

    def _argument(self, node: Node, value: Value, alias: AliasInfo, sets: dict[str, set[Location]]) -> None:
        locations = set(self.of(value))
        for name in alias.before:
            sets.setdefault(name, set()).update(locations)
        if alias.is_write:
            self._write(node, locations)
        for inner in alias.contained:
            if inner is None:
                continue
            contents = {p for location in locations for p in self.memory.contents(location)}
            for name in inner.before:
                sets.setdefault(name, set()).update(contents)
            if inner.is_write:
                self._write(node, contents)

    def _store(self, node: Node, schema: FunctionSchema) -> None:
        """Containers that are written may now hold what the other operands are or hold."""
        for value, argument in zip(node.operands, schema.arguments, strict=False):
            if argument.alias is None or not argument.alias.is_write:
                continue
            for location in self.of(value):
                if location.element_keys:
                    others = self.memory.reach(self._all_of(v for v in node.operands if v is not value))
                    self.memory.put(location, of_kind(others, location.element_keys))

    def _result(
        self, value: Value, alias: AliasInfo | None, sets: Mapping[str, set[Location]], operands: set[Location]
    ) -> None:
        if alias is not None and alias.is_wildcard:
            inside = {p for p in self.memory.reach(operands) if compatible(p.keys, keys_of(value.static_type))}
            self._add(value, inside or self.memory.wildcards(value.static_type))
            return
        if alias is not None and alias.before:
            for name in alias.sets:
                self._add(value, sets.get(name, _NOTHING))
            return
        put = self.memory.put if value in self._new else self.memory.fill
        location = self._fresh(value)
        if location is None or not location.element_keys:
            return
        named = [sets.get(n, set()) for inner in (alias.contained if alias else ()) if inner for n in inner.sets]
        if any(named):
            put(location, of_kind(set().union(*named), location.element_keys))
        else:
            self._fill(location, value.static_type, self.memory.reach(operands), put)

    def _fill(
        self,
        location: Location,
        type_: Type,
        operands: set[Location],
        put: Callable[[Location, Iterable[Location]], None],
    ) -> None:
        """A new container may hold whatever the operands are, and new containers of it: `items()` makes tuples."""
        put(location, of_kind(operands, location.element_keys))
        for part in _parts(type_):
            keys = keys_of(part)
            if keys:
                container = self._containers.setdefault((location, part), Location(keys, element_keys(part)))
                put(location, (container,))
                self._fill(container, part, operands, put)


def memory_key(contents: Any) -> int:
    """Equal for constants that are the same memory."""
    storage = getattr(contents, "_storage", contents)
    return id(getattr(storage, "owner", contents))


def _inside(contents: Any, type_: Type) -> Iterator[tuple[Any, Type]]:
    """What is in a constant container, with the types declared for it."""
    own = type_.contained[0] if isinstance(type_, OptionalType) else type_
    if isinstance(contents, list):
        inner = own.element if isinstance(own, ListType) else ANY
        yield from ((item, inner) for item in contents)
    elif isinstance(contents, dict):
        key, value = (own.key, own.value) if isinstance(own, DictType) else (ANY, ANY)
        for k, v in contents.items():
            yield k, key
            yield v, value
    elif isinstance(contents, tuple):
        types = own.elements if isinstance(own, TupleType) else (ANY,) * len(contents)
        yield from zip(contents, types, strict=False)


def _parts(type_: Type) -> Iterator[Type]:
    """The types of what values of a type hold."""
    match type_:
        case OptionalType() | UnionType():
            for member in type_.contained:
                yield from _parts(member)
        case ListType() | DictType() | TupleType():
            yield from type_.contained


def _may_write(node: Node) -> bool:
    definition = node.definition
    return not kinds.is_known(node.op) and (definition is None or definition.schema.is_mutable)


_RULES: Mapping[str, Callable[[PointsTo, Node], None]] = {
    "prim::If": PointsTo._if,
    "prim::Loop": PointsTo._loop,
    "prim::GetAttr": PointsTo._get_attribute,
    "prim::ModuleContainerIndex": PointsTo._get_attribute,
    "prim::SetAttr": PointsTo._set_attribute,
}
