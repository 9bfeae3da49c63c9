"""What graphs are asked for that is computed above them, provided to them (`flambeau.ir.torchscript.graph_tools`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau.analysis import effects
from flambeau.analysis.alias_db import AliasDb
from flambeau.ir.clone import Copies, clone_graph, clone_node, insert_graph
from flambeau.ir.constants import insert_constant
from flambeau.ir.draw import svg_or_none, to_html
from flambeau.ir.graph import Graph, Node, Value
from flambeau.ir.printer import print_graph, print_node
from flambeau.ir.torchscript.graph_tools import GraphTools
from flambeau.ir.verify import verify
from flambeau.util.inversions import GRAPH_TOOLS


class Tools:
    """The functions that the methods of graphs and nodes call."""

    def print_graph(self, graph: Graph, source_ranges: bool | None) -> str:
        """The text of a graph."""
        return print_graph(graph, source_ranges=source_ranges)

    def print_node(self, node: Node) -> str:
        """The text of a node and of the blocks in it."""
        return print_node(node)

    def draw(self, graph: Graph) -> str | None:
        """The graph as an SVG picture; None without the library that lays it out."""
        return svg_or_none(graph)

    def as_html(self, graph: Graph) -> str:
        """The picture of a graph, if there is one, and its coloured text."""
        picture, text = svg_or_none(graph), to_html(str(graph))
        if picture is None:
            return text
        shown = f"<div style='overflow:auto;max-height:40em'>{picture}</div>"
        return f"{shown}<details><summary>text</summary>{text}</details>"

    def verify(self, graph: Graph) -> None:
        """Raises VerifyError for a graph that is broken."""
        verify(graph)

    def copy(self, graph: Graph) -> Graph:
        """A copy of a graph."""
        return clone_graph(graph)

    def copy_node(self, node: Node, graph: Graph, copies: Copies) -> Node:
        """A copy of a node for a graph, in no block; `copies` has the operands to take instead of the node's."""
        return clone_node(node, graph, copies)

    def insert_graph(self, graph: Graph, body: Graph, arguments: Sequence[Value]) -> list[Value]:
        """Insert copies of the nodes of `body` at the insertion point; the values that it returns."""
        return insert_graph(graph, body, arguments)

    def insert_constant(self, graph: Graph, value: Any) -> Value:
        """Insert a constant at the insertion point."""
        return insert_constant(graph, value)

    def analyse_aliases(self, graph: Graph) -> AliasDb:
        """What may share memory in a graph."""
        return AliasDb(graph)

    def is_random(self, node: Node) -> bool:
        """Whether a node draws random numbers."""
        return effects.is_random(node)


_tools: GraphTools = Tools()
GRAPH_TOOLS.provide(_tools)
