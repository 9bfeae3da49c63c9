"""A graph: one top block, the names of its values, and an insertion point for building it.

>>> from flambeau.ir.graph import Graph
>>> graph = Graph()
>>> x = graph.add_input(name="x")
>>> y = graph.insert("aten::mul", [x, x]).output()
>>> graph.add_output(y)
0
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Any, ClassVar

from flambeau.ir.node import Block, Node
from flambeau.ir.value import Value
from flambeau.schema.types import TENSOR, Type
from flambeau.util.source import SourceRange


class Graph:
    """A program or a fused piece of one. `str(graph)` is its text."""

    _print: ClassVar[Callable[..., str]]
    _draw: ClassVar[Callable[[Graph], str | None]]
    _colour: ClassVar[Callable[[str], str]]
    """Set by `printer`: it needs the graph, and the graph does not need it."""

    def __init__(self, name: str = "") -> None:
        self.name = name
        self.keeps_errors = False
        """Whether somebody waits for its errors, so that a failing operator stays though nobody uses its result."""
        self.analyses: dict[type, object] | None = None
        """What passes keep of it (`analysis.manager`), by the class of the analysis; None outside of a pipeline."""
        self._names: dict[str, Value] = {}
        self._suffix: dict[str, int] = {}
        self._next_unique = 0
        self.block = Block(self)
        """The body."""
        self._place: Node = self.block.return_node
        self.current_range: SourceRange | None = None
        """The source range that new nodes get."""
        self.current_scope = ""
        """The scope that new nodes get."""

    # -- shape --------------------------------------------------------------------------------------------------------

    @property
    def inputs(self) -> tuple[Value, ...]:
        """The parameters."""
        return self.block.inputs

    @property
    def outputs(self) -> tuple[Value, ...]:
        """The returns."""
        return self.block.outputs

    def add_input(self, type_: Type = TENSOR, name: str = "", index: int | None = None) -> Value:
        """Add a parameter."""
        return self.block.add_input(type_, name, index)

    def add_output(self, value: Value) -> int:
        """Add a return; its index."""
        return self.block.add_output(value)

    def nodes(self) -> Iterator[Node]:
        """The nodes of the body, not those nested in them."""
        return iter(self.block)

    def all_nodes(self) -> Iterator[Node]:
        """Every node at every depth, in program order, outer before inner."""
        return walk(self.block)

    def find_all(self, kind: str) -> list[Node]:
        """Every node of a kind, at every depth."""
        return [n for n in self.all_nodes() if n.kind == kind]

    def find(self, kind: str) -> Node | None:
        """The first node of a kind, at any depth."""
        return next((n for n in self.all_nodes() if n.kind == kind), None)

    # -- building -----------------------------------------------------------------------------------------------------

    def create(
        self, kind: str, inputs: Iterable[Value] = (), types: Iterable[Type] = (TENSOR,), **attributes: Any
    ) -> Node:
        """A node in no block, with the current source range and a result per type."""
        node = Node(self, kind)
        node.attributes.update(attributes)
        node.range, node.scope = self.current_range, self.current_scope
        for value in inputs:
            node.add_input(value)
        for type_ in types:
            node.add_output(type_)
        return node

    def insert(
        self, kind: str, inputs: Iterable[Value] = (), types: Iterable[Type] = (TENSOR,), **attributes: Any
    ) -> Node:
        """`create`, inserted at the insertion point."""
        return self.create(kind, inputs, types, **attributes).insert_before(self._place)

    def insert_node(self, node: Node) -> Node:
        """Insert a node at the insertion point."""
        return node.insert_before(self._place)

    @property
    def insertion_block(self) -> Block:
        """The block that new nodes go to."""
        return self._place.owner_block

    @property
    def insertion_point(self) -> Node:
        """The node that new nodes go before: a block's return node to append."""
        return self._place

    def set_insertion_point(self, place: Node | Block) -> None:
        """Insert before a node, or at the end of a block, from now on."""
        self._place = place.return_node if isinstance(place, Block) else place

    @contextmanager
    def inserting(self, place: Node | Block) -> Iterator[None]:
        """Insert before a node, or at the end of a block, inside a `with`."""
        before = self._place
        self.set_insertion_point(place)
        try:
            yield
        finally:
            self._place = before

    @contextmanager
    def at_range(self, source_range: SourceRange | None) -> Iterator[None]:
        """Give nodes created inside a `with` this source range."""
        before, self.current_range = self.current_range, source_range
        try:
            yield
        finally:
            self.current_range = before

    # -- names --------------------------------------------------------------------------------------------------------

    def new_unique(self) -> int:
        """A number that no value of this graph has."""
        while str(self._next_unique) in self._names:
            self._next_unique += 1
        self._next_unique += 1
        return self._next_unique - 1

    def rename(self, value: Value, name: str) -> None:
        """Name a value; "" takes the name away. Whoever has the name moves on to the next free `name.N`."""
        if value._name == name:
            return
        if value._name:
            del self._names[value._name]
            value._name = ""
        if not name:
            return
        holder = self._names.pop(name, None)
        self._names[name] = value
        value._name = name
        if holder is not None:
            holder._name = ""
            replacement = self._free_name(name)
            self._names[replacement] = holder
            holder._name = replacement

    def _free_name(self, name: str) -> str:
        base, dot, digits = name.rpartition(".")
        if not dot or not digits.isdigit():
            base, digits = name, "1"
        suffix = max(int(digits), self._suffix.get(base, 0) + 1)
        while f"{base}.{suffix}" in self._names:
            suffix += 1
        self._suffix[base] = suffix
        return f"{base}.{suffix}"

    def forget(self, value: Value) -> None:
        """Free the name of a value that is gone."""
        if value._name:
            self._names.pop(value._name, None)

    def number(self, value: Value, unique: int) -> None:
        """Give an unnamed value this number, which no other value may have; numbers given later are higher."""
        value.unique = unique
        self._next_unique = max(self._next_unique, unique + 1)

    def __str__(self) -> str:
        return Graph._print(self)

    __repr__ = __str__

    def _repr_svg_(self) -> str | None:
        """The picture that notebooks show; None without the library that lays it out."""
        return Graph._draw(self)

    def _repr_html_(self) -> str:
        """What notebooks show: the picture, where there is the library that lays it out, and the coloured text."""
        picture, text = self._repr_svg_(), Graph._colour(str(self))
        if picture is None:
            return text
        shown = f"<div style='overflow:auto;max-height:40em'>{picture}</div>"
        return f"{shown}<details><summary>text</summary>{text}</details>"


def walk(block: Block) -> Iterator[Node]:
    """Every node in a block at every depth, outer before inner; the one just yielded may be removed."""
    waiting: list[Iterator[Node]] = [iter(block)]
    while waiting:
        for node in waiting[-1]:
            yield node
            if node.blocks:
                waiting.append(chain.from_iterable(node.blocks))
                break
        else:
            waiting.pop()
