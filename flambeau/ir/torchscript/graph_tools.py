"""What graphs are asked for that is computed above them: their text, pictures, checks, copies and analyses.

The modules that compute these import the graph's classes, so the classes cannot import them: `GRAPH_TOOLS` is provided
by `flambeau.analysis.graph_tools`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from flambeau.util.inversions import GRAPH_TOOLS


class GraphTools(Protocol):
    """Functions of graphs and nodes, which are `Any` here: this module lies below their classes."""

    def print_graph(self, graph: Any, source_ranges: bool | None) -> str:
        """The text of a graph."""

    def print_node(self, node: Any) -> str:
        """The text of a node and of the blocks in it."""

    def draw(self, graph: Any) -> str | None:
        """The graph as an SVG picture; None without the library that lays it out."""

    def as_html(self, graph: Any) -> str:
        """The picture of a graph, if there is one, and its coloured text."""

    def verify(self, graph: Any) -> None:
        """Raises VerifyError for a graph that is broken."""

    def copy(self, graph: Any) -> Any:
        """A copy of a graph."""

    def copy_node(self, node: Any, graph: Any, copies: dict[Any, Any]) -> Any:
        """A copy of a node for a graph, in no block; `copies` has the operands to take instead of the node's."""

    def insert_graph(self, graph: Any, body: Any, arguments: Sequence[Any]) -> list[Any]:
        """Insert copies of the nodes of `body` at the insertion point; the values that it returns."""

    def insert_constant(self, graph: Any, value: Any) -> Any:
        """Insert a constant at the insertion point."""

    def analyse_aliases(self, graph: Any) -> Any:
        """What may share memory in a graph."""

    def is_random(self, node: Any) -> bool:
        """Whether a node draws random numbers."""


def graph_tools() -> GraphTools:
    """The functions that were provided."""
    tools: GraphTools = GRAPH_TOOLS.implementation
    return tools
