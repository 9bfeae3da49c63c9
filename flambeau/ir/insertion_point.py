"""Where a graph's next node goes, and the source range that it gets."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from flambeau.ir.node_list import ListedNode, NodeList
from flambeau.util.source import SourceRange

NodeT = TypeVar("NodeT", bound=ListedNode[Any])
BlockT = TypeVar("BlockT", bound=NodeList[Any])


class InsertionPoint(Generic[NodeT, BlockT]):
    """A graph, as far as it is being built."""

    def __init__(self, block: BlockT) -> None:
        self._insertion_point: NodeT = block.return_node
        self.current_range: SourceRange | None = None
        """The source range that new nodes get."""
        self.current_scope = ""
        """The scope that new nodes get."""

    def insert_node(self, node: NodeT) -> NodeT:
        """Insert a node at the insertion point."""
        return node.insert_before(self._insertion_point)

    @property
    def insertion_block(self) -> BlockT:
        """The block that new nodes go to."""
        block: BlockT = self._insertion_point.owner_block
        return block

    @property
    def insertion_point(self) -> NodeT:
        """The node that new nodes go before: a block's return node to append."""
        return self._insertion_point

    def set_insertion_point(self, target: NodeT | BlockT) -> None:
        """Insert before a node, or at the end of a block, from now on."""
        self._insertion_point = target.return_node if isinstance(target, NodeList) else target

    def inserting(self, target: NodeT | BlockT) -> Inserting:
        """Insert before a node, or at the end of a block, inside a `with`."""
        return Inserting(self, target)

    def at_range(self, source_range: SourceRange | None) -> AtRange:
        """Give nodes created inside a `with` this source range."""
        return AtRange(self, source_range)


class Inserting:
    """A block of a program within which nodes are inserted somewhere else."""

    __slots__ = ("_before", "_graph", "_target")

    def __init__(self, graph: InsertionPoint[Any, Any], target: Any) -> None:
        self._graph, self._target = graph, target

    def __enter__(self) -> None:
        self._before = self._graph.insertion_point
        self._graph.set_insertion_point(self._target)

    def __exit__(self, *_: object) -> None:
        self._graph.set_insertion_point(self._before)


class AtRange:
    """A block of a program within which nodes get a source range."""

    __slots__ = ("_before", "_graph", "_range")

    def __init__(self, graph: InsertionPoint[Any, Any], source_range: SourceRange | None) -> None:
        self._graph, self._range = graph, source_range

    def __enter__(self) -> None:
        self._before, self._graph.current_range = self._graph.current_range, self._range

    def __exit__(self, *_: object) -> None:
        self._graph.current_range = self._before
