"""A graph: one top block, the names of its values, and an insertion point for building it.

>>> from flambeau.ir.graph import Graph
>>> graph = Graph()
>>> x = graph.add_parameter(name="x")
>>> y = graph.insert("aten::mul", [x, x]).result()
>>> graph.add_return(y)
0
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from flambeau.ir.node import Block, Node
from flambeau.ir.torchscript.graph_methods import GraphMethods
from flambeau.ir.torchscript.graph_tools import graph_tools
from flambeau.ir.value import Value
from flambeau.schema.types import TENSOR, Type
from flambeau.util.source import SourceRange

NONE_OPERAND = "cannot pass None in inputs"


class Graph(GraphMethods[Value, Node, Block]):
    """A program or a fused piece of one. `str(graph)` is its text."""

    def __init__(self, name: str = "") -> None:
        self.name = name
        self.keeps_errors = False
        """Whether somebody waits for its errors, so that a failing operator stays though nobody uses its result."""
        self.analyses: dict[type, object] | None = None
        """What passes keep of it (`analysis.manager`), by the class of the analysis; None outside of a pipeline."""
        self._names: dict[str, Value] = {}
        self._suffix: dict[str, int] = {}
        self._next_number = 0
        self.body = Block(self)
        """The block that runs."""
        self._insertion_point: Node = self.body.return_node
        self.current_range: SourceRange | None = None
        """The source range that new nodes get."""
        self.current_scope = ""
        """The scope that new nodes get."""

    # -- shape --------------------------------------------------------------------------------------------------------

    @property
    def parameters(self) -> tuple[Value, ...]:
        """The parameters of the body."""
        return self.body.parameters

    @property
    def returns(self) -> tuple[Value, ...]:
        """The values that the body returns."""
        return self.body.returns

    def add_parameter(self, type_: Type = TENSOR, name: str = "", index: int | None = None) -> Value:
        """Add a parameter."""
        return self.body.add_parameter(type_, name, index)

    def add_return(self, value: Value) -> int:
        """Add a returned value; its index."""
        return self.body.add_return(value)

    def nodes(self) -> Iterator[Node]:
        """The nodes of the body, not those nested in them."""
        return iter(self.body)

    def all_nodes(self) -> Iterator[Node]:
        """Every node at every depth, in program order, outer before inner."""
        return self.body.walk()

    def find_all(self, op: str) -> list[Node]:
        """Every node of an operator, at every depth."""
        return [n for n in self.all_nodes() if n.op == op]

    def find(self, op: str) -> Node | None:
        """The first node of an operator, at any depth."""
        return next((n for n in self.all_nodes() if n.op == op), None)

    # -- building -----------------------------------------------------------------------------------------------------

    def create(
        self, op: str, operands: Iterable[Value] = (), types: Iterable[Type] | int = (TENSOR,), **attributes: Any
    ) -> Node:
        """A node in no block, with the current source range and a result per type; a number of types means Tensors.

        Raises ValueError for None among the operands.
        """
        node = Node(self, op)
        node.attributes.update(attributes)
        node.range, node.scope = self.current_range, self.current_scope
        for value in operands:
            if value is None:
                raise ValueError(NONE_OPERAND)
            node.add_operand(value)
        for type_ in [TENSOR] * types if isinstance(types, int) else types:
            node.add_result(type_)
        return node

    def insert(
        self, op: str, operands: Iterable[Value] = (), types: Iterable[Type] | int = (TENSOR,), **attributes: Any
    ) -> Node:
        """`create`, inserted at the insertion point."""
        return self.create(op, operands, types, **attributes).insert_before(self._insertion_point)

    def insert_node(self, node: Node) -> Node:
        """Insert a node at the insertion point."""
        return node.insert_before(self._insertion_point)

    @property
    def insertion_block(self) -> Block:
        """The block that new nodes go to."""
        return self._insertion_point.owner_block

    @property
    def insertion_point(self) -> Node:
        """The node that new nodes go before: a block's return node to append."""
        return self._insertion_point

    def set_insertion_point(self, target: Node | Block) -> None:
        """Insert before a node, or at the end of a block, from now on."""
        self._insertion_point = target.return_node if isinstance(target, Block) else target

    @contextmanager
    def inserting(self, target: Node | Block) -> Iterator[None]:
        """Insert before a node, or at the end of a block, inside a `with`."""
        before = self._insertion_point
        self.set_insertion_point(target)
        try:
            yield
        finally:
            self._insertion_point = before

    @contextmanager
    def at_range(self, source_range: SourceRange | None) -> Iterator[None]:
        """Give nodes created inside a `with` this source range."""
        before, self.current_range = self.current_range, source_range
        try:
            yield
        finally:
            self.current_range = before

    # -- names --------------------------------------------------------------------------------------------------------

    def new_number(self) -> int:
        """A number that no value of this graph has."""
        while str(self._next_number) in self._names:
            self._next_number += 1
        self._next_number += 1
        return self._next_number - 1

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

    def number(self, value: Value, number: int) -> None:
        """Give an unnamed value this number, which no other value may have; numbers given later are higher."""
        value.number = number
        self._next_number = max(self._next_number, number + 1)

    def __str__(self) -> str:
        return graph_tools().print_graph(self, None)

    __repr__ = __str__

    def _repr_svg_(self) -> str | None:
        """The picture that notebooks show; None without the library that lays it out."""
        return graph_tools().draw(self)

    def _repr_html_(self) -> str:
        """What notebooks show: the picture, where there is the library that lays it out, and the coloured text."""
        picture, text = self._repr_svg_(), graph_tools().coloured(str(self))
        if picture is None:
            return text
        shown = f"<div style='overflow:auto;max-height:40em'>{picture}</div>"
        return f"{shown}<details><summary>text</summary>{text}</details>"


def walk(block: Block) -> Iterator[Node]:
    """Every node in a block at every depth, outer before inner; the one just yielded may be removed."""
    return block.walk()
