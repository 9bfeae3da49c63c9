"""Stores and loads of variables to values: branches return what is used behind them, loops carry what they change.

    prim::Store[name="x"](%a)                       %x : int = prim::If(%c)
    prim::If(%c)                                      block0():
      block0(): prim::Store[name="x"](%b)     →         -> (%b)
      block1():                                       block1():
    %x : int = prim::Load[name="x"]()                   -> (%a)

First, from the inside out, which variables each block reads before it stores them, and which it stores; then, from the
outside in, which are read behind each node; then values take the place of names. Results stand in the order of their
first later use.
"""

from __future__ import annotations

from flambeau.ir.graph import Block, Graph, Node, Value
from flambeau.schema.subtype import is_subtype, unify
from flambeau.schema.types import Type
from flambeau.util.record import dataclass, field

STORE, LOAD = "prim::Store", "prim::Load"
Uses = dict[str, int]
"""Variables that are read, with the position of the first read."""


@dataclass(slots=True)
class _Usage:
    """What a block or node does with variables."""

    reads: Uses = field(default_factory=dict)
    """Read before they are stored here."""
    sure: set[str] = field(default_factory=set)
    """Stored on every path."""
    stores: dict[str, Type] = field(default_factory=dict)
    """Stored on some path, with the type promised."""


@dataclass(slots=True)
class _Scope:
    """What each variable holds, as far as it was stored in this block; and around it."""

    parent: _Scope | None = None
    definitions: dict[str, tuple[Value, Type]] = field(default_factory=dict)

    def find(self, name: str) -> tuple[Value, Type] | None:
        scope: _Scope | None = self
        while scope is not None:
            definition = scope.definitions.get(name)
            if definition is not None:
                return definition
            scope = scope.parent
        return None


class _Conversion:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.positions = {node: i for i, node in enumerate(graph.listed_nodes(), 1)}
        self.usage: dict[Block, _Usage] = {}
        self.results: dict[Node, list[str]] = {}
        """The variables that each If returns and each Loop carries, in order."""

    # -- what is read and stored --------------------------------------------------------------------------------------

    def collect(self, block: Block) -> _Usage:
        usage = _Usage()
        for node in block.own_nodes():
            if node.op == LOAD:
                name = node.attributes["name"]
                if name not in usage.sure:
                    usage.reads.setdefault(name, self.positions[node])
            elif node.op == STORE:
                name = node.attributes["name"]
                usage.sure.add(name)
                usage.stores[name] = node.attributes["type"]
            elif node.nested_blocks:
                self.add_nested(usage, node)
        self.usage[block] = usage
        return usage

    def add_nested(self, usage: _Usage, node: Node) -> None:
        inner = [self.collect(b) for b in node.nested_blocks]
        for part in inner:
            for name, position in part.reads.items():
                if name not in usage.sure:
                    usage.reads.setdefault(name, position)
            usage.stores.update({n: t for n, t in part.stores.items() if n not in usage.stores})
        if node.op == "prim::If":
            usage.sure |= set.intersection(*(p.sure for p in inner))

    # -- what is read behind ------------------------------------------------------------------------------------------

    def decide(self, block: Block, behind: Uses) -> None:
        """Choose the results of the nodes in a block; `behind` is what is read after it."""
        live = dict(behind)
        for node in reversed(block.own_nodes()):
            if node.op == LOAD:
                live[node.attributes["name"]] = self.positions[node]
            elif node.op == STORE:
                live.pop(node.attributes["name"], None)
            elif node.op == "prim::If":
                live = self.decide_if(node, live)
            elif node.op == "prim::Loop":
                live = self.decide_loop(node, live)

    def decide_if(self, node: Node, live: Uses) -> Uses:
        parts = [self.usage[b] for b in node.nested_blocks]
        changed = {name for p in parts for name in p.stores}
        self.results[node] = sorted((n for n in changed if n in live), key=live.__getitem__)
        for block in node.nested_blocks:
            self.decide(block, live)
        before: Uses = {n: at for n, at in live.items() if not all(n in p.sure for p in parts)}
        for part in parts:
            _add_reads(before, part.reads)
        return before

    def decide_loop(self, node: Node, live: Uses) -> Uses:
        (body,) = node.nested_blocks
        usage = self.usage[body]
        later = [n for n in usage.stores if n in live]
        inside = [n for n in usage.stores if n in usage.reads and n not in live]
        self.results[node] = sorted(later, key=live.__getitem__) + sorted(inside, key=usage.reads.__getitem__)
        around = dict(live)
        _add_reads(around, usage.reads)
        self.decide(body, around)
        return around

    # -- values for names ---------------------------------------------------------------------------------------------

    def rename(self, block: Block, scope: _Scope) -> None:
        for node in block.own_nodes():
            if node.op == STORE:
                scope.definitions[node.attributes["name"]] = (node.operand(0), node.attributes["type"])
                node.erase()
            elif node.op == LOAD:
                definition = scope.find(node.attributes["name"])
                value = definition[0] if definition is not None else self.unset(node.result().static_type, node)
                value = self.as_known(value, node)
                node.result().replace_uses_with(value)
                node.erase()
            elif node.op == "prim::If" and node in self.results:
                self.rename_if(node, scope)
            elif node.op == "prim::Loop":
                self.rename_loop(node, scope)

    def rename_if(self, node: Node, scope: _Scope) -> None:
        inner = [_Scope(scope) for _ in node.nested_blocks]
        for block, part in zip(node.nested_blocks, inner, strict=True):
            self.rename(block, part)
        raising = [never_ends(b) for b in node.nested_blocks]
        for name in self.results[node]:
            definitions = [part.find(name) for part in inner]
            if any(d and not raises for d, raises in zip(definitions, raising, strict=True)):
                # Whoever reads the result came through an arm that does not raise, and knows the type that holds there.
                definitions = [None if raises else d for d, raises in zip(definitions, raising, strict=True)]
            types = [d[1] for d in definitions if d is not None]
            type_ = types[0] if len(types) == 1 else _common(types[0], types[1])
            for block, definition in zip(node.nested_blocks, definitions, strict=True):
                block.add_return(definition[0] if definition is not None else self.unset(type_, block.return_node))
            self.result(node, name, type_, scope)

    def rename_loop(self, node: Node, scope: _Scope) -> None:
        (body,) = node.nested_blocks
        inner = _Scope(scope)
        carried: list[tuple[str, Type]] = []
        for name in self.results[node]:
            before = scope.find(name)
            type_ = before[1] if before is not None else self.usage[body].stores[name]
            node.add_operand(before[0] if before is not None else self.unset(type_, node))
            parameter = body.add_parameter(type_)
            _name(parameter, name)
            inner.definitions[name] = (parameter, type_)
            carried.append((name, type_))
        self.rename(body, inner)
        for name, type_ in carried:
            definition = inner.find(name)
            assert definition is not None
            body.add_return(definition[0])
            self.result(node, name, type_, scope)

    @staticmethod
    def result(node: Node, name: str, type_: Type, scope: _Scope) -> None:
        value = node.add_result(type_)
        _name(value, name)
        scope.definitions[name] = (value, type_)

    def as_known(self, value: Value, load: Node) -> Value:
        """The value as the program knows it where it reads it: a branch that has jumped away may have joined in."""
        wanted = load.result().static_type
        if is_subtype(value.static_type, wanted):
            return value
        with self.graph.inserting(load):
            cast = self.graph.insert("prim::unchecked_cast", (value,), (wanted,))
        cast.copy_metadata(load)
        return cast.result()

    def unset(self, type_: Type, before: Node) -> Value:
        """What a variable holds on a path on which nobody reads it."""
        with self.graph.inserting(before):
            return self.graph.insert("prim::Uninitialized", (), (type_,)).result()

    def run(self) -> None:
        self.collect(self.graph.body)
        self.decide(self.graph.body, {})
        self.rename(self.graph.body, _Scope())


def to_ssa(graph: Graph) -> None:
    """Remove every store and load from a graph."""
    _Conversion(graph).run()


def never_ends(block: Block) -> bool:
    """Whether control never comes to the end of a block, because something is raised on every path."""
    last = block.last
    if last is None:
        return False
    return last.op == "prim::RaiseException" or (last.op == "prim::If" and all(map(never_ends, last.nested_blocks)))


def _add_reads(uses: Uses, reads: Uses) -> None:
    for name, position in reads.items():
        uses[name] = min(position, uses.get(name, position))


def _common(a: Type, b: Type) -> Type:
    type_ = unify(a, b, default_to_union=True)
    assert type_ is not None
    return type_


def _name(value: Value, name: str) -> None:
    base = name.partition(".")[0]
    if base.isidentifier() and base.isascii():
        value.set_name(base)
